"""Runs as tables: an environment and an agent give a log, which can be stored on disk."""
