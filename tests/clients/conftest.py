"""Mark the tests with other libraries as slow; they are skipped if the library is missing."""

from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
collect_ignore = ["table.py", "wrappers.py", "returns.py"]  # scripts
if find_spec("numpy") is None:  # the virtual environment of cffconvert, without pushlab
    names = {path.name for path in HERE.glob("*.py")}
    collect_ignore += names - {"test_cff.py"}


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
