"""Wait for conditions on slow machines."""

import time

PATIENCE = 900  # seconds, long enough for a busy machine


def wait_until(condition, description, interval=0.05):
    """Return the first true value of `condition()`, which is called every `interval` seconds.

    Raises AssertionError after PATIENCE seconds.

    Args:
        description: The condition, for the error.
    """
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE} s in vain for {description}")
        time.sleep(interval)
    return value
