"""How well and how fast: evaluation, frozen sets of instances, the paper's tables, reports, speed."""
