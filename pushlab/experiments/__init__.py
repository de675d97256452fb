"""Experiments: grids of runs on all cores or on a cluster, and the benchmark."""
