"""A script that is run by itself, with what it imports from beside it, holds no tests."""

from importlib.util import find_spec
from pathlib import Path

collect_ignore = ["table.py", "wrappers.py"]
if find_spec("numpy") is None:              # cffconvert's environment, in which nothing of the library runs
    collect_ignore += [path.name for path in Path(__file__).parent.glob("*.py") if path.name != "test_cff.py"]
