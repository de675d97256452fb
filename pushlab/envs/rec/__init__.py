"""`pushlab/RECEnv-v0`: a recommender whose user's preference drifts towards recommended items."""
