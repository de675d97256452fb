"""Metrics: plain functions of a log or of arrays."""
