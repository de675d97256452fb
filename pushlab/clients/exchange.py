"""Logs as the data sets of other libraries, and back."""
