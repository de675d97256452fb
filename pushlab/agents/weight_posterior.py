"""Gaussian distributions of weights: n independent blocks of d weights, updated after each observed sum.

A distribution is two arrays: `mean` (n, d) and `covariance` (n, d, d). Features are sparse: the indices of those that
aren't 0, and their values. One-hot features and dense vectors work alike: a dense vector x is (np.arange(len(x)), x).

Source:
    Sherman & Morrison (1950) for `update_blocks`; Minka (2001), Expectation propagation, for dropping the correlation
    that an update creates between two blocks (assumed density filtering).
"""

import numpy as np

from pushlab.utils.compiled import compiled

# Converts a Gaussian's variance into the flattening of a logistic curve; MacKay (1992).
FLATTENING = np.pi / 8


@compiled
def fill_block_sums(
    blocks,
    active,
    values,
    mean,
    covariance,
    centre,
    variance,
):
    """Write the mean and variance of each block's weighted sum into centre and variance, both (m,).

    Args:
        blocks: Indices of the blocks (m,).
        active: Indices of the features that aren't 0 (k,).
        values: Values of the active features (k,).
    """
    for position in range(len(blocks)):
        block = blocks[position]
        total = 0.0
        spread = 0.0
        for i in range(len(active)):
            total += values[i] * mean[block, active[i]]
            row = covariance[block, active[i]]
            off_diagonal = 0.0
            for j in range(i):
                off_diagonal += values[j] * row[active[j]]
            diagonal = values[i] * row[active[i]]
            spread += values[i] * (2 * off_diagonal + diagonal)
        centre[position] = total
        variance[position] = max(spread, 0.0)


@compiled
def update_blocks(
    blocks,
    active,
    values,
    mean,
    covariance,
    surprise,
    precision,
):
    """Update each block in place after one observation of the blocks' sum.

    Args:
        surprise: The observation minus its expectation, times the precision of its noise.
        precision: Precision of the observation as a function of the sum: 1 / noise variance in a linear model,
            p (1 - p) in a logistic one.
    """
    dimension = mean.shape[1]
    gains = np.zeros((len(blocks), dimension))
    total = 0.0
    for position in range(len(blocks)):
        block = blocks[position]
        for i in range(len(active)):
            row = covariance[block, active[i]]
            for column in range(dimension):
                gains[position, column] += values[i] * row[column]
        for i in range(len(active)):
            total += values[i] * gains[position, active[i]]
    scale = 1 + precision * total
    shrink = precision / scale
    for position in range(len(blocks)):
        block = blocks[position]
        for i in range(dimension):
            mean[block, i] += gains[position, i] * surprise / scale
            step = shrink * gains[position, i]
            if step != 0:
                for j in range(dimension):
                    covariance[block, i, j] -= step * gains[position, j]


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
    """Return mean and variance of each block's weighted sum, two float64 (blocks,). All values are 1 by default."""
    if values is None:
        values = np.ones(len(active))
    centre = np.empty(len(blocks))
    variance = np.empty(len(blocks))
    fill_block_sums(blocks, active, values, mean, covariance, centre, variance)
    return centre, variance


def update_weights(
    mean,
    covariance,
    blocks,
    active,
    outcome,
    values=None,
    noise=None,
):
    """Update the distribution in place after one outcome of the sum over `blocks`.

    Args:
        outcome: A number observed with the variance `noise`. If `noise` is None, the model is logistic and the outcome
            0 or 1.

    >>> mean, covariance = np.zeros((1, 1)), np.ones((1, 1, 1))
    >>> update_weights(mean, covariance, np.array([0]), np.array([0]), 2.0, noise=1.0)
    >>> float(mean[0, 0]), float(covariance[0, 0, 0])       # half-way, and half as uncertain
    (1.0, 0.5)
    """
    if values is None:
        values = np.ones(len(active))
    centre, variance = block_sums(mean, covariance, blocks, active, values)
    if noise is None:
        probability = expected_probability(centre.sum(), variance.sum())
        precision = probability * (1 - probability)
        surprise = outcome - probability
    else:
        precision = 1 / noise
        surprise = (outcome - centre.sum()) * precision
    update_blocks(blocks, active, values, mean, covariance, surprise, precision)


def expected_probability(centre, variance):
    """Return the probability of a 1 if the log-odds are Gaussian. A larger variance moves it towards a half.

    >>> round(float(expected_probability(2.0, 0.0)), 3), round(float(expected_probability(2.0, 8 / np.pi * 3)), 3)
    (0.881, 0.731)
    """
    flattened = centre / np.sqrt(1 + FLATTENING * variance)
    return 1 / (1 + np.exp(-flattened))
