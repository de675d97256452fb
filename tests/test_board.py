"""The board of a class: what it tells, what it must not tell, and that nothing of others becomes more than text."""

import asyncio
import base64
import csv
import hashlib
import http.client
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from starlette.requests import Request

from pushlab.classroom import Book, Room, close_class, new_class, running
from pushlab.classroom.page import HEADERS, PAGE, Artist, Board, page
from pushlab.classroom.standings import GAMES, earned, standings
from pushlab.plots import palette

ADA, EVIL, LONG = "Ada's team", "=1+1<script>alert(1)</script>", "The quick brown foxes of the northern hills & dales"


def play(room, token, game, scored, choose, most=10**6):
    """Plays an episode, or its first steps; returns its number."""
    team = room.team_of(token)
    episode, = room.begin(team, game, scored)
    room.load(episode)
    now = room.stand(episode)
    over, step, info = now["over"], now["step"], now["info"]
    while not over and step < most:
        answer, = room.play(team, [(episode, step, choose(info))])
        over, step, info = answer["terminated"], step + 1, answer["info"]
    return episode


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A class in which Ada finished two episodes of Challenge 2, another team one, and all of them began something."""
    folder = tmp_path_factory.mktemp("class") / "class"
    tokens = new_class(folder, [ADA, EVIL, LONG, "nobody"], seed="board", episodes=3, per_quarter=100, days=1,
                       name="<i>Autumn</i>")
    room, chance = Room.open(folder), np.random.default_rng(0)
    candidates = room.describe("evalumap2")["candidates"]

    def any_of(info):
        return candidates[chance.integers(len(candidates))]

    play(room, tokens[EVIL], "evalumap2", True, any_of)
    for _ in range(2):
        play(room, tokens[ADA], "evalumap2", True, lambda info: candidates[3])
    play(room, tokens[ADA], "push", True, lambda info: int(np.flatnonzero(info["action_mask"])[0]))
    left = play(room, tokens[LONG], "evalumap2", True, any_of, most=20)
    play(room, tokens[EVIL], "evalumap2", False, any_of, most=30)
    room.close()
    return folder, tokens, left


def test_scores_are_means_over_finished_episodes_and_one_that_is_played_shows_how_far_it_is(played):
    book = Book(played[0])
    episodes = book.episodes("evalumap2")
    ended = episodes[episodes["scored"] & episodes["finished"].notna()]
    table = standings(book).set_index(["game", "team"]).loc["evalumap2"]
    assert table.loc[ADA, "score"] == pytest.approx((ended["expected"] / ended["best"])[ended["team"] == ADA].mean())
    assert table["done"].to_dict() == {ADA: 2, EVIL: 1, LONG: 0, "nobody": 0} and set(table["of"]) == {3}
    assert table.loc[LONG, "playing"] == 20 and np.isnan(table.loc[LONG, "score"])
    returned, = book.episodes("push")["return"]
    assert standings(book).set_index(["game", "team"]).loc[("push", ADA), "score"] == pytest.approx(returned)
    assert list(standings(book)["game"].unique()) == list(GAMES)


def test_once_the_class_is_closed_an_episode_that_was_left_counts_with_nothing_for_what_was_not_answered(played,
                                                                                                        tmp_path):
    shutil.copytree(played[0], tmp_path / "class")
    close_class(tmp_path / "class")
    book = Book(tmp_path / "class")
    left = book.episodes("evalumap2").set_index("id").loc[played[2]]
    assert left["steps"] == 20 < left["of"]
    table = standings(book).set_index(["game", "team"])
    assert table.loc[("evalumap2", LONG), "score"] == pytest.approx(left["expected"] / left["best"] / 3)
    assert left["best"] > book.steps(played[2])["best"].sum() * 2       # that of the whole episode
    drawn = Artist(tmp_path / "class").draw()["/"].decode()
    assert table["playing"].isna().all() and "playing" not in drawn       # on a closed board nobody plays
    assert "closed, final" in drawn and "all scored episodes, played or not" in drawn


def test_nothing_of_an_episode_that_is_played_tells_what_its_steps_are_worth(played, tmp_path):
    shutil.copytree(played[0], tmp_path / "class")
    room, artist, told = Room.open(tmp_path / "class"), Artist(tmp_path / "class"), []
    action = room.describe("evalumap2")["candidates"][0]
    for steps in (21, 22):
        play(room, played[1][LONG], "evalumap2", True, lambda info: action, steps)
        board = artist.board()
        assert [row.pop("playing") for row in board["games"][1]["teams"] if row["team"] == LONG] == [steps]
        told.append(board)
    room.close()
    assert told[0] == told[1]


def test_what_is_not_finished_is_no_value(played):
    shares = earned(Book(played[0]), "evalumap2")
    assert shares.notna().sum(axis=1).to_dict() == {ADA: 2, EVIL: 1, LONG: 0, "nobody": 0}


class Seen(HTMLParser):
    """What a browser would find: tags, attributes, ids and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.ids, self.text = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_asks_nobody_else_and_runs_nothing_but_its_own(played):
    drawn = Artist(played[0]).draw()["/"].decode()
    seen = Seen(drawn)
    assert seen.tags.count("script") == seen.tags.count("style") == 1 and "i" not in seen.tags
    assert "<i>Autumn</i>" in "".join(seen.text) and EVIL in "".join(seen.text)
    assert not [one for one in seen.attributes if one[1] == "style" or one[1].startswith("on")]
    assert not re.findall(r"(?:src|href|url)\W{1,3}(?:https?:)?//", drawn) and len(set(seen.ids)) == len(seen.ids)
    for kind in ("style", "script"):
        inside = re.search(f"<{kind}>(.*?)</{kind}>", drawn, re.DOTALL)[1]
        told = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{told}'" in HEADERS["Content-Security-Policy"]


def test_files_are_the_same_until_something_changes(played):
    artist = Artist(played[0])
    first = artist.draw()
    assert artist.draw() is first and first["/phone.png"].startswith(b"\x89PNG")
    board = json.loads(first["/board.json"])
    assert board["open"] and board["class"] == "<i>Autumn</i>"
    assert [game["game"] for game in board["games"]] == list(GAMES)
    assert board["news"] == f"{ADA} finished episode 1 of 3: {GAMES['push']}"
    rows = list(csv.DictReader(io.StringIO(first["/board.csv"].decode())))
    assert len(rows) == 12 and {row["team"] for row in rows} == {ADA, f"'{EVIL}", LONG, "nobody"}
    shares = {row["team"]: row["score"] for row in board["games"][1]["teams"]}
    assert {team: line[-1] for team, line in board["games"][1]["curves"].items()} == pytest.approx(
        {team: shares[team] for team in (ADA, EVIL)}, abs=1e-4)


def made_up(teams, game="evalumap2", curves=True, score=lambda place: 0.9 - 0.02 * place):
    """A board of one game, as /board.json has it."""
    rows = [{"game": game, "first": 1, "last": len(teams), "team": team, "score": score(place),
             "low": score(place) - 0.1, "high": score(place) + 0.1, "done": 5, "of": 5, "playing": None}
            for place, team in enumerate(teams)]
    lines = {team: list(np.linspace(0, 1, 40)) for team in teams} if curves else {}
    return {"as_of": "2026-11-22T22:00:00+00:00", "class": "class", "open": True, "news": "",
            "games": [{"game": game, "title": "game", "teams": rows, "curves": lines}]}


@pytest.mark.parametrize("teams, game, score", [
    ([], "evalumap2", None), (["one"], "evalumap2", lambda place: 0.5), (["one"], "push", lambda place: -3.0),
    ([f"team {number} {'x' * 80}" for number in range(40)], "evalumap2", lambda place: 0.9 - 0.02 * place),
    (["Ünïcödé", "你好", "a\u202eb", "\"'><&", "{{ 7 * 7 }}"], "push", lambda place: 0.0),
    (["below", "all"], "evalumap2", lambda place: -4.0 - place)])
def test_a_page_of_any_class_is_whole(teams, game, score):
    seen = Seen(page(made_up(teams, game, game != "push", score), []))
    text = "".join(seen.text)
    assert seen.tags.count("tr") == (len(teams) + 1 if teams else 0) and len(set(seen.ids)) == len(seen.ids)
    assert all(team in text for team in teams) and (teams or "Nobody has played yet" in text)
    places = [float(value[:-1]) for _, name, value in seen.attributes
              if name in ("x", "x1", "x2", "cx", "width", "y", "y1", "y2") and value.endswith("%")]
    assert all(0 <= place <= 100 for place in places)
    assert seen.tags.count("polyline") == (0 if game == "push" else len(teams))


def bars(board):
    """What is drawn in the bars of a page: (names of the parts, {attribute: per cent} of each)."""
    tags = re.findall(r'<(rect|line|circle) ([^>]*)>', page(board, []))
    return [(re.search(r'class="(\w+)"', text), {name: float(value) for name, value in
            re.findall(r'(\w+)="([\d.]+)%"', text)}) for _, text in tags]


def test_a_return_below_nothing_goes_to_the_left_of_a_mark_at_zero_and_a_wide_interval_hides_no_bar():
    board = made_up(["one"], "push", False, lambda place: -1.5)
    board["games"][0]["teams"][0] |= {"low": -70.0, "high": 67.0}
    parts = {name and name[1]: its for name, its in bars(board)}
    bar = parts["t0"]
    assert 0 < bar["x"] and bar["x"] + bar["width"] == pytest.approx(parts["zero"]["x1"], abs=0.1)
    assert 25 < bar["width"] < 90 and "t9" not in parts         # one team alone has no place among others


def test_the_boards_colours_are_those_of_the_pictures():
    light = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", PAGE.partition("@media")[0]))
    assert [light[f"s{place}"] for place in range(4)] == [colour.lower() for colour in palette.SERIES[:4]]
    told = {"ink": "INK", "text": "TEXT", "paper": "PAPER", "card": "SURFACE", "line": "LINE", "rest": "GREY",
            "go": "OPENED", "late": "DISMISSED"}
    assert {name: light[name] for name in told} == {name: getattr(palette, its).lower() for name, its in told.items()}


def contrast(one, other):
    """Ratio of luminances after WCAG 2.1."""
    def light(colour):
        rgb = np.array([int(colour[at:at + 2], 16) for at in (1, 3, 5)]) / 255
        return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)

    bright, dark = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_words_can_be_read_by_day_and_night():
    for block in re.findall(r":root {(.*?)}", PAGE, re.DOTALL):
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for word, ground in [(word, ground) for word in ("ink", "text", "go", "late") for ground in ("paper", "card")]:
            assert contrast(colours[word], colours[ground]) >= 4.5, (word, ground, colours)
        for line in ("s0", "s1", "s2", "s3"):
            assert contrast(colours[line], colours["card"]) >= 3, (line, colours)


# ---------------------------------------------------------------- served

def children(process):
    """Numbers of a process's children that draw."""
    listed = subprocess.run(["ps", "-o", "pid=,ppid=,args=", "-A"], capture_output=True, text=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [int(pid) for pid, parent, words in rows if "pushlab.classroom.page" in words and int(parent) == process]


def until(condition, seconds=120):
    begun = time.monotonic()
    while not (found := condition()):
        assert time.monotonic() < begun + seconds, "waited in vain"
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def served(played, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "class"
    shutil.copytree(played[0], folder)
    with running(folder) as url:
        yield url.removeprefix("http://")


def ask(address, path, method="GET", **headers):
    link = http.client.HTTPConnection(address, timeout=120)
    link.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = link.getresponse()
    told = answer.status, dict(answer.getheaders()), answer.read()
    link.close()
    return told


@pytest.mark.parametrize("path, kind", [("/", "text/html"), ("/board.json", "application/json"),
                                        ("/board.csv", "text/csv"), ("/phone.png", "image/png")])
def test_what_a_browser_has_it_is_not_sent_again(served, path, kind):
    status, headers, body = ask(served, path)
    assert status == 200 and headers["content-type"].startswith(kind) and body
    assert headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    status, again, body = ask(served, path, If_None_Match=headers["etag"])
    assert (status, body, again["etag"]) == (304, b"", headers["etag"])
    status, _, body = ask(served, path, "HEAD")
    assert (status, body) == (200, b"")
    assert ask(served, path, "POST")[0] == 405


@pytest.mark.posix
@pytest.mark.skipif(not shutil.which("ps"), reason="ps tells which processes there are")
def test_who_comes_before_the_first_drawing_is_let_in_later(tmp_path):
    """No page that stays as it is: a browser asks for it again by itself."""
    request = Request({"type": "http", "headers": []})
    answer = asyncio.run(Board(tmp_path / "no class").answer("/", request))
    assert answer.status_code == 503 and answer.headers["refresh"] == answer.headers["retry-after"] == "5"


def test_a_drawer_that_dies_is_followed_by_another_and_none_outlives_its_server(played, tmp_path):
    shutil.copytree(played[0], tmp_path / "class")
    server = subprocess.Popen([sys.executable, "-m", "pushlab", "serve", str(tmp_path / "class"), "--port", "0"],
                              stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().rpartition("http://")[2].strip()
        assert ask(address, "/")[0] == 200
        drawer, = children(server.pid)
        os.kill(drawer, signal.SIGKILL)
        until(lambda: ask(address, "/board.json")[0] == 200 and set(children(server.pid)) - {drawer})
        another, = set(children(server.pid)) - {drawer}
    finally:
        server.kill()
        server.wait()
        server.stdout.close()

    def gone():
        try:
            os.kill(another, 0)
        except ProcessLookupError:
            return True
        with open(f"/proc/{another}/stat") as its:          # ended, and nobody asked how
            return its.read().rpartition(")")[2].split()[0] == "Z"

    until(gone)
