"""The benchmark: see `protocol.py`."""
