"""Simulated users and judges, candidate notifications, users' days, and the generator of synthetic users."""

# Names of judges, and rules by which an opening follows from a probability: see `pushlab.users.judges`.
PANEL = ("adaboost", "tree", "bayes")
MODELS = ("logistic", "plain", *PANEL)
OPENINGS = ("sampled", "threshold", "matched")
