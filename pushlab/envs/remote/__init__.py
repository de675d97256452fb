"""Worlds that are played on another machine, one answered step at a time."""
