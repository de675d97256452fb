"""Off-policy estimators: the return a policy would have had, from the log of another policy.

- `estimators`: naive, importance sampling, per-decision, doubly robust; SWITCH, shrinkage, MAGIC
- `logs`: a log as arrays, value models, and all estimates of a log in a table

A log is a DataFrame with one row per step and the columns episode, step, action (a number from 0),
reward, propensity (the probability with which the behaviour policy chose that action, logged when
it acted) and `obs.<name>`; `pushlab.logs.collect.collect` makes one. The target policy is a
function of observations (rows, features) that returns probabilities (rows, actions).

Episodes are assumed to be independent of one another: intervals of a log whose policy learned from
episode to episode, or in which the same users come again, promise too much.

Every estimator is a plain function of arrays with a row an episode and a column a step, and returns
an Estimate; `off_policy` fits the value models and runs them all. `__init__.pyi` lists the names.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
