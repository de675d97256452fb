"""Borrowers: the generated ones, and the reader of the Kaggle table."""

import hashlib

import numpy as np
import pytest

from pushlab.datasets.borrowers import (
    FEATURES,
    LABEL,
    default_probability,
    draw_people,
    load_borrowers,
    make_borrowers,
    read_borrowers,
    write_borrowers,
)
from pushlab.ground.faults import BadData
from pushlab.ground.files import data_dir

ROWS = [            # label, then a column for each feature
    [0, 0.1, 40, 0, 0.2, 3000, 5, 0, 1, 0, 0],
    [1, 0.9, 30, 2, 0.5, 2000, 3, 1, 0, 1, 2],
    [0, 0.2, 50, 0, 0.1, "NA", 8, 0, 2, 0, 1],      # left out: no income
    [0, 0.3, 60, 1, 0.4, 5000, 9, 0, 2, 0, 0],
    [1, 1.0, 25, 0, 0.6, 1000, 2, 2, 0, 0, ""],     # left out: no dependents
    [1, 0.5, 45, 0, 0.3, 4000, 6, 0, 1, 2, 3],
    [0, 0.7, 35, 3, 0.0, 9000, 4, 0, 1, 0, 1],
]


def write_table(path, rows=ROWS, header=("", LABEL, *FEATURES), index=True):
    lines = [",".join(header if index else header[1:])]
    lines += [",".join(map(str, [number, *row] if index else row)) for number, row in enumerate(rows, 1)]
    path.write_text("\n".join(lines) + "\n")
    return path


# ---------------------------------------------------------------- the generated people

def test_the_standard_people_have_the_originals_shape_and_classes():
    people = load_borrowers()
    assert people.table.shape == (18_357, 11) and people.labels.sum() == 8_357
    assert people.population == 119_401
    assert (people.table[:, -1] == 1).all() and people.table.dtype == np.float64


def test_the_standard_file_is_the_one_the_datasheet_describes(tmp_path):
    told = (data_dir() / "credit" / "README.md").read_text()
    raw = write_borrowers(tmp_path / "cs-training.csv").read_bytes()
    assert hashlib.sha256(raw).hexdigest() in told and f"{len(raw):,}" in told
    assert f"{len(raw.splitlines()) - 1:,} people" in told


def test_people_are_the_same_from_the_seed_and_from_the_file_written_of_it(tmp_path):
    made = make_borrowers(4, 150, 200)
    read = read_borrowers(write_borrowers(tmp_path / "people.csv", 4, 150), repaid=200)
    assert np.array_equal(made.features, read.features) and np.array_equal(made.labels, read.labels)
    assert not np.array_equal(made.features, make_borrowers(5, 150, 200).features)


def test_distributions_are_near_those_of_the_kaggle_table():
    """Medians and shares as they are commonly quoted for the competition's training table, rows with NA left out."""
    features, labels = draw_people(0, 3000)
    column = dict(zip(FEATURES, features.T))
    assert 0.06 < labels.mean() < 0.08
    assert np.median(column["age"]) == pytest.approx(51, abs=1)
    assert np.median(column["MonthlyIncome"]) == pytest.approx(5400, rel=0.03)
    assert np.median(column["RevolvingUtilizationOfUnsecuredLines"]) == pytest.approx(0.18, abs=0.02)
    assert np.mean(column["NumberOfTimes90DaysLate"] == 0) == pytest.approx(0.944, abs=0.01)
    assert np.mean(column["NumberRealEstateLoansOrLines"] == 0) == pytest.approx(0.361, abs=0.03)
    assert all((values >= 0).all() for values in column.values())


def test_whoever_was_late_or_uses_all_credit_falls_behind_more_often():
    features, labels = draw_people(1, 3000)
    column = dict(zip(FEATURES, features.T))
    for name in ("RevolvingUtilizationOfUnsecuredLines", "NumberOfTime30-59DaysPastDueNotWorse",
                 "NumberOfTimes90DaysLate", "NumberOfTime60-89DaysPastDueNotWorse", "DebtRatio"):
        assert np.corrcoef(column[name], labels)[0, 1] > 0.05, name
    for name in ("age", "MonthlyIncome"):
        assert np.corrcoef(column[name], labels)[0, 1] < -0.03, name


def test_labels_come_with_the_stated_probability():
    features, labels = draw_people(2, 5000)
    stated = default_probability(dict(zip(FEATURES, features.T)))
    for low, high in ((0.0, 0.02), (0.02, 0.1), (0.1, 0.4), (0.4, 1.0)):
        among = (stated >= low) & (stated < high)
        spread = np.sqrt((stated[among] * (1 - stated[among])).sum()) / among.sum()
        assert abs(labels[among].mean() - stated[among].mean()) < 4 * spread


@pytest.mark.parametrize("kwargs, words", [({"seed": -1}, "seed is a whole number"), ({"seed": True}, "seed is"),
                                           ({"defaulted": 0}, "defaulted is a whole number of people"),
                                           ({"defaulted": 10, "repaid": 10**6}, "must not be more")])
def test_a_generator_that_is_asked_for_nonsense_says_so(kwargs, words):
    with pytest.raises(ValueError, match=words):
        make_borrowers(**kwargs)


def test_nobody_can_change_the_people_by_accident():
    people = load_borrowers()
    for array in (people.features, people.labels, people.columns, people.table, people.means, people.sums):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


# ---------------------------------------------------------------- the real file

@pytest.mark.parametrize("index", [True, False])
def test_preparation_by_hand(tmp_path, index):
    """Rows with NA go, features are scaled over whoever is left, then the classes are balanced and shuffled."""
    people = read_borrowers(write_table(tmp_path / "t.csv", index=index), repaid=2)
    left = np.array([ROWS[at] for at in (0, 1, 3, 5, 6)], float)
    scaled = (left[:, 1:] - left[:, 1:].mean(axis=0)) / left[:, 1:].std(axis=0)
    order = np.random.RandomState(0).permutation(4)
    expected = scaled[[1, 3, 0, 2]][order]          # both who fell behind, then the first two who did not
    assert people.features == pytest.approx(expected, abs=1e-12)
    assert people.labels.tolist() == np.array([1.0, 1.0, 0.0, 0.0])[order].tolist()
    assert people.population == 5 and people.source == "t.csv"
    frame = people.frame()
    assert sorted(frame["MonthlyIncome"].round(6)) == [2000, 3000, 4000, 5000] and frame.columns[0] == LABEL


def test_a_column_that_is_the_same_for_all_becomes_zero(tmp_path):
    rows = [[*row[:10], 0] for row in ROWS]
    assert (read_borrowers(write_table(tmp_path / "t.csv", rows)).features[:, 9] == 0).all()


def test_a_missing_file_says_what_is_looked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match="GiveMeSomeCredit"):
        load_borrowers(tmp_path / "cs-training.csv")


@pytest.mark.parametrize("row, column, value, right", [
    (1, LABEL, "2", "0 or 1"), (3, LABEL, "NA", "cs-test.csv has no answers"), (2, "age", "forty", "0 or more, or NA"),
    (4, "MonthlyIncome", "-5", "0 or more, or NA"), (6, "DebtRatio", "inf", "0 or more, or NA")])
def test_a_wrong_value_is_named_with_file_row_and_column(tmp_path, row, column, value, right):
    rows = [list(one) for one in ROWS]
    rows[row][(LABEL, *FEATURES).index(column)] = value
    with pytest.raises(BadData) as error:
        read_borrowers(write_table(tmp_path / "t.csv", rows))
    fault, = error.value.faults
    assert (fault.file, fault.row, fault.column, fault.value) == ("t.csv", row + 2, column, value)
    assert right in fault.right


def test_all_faults_are_told_at_once(tmp_path):
    rows = [list(one) for one in ROWS]
    rows[0][2], rows[3][5], rows[6][0] = "x", "y", "7"
    with pytest.raises(BadData, match="3 faults"):
        read_borrowers(write_table(tmp_path / "t.csv", rows))


def test_a_missing_column_and_a_torn_row_are_named(tmp_path):
    with pytest.raises(BadData, match="DebtRatio.*missing"):
        read_borrowers(write_table(tmp_path / "t.csv", header=("", LABEL, *FEATURES[:3], "Debt", *FEATURES[4:])))
    path = write_table(tmp_path / "t.csv")
    path.write_text(path.read_text() + "8,0,0.1\n")
    with pytest.raises(BadData, match="row 9: the row has 3 fields"):
        read_borrowers(path)


def test_a_table_without_one_of_the_classes_cannot_be_used(tmp_path):
    for label, who in ((1, "fell behind"), (0, "paid back")):
        with pytest.raises(BadData, match=who):
            read_borrowers(write_table(tmp_path / "t.csv", [row for row in ROWS if row[0] != label]))
