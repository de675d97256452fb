"""A script that is run by itself, with what it imports from beside it, holds no tests."""

collect_ignore = ["table.py", "wrappers.py"]
