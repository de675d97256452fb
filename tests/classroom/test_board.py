"""The leaderboard of a class, as content and as a web page."""

import re
import shutil
from contextlib import closing
from functools import partial

import pytest
from small_class import play_constant

from pushlab_classroom import ClassDatabase, new_class
from pushlab_classroom.board import BoardRenderer, page
from pushlab_classroom.session import ClassSession
from pushlab_classroom.standings import standings

EVIL = "=1+1<script>alert(1)</script>"
TEAMS = ["Ada's team", EVIL, "late"]


# An episode of Challenge 2 with one notification.
play = partial(play_constant, game="evalumap2", action=[0] * 7)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Folder and tokens of a class in which two teams have finished 2 and 1 episodes."""
    folder = tmp_path_factory.mktemp("class") / "class"
    settings = {"seed": "board", "episodes": 3, "per_quarter": 100, "days": 1}
    tokens = new_class(folder, TEAMS, **settings, name="<i>Autumn</i>")
    with closing(ClassSession(folder)) as session:
        play(session, tokens[EVIL])
        play(session, tokens["Ada's team"])
        play(session, tokens["Ada's team"])
        play(session, tokens["late"], max_steps=20)
    return folder, tokens


def test_the_board_shows_scores_and_news(played):
    renderer = BoardRenderer(played[0])
    text = renderer.render().decode()
    board = renderer.content()
    assert "&lt;i&gt;Autumn&lt;/i&gt;" in text and "<i>" not in text
    news = "Ada's team finished episode 2 of 3: Challenge 2: the cold start"
    assert board["news"] == news
    scores = standings(ClassDatabase(played[0])).set_index(["game", "team"])["score"]
    for team in TEAMS[:2]:
        assert f"{scores['evalumap2', team]:.2f}" in text


def test_the_score_of_an_open_episode_is_not_shown(played, tmp_path):
    folder = shutil.copytree(played[0], tmp_path / "class")
    boards = []
    for steps in (21, 22):
        with closing(ClassSession(folder)) as session:
            play(session, played[1]["late"], max_steps=steps)
        board = BoardRenderer(folder).content()
        [row] = [row for row in board["games"][1]["teams"] if row["team"] == "late"]
        assert row.pop("playing") == steps
        boards.append(board)
    assert boards[0] == boards[1]


def test_bars_show_scores_on_an_axis_with_zero():
    """The axis reaches a third of the range beyond -1 and 3, so from -7/3 to 13/3."""
    ranks = {"first": 1, "last": 2, "done": 5, "of": 5, "playing": None}
    a = {"team": "a", "score": 3.0, "low": 2.0, "high": 4.0} | ranks
    b = {"team": "b", "score": -1.0, "low": None, "high": None} | ranks
    game = {"game": "push", "title": "Arrivals", "teams": [a, b]}
    board = {
        "as_of": "2026-11-22T22:00:00",
        "class": "class",
        "state": "open",
        "news": "",
    }
    text = page(board | {"games": [game]})
    bars = re.findall(r'class="t0" x="([\d.]+)%" width="([\d.]+)%', text)
    assert [tuple(map(float, bar)) for bar in bars] == [(35, 45), (20, 15)]
    assert "→" not in text
    a["high"] = 5.0
    text = page(board | {"games": [game]})
    assert "[2.0, 5.0 →]" in text and 'x="100%"' in text
