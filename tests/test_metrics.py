"""Metrics of notifications and recommendations against values worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from pushlab.metrics import push, rec

HISTORY = [["chat", "low", "me"], ["mail", "low", "me"], ["news", "high", "me"]]
SENT = [["chat", "low", "me"], ["mail", "urgent", "me"], ["mail", "odd", "me"]]
# Entropy of one "chat" and two "mail" over log 3; three different priorities fill 3.
UNEVEN = (np.log(3) - 2 / 3 * np.log(2)) / np.log(3)


@pytest.mark.parametrize(
    ("metric", "arguments", "expected"),
    [
        ("best_performance", ([True, False, False],), 5),
        ("best_performance", ([True, False], [0.9, 0.25]), 0.8 + 0.5),
        ("expected_points", ([True, False], [0.9, 0.25]), [0.8, 0.5]),
        ("click_through_rate", ([True, False, False, False],), 0.25),
        ("coverage", (SENT, HISTORY), (2 + 1 + 1) / 6),
        ("coverage", (SENT, HISTORY, "gym-push-0.0.21"), (2 + 3 + 1) / 6),
        ("coverage", ([], HISTORY), 0),
        ("evenness", (SENT, HISTORY), (UNEVEN + 1) / 2),
        ("evenness", ([], HISTORY), 0),
        ("plausibility", ([[0, 1], [0, 1], [0, 2], [9, 9]], [[0, 1], [5, 5]]), 0.5),
        ("response_time", (np.arange(1, 101),), (50.5, 95)),
        ("response_time", ([0.0],), (0, 0)),
        # Smoothed over two: 0, 0.5, 1, 1, 1, 1, 1 from step 1 on.
        ("learning_rate", ([0, 0, 1, 1, 1, 1, 1, 1], 2), (1 / 7, 3)),
        ("learning_rate", ([1.0] * 9, 3), (0, 2)),
        # The last quarter, 75 to 99, has the mean 87: settled from 87 - 2 * 12 on.
        ("learning_rate", (np.arange(100), 1), (1, 63)),
        ("learning_rate", (-np.arange(101) / 100,), (-0.01, 100)),
    ],
)
def test_push_metrics_have_the_values_worked_out_by_hand(metric, arguments, expected):
    assert getattr(push, metric)(*arguments) == pytest.approx(expected)


def test_coverage_and_evenness_accept_words_codes_and_tables():
    codes = np.array([[0, 0, 0], [1, 0, 0], [2, 1, 0]])
    for metric in (push.coverage, push.evenness):
        expected = metric(HISTORY[:2], HISTORY)
        assert metric(codes[:2], pd.DataFrame(codes)) == expected


@pytest.mark.parametrize(
    ("metric", "arguments", "message"),
    [
        ("performance", ([True], [True, False]), "same length"),
        ("expected_points", ([True], [1.5]), "from 0 to 1; got 1.5"),
        ("coverage", ([[np.nan]], [["a"]]), "missing"),
        ("enticement", (["low", "much"],), "low, moderate, high; got 'much'"),
    ],
)
def test_invalid_notification_data_raise_value_errors(metric, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(push, metric)(*arguments)


ITEMS = [[2.0, 0.0], [0.0, 1.0], [3.0, 4.0]]


def test_directions_of_preferences_and_items_are_measured_whatever_their_length():
    preferences = [[1.0, 0.0], [-5.0, 5.0], [0.0, 0.1]]
    assert rec.polarisation(preferences, ITEMS[:2]) == pytest.approx([1, 0.5**0.5, 1])
    assert rec.angle_from_start(preferences) == pytest.approx([0, 135, 90])
    # The pairs of items 0 and 1, 0 and 2, 1 and 2 have the cosines 0, 0.6 and 0.8.
    assert rec.item_diversity([0, 1, 2], ITEMS) == pytest.approx(1 - 1.4 / 3)
    assert rec.item_diversity([2, 2], ITEMS) == pytest.approx(0)


def test_filter_bubble_compares_both_ends_of_each_episode():
    log = pd.DataFrame(
        {
            "agent": "greedy",
            "episode": [0, 0, 1, 1],
            "action": [0, 1, 1, 1],
            "obs.0": [1.0, 9.0, 0.0, 0.0],
            "obs.1": [1.0, 9.0, 2.0, 2.0],
            "info.state.0": [9.0, 0.0, 0.0, 1.0],
            "info.state.1": [9.0, 3.0, 2.0, 1.0],
        }
    )
    found = rec.filter_bubble(log, ITEMS[:2]).set_index("episode")
    half = 0.5**0.5
    measured = ["diversity", "before", "after", "bubble", "angle_from_start"]
    assert found.loc[0, measured].tolist() == pytest.approx([1, half, 1, 1 - half, 45])
    assert found.loc[1, measured].tolist() == pytest.approx([0, 1, half, half - 1, 45])
    with pytest.raises(ValueError, match="no column 'obs.0'"):
        rec.filter_bubble(log.drop(columns="obs.0"), ITEMS)
    with pytest.raises(ValueError, match="as many features"):
        rec.polarisation([[1.0]], ITEMS)
