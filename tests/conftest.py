"""What every test shares: a headless Matplotlib and a repeatable Hypothesis."""

import os

from hypothesis import settings

# An environment variable, so that processes started by a test draw headless too.
os.environ.setdefault("MPLBACKEND", "Agg")

# "repeatable" tries the same examples every time, so that a red test is red for everybody.
# HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
