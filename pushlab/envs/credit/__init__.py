"""`pushlab/Credit-v0`: a published score, and people who change their features in response."""
