"""One file per framework; each imports the core and its own framework only."""
