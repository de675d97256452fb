"""Loops compiled by numba where it is installed; without it the same functions run as plain Python, slower."""

try:
    from numba import njit
except ImportError:     # numba is a normal dependency; a platform without it still runs everything
    def compiled(loop):
        """The loop as it is."""
        return loop
else:
    compiled = njit(cache=True, nogil=True)
