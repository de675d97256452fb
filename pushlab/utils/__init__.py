"""Helpers that all packages share: data issues, files, tables, cached results, compiled loops, seeds, validation."""
