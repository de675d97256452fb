"""People who borrowed, and whether they paid back: the Kaggle table "Give Me Some Credit", or one made in its shape.

The table has a row a person: eleven columns, of which `SeriousDlqin2yrs` says whether the person fell 90 days behind
within two years. The competition's file `cs-training.csv` is free to download and not free to pass on, so it is not
here; `pushlab.datasets.generated_borrowers` makes people in its shape. Either way the same steps follow, those of
WhyNot 0.12: rows with a missing value are left out, features get mean 0 and deviation 1, the classes are balanced, the
order is shuffled.

>>> people = load_borrowers()
>>> len(people), people.features.shape, int(people.labels.sum())
(18357, (18357, 10), 8357)
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from pushlab.datasets.tables import Folder, read_header, read_table
from pushlab.ground.faults import BadData, Fault

LABEL = "SeriousDlqin2yrs"
FEATURES = ("RevolvingUtilizationOfUnsecuredLines", "age", "NumberOfTime30-59DaysPastDueNotWorse", "DebtRatio",
            "MonthlyIncome", "NumberOfOpenCreditLinesAndLoans", "NumberOfTimes90DaysLate",
            "NumberRealEstateLoansOrLines", "NumberOfTime60-89DaysPastDueNotWorse", "NumberOfDependents")
WORDS = ("credit used", "age", "30 days late", "debt ratio", "income", "credit lines", "90 days late",
         "real estate loans", "60 days late", "dependents")      # short names of the features, for pictures
UNITS = ("share of the limit", "years", "times", "share of income", "dollars a month", "lines", "times", "loans",
         "times", "people")
BIAS = "bias"
MISSING = ("NA", "")            # how the competition's file, and what reads and writes it, say that nothing is known
REPAID = 10_000                 # of those who paid back so many are kept


@dataclass(frozen=True, eq=False)
class Borrowers:
    """People, ready for a classifier; all arrays are float64 and read-only.

    features    (n, 10) in the order of FEATURES, in standard units: mean 0 and deviation 1 over everyone who was read
    labels      (n,) 1 for those who fell behind, 0 for those who paid back
    mean, scale (10,) what a feature's standard units were made of
    source      where they come from, in words
    population  how many people mean and scale are of, before the classes were balanced
    """

    features: np.ndarray
    labels: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    source: str
    population: int

    def __len__(self):
        return len(self.labels)

    @cached_property
    def columns(self):
        """The features a row each, (10, n): what a loop over people reads fastest."""
        return _locked(np.ascontiguousarray(self.features.T))

    @cached_property
    def table(self):
        """The features with a column of ones behind them, (n, 11): the original's table."""
        return _locked(np.column_stack([self.features, np.ones(len(self))]))

    @cached_property
    def means(self):
        """Mean features of those who paid back and of those who did not, (2, 10)."""
        return _locked(np.array([self.features[self.labels == label].mean(axis=0) for label in (0, 1)]))

    @cached_property
    def sums(self):
        """Sum of the features of those who fell behind, (10,)."""
        return _locked(self.columns @ self.labels)

    def frame(self):
        """The people in the units of the original columns, a DataFrame with the label first."""
        import pandas as pd

        frame = pd.DataFrame(self.features * self.scale + self.mean, columns=FEATURES)
        frame.insert(0, LABEL, self.labels.astype(int))
        return frame


def _locked(array):
    array.flags.writeable = False
    return array


def load_borrowers(where=None):
    """Borrowers: None for the 18,357 generated ones, a path to a table like `cs-training.csv`, or themselves."""
    if isinstance(where, Borrowers):
        return where
    if where is None:
        return _generated()
    if not isinstance(where, (str, Path)):
        raise ValueError(f"people is None, a path of a table like cs-training.csv, or Borrowers; got {where!r:.60}")
    return read_borrowers(where)


@lru_cache(maxsize=1)
def _generated():
    from pushlab.datasets.generated_borrowers import make_borrowers

    return make_borrowers()


def read_borrowers(path, repaid=REPAID, seed=0):
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
        raise FileNotFoundError(f"there is no file {str(path)!r}; cs-training.csv is the training table of Kaggle's "
                                f"competition GiveMeSomeCredit")
    source = Folder(path.parent)
    columns = {LABEL: LABEL, **{name: name for name in FEATURES}}
    if "" in read_header(source, path.name):
        columns[""] = None
    table, faults = read_table(source, path.name, columns)
    if faults:
        raise BadData(faults)
    return prepare(*_numbers(table, path.name), source=path.name, repaid=repaid, seed=seed)


def _numbers(table, file):
    """Features (n, 10) with NaN where they are not known, and labels (n,); BadData lists what is neither."""
    import pandas as pd

    lines, faults, columns = table[f"line of {file}"].to_numpy(), [], []
    for name in (LABEL, *FEATURES):
        texts = table[name].str.strip()
        numbers = pd.to_numeric(texts, errors="coerce").to_numpy(float, na_value=np.nan)
        if name == LABEL:
            wrong, right = ~np.isin(numbers, (0, 1)), "0 or 1 (cs-test.csv has no answers; read cs-training.csv)"
        else:
            wrong = ~(np.isfinite(numbers) & (numbers >= 0)) & ~texts.isin(MISSING).to_numpy()
            right = "a number of 0 or more, or NA"
        faults += [Fault(file, int(lines[row]), name, texts.iloc[row], right) for row in np.flatnonzero(wrong)]
        columns.append(numbers)
    if faults:
        raise BadData(faults)
    return np.column_stack(columns[1:]), columns[0]


def prepare(features, labels, source, repaid=REPAID, seed=0):
    """Borrowers out of features (n, 10) in their own units and labels (n,): cleaned, scaled, balanced and shuffled.

    Raises BadData if nobody, or nobody of one of the two classes, is left after cleaning.
    """
    known = np.isfinite(features).all(axis=1)
    features, labels = features[known], labels[known]
    for label, who in ((1, "fell behind"), (0, "paid back")):
        if not (labels == label).any():
            raise BadData([Fault(source, None, LABEL, None, f"no row without a missing value has {label}; a classifier "
                                                            f"needs people who {who}")])
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1.0
    chosen = np.concatenate([np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)[:repaid]])
    chosen = chosen[np.random.RandomState(seed).permutation(len(chosen))]     # a frozen stream, and the original's
    return Borrowers(_locked((features[chosen] - mean) / scale), _locked(labels[chosen]), _locked(mean),
                     _locked(scale), source, len(labels))
