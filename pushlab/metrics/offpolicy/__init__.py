"""Off-policy estimators: the value of a policy, from the log of another policy.

- `estimators`: naive, importance sampling, per-decision, doubly robust; SWITCH, shrinkage, MAGIC
- `logs`: a log as arrays, value models, and a table of all estimates

A log is a DataFrame with one row per step and the columns episode, step, action (a number from 0), reward, propensity
(the probability of that action under the behaviour policy, logged when it acted) and `obs.<name>`.
`pushlab.logs.collect.collect` returns such logs. The target policy is a function of observations (rows, features) that
returns probabilities (rows, actions).

Episodes are assumed to be independent. If the policy learned from episode to episode, or the same users come again,
intervals are too narrow.

Every estimator is a function of arrays (episodes, steps), and returns an Estimate. `off_policy` fits the value models
and runs all estimators.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
