"""Beliefs about weights: n independent blocks of d Gaussian weights, updated after every observation of a sum.

A belief is two arrays: `mean` (n, d) and `covariance` (n, d, d). Features are given sparsely, by the indices of those
that aren't 0 and their values, so that one-hot features and dense vectors work alike: a dense vector x is
(np.arange(len(x)), x).

Source:
    Sherman & Morrison (1950) for `revise`; Minka (2001), Expectation propagation, for dropping the correlation that
    an update creates between two blocks (assumed density filtering).
"""

import numpy as np

from pushlab.ground.compiled import compiled

FLATTENING = (
    np.pi / 8
)  # turns a Gaussian's variance into the flattening of a logistic curve; MacKay (1992)


@compiled
def project(
    blocks,
    active,
    values,
    mean,
    covariance,
    centre,
    variance,
):
    """Write mean and variance of each block's weighted sum into centre and variance, both (m,).

    Args:
        blocks: Indices of the blocks (m,).
        active: Indices of the features that aren't 0 (k,).
        values: Their values (k,).
    """
    for place in range(len(blocks)):
        block = blocks[place]
        total, spread = 0.0, 0.0
        for i in range(len(active)):
            total += values[i] * mean[block, active[i]]
            row = covariance[block, active[i]]
            along = 0.0
            for j in range(i):
                along += values[j] * row[active[j]]
            own = values[i] * row[active[i]]
            spread += values[i] * (2 * along + own)
        centre[place] = total
        variance[place] = max(spread, 0.0)


@compiled
def revise(
    blocks,
    active,
    values,
    mean,
    covariance,
    surprise,
    precision,
):
    """Update the belief about each block in place after one observation of their sum.

    Args:
        surprise: The observation minus its expectation, times the precision of its noise.
        precision: Of the observation as a function of the sum: 1 / noise variance in a linear model, p (1 - p) in a
            logistic one.
    """
    dimension = mean.shape[1]
    along = np.zeros((len(blocks), dimension))
    total = 0.0
    for place in range(len(blocks)):
        block = blocks[place]
        for i in range(len(active)):
            row = covariance[block, active[i]]
            for other in range(dimension):
                along[place, other] += values[i] * row[other]
        for i in range(len(active)):
            total += values[i] * along[place, active[i]]
    scale = 1 + precision * total
    shrink = precision / scale
    for place in range(len(blocks)):
        block = blocks[place]
        for one in range(dimension):
            mean[block, one] += along[place, one] * surprise / scale
            step = shrink * along[place, one]
            if step != 0:
                for other in range(dimension):
                    covariance[block, one, other] -= step * along[place, other]


def prior_covariance(variances):
    """Return the covariance (n, d, d) of independent weights with variances (n, d)."""
    return variances[:, :, None] * np.eye(variances.shape[1])


def block_sums(
    mean,
    covariance,
    blocks,
    active,
    values=None,
):
    """Return mean and variance of each block's weighted sum, two float64 (blocks,); all values are 1 by default."""
    if values is None:
        values = np.ones(len(active))
    centre = np.empty(len(blocks))
    variance = np.empty(len(blocks))
    project(blocks, active, values, mean, covariance, centre, variance)
    return centre, variance


def observe(
    mean,
    covariance,
    blocks,
    active,
    outcome,
    values=None,
    noise=None,
):
    """Update a belief in place after one outcome of the sum over `blocks`.

    Args:
        outcome: A number observed with the variance `noise`; or 0 or 1 if `noise` is None: a logistic model.

    >>> mean, covariance = np.zeros((1, 1)), np.ones((1, 1, 1))
    >>> observe(mean, covariance, np.array([0]), np.array([0]), 2.0, noise=1.0)
    >>> float(mean[0, 0]), float(covariance[0, 0, 0])       # half-way, and half as uncertain
    (1.0, 0.5)
    """
    if values is None:
        values = np.ones(len(active))
    centre, variance = block_sums(mean, covariance, blocks, active, values)
    if noise is None:
        chance = expected_chance(centre.sum(), variance.sum())
        precision = chance * (1 - chance)
        surprise = outcome - chance
    else:
        precision = 1 / noise
        surprise = (outcome - centre.sum()) * precision
    revise(blocks, active, values, mean, covariance, surprise, precision)


def expected_chance(centre, variance):
    """Return the probability of a 1 if the log-odds are Gaussian; the larger the variance, the nearer to a half.

    >>> round(float(expected_chance(2.0, 0.0)), 3), round(float(expected_chance(2.0, 8 / np.pi * 3)), 3)
    (0.881, 0.731)
    """
    flat = centre / np.sqrt(1 + FLATTENING * variance)
    return 1 / (1 + np.exp(-flat))
