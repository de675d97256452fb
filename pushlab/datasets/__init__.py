"""Data as they lie on disk and in memory: features and schemas, users' histories, borrowers, facts; their readers."""
