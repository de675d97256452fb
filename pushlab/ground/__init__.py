"""The base of all packages: faults of data, files written whole, compiled loops, seeds, checks of arguments."""
