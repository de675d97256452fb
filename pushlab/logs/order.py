"""Whether a lifetime is in order: blocks, phases and the numbers of experiences count up, its measure is finite.

While a log is read each row carries the file and the line that it comes from, so that faults name them.
"""

import numpy as np

from pushlab.ground.faults import BadData, Fault
from pushlab.logs.tables import THEIRS

FILE, LINE = "its file", "its line"            # columns while a log is read


def in_order(log):
    """Blocks in their order, and what workers lived side by side by its numbers; in a block with training and tests
    in two folders comes first what has the lower numbers."""
    if (np.diff(log["block"]) >= 0).all() and not _shared(log):
        return log
    begins = log.groupby(["block", "block_type"])["episode"].transform("min")
    order = np.lexsort((log["episode"] if _shared(log) else np.arange(len(log)), begins, log["block"]))
    return log.iloc[order].reset_index(drop=True)


def _shared(log):
    """Whether a block comes from several files: of several workers, or of training and tests."""
    firsts = log[[FILE, "block"]].drop_duplicates()
    return len(firsts) > firsts["block"].nunique()


def find_disorder(log, numbered):
    """Faults where blocks, their experiences or their phases do not count up.

    numbered  the numbers of experiences count through the whole lifetime, as L2Logger's do
    """
    faults = []
    if log[FILE].nunique() == 1:
        faults += _steps_back(log, "block", np.ones(max(len(log) - 1, 0), bool))
    rows = log.assign(place=np.arange(len(log)))
    blocks = rows.groupby("block")[["episode", "place"]].agg({"episode": ["min", "max"], "place": "min"})
    lowest, highest, place = blocks.to_numpy().T
    for at in np.flatnonzero(lowest[1:] < np.maximum.accumulate(highest)[:-1]) + 1 if numbered else ():
        first = log.iloc[place[at]]
        faults.append(Fault(first[FILE], first[LINE], THEIRS["episode"], str(lowest[at]),
                            f"{highest[:at].max()} or more: block {blocks.index[at]} was lived before one that counts "
                            "as earlier; blocks are out of order"))
    return faults + _find_phases_back(log)


def _find_phases_back(log):
    """Faults where phases such as 1.train and 1.test, each of one block, do not come in their order."""
    turns = log.drop_duplicates(["block", "phase"])
    parts = turns["phase"].astype(str).str.extract(r"^(\d+)\.(train|test)$")
    if parts.isna().any(axis=None) or turns["phase"].duplicated().any() or turns["block"].duplicated().any():
        return []           # other names, or labels that several blocks share: they say nothing of order
    order = 2 * parts[0].astype(int).to_numpy() + (parts[1] == "test").to_numpy()
    return [Fault(turns[FILE].iat[at], turns[LINE].iat[at], "phase", turns["phase"].iat[at],
                  f"a phase after {turns['phase'].iat[at - 1]}: phases are out of order")
            for at in np.flatnonzero(order[1:] < order[:-1]) + 1]


def find_steps_back(log):
    """Faults where the numbers of experiences go back within a regime."""
    return _steps_back(log, "episode", np.diff(log["regime"]) == 0)


def _steps_back(log, column, goes_on):
    values = log[column].to_numpy()
    named = THEIRS[column] if FILE in log else column
    back = np.flatnonzero((values[1:] < values[:-1]) & goes_on) + 1
    return [Fault(log[FILE].iat[row] if FILE in log else "log", log[LINE].iat[row] if FILE in log else int(row),
                  named, str(values[row]), f"{values[row - 1]} or more: {column}s are out of order",
                  "row" if FILE in log else "item") for row in back]


def demand_order(log):
    """Blocks count up, and experiences within a regime; BadData naming the rows where they do not."""
    faults = _steps_back(log, "block", np.ones(max(len(log) - 1, 0), bool)) + find_steps_back(log)
    if faults:
        raise BadData(faults)


def without_infinite(log, measure):
    """The rows whose measure is a finite number or missing, and a fault for each other row."""
    infinite = np.isinf(log[measure].to_numpy(float, na_value=np.nan))
    if not infinite.any():
        return log, []
    faults = [Fault(log[FILE].iat[row] if FILE in log else "log", log[LINE].iat[row] if FILE in log else int(row),
                    measure, str(log[measure].iat[row]), "a finite number, or empty", "row" if FILE in log else "item")
              for row in np.flatnonzero(infinite)]
    return log[~infinite].reset_index(drop=True), faults


def demand_finite(log, measure):
    """A measure is finite or missing; BadData naming the rows where it is not."""
    faults = without_infinite(log, measure)[1]
    if faults:
        raise BadData(faults)
