"""`pushlab/RECEnv-v0`: a recommender whose user's preference moves with what is shown."""
