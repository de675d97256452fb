"""Helpers that all packages share: data faults, files, tables, cached results, compiled loops, seeds, validation."""
