"""One file per framework; each imports the core and its own framework only.

Two frameworks build on others, and their adapters on those adapters: SB3 on Gymnasium, RLlib on Gymnasium and PettingZoo.
"""
