"""The benchmark: evaluations, evaluation sets, instance banks, the paper's tables, reports and speed."""
