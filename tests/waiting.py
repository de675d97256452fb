"""Wait for a condition, however slow the machine is."""

import time

PATIENCE = (
    900  # seconds: long enough for a loaded machine, so it only ends a test that hangs
)


def wait_until(condition, what, every=0.05):
    """Return the first true value of `condition()`, which is called every `every` seconds.

    Raises AssertionError after PATIENCE seconds.

    Args:
        what: The condition in words, for the error.
    """
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE} s in vain for {what}")
        time.sleep(every)
    return value
