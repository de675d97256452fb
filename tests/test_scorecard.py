"""A scorecard as table, files and picture; nothing of a participant's text does anything in them."""

import json
from dataclasses import replace
from itertools import combinations

import pandas as pd
import pytest
from matplotlib.text import Text

from pushlab import plots
from pushlab.challenges.scorecard import MEANING, Scorecard, csv_text, leaderboard
from pushlab.metrics.push import ResponseTime


def make_card(agent="thompson", performance=120.0, share=0.6, judges=("truth", "logistic", "adaboost", "tree", "bayes"),
              **more):
    metrics = {"performance": performance, "performance_share": share, "expected_performance": 118.123456789,
               "regret": 0.2, "click_through_rate": 0.5, "panel_click_through_rate": 0.55, "coverage": 0.8,
               "evenness": 0.7, "plausibility": 1.0, "learning_slope": 1e-5, "settled_step": 400.0}
    rate = {"expected": 0.5, "sampled": 0.52, "low": 0.45, "high": 0.59, "threshold": 0.6}
    rates = dict.fromkeys(judges, rate)
    return Scorecard(agent, 2, "mira", "test", "truth", "sampled", 200, (7,), metrics, rates, **more)


def shown_words(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text().strip()]


def assert_good_picture(figure):
    """Words are large enough, stay on the sheet and do not touch; the file is small."""
    figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    boxes = [text.get_window_extent() for text in texts]
    width, height = figure.canvas.get_width_height()
    assert min(text.get_size() for text in texts) >= 8.5
    assert all(box.x0 >= 4 and box.y0 >= 4 and box.x1 <= width - 4 and box.y1 <= height - 4 for box in boxes)
    assert [(one.get_text(), other.get_text()) for (one, a), (other, b) in combinations(zip(texts, boxes), 2)
            if min(a.x1, b.x1) > max(a.x0, b.x0) and min(a.y1, b.y1) > max(a.y0, b.y0) + 3] == []
    assert len(plots.png(figure)) < 150_000


TIMED = make_card(response=ResponseTime(0.0004, 0.0021), reported=True)


def test_every_metric_says_what_it_means():
    assert set(make_card().metrics) <= set(MEANING)
    assert make_card().table["meaning"].str.len().gt(0).all()


def test_what_is_saved_is_the_same_again_and_keeps_response_times_apart(tmp_path):
    paths = TIMED.save(tmp_path / "a")
    make_card().save(tmp_path / "b")
    assert [path.name for path in paths] == ["scorecard.json", "scorecard.csv", "response_times.json"]
    for name in ("scorecard.json", "scorecard.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert "0.0021" not in (tmp_path / "a" / name).read_text()
    times = json.loads((tmp_path / "a" / "response_times.json").read_text())
    assert times["p95_seconds"] == 0.0021 and times["measured_by"] == "the participant"
    saved = json.loads((tmp_path / "a" / "scorecard.json").read_text())
    assert saved["metrics"]["expected_performance"] == 118.123457 and saved["judges"]["tree"]["low"] == 0.45
    table = pd.read_csv(tmp_path / "a" / "scorecard.csv", index_col=0)["value"]
    assert float(table["coverage"]) == 0.8 and float(table["click_through_rate.bayes.threshold"]) == 0.6


def test_a_new_scorecard_replaces_the_old_one_with_its_response_times(tmp_path):
    TIMED.save(tmp_path)
    make_card(performance=1.0).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scorecard.csv", "scorecard.json"]
    assert json.loads((tmp_path / "scorecard.json").read_text())["metrics"]["performance"] == 1


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "=cmd|' /C calc'!A0", "+1", "@SUM(A1)", "-2"])
def test_words_of_a_participant_stay_words(text, tmp_path):
    card = make_card(agent=text, notes=(text,))
    assert "<script>" not in card._repr_html_()
    card.save(tmp_path)
    cell = pd.read_csv(tmp_path / "scorecard.csv", index_col=0)["value"]["agent"]
    assert cell.endswith(text) and cell[0] not in "=+-@"
    assert json.loads((tmp_path / "scorecard.json").read_text())["agent"] == text


def test_numbers_are_not_taken_for_formulas():
    assert csv_text([(-1.5, "-1.5")]) == "-1.5,'-1.5\n"


def test_a_leaderboard_ranks_by_performance_and_equal_ones_share_a_rank():
    board = leaderboard([make_card("a", 1.0), make_card("c", 5.0), make_card("b", 5.0), make_card("d", -3.0)])
    assert board[["rank", "agent"]].values.tolist() == [[1, "b"], [1, "c"], [3, "a"], [4, "d"]]
    assert leaderboard([]).empty


def test_a_share_that_is_unknown_is_said_to_be(tmp_path):
    card = make_card(share=None)
    assert "unknown" in card.report() and "unknown" in card._repr_html_()
    card.save(tmp_path)
    assert json.loads((tmp_path / "scorecard.json").read_text())["metrics"]["performance_share"] is None
    assert_good_picture(plots.scorecard(card))


# ---------------------------------------------------------------- the picture

@pytest.mark.parametrize("cards", [
    [make_card()], [make_card(), make_card("random", share=-0.3)], [make_card("random")],
    [make_card(name) for name in ("a name that goes on and on, for ever and a day", "$5 or $6", "你好", "", "e", "f")],
    [make_card(judges=("logistic", "tree")), make_card("random", judges=("logistic", "tree"))],
    [replace(TIMED, metrics={**TIMED.metrics, "enticement": 0.4, "performance_share": 1.0}), TIMED],
])
@pytest.mark.parametrize("times", [False, True])
def test_the_picture_is_whole(cards, times):
    assert_good_picture(plots.scorecard(cards, times=times))


def test_the_picture_says_what_was_reached_and_names_every_judge():
    words = shown_words(plots.scorecard([make_card(), make_card("random", share=0.4)]))
    assert "thompson reaches 0.60 of the best possible, random 0.40" in words
    assert {"true user", "logistic", "AdaBoost", "tree", "naive Bayes", "random", "0.60", "0.80"} <= set(words)


def test_names_of_agents_are_whole_on_one_line_or_two():
    names = ("offline model", "random", "most opened", "a model with a longer name")
    figure = plots.scorecard([make_card(name) for name in names])
    assert " ".join(names) in " ".join(shown_words(figure))
    assert_good_picture(figure)


def test_response_times_are_drawn_only_where_asked_for():
    assert "response time" not in shown_words(plots.scorecard(TIMED))
    words = shown_words(plots.scorecard(TIMED, times=True))
    assert "2.1 ms" in words and "p95, reported; bar ends at 5 ms" in words


def test_chance_is_among_the_agents_shown_however_many_there_are():
    cards = [make_card(name) for name in "abcdefg"] + [make_card("random", share=0.1)]
    assert "random" in shown_words(plots.scorecard(cards))


def test_the_table_holds_what_is_drawn():
    table = plots.scorecard_table([make_card(), make_card("random", share=0.4)])
    row = table[(table["agent"] == "random") & (table["metric"] == "performance")]
    assert row["value"].item() == 0.4
    assert table[table["metric"] == "opened by naive Bayes"]["low"].tolist() == [0.45, 0.45]


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="no scorecard"):
        plots.scorecard([])


# ---------------------------------------------------------------- files

def test_what_cannot_be_written_leaves_the_old_file_and_no_scraps(tmp_path, monkeypatch):
    from pushlab.ground import files

    for write, old, new in ((files.write_text, "old\n", "neu\n"), (files.write_bytes, b"old", b"new")):
        path = tmp_path / write.__name__ / "deep" / "a.txt"
        assert write(str(path), old) == path
        with monkeypatch.context() as patch:
            def fail(*_):
                raise OSError("the disk is full")

            patch.setattr("os.replace", fail)
            with pytest.raises(OSError, match="full"):
                write(path, new)
        assert path.read_bytes() == (old if isinstance(old, bytes) else old.encode())
        assert [one.name for one in path.parent.iterdir()] == ["a.txt"]
        write(path, new)
        assert path.read_bytes() == (new if isinstance(new, bytes) else new.encode())


def test_text_is_written_as_it_is_in_utf_8(tmp_path):
    from pushlab.ground.files import write_text

    assert write_text(tmp_path / "a.csv", "é\r\nü\n").read_bytes() == "é\r\nü\n".encode()
