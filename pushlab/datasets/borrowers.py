"""Borrowers and whether they paid back: the Kaggle table "Give Me Some Credit", or generated people like those in it.

The table has one row per person and eleven columns; `SeriousDlqin2yrs` is 1 if the person fell 90 days behind within
two years. Everyone may download the competition's file `cs-training.csv`, but not pass it on, so pushlab doesn't have
it; `make_borrowers` generates people with the same columns. Both are prepared as in WhyNot 0.12: rows with a missing
value are left out, features are scaled to mean 0 and deviation 1, the classes are balanced, the order is shuffled.

>>> people = load_borrowers()
>>> len(people), people.features.shape, int(people.labels.sum())
(18357, (18357, 10), 8357)

Three hidden variables describe a generated person: age, means and strain. Each column depends on them and on noise of
its own, and its distribution is a table of quantiles. The probability that the person falls behind depends on the
columns.

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

from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import data_dir, read_json
from pushlab.ground.seeds import quantile

if TYPE_CHECKING:
    import pandas as pd


class Column(NamedTuple):
    """A feature of a person, and how it is generated.

    Attributes:
        words: A short name, for pictures.
        mixture: Effects of age, means, strain and noise of its own, in deviations; squares add up to about 1.
        values: Values at the deviations LEVELS, with straight lines between, rounded to `decimals`.
        weight: Effect of a unit on the log-odds of falling behind, up to the value `most`.
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
WORDS = tuple(column.words for column in COLUMNS.values())
BIAS = "bias"
REPAID = 10_000  # number of people kept who paid back
DEFAULTED = (
    8_357  # number in the original who fell behind, without rows with missing values
)
CHUNK = 25_000  # people drawn at once; another number would give other people
STREAM = 101  # differs from the stream of synthetic users with the same seed


@dataclass(frozen=True, eq=False)
class Borrowers:
    """People, ready for a classifier; all arrays are float64 and read-only.

    Attributes:
        features: (n, 10) in the order of FEATURES, in standard units: mean 0 and deviation 1 over all people read.
        labels: (n,) 1 for those who fell behind, 0 for those who paid back.
        mean, scale: (10,) mean and deviation of the features in their own units.
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
        """The features, one row each, (10, n), for fast loops over people."""
        return _locked(np.ascontiguousarray(self.features.T))

    @cached_property
    def table(self) -> np.ndarray:
        """The features and a last column of ones, (n, 11): the original's table."""
        return _locked(np.column_stack([self.features, np.ones(len(self))]))

    @cached_property
    def means(self) -> np.ndarray:
        """Mean features of those who paid back and of those who did not, (2, 10)."""
        groups = [self.features[self.labels == label] for label in (0, 1)]
        return _locked(np.array([group.mean(axis=0) for group in groups]))

    @cached_property
    def sums(self) -> np.ndarray:
        """Sum of the features of those who fell behind, (10,)."""
        return _locked(self.columns @ self.labels)

    def frame(self) -> pd.DataFrame:
        """Return the people in the units of the original columns, a DataFrame with the label first."""
        import pandas as pd

        frame = pd.DataFrame(self.features * self.scale + self.mean, columns=FEATURES)
        frame.insert(0, LABEL, self.labels.astype(int))
        return frame


def _locked(array):
    array.flags.writeable = False
    return array


# ---------------------------------------------------------------- reading


def load_borrowers(where: Path | str | Borrowers | None = None) -> Borrowers:
    """Return the given Borrowers or those in a table like `cs-training.csv`; by default 18,357 generated ones."""
    if isinstance(where, Borrowers):
        return where
    return make_borrowers() if where is None else read_borrowers(where)


def read_borrowers(path: Path | str) -> Borrowers:
    """Read `cs-training.csv` of the Kaggle competition, or another table of its columns, as WhyNot 0.12 does.

    Args:
        path: CSV with a header: SeriousDlqin2yrs and the ten FEATURES, with NA or an empty cell for
            an unknown feature. Other columns are ignored. Of those who paid back the first 10,000 are kept.

    Raises:
        BadData: The table has faults; the message lists all of them.
    """
    from pushlab.ground.tables import convert, number, read_as_text, whole_number

    path = Path(path)
    label = whole_number(0, 1)
    right = "0 or 1 (cs-test.csv has no answers; read cs-training.csv)"
    feature = number(0, missing=np.nan)._replace(right="a number of 0 or more, or NA")
    rules = dict.fromkeys(FEATURES, feature) | {LABEL: label._replace(right=right)}
    text = read_as_text(path).replace("NA", "")
    table = convert(text, rules, path.name)
    features = table[list(FEATURES)].to_numpy()
    labels = table[LABEL].to_numpy(float)
    return prepare(features, labels, path.name)


def prepare(
    features: np.ndarray, labels: np.ndarray, source: str, repaid: int = REPAID
) -> Borrowers:
    """Return Borrowers of features (n, 10) in their own units and labels (n,): cleaned, scaled, balanced, shuffled.

    Raises:
        BadData: One of the two classes is empty after cleaning.
    """
    is_known = np.isfinite(features).all(axis=1)
    features = features[is_known]
    labels = labels[is_known]
    if len(np.unique(labels)) < 2:
        right = "a classifier needs both 0 and 1, in rows without a missing value"
        raise BadData(Fault(source, column=LABEL, right=right))
    mean = features.mean(axis=0)
    scale = features.std(axis=0)
    scale[scale == 0] = 1.0
    chosen = np.r_[np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)[:repaid]]
    # The generator of the original; NumPy keeps its stream as it is.
    chosen = np.random.RandomState(0).permutation(chosen)
    return Borrowers(
        _locked((features[chosen] - mean) / scale),
        _locked(labels[chosen]),
        _locked(mean),
        _locked(scale),
        source,
    )


# ---------------------------------------------------------------- making people


@lru_cache(maxsize=1)
def make_borrowers(
    seed: int = 0, defaulted: int = DEFAULTED, repaid: int = REPAID
) -> Borrowers:
    """Generate borrowers from a seed: `defaulted` who fell behind, and the first `repaid` who paid back.

    Mean and deviation are those of all people drawn, some 120,000 for the numbers of the original.
    """
    features, labels = draw_people(seed, defaulted)
    return prepare(features, labels, f"generated, seed {seed}", repaid)


def draw_people(seed: int, defaulted: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw people until `defaulted` fell behind; return features (n, 10) in their own units and labels (n,)."""
    uniforms = np.random.Generator(np.random.PCG64((seed, STREAM)))
    features = []
    labels = []
    n_defaulted = 0
    while n_defaulted < defaulted:
        columns = _draw_columns(uniforms)
        features.append(np.column_stack(list(columns.values())))
        defaults = uniforms.random(CHUNK) < default_probability(columns)
        labels.append(defaults.astype(float))
        n_defaulted += int(defaults.sum())
    all_labels = np.concatenate(labels)
    end = np.flatnonzero(all_labels)[defaulted - 1] + 1
    return np.concatenate(features)[:end], all_labels[:end]


def _draw_columns(uniforms):
    """Return {feature: values (CHUNK,)} in the units of the table."""
    hidden = [_bell(uniforms) for _ in range(3)]
    columns = {}
    for name, column in COLUMNS.items():
        own = _bell(uniforms)
        moved = own * column.mixture[3]
        for part, weight in zip(hidden, column.mixture):
            moved = moved + weight * part
        moved = np.clip(moved, -5.9, 5.9)
        values = quantile(LEVELS, column.values, moved)
        columns[name] = np.round(values, column.decimals)
    return columns


def _bell(uniforms):
    """Return roughly normal numbers, mean 0 and deviation 1: sums of four uniforms, the same on every machine."""
    u = uniforms.random((4, CHUNK))
    return (u[0] + u[1] + u[2] + u[3] - 2.0) * 1.7320508


def default_probability(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the probability of falling behind, {feature: values} → (n,), rounded to six decimals.

    The rounding hides differences of `exp` between machines.
    """
    log_odds = INTERCEPT
    for name, column in COLUMNS.items():
        log_odds = log_odds + column.weight * np.minimum(columns[name], column.most)
    return np.round(1 / (1 + np.exp(-log_odds)), 6)
