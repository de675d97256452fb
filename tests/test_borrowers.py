"""Borrowers: the generated people, and the preparation of the Kaggle table."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from pushlab.datasets.borrowers import (
    FEATURES,
    LABEL,
    draw_people,
    load_borrowers,
    read_borrowers,
)
from pushlab.utils.files import data_dir

ROWS = [  # label, then a column for each feature
    [0, 0.1, 40, 0, 0.2, 3000, 5, 0, 1, 0, 0],
    [1, 0.9, 30, 2, 0.5, 2000, 3, 1, 0, 1, 0],
    [0, 0.2, 50, 0, 0.1, "NA", 8, 0, 2, 0, 0],  # left out: the income is missing
    [0, 0.3, 60, 1, 0.4, 5000, 9, 0, 2, 0, 0],
    [1, 0.5, 45, 0, 0.3, 4000, 6, 0, 1, 2, 0],
    [0, 0.7, 35, 3, 0.0, 9000, 4, 0, 1, 0, 0],
]


def test_standard_people_are_those_of_the_datasheet():
    people = load_borrowers()
    assert people.table.shape == (18_357, 11)
    assert people.labels.sum() == 8_357
    defaulted = people.features[people.labels == 1]
    assert people.means[1] == pytest.approx(defaulted.mean(axis=0))
    features, labels = draw_people(seed=0, defaulted=8_357)
    assert features.shape == (119_401, 10)
    digest = hashlib.sha256(features.tobytes() + labels.tobytes()).hexdigest()
    assert digest in (data_dir() / "credit" / "README.md").read_text()


def test_preparation_by_hand(tmp_path):
    """Rows with NA are dropped; the others are scaled, balanced and shuffled as in WhyNot."""
    table = pd.DataFrame(ROWS, columns=[LABEL, *FEATURES])
    path = tmp_path / "people.csv"
    table.to_csv(path)
    people = read_borrowers(path)
    complete = table.drop(index=2).astype(float).to_numpy()
    scaled = complete[:, 1:-1] - complete[:, 1:-1].mean(axis=0)
    scaled /= scaled.std(axis=0)
    # First the two who defaulted, then the others.
    order = np.array([1, 3, 0, 2, 4])[np.random.RandomState(0).permutation(5)]
    assert people.features[:, :-1] == pytest.approx(scaled[order])
    assert (people.features[:, -1] == 0).all()  # a column without variation
    assert people.labels.tolist() == complete[order, 0].tolist()
    incomes = people.frame()["MonthlyIncome"].tolist()
    assert incomes == pytest.approx(complete[order, 5].tolist())
