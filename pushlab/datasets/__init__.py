"""Data sets and their readers: features and schemas, users' histories, borrowers, facts."""
