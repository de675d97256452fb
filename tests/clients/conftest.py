"""Tests with other people's libraries: all are slow, and skipped without their library."""

from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
collect_ignore = ["table.py", "wrappers.py", "returns.py"]  # scripts
if find_spec("numpy") is None:  # the environment of cffconvert, without pushlab
    collect_ignore += [
        path.name for path in HERE.glob("*.py") if path.name != "test_cff.py"
    ]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
