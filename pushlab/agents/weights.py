"""Beliefs about weights: Gaussian, in independent blocks, revised after every observation.

The linear algebra of the bandit agents, for features given sparsely (which are not 0, and their values), so that
one-hot features and dense vectors are served alike. A dense vector x is (np.arange(len(x)), x).

Source  Sherman & Morrison (1950) for `revise`; Minka (2001), Expectation propagation, for dropping what a revision
        says about two blocks at once (assumed density filtering).
"""

from typing import Any

import numpy as np

from pushlab.ground.arguments import one_of
from pushlab.ground.compiled import compiled

FLATTENING = (
    np.pi / 8
)  # turns a Gaussian's variance into the flattening of a logistic curve; MacKay (1992)


@compiled
def project(blocks, active, values, mean, covariance, centre, variance):
    """Mean and variance of each block's weighted sum: fills centre and variance, both (blocks,).

    blocks (m,) which blocks; active (k,) which features are not 0; values (k,) what they are;
    mean (n, d); covariance (n, d, d).
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
            spread += values[i] * (2 * along + values[i] * row[active[i]])
        centre[place], variance[place] = total, max(spread, 0.0)


@compiled
def revise(blocks, active, values, mean, covariance, surprise, precision):
    """One observation of the sum over blocks changes the belief about each of them, in place.

    surprise   what was observed minus what was expected, in the units of the observation
    precision  of the observation, as a function of the sum: 1 / noise variance in a linear model,
               p (1 - p) in a logistic one, whose surprise is already divided by the noise variance
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
    shrink = precision / (1 + precision * total)
    for place in range(len(blocks)):
        block = blocks[place]
        for one in range(dimension):
            mean[block, one] += along[place, one] * surprise / (1 + precision * total)
            step = shrink * along[place, one]
            if step != 0:
                for other in range(dimension):
                    covariance[block, one, other] -= step * along[place, other]


class WeightBlocks:
    """n independent blocks of d Gaussian weights; what is observed is a sum over some of the blocks.

    variances  prior variances, broadcast to (n, d); the prior means are 0
    link       "linear": a number is observed, with variance `noise`; "logistic": a yes or no

    >>> belief = WeightBlocks(1, 1, variances=1.0, noise=1.0)
    >>> one = np.array([0]), np.array([0]), np.array([1.0])
    >>> belief.observe(*one, 2.0)           # prior N(0, 1), a 2 with noise of variance 1: half-way, half as unsure
    >>> float(belief.mean[0, 0]), float(belief.covariance[0, 0, 0])
    (1.0, 0.5)
    """

    def __init__(
        self,
        count: int,
        dimension: int,
        variances: Any = 1.0,
        link: str = "linear",
        noise: float = 0.25,
    ) -> None:
        one_of("link", link, ("linear", "logistic"))
        variances = np.broadcast_to(np.asarray(variances, float), (count, dimension))
        if not (variances > 0).all() or noise <= 0:
            raise ValueError("variances and noise are above 0")
        self.link, self.noise = link, float(noise)
        self.mean = np.zeros((count, dimension))
        self.covariance = variances[:, :, None] * np.eye(dimension)

    def sums(
        self, blocks: np.ndarray, active: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of each block's weighted sum, two float64 (blocks,)."""
        centre, variance = np.empty(len(blocks)), np.empty(len(blocks))
        project(blocks, active, values, self.mean, self.covariance, centre, variance)
        return centre, variance

    def observe(
        self, blocks: np.ndarray, active: np.ndarray, values: np.ndarray, outcome: float
    ) -> None:
        """Takes in one outcome of the sum over `blocks`."""
        centre, variance = self.sums(blocks, active, values)
        if self.link == "linear":
            precision = 1 / self.noise
            surprise = (outcome - centre.sum()) * precision
        else:
            chance = expected_chance(centre.sum(), variance.sum())
            precision, surprise = chance * (1 - chance), outcome - chance
        revise(blocks, active, values, self.mean, self.covariance, surprise, precision)

    def state(self):
        """`mean` (n, d) and `covariance` (n, d, d), copied."""
        return {"mean": self.mean.copy(), "covariance": self.covariance.copy()}

    def load(self, state):
        """Takes over what `state()` gave; returns itself."""
        self.mean, self.covariance = (
            np.array(state[key], float) for key in ("mean", "covariance")
        )
        return self


def expected_chance(centre: Any, variance: Any) -> Any:
    """The probability of a yes where the log-odds are Gaussian; the more unsure, the nearer to a half.

    >>> round(float(expected_chance(2.0, 0.0)), 3), round(float(expected_chance(2.0, 8 / np.pi * 3)), 3)
    (0.881, 0.731)
    """
    return 1 / (1 + np.exp(-centre / np.sqrt(1 + FLATTENING * variance)))
