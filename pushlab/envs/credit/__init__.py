"""`pushlab/Credit-v0`: a published score, and people who change what it looks at."""
