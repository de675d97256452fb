"""Runs as tables: an environment and an agent become a log, and logs are kept on disk."""
