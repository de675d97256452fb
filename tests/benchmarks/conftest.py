"""Settings of the benchmarks: they are slow, need pytest-benchmark, and import each other."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
collect_ignore_glob = [] if find_spec("pytest_benchmark") else ["test_*.py"]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
