"""Former names; this file goes when the benchmark has moved."""

from pushlab.experiments.cells import status as status

LARGEST = 2**30
