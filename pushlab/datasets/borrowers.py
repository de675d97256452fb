"""People who borrowed, and whether they paid back: the Kaggle table "Give Me Some Credit", or one made in its shape.

The table has a row a person: eleven columns, of which `SeriousDlqin2yrs` says whether the person fell 90 days behind
within two years. The competition's file `cs-training.csv` is free to download and not free to pass on, so it is not
here; `make_borrowers` makes people in its shape, with the truth about who falls behind. Either way the same steps
follow, those of WhyNot 0.12: rows with a missing value are left out, features get mean 0 and deviation 1, the classes
are balanced, the order is shuffled.

>>> people = load_borrowers()
>>> len(people), people.features.shape, int(people.labels.sum())
(18357, (18357, 10), 8357)

Three things nobody records stand behind a person who is made: age, means and strain. They, and chance of its own, move
each column, whose distribution is a table of quantiles; the columns then say how likely it is that the person falls
behind.

>>> people = make_borrowers(seed=1, defaulted=200, repaid=300)
>>> len(people), people.source
(500, 'generated, seed 1')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pushlab.datasets.draws import quantile
from pushlab.datasets.tables import Source, read_numbers, read_table
from pushlab.ground.arguments import demand, whole
from pushlab.ground.faults import BadData, Fault, blame, refuse
from pushlab.ground.files import write_text

if TYPE_CHECKING:
    import pandas as pd


class Column(NamedTuple):
    """A feature of a person, and how it is made.

    words     a short name, for pictures
    mixture   how far age, means, strain and chance of its own move it, in deviations; squares add up to about 1
    values    what it is at the deviations LEVELS, with straight lines between, then rounded to `decimals`
    weight    what a unit of it adds to the log-odds of falling behind; it counts up to `most`
    """

    words: str
    mixture: tuple[float, ...]
    values: tuple[float, ...]
    weight: float
    most: float
    decimals: int = 0


LEVELS = (-6.0, -2.33, -1.64, -0.67, 0.0, 0.67, 1.28, 1.64, 2.33, 3.09, 6.0)
COLUMNS = {
    "RevolvingUtilizationOfUnsecuredLines": Column(  # share of the limit
        "credit used",
        (-0.28, -0.10, 0.62, 0.72),
        (0, 0, 0, 0.035, 0.18, 0.58, 0.97, 1.0, 1.09, 1.3, 1.5),
        2.00,
        1.5,
        decimals=4,
    ),
    "age": Column(  # years
        "age",
        (1.00, 0.00, 0.00, 0.00),
        (21, 24, 29, 40, 51, 61, 71, 76, 86, 92, 103),
        -0.018,
        120,
    ),
    "NumberOfTime30-59DaysPastDueNotWorse": Column(  # times
        "30 days late",
        (-0.05, 0.05, 0.60, 0.79),
        (0, 0, 0, 0, 0, 0, 0.8, 1.5, 3.4, 6, 12),
        0.50,
        4,
    ),
    "DebtRatio": Column(  # share of income
        "debt ratio",
        (-0.05, 0.35, 0.25, 0.90),
        (0, 0, 0.005, 0.14, 0.30, 0.48, 0.76, 1.13, 2.4, 5, 9),
        0.35,
        2.5,
        decimals=4,
    ),
    "MonthlyIncome": Column(  # dollars a month
        "income",
        (0.15, 0.65, -0.10, 0.74),
        (0, 400, 1300, 3400, 5400, 8250, 11700, 14600, 25000, 60000, 120000),
        -0.00006,
        15_000,
    ),
    "NumberOfOpenCreditLinesAndLoans": Column(  # lines
        "credit lines",
        (0.22, 0.50, -0.10, 0.83),
        (0, 1, 2, 5, 8, 11, 15, 18, 25, 34, 50),
        0.025,
        30,
    ),
    "NumberOfTimes90DaysLate": Column(  # times
        "90 days late",
        (-0.05, -0.12, 0.66, 0.74),
        (0, 0, 0, 0, 0, 0, 0, 0.6, 2.6, 5, 11),
        1.00,
        3,
    ),
    "NumberRealEstateLoansOrLines": Column(  # loans
        "real estate loans",
        (0.12, 0.66, -0.08, 0.74),
        (0, 0, 0, 0, 1, 1.7, 2.2, 2.8, 5, 9, 18),
        0.10,
        6,
    ),
    "NumberOfTime60-89DaysPastDueNotWorse": Column(  # times
        "60 days late",
        (-0.05, -0.05, 0.62, 0.78),
        (0, 0, 0, 0, 0, 0, 0, 0.55, 1.7, 3.5, 8),
        0.70,
        3,
    ),
    "NumberOfDependents": Column(  # people
        "dependents",
        (-0.30, 0.22, 0.10, 0.92),
        (0, 0, 0, 0, 0, 1.6, 2.6, 3.2, 4.3, 6, 10),
        0.08,
        6,
    ),
}
INTERCEPT = -3.45  # of the log-odds of falling behind

LABEL, FEATURES = "SeriousDlqin2yrs", tuple(COLUMNS)
WORDS = tuple(column.words for column in COLUMNS.values())
BIAS = "bias"
MISSING = (
    "NA",
    "",
)  # how the competition's file, and what reads and writes it, say that nothing is known
REPAID = 10_000  # of those who paid back so many are kept
DEFAULTED = 8_357  # who fell behind in the original, after rows with a missing value have been left out
CHUNK = 25_000  # people made at once; part of what a seed means
STREAM = (
    101  # keeps these numbers apart from those of the synthetic users of the same seed
)


@dataclass(frozen=True, eq=False)
class Borrowers:
    """People, ready for a classifier; all arrays are float64 and read-only.

    features    (n, 10) in the order of FEATURES, in standard units: mean 0 and deviation 1 over everyone who was read
    labels      (n,) 1 for those who fell behind, 0 for those who paid back
    mean, scale  (10,) what a feature's standard units were made of
    source      where they come from, in words
    population  how many people mean and scale are of, before the classes were balanced
    """

    features: np.ndarray
    labels: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    source: str
    population: int

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def columns(self) -> np.ndarray:
        """The features a row each, (10, n): what a loop over people reads fastest."""
        return _locked(np.ascontiguousarray(self.features.T))

    @cached_property
    def table(self) -> np.ndarray:
        """The features with a column of ones behind them, (n, 11): the original's table."""
        return _locked(np.column_stack([self.features, np.ones(len(self))]))

    @cached_property
    def means(self) -> np.ndarray:
        """Mean features of those who paid back and of those who did not, (2, 10)."""
        return _locked(
            np.array(
                [self.features[self.labels == label].mean(axis=0) for label in (0, 1)]
            )
        )

    @cached_property
    def sums(self) -> np.ndarray:
        """Sum of the features of those who fell behind, (10,)."""
        return _locked(self.columns @ self.labels)

    def frame(self) -> pd.DataFrame:
        """The people in the units of the original columns, a DataFrame with the label first."""
        import pandas as pd

        frame = pd.DataFrame(self.features * self.scale + self.mean, columns=FEATURES)
        frame.insert(0, LABEL, self.labels.astype(int))
        return frame


def _locked(array):
    array.flags.writeable = False
    return array


# ---------------------------------------------------------------- reading


def load_borrowers(where: Path | str | Borrowers | None = None) -> Borrowers:
    """Borrowers: None for the 18,357 generated ones, a path to a table like `cs-training.csv`, or themselves."""
    if isinstance(where, Borrowers):
        return where
    if where is None:
        return _generated()
    demand(
        isinstance(where, (str, Path)),
        f"people is None, a path of a table like cs-training.csv, or Borrowers; got {where!r:.60}",
    )
    return read_borrowers(where)


@lru_cache(maxsize=1)
def _generated():
    return make_borrowers()


def read_borrowers(
    path: Path | str, repaid: int | None = REPAID, seed: int = 0
) -> Borrowers:
    """Reads `cs-training.csv` of the Kaggle competition, or another table of its columns, as WhyNot 0.12 does.

    path     CSV with a header: an index without a name (it may be missing), SeriousDlqin2yrs and the ten FEATURES;
             NA or nothing where a feature is not known
    repaid   of those who paid back the first so many are kept, 10,000 as in the original; None keeps all
    seed     of the shuffle
    Raises   FileNotFoundError if there is no such file, BadData with every fault: file, row, column, value and what
             would have been right
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file {str(path)!r}; cs-training.csv is the training table of Kaggle's "
            f"competition GiveMeSomeCredit"
        )
    file, columns = path.name, {name: name for name in (LABEL, *FEATURES)}
    table, faults = read_table(
        Source(path.parent, links=True), file, columns, optional={"": None}
    )
    if table is None:
        raise BadData(faults)
    lines, table = (
        table[f"line of {file}"],
        table[list(columns)].apply(lambda texts: texts.str.strip()),
    )
    labels, features = read_numbers(table[LABEL], LABEL, file, lines, "0 or 1")[0], []
    right = "0 or 1 (cs-test.csv has no answers; read cs-training.csv)"
    faults = blame(file, lines, LABEL, table[LABEL], ~np.isin(labels, (0, 1)), right)
    for name in FEATURES:
        numbers, bad = read_numbers(
            table[name],
            name,
            file,
            lines,
            "a number of 0 or more, or NA",
            unknown=MISSING,
        )
        features.append(numbers)
        faults += bad
    refuse(faults)
    return prepare(
        np.column_stack(features), labels, source=file, repaid=repaid, seed=seed
    )


def prepare(
    features: np.ndarray,
    labels: np.ndarray,
    source: str,
    repaid: int | None = REPAID,
    seed: int = 0,
) -> Borrowers:
    """Borrowers out of features (n, 10) in their own units and labels (n,): cleaned, scaled, balanced and shuffled.

    Raises BadData if nobody, or nobody of one of the two classes, is left after cleaning.
    """
    known = np.isfinite(features).all(axis=1)
    features, labels = features[known], labels[known]
    for label, who in ((1, "fell behind"), (0, "paid back")):
        if not (labels == label).any():
            raise BadData(
                Fault(
                    source,
                    column=LABEL,
                    right=f"no row without a missing value has {label}; a classifier "
                    f"needs people who {who}",
                )
            )
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1.0
    chosen = np.concatenate(
        [np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)[:repaid]]
    )
    chosen = chosen[
        np.random.RandomState(seed).permutation(len(chosen))
    ]  # a frozen stream, and the original's
    return Borrowers(
        _locked((features[chosen] - mean) / scale),
        _locked(labels[chosen]),
        _locked(mean),
        _locked(scale),
        source,
        len(labels),
    )


# ---------------------------------------------------------------- making people


def make_borrowers(
    seed: int = 0, defaulted: int = DEFAULTED, repaid: int = REPAID
) -> Borrowers:
    """Borrowers drawn from a seed: so many who fell behind, and the first so many of those who paid back.

    Scaled by everyone who was made until then, some 120,000 people for the numbers of the original.
    """
    features, labels = draw_people(seed, defaulted)
    if (labels == 0).sum() < repaid:
        raise ValueError(
            f"there are {int((labels == 0).sum()):,} who paid back for {defaulted:,} who did not; repaid "
            f"must not be more, got {repaid:,}"
        )
    return prepare(features, labels, f"generated, seed {seed}", repaid)


def draw_people(seed: int, defaulted: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, 10) in their own units and labels (n,) of people, up to the last of so many who fell behind."""
    chance = np.random.Generator(np.random.PCG64((whole("seed", seed, 0), STREAM)))
    whole("defaulted", defaulted, 1, 1_000_000, of="people")
    features, labels, so_far = [], [], 0
    while so_far < defaulted:
        columns = _draw_columns(chance)
        features.append(np.column_stack(list(columns.values())))
        labels.append(
            (chance.random(CHUNK) < default_probability(columns)).astype(float)
        )
        so_far += int(labels[-1].sum())
    end = np.flatnonzero(np.concatenate(labels))[defaulted - 1] + 1
    return np.concatenate(features)[:end], np.concatenate(labels)[:end]


def _draw_columns(chance):
    """{feature: values (CHUNK,)} in the units of the table."""
    hidden = [_bell(chance) for _ in range(3)]
    columns = {}
    for name, column in COLUMNS.items():
        own = _bell(chance)
        moved = own * column.mixture[3]
        for part, weight in zip(hidden, column.mixture):
            moved = moved + weight * part
        moved = np.clip(moved, -5.9, 5.9)
        columns[name] = np.round(
            quantile(LEVELS, column.values, moved), column.decimals
        )
    return columns


def _bell(chance):
    """Numbers of mean 0 and deviation 1 that are nearly normal: sums of four uniforms, the same on every machine."""
    u = chance.random((4, CHUNK))
    return (u[0] + u[1] + u[2] + u[3] - 2.0) * 1.7320508


def default_probability(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """How likely each person is to fall behind, {feature: values} → (n,): six decimals, so that no machine's `exp`
    shows in what is drawn from it."""
    log_odds = INTERCEPT
    for name, column in COLUMNS.items():
        log_odds = log_odds + column.weight * np.minimum(columns[name], column.most)
    return np.round(1 / (1 + np.exp(-log_odds)), 6)


def write_borrowers(
    path: Path | str, seed: int = 0, defaulted: int = DEFAULTED
) -> Path:
    """Writes people as `cs-training.csv` has them, an index without a name first; always the same bytes."""
    features, labels = draw_people(seed, defaulted)
    texts = [
        [f"{value:.{column.decimals}f}" for value in values.tolist()]
        for column, values in zip(COLUMNS.values(), features.T)
    ]
    lines = [",".join(["", LABEL, *FEATURES])]
    lines += [
        ",".join(row)
        for row in zip(
            map(str, range(1, len(labels) + 1)), [f"{y:.0f}" for y in labels], *texts
        )
    ]
    return write_text(path, "\n".join(lines) + "\n")
