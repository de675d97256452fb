"""Synthetic borrowers in the shape of the Kaggle table "Give Me Some Credit", with the truth about who falls behind.

Three things nobody records stand behind a person: age, means and strain. They, and chance of its own, move each
column, whose distribution is a table of quantiles; the columns then say how likely it is that the person falls behind.

>>> people = make_borrowers(seed=1, defaulted=200, repaid=300)
>>> len(people), people.source
(500, 'generated, seed 1')
"""

import numpy as np

from pushlab.datasets.borrowers import FEATURES, LABEL, REPAID, prepare
from pushlab.datasets.draws import quantile
from pushlab.ground.files import write_text

DEFAULTED = 8_357               # in the original, after rows with a missing value have been left out
CHUNK = 25_000                  # people made at once; part of what a seed means
STREAM = 101                    # keeps these numbers apart from those of the synthetic users of the same seed

# How far age, means, strain and chance of its own move each column, in deviations; squares add up to about 1.
MIXTURE = {
    FEATURES[0]: (-0.28, -0.10, 0.62, 0.72),
    FEATURES[1]: (1.00, 0.00, 0.00, 0.00),
    FEATURES[2]: (-0.05, 0.05, 0.60, 0.79),
    FEATURES[3]: (-0.05, 0.35, 0.25, 0.90),
    FEATURES[4]: (0.15, 0.65, -0.10, 0.74),
    FEATURES[5]: (0.22, 0.50, -0.10, 0.83),
    FEATURES[6]: (-0.05, -0.12, 0.66, 0.74),
    FEATURES[7]: (0.12, 0.66, -0.08, 0.74),
    FEATURES[8]: (-0.05, -0.05, 0.62, 0.78),
    FEATURES[9]: (-0.30, 0.22, 0.10, 0.92),
}

# Each column's values at these deviations, with straight lines between, then rounded to so many decimals.
LEVELS = (-6.0, -2.33, -1.64, -0.67, 0.0, 0.67, 1.28, 1.64, 2.33, 3.09, 6.0)
VALUES = {
    FEATURES[0]: (0, 0, 0, 0.035, 0.18, 0.58, 0.97, 1.0, 1.09, 1.3, 1.5),
    FEATURES[1]: (21, 24, 29, 40, 51, 61, 71, 76, 86, 92, 103),
    FEATURES[2]: (0, 0, 0, 0, 0, 0, 0.8, 1.5, 3.4, 6, 12),
    FEATURES[3]: (0, 0, 0.005, 0.14, 0.30, 0.48, 0.76, 1.13, 2.4, 5, 9),
    FEATURES[4]: (0, 400, 1300, 3400, 5400, 8250, 11700, 14600, 25000, 60000, 120000),
    FEATURES[5]: (0, 1, 2, 5, 8, 11, 15, 18, 25, 34, 50),
    FEATURES[6]: (0, 0, 0, 0, 0, 0, 0, 0.6, 2.6, 5, 11),
    FEATURES[7]: (0, 0, 0, 0, 1, 1.7, 2.2, 2.8, 5, 9, 18),
    FEATURES[8]: (0, 0, 0, 0, 0, 0, 0, 0.55, 1.7, 3.5, 8),
    FEATURES[9]: (0, 0, 0, 0, 0, 1.6, 2.6, 3.2, 4.3, 6, 10),
}
DECIMALS = {FEATURES[0]: 4, FEATURES[3]: 4}         # the rest are whole numbers

INTERCEPT = -3.45
# Added to the log-odds of falling behind, a unit of the column, which counts up to the given value at most.
TRUTH = {
    FEATURES[0]: (2.00, 1.5),
    FEATURES[1]: (-0.018, 120),
    FEATURES[2]: (0.50, 4),
    FEATURES[3]: (0.35, 2.5),
    FEATURES[4]: (-0.00006, 15_000),
    FEATURES[5]: (0.025, 30),
    FEATURES[6]: (1.00, 3),
    FEATURES[7]: (0.10, 6),
    FEATURES[8]: (0.70, 3),
    FEATURES[9]: (0.08, 6),
}


def make_borrowers(seed=0, defaulted=DEFAULTED, repaid=REPAID):
    """Borrowers drawn from a seed: so many who fell behind, and the first so many of those who paid back.

    Scaled by everyone who was made until then, some 120,000 people for the numbers of the original.
    """
    features, labels = draw_people(seed, defaulted)
    if (labels == 0).sum() < repaid:
        raise ValueError(f"there are {int((labels == 0).sum()):,} who paid back for {defaulted:,} who did not; repaid "
                         f"must not be more, got {repaid:,}")
    return prepare(features, labels, f"generated, seed {seed}", repaid)


def draw_people(seed, defaulted):
    """Features (n, 10) in their own units and labels (n,) of people, up to the last of so many who fell behind."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or seed < 0:
        raise ValueError(f"seed is a whole number of 0 or more; got {seed!r}")
    if not 1 <= defaulted <= 1_000_000:
        raise ValueError(f"defaulted is a number of people from 1 to 1,000,000; got {defaulted!r}")
    chance, features, labels, so_far = np.random.Generator(np.random.PCG64((int(seed), STREAM))), [], [], 0
    while so_far < defaulted:
        columns = _draw_columns(chance)
        features.append(np.column_stack([columns[name] for name in FEATURES]))
        labels.append((chance.random(CHUNK) < default_probability(columns)).astype(float))
        so_far += int(labels[-1].sum())
    features, labels = np.concatenate(features), np.concatenate(labels)
    end = np.flatnonzero(labels)[defaulted - 1] + 1
    return features[:end], labels[:end]


def _draw_columns(chance):
    """{feature: values (CHUNK,)} in the units of the table."""
    hidden = [_bell(chance) for _ in range(3)]
    columns = {}
    for name in FEATURES:
        own = _bell(chance)
        moved = own * MIXTURE[name][3]
        for part, weight in zip(hidden, MIXTURE[name]):
            moved = moved + weight * part
        moved = np.minimum(np.maximum(moved, -5.9), 5.9)
        columns[name] = np.round(quantile(LEVELS, VALUES[name], moved), DECIMALS.get(name, 0))
    return columns


def _bell(chance):
    """Numbers of mean 0 and deviation 1 that are nearly normal: sums of four uniforms, the same on every machine."""
    u = chance.random((4, CHUNK))
    return (u[0] + u[1] + u[2] + u[3] - 2.0) * 1.7320508


def default_probability(columns):
    """How likely each person is to fall behind, {feature: values} → (n,): six decimals, so that no machine's `exp`
    shows in what is drawn from it."""
    log_odds = INTERCEPT
    for name, (weight, most) in TRUTH.items():
        log_odds = log_odds + weight * np.minimum(columns[name], most)
    return np.round(1 / (1 + np.exp(-log_odds)), 6)


def write_borrowers(path, seed=0, defaulted=DEFAULTED):
    """Writes people as `cs-training.csv` has them, an index without a name first; always the same bytes."""
    features, labels = draw_people(seed, defaulted)
    texts = [[f"{value:.{DECIMALS.get(name, 0)}f}" for value in column.tolist()]
             for name, column in zip(FEATURES, features.T)]
    lines = [",".join(["", LABEL, *FEATURES])]
    lines += [",".join(row) for row in zip(map(str, range(1, len(labels) + 1)), [f"{y:.0f}" for y in labels], *texts)]
    return write_text(path, "\n".join(lines) + "\n")
