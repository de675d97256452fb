"""The benchmark of agents; `protocol.py` has its rules."""
