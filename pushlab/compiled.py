"""Loops compiled by numba where it is installed; without it the same functions run as plain Python, slower."""

try:
    from numba import njit
except ImportError:     # numba is a normal dependency; a platform without it still runs everything
    def compiled(loop):
        """The loop as it is."""
        return loop

    compiled_numeric = compiled_in_place = inlined = compiled
else:
    compiled = njit(cache=True, nogil=True)
    # A division by zero gives inf instead of raising, without which loops of numbers cannot be vectorised; and what
    # is inlined becomes part of the loop that calls it.
    compiled_numeric = njit(cache=True, nogil=True, error_model="numpy")
    inlined = njit(inline="always", error_model="numpy")
    # For loops that work on given arrays and make none: without it each inlined function counts references to all of
    # its arrays, which costs far more than the loops themselves.
    compiled_in_place = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
