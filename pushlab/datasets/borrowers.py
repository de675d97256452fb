"""Borrowers and their defaults: the Kaggle table "Give Me Some Credit", or generated people like those in it.

The table has one row per person and eleven columns; `SeriousDlqin2yrs` is 1 if the person fell 90 days behind within
two years. The competition's file `cs-training.csv` can be downloaded but not redistributed, so pushlab doesn't have it.
Instead, `make_borrowers` generates people with the same columns. Both are prepared as in WhyNot 0.12: rows with a
missing value are left out, features are scaled to mean 0 and standard deviation 1, the classes are balanced, and the
order is shuffled.

>>> people = load_borrowers()
>>> len(people), people.features.shape, int(people.labels.sum())
(18357, (18357, 10), 8357)

A generated person has three hidden variables: age, means and strain. Each column depends on them and on its own noise,
and its distribution is a table of quantiles. The probability of falling behind depends on the columns.

>>> people = make_borrowers(seed=1, defaulted=200, repaid=300)
>>> len(people), people.source
(500, 'generated, seed 1')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pushlab.utils.files import data_dir, read_json
from pushlab.utils.issues import BadData, DataIssue
from pushlab.utils.seeds import quantile

if TYPE_CHECKING:
    import pandas as pd


class Column(NamedTuple):
    """A feature of a person and its distribution.

    Attributes:
        words: A label for pictures.
        mixture: Effects of age, means, strain and the column's own noise, in standard deviations. The squares add up to
            about 1.
        values: Values at the standard deviations LEVELS, interpolated linearly.
        weight: Effect of a unit on the log-odds of falling behind.
        most: Value above which the effect doesn't grow.
        decimals: Decimals to which values are rounded.
    """

    words: str
    mixture: Sequence[float]
    values: Sequence[float]
    weight: float
    most: float
    decimals: int = 0


LEVELS = (-6.0, -2.33, -1.64, -0.67, 0.0, 0.67, 1.28, 1.64, 2.33, 3.09, 6.0)
COLUMNS = {
    name: Column(**entry)
    for name, entry in read_json(data_dir() / "credit" / "columns.json").items()
}
INTERCEPT = -3.45  # of the log-odds of falling behind

LABEL = "SeriousDlqin2yrs"
FEATURES = tuple(COLUMNS)
FEATURE_LABELS = tuple(column.words for column in COLUMNS.values())
BIAS = "bias"
REPAID = 10_000  # people who paid back; further ones are left out
DEFAULTED = 8_357  # people in the original who fell behind and have no missing value
CHUNK_SIZE = 25_000  # people drawn at once; changing it changes the people
STREAM = 101  # a different stream from synthetic users with the same seed


@dataclass(frozen=True, eq=False)
class Borrowers:
    """People, ready for a classifier; all arrays are float64 and read-only.

    Attributes:
        features: Features in the order of FEATURES, (n, 10), scaled to mean 0 and standard deviation 1 over all people
            in the source.
        labels: 1 for people who fell behind, 0 for people who paid back, (n,).
        mean, scale: Mean and standard deviation of the features in their original units, (10,).
        source: Name of the file, or the seed.
    """

    features: np.ndarray
    labels: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    source: str

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def columns(self) -> np.ndarray:
        """The features with a row for each, (10, n), for fast loops over people."""
        return _read_only(np.ascontiguousarray(self.features.T))

    @cached_property
    def table(self) -> np.ndarray:
        """The features and a last column of ones, (n, 11), as in the original."""
        ones = np.ones(len(self))
        return _read_only(np.column_stack([self.features, ones]))

    @cached_property
    def means(self) -> np.ndarray:
        """Mean features of the people who paid back, and of the people who fell behind, (2, 10)."""
        groups = [self.features[self.labels == label] for label in (0, 1)]
        return _read_only(np.array([group.mean(axis=0) for group in groups]))

    @cached_property
    def sums(self) -> np.ndarray:
        """Sum of the features of the people who fell behind, (10,)."""
        return _read_only(self.columns @ self.labels)

    def frame(self) -> pd.DataFrame:
        """Return a DataFrame of the label and the features in their original units."""
        import pandas as pd

        frame = pd.DataFrame(self.features * self.scale + self.mean, columns=FEATURES)
        frame.insert(0, LABEL, self.labels.astype(int))
        return frame


def _read_only(array):
    array.flags.writeable = False
    return array


# ---------------------------------------------------------------- reading


def load_borrowers(source: Path | str | Borrowers | None = None) -> Borrowers:
    """Return borrowers.

    Args:
        source: None for 18,357 generated people, the path of a table like `cs-training.csv`, or Borrowers, which are
            returned as they are.
    """
    if isinstance(source, Borrowers):
        return source
    return make_borrowers() if source is None else read_borrowers(source)


def read_borrowers(path: Path | str) -> Borrowers:
    """Read `cs-training.csv` of the Kaggle competition, or another table with its columns, as WhyNot 0.12 does.

    Args:
        path: A CSV file with a header: SeriousDlqin2yrs and the ten FEATURES, with NA or an empty cell for a missing
            value. Other columns are ignored. Only the first 10,000 people who paid back are used.

    Raises:
        BadData: The table has issues; the message lists all of them.
    """
    from pushlab.utils.tables import (
        convert_columns,
        integer_rule,
        number_rule,
        read_raw_table,
    )

    path = Path(path)
    label = integer_rule(0, 1)
    valid_values = "0 or 1 (cs-test.csv has no answers; read cs-training.csv)"
    feature = number_rule(0, fill_value=np.nan)._replace(
        valid_values="a number of 0 or more, or NA"
    )
    rules = dict.fromkeys(FEATURES, feature) | {
        LABEL: label._replace(valid_values=valid_values)
    }
    text = read_raw_table(path).replace("NA", "")
    table = convert_columns(text, rules, path.name)
    features = table[list(FEATURES)].to_numpy()
    labels = table[LABEL].to_numpy(float)
    return prepare(features, labels, path.name)


def prepare(
    features: np.ndarray, labels: np.ndarray, source: str, repaid: int = REPAID
) -> Borrowers:
    """Clean, scale, balance and shuffle people.

    Args:
        features: Features in their original units, (n, 10); NaN for a missing value.
        labels: Labels, (n,).
        source: Name of the source, for messages.
        repaid: Largest number of people who paid back.

    Raises:
        BadData: One of the two classes is empty after cleaning.
    """
    is_complete = np.isfinite(features).all(axis=1)
    features = features[is_complete]
    labels = labels[is_complete]
    if len(np.unique(labels)) < 2:
        valid_values = (
            "a classifier needs both 0 and 1, in rows without a missing value"
        )
        raise BadData(DataIssue(source, column=LABEL, valid_values=valid_values))
    mean = features.mean(axis=0)
    scale = features.std(axis=0)
    scale[scale == 0] = 1.0
    behind = np.flatnonzero(labels == 1)
    rows = np.r_[behind, np.flatnonzero(labels == 0)[:repaid]]
    # The original's generator, whose stream NumPy doesn't change.
    rows = np.random.RandomState(0).permutation(rows)
    return Borrowers(
        _read_only((features[rows] - mean) / scale),
        _read_only(labels[rows]),
        _read_only(mean),
        _read_only(scale),
        source,
    )


# ---------------------------------------------------------------- making people


@lru_cache(maxsize=1)
def make_borrowers(
    seed: int = 0, defaulted: int = DEFAULTED, repaid: int = REPAID
) -> Borrowers:
    """Generate `defaulted` people who fell behind and up to `repaid` people who paid back.

    Features are scaled by the mean and the standard deviation of all people drawn, about 120,000 by default.
    """
    features, labels = draw_people(seed, defaulted)
    return prepare(features, labels, f"generated, seed {seed}", repaid)


def draw_people(seed: int, defaulted: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw people until `defaulted` of them fell behind.

    Returns:
        Features (n, 10) in their original units, and labels (n,).
    """
    rng = np.random.Generator(np.random.PCG64((seed, STREAM)))
    features = []
    labels = []
    n_defaulted = 0
    while n_defaulted < defaulted:
        columns = _draw_columns(rng)
        features.append(np.column_stack(list(columns.values())))
        is_default = rng.random(CHUNK_SIZE) < default_probability(columns)
        labels.append(is_default.astype(float))
        n_defaulted += int(is_default.sum())
    all_labels = np.concatenate(labels)
    end = np.flatnonzero(all_labels)[defaulted - 1] + 1
    return np.concatenate(features)[:end], all_labels[:end]


def _draw_columns(rng):
    """Return {feature: values (CHUNK_SIZE,)} in the units of the table."""
    hidden = [_draw_normal(rng) for _ in range(3)]
    columns = {}
    for name, column in COLUMNS.items():
        score = _draw_normal(rng) * column.mixture[3]
        for variable, weight in zip(hidden, column.mixture):
            score = score + weight * variable
        score = np.clip(score, -5.9, 5.9)
        values = quantile(LEVELS, column.values, score)
        columns[name] = np.round(values, column.decimals)
    return columns


def _draw_normal(rng):
    """Return nearly normal numbers with mean 0 and standard deviation 1, (CHUNK_SIZE,).

    They are sums of four uniform numbers, which are the same on every machine.
    """
    u = rng.random((4, CHUNK_SIZE))
    return (u[0] + u[1] + u[2] + u[3] - 2.0) * 1.7320508


def default_probability(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the probability of falling behind, (n,), for columns {feature: values (n,)}.

    Probabilities are rounded to six decimals, which hides differences of `exp` between machines.
    """
    log_odds = INTERCEPT
    for name, column in COLUMNS.items():
        log_odds = log_odds + column.weight * np.minimum(columns[name], column.most)
    return np.round(1 / (1 + np.exp(-log_odds)), 6)
