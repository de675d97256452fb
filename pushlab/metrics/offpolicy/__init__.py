"""Off-policy estimators: what a policy would have earned, from the log of another one.

    weighting   naive, importance sampling, per-decision, doubly robust; marginalised over states; kernels; sure bounds
    blends      between model and weights: SWITCH, shrinkage, MAGIC
    logs        a log as arrays, of numbered actions or of vectors, and all estimates of it in a table

A log is a DataFrame with a row a step and the columns episode, step, action (a number from 0), reward, propensity (the
probability with which the behaviour policy chose that action, known because it was written down) and `obs.<name>`;
`pushlab.logs.collect.collect` makes one. The target policy is a function of observations (rows, features) that returns
probabilities (rows, actions).

Episodes are taken for independent of one another: intervals of a log whose policy learned from episode to episode, or
in which the same users come again, promise too much.

Every estimator is a plain function of arrays with a row an episode and a column a step, and returns an Estimate;
`off_policy` fits the value models and runs them all. `__init__.pyi` lists what there is.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
