"""A scorecard as table, text, files and picture, with escaped text of participants."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from pushlab import plots
from pushlab.challenges.scorecard import Scorecard, leaderboard
from pushlab.metrics.push import ResponseTime

NAMES = ("expected", "sampled", "low", "high", "threshold")
RATES = dict(zip(NAMES, (0.5, 0.52, 0.45, 0.59, 0.6)))
METRICS = {
    "performance": 120.0,
    "performance_share": 0.6,
    "expected_performance": 118.123456789,
    "learning_slope": 1.25e-5,
}
CARD = Scorecard(
    agent="thompson",
    challenge=2,
    user="mira",
    period="test",
    judge="truth",
    opening="sampled",
    count=1200,
    seeds=(7, 8),
    metrics=METRICS,
    judges={"truth": RATES, "adaboost": RATES},
)
TIMED = replace(CARD, response=ResponseTime(0.0004, 0.0021))


def with_metrics(agent, **metrics):
    return replace(CARD, agent=agent, metrics={**METRICS, **metrics})


def test_report_has_every_metric_with_its_meaning():
    report = " ".join(TIMED.report().split())
    for words in (
        "learning_slope 1.25e-05",
        "0.500 0.520 [0.450, 0.590] 0.600",
        "median 0.4 ms, 95th percentile 2.1 ms",
    ):
        assert words in report


def test_files_have_the_metrics_and_response_times_a_separate_file(tmp_path):
    names = ["scorecard.json", "scorecard.csv", "response_times.json"]
    assert [path.name for path in TIMED.save(tmp_path)] == names
    saved = json.loads((tmp_path / "scorecard.json").read_text())
    assert saved["metrics"]["expected_performance"] == 118.123457
    assert saved["judges"]["adaboost"] == RATES
    times = json.loads((tmp_path / "response_times.json").read_text())
    assert times["median_seconds"] == 0.0004
    # A later card without response times replaces all three.
    CARD.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[:2])


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "=cmd|' /C calc'!A0"])
def test_text_of_a_participant_is_escaped(text, tmp_path):
    card = replace(CARD, agent=text, notes=(text,))
    assert "<script>" not in card._repr_html_()
    card.save(tmp_path)
    cell = pd.read_csv(tmp_path / "scorecard.csv", index_col=0)["value"]["agent"]
    assert cell.endswith(text) and cell[0] != "="


def test_leaderboard_ranks_by_performance_with_ties():
    scores = {"a": 1.0, "c": 5.0, "b": 5.0}
    board = leaderboard(with_metrics(name, performance=s) for name, s in scores.items())
    expected = [[1, "b"], [1, "c"], [3, "a"]]
    assert board[["rank", "agent"]].values.tolist() == expected


def test_picture_names_agents_and_judges(good_picture):
    cards = [TIMED, with_metrics("random", performance_share=0.4)]
    written = " | ".join(good_picture(plots.scorecard(cards)))
    for words in ("thompson", "random", "true user", "AdaBoost", "0.60"):
        assert words in written, words
