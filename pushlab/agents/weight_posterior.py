"""Bayesian regression: a Gaussian distribution of all weights, updated exactly after each outcome of a linear model.

The distribution is two arrays: `mean` (d,) and `covariance` (d, d). Features are sparse: the indices of those that
aren't 0, and their values. One-hot features and dense vectors work alike: a dense vector x is (np.arange(len(x)), x).

With a prior covariance S, features X and outcomes y with noise variance v, the covariance is C = (S⁻¹ + XᵀX / v)⁻¹ and
the mean is CXᵀy / v, the solution of ridge regression. Both depend on sums over outcomes only, not on their order.

Source:
    Bishop (2006), Pattern Recognition and Machine Learning, sections 3.3 and 4.5; Sherman & Morrison (1950) for the
    update.
"""

import numpy as np
from scipy.linalg.blas import dger

# Converts a Gaussian's variance into the flattening of a logistic curve; MacKay (1992).
FLATTENING = np.pi / 8


def update_weights(
    mean,
    covariance,
    active,
    outcome,
    values=None,
    noise=None,
):
    """Update the distribution in place after one outcome.

    Args:
        active: Indices of the features that aren't 0 (k,).
        outcome: A number observed with the variance `noise`. If `noise` is None, the model is logistic and the outcome
            0 or 1. The update is then an approximation: one Newton step on the log-posterior, with the probability
            averaged over the uncertainty. It depends on the order of the outcomes.
        values: Values of the active features (k,); all are 1 by default.

    >>> mean, covariance = np.zeros(1), np.ones((1, 1))
    >>> update_weights(mean, covariance, np.array([0]), 2.0, noise=1.0)
    >>> float(mean[0]), float(covariance[0, 0])       # half-way, and half as uncertain
    (1.0, 0.5)
    """
    if values is None:
        values = np.ones(len(active))
    gain = values @ covariance[active]
    variance = values @ gain[active]
    expected = values @ mean[active]
    if noise is None:
        probability = expected_probability(expected, variance)
        precision = probability * (1 - probability)
        surprise = outcome - probability
    else:
        precision = 1 / noise
        surprise = (outcome - expected) * precision
    scale = 1 + precision * variance
    mean += gain * (surprise / scale)
    # Subtracts the outer product without a copy; a symmetric matrix equals its transpose.
    dger(-precision / scale, gain, gain, a=covariance.T, overwrite_a=True)


def expected_probability(centre, variance):
    """Return the probability of a 1 if the log-odds are Gaussian. A larger variance moves it towards a half.

    >>> round(float(expected_probability(2.0, 0.0)), 3), round(float(expected_probability(2.0, 8 / np.pi * 3)), 3)
    (0.881, 0.731)
    """
    flattened = centre / np.sqrt(1 + FLATTENING * variance)
    return 1 / (1 + np.exp(-flattened))
