"""Data sets and their readers: feature schemas, users' histories, borrowers, and facts of common sense."""
