"""The server of a class: a complete class over HTTP, and refused requests."""

import json
import re
import socket
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from itertools import chain
from threading import current_thread
from urllib.parse import urlsplit

import gymnasium as gym
import pandas as pd
import pytest
from small_class import SETTINGS, answers_table, run
from waiting import PATIENCE

import pushlab
from pushlab_classroom import ClassDatabase, Refused, new_class, running_server
from pushlab_classroom.session import ClassSession

TEAMS = ["ann", "ben", "cat", "dan"]
# Nothing fills up again, so that the number of accepted requests is known.
LIMITS = {"begins": 0.001, "strangers": 0.001}
ONE = [0] * 7
OTHER = [1] + [0] * 6
STAND_BY = 4  # in push


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """A served class: folder, tokens by team, url."""
    folder = tmp_path_factory.mktemp("school") / "class"
    tokens = new_class(folder, TEAMS, **SETTINGS)
    with running_server(folder, **LIMITS) as url:
        yield folder, tokens, url


class Client:
    """A connection with a team's token."""

    def __init__(self, school, team):
        _, tokens, url = school
        self.line = HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)
        self.headers = {"Authorization": f"Bearer {tokens.get(team, team)}"}

    def request(self, method, path, content=None, **headers):
        """Return status and JSON of the answer. `content` is sent as JSON, bytes unchanged."""
        if content is not None and not isinstance(content, bytes):
            content = json.dumps(content).encode()
        if content is not None:
            headers = {"Content-Type": "application/json"} | headers
        self.line.request(method, path, content, self.headers | headers)
        answer = self.line.getresponse()
        self.received = answer.headers
        return answer.status, json.loads(answer.read())

    def begin(self, count=1, game="evalumap2"):
        """Begin practice episodes; return their ids."""
        request = {"game": game, "scored": False, "count": count}
        episodes = self.request("POST", "/api/episodes", request)[1]["episodes"]
        return [one["episode"] for one in episodes]

    def step(self, *step):
        return self.request("POST", "/api/steps", {"steps": [step]})


def is_refusal(answer):
    """Return whether an answer has an explanation and reveals no internals of the server."""
    words = json.dumps(answer)
    inside = re.search(r"Traceback|\.py|sqlite|site-packages", words)
    return bool(answer["error"] and answer["right"] and not inside)


def test_a_class_is_played_scored_closed_and_exported(school, tmp_path):
    folder, tokens, url = school
    public = {}
    rewards = {}
    for team, kind, priority in (("ann", 0, "default"), ("ben", 4, "high")):
        env = gym.make("pushlab/Remote-v0", url=url, token=tokens[team], scored=True)
        action = env.unwrapped.world.candidates[kind]
        rewards[team] = []
        for _ in range(2):
            env.reset()
            over = False
            total = 0.0
            while not over:
                _, reward, over, *_ = env.step(action)
                total += reward
            rewards[team].append(total)
        env.close()
        upload = answers_table(folder, priority=priority)
        public[team] = pushlab.hand_in(upload, url, tokens[team])["public"]
    book = ClassDatabase(folder)
    played = book.episodes("evalumap2").set_index("team")
    shares = (played["expected"] / played["best"]).groupby("team").mean()
    printed = run("class", "board", folder).stdout
    for team in ("ann", "ben"):
        assert f"{shares[team]:.3f}" in printed
        assert f"{public[team]:.3f}" in printed
        assert played.loc[team, "return"].tolist() == pytest.approx(rewards[team])
    assert "is identical" in run("class", "replay", folder, 1).stdout
    assert run("class", "close", folder).exit_code == 0
    with pytest.raises(Refused, match="the class is closed"):
        pushlab.hand_in(answers_table(folder, priority="low"), url, tokens["ann"])
    assert run("class", "export", folder, tmp_path / "out").exit_code == 0
    exported = pd.read_csv(tmp_path / "out" / "standings.csv")
    final = exported.set_index(["game", "team"])["score"]
    private = book.uploads().set_index("team")["private"]
    for team in ("ann", "ben"):
        assert final["evalumap2", team] == pytest.approx(shares[team])
        assert final["evalumap1", team] == private[team]


def test_wrong_requests_are_refused_and_change_nothing(school):
    cat = Client(school, "cat")
    [episode] = cat.begin()
    status, answer = cat.step(episode, 0, ONE)
    assert status == 200
    assert cat.step(episode, 0, ONE) == (200, answer)  # as before
    steps = "/api/steps"

    def nested(depth):
        lists = "[" * depth + "]" * depth
        return f'{{"steps": [[{episode}, 1, {lists}]]}}'.encode()

    cases = [
        (409, "POST", steps, {"steps": [[episode, 0, OTHER]]}, {}),
        (422, "POST", steps, {"steps": [[episode, 1, [0] * 6]]}, {}),
        (422, "POST", steps, {"steps": [[episode, 1, ONE]], "expected": 99}, {}),
        (404, "POST", steps, {"steps": [[10**9, 0, ONE]]}, {}),
        (422, "POST", steps, b"{", {}),
        (422, "POST", steps, b"[1]", {}),
        (422, "POST", steps, b'{"steps": "\xff"}', {}),
        (422, "POST", steps, b'{"steps": ' + b"[" * 30_000, {}),
        (422, "POST", steps, nested(900), {}),
        (422, "POST", steps, nested(60), {}),
        (422, "POST", steps, b'{"steps": [[%d, 1, [NaN]]]}' % episode, {}),
        (422, "POST", steps, b'{"steps": [[%d, 1, "\\ud800"]]}' % episode, {}),
        (422, "POST", steps, {"steps": [[episode, 1, [9**4000] * 7]]}, {}),
        (413, "POST", steps, b" " * 2**16, {}),
        (422, "POST", "/api/episodes", {"game": "push"}, {}),
        (
            422,
            "POST",
            "/api/answers",
            b"id,colour\n1,red\n",
            {"Content-Type": "text/csv"},
        ),
        (404, "GET", "/class.db", None, {}),
    ]
    for expected, method, path, content, headers in cases:
        status, answer = cat.request(method, path, content, **headers)
        assert status == expected, (content, answer)
        assert is_refusal(answer), answer
    assert len(ClassDatabase(school[0]).steps(episode)) == 1


def test_too_many_requests_are_refused_to_their_sender_alone(school):
    dan = Client(school, "dan")
    assert len(dan.begin(60) + dan.begin(4)) == 64
    request = {"game": "push", "scored": False}
    status, answer = dan.request("POST", "/api/episodes", request)
    assert status == 429
    assert "too many episodes" in answer["error"] and is_refusal(answer)
    assert int(dan.received["Retry-After"]) >= 1
    assert Client(school, "ann").begin()

    stranger = Client(school, "wrong")
    answers = [stranger.request("GET", "/api/games/push") for _ in range(3)]
    assert [status for status, _ in answers] == [401, 429, 429]
    assert all(is_refusal(answer) for _, answer in answers)
    assert dan.request("GET", "/api/games/push")[0] == 200


def test_an_unexpected_error_is_reported_by_a_number(school):
    ann = Client(school, "ann")
    with closing(sqlite3.connect(school[0] / "class.db", timeout=PATIENCE)) as link:
        link.execute("ALTER TABLE teams RENAME COLUMN token TO gone")
        try:
            status, answer = ann.request("GET", "/api/games/push")
        finally:
            link.execute("ALTER TABLE teams RENAME COLUMN gone TO token")
    assert status == 500
    assert re.fullmatch(r"internal error of the server, number \d+", answer["error"])
    assert Client(school, "ann").request("GET", "/api/games/push")[0] == 200


def test_a_class_has_one_server(school):
    result = run("serve", school[0], "--port", 0)
    assert result.exit_code == 1
    assert "in use by another process" in result.stderr


def connection(url):
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), PATIENCE)


@pytest.mark.slow
def test_a_step_that_many_connections_send_at_once_is_made_once(school):
    [episode] = Client(school, "cat").begin()
    steps = [(episode, 0, [number] + [0] * 6) for number in range(9)]
    with ThreadPoolExecutor(9) as pool:
        answers = list(pool.map(lambda step: Client(school, "cat").step(*step), steps))
    accepted = [step[2] for step, answer in zip(steps, answers) if answer[0] == 200]
    actions = ClassDatabase(school[0]).steps(episode)["action"].map(json.loads).tolist()
    assert accepted == actions
    assert len(actions) == 1


@pytest.mark.slow
def test_strangers_on_300_connections_close_none_with_a_token(tmp_path):
    tokens = new_class(tmp_path / "class", ["ann"], **SETTINGS)
    limits = {"connections": 60, "strangers": 1e4}
    with running_server(tmp_path / "class", **limits) as url:
        school = (None, tokens, url)
        ann = Client(school, "ann")
        [episode] = ann.begin()
        own = ann.line.sock
        strangers = []
        for step in range(5):
            for _ in range(60):
                strangers.append(Client(school, "wrong"))
                assert strangers[-1].request("GET", "/api/games/push")[0] == 401
            assert ann.step(episode, step, ONE)[0] == 200
            assert ann.line.sock is own
        assert strangers[-60].line.sock.recv(1) == b""  # closed
        assert strangers[-30].request("GET", "/api/games/push")[0] == 401


@pytest.mark.slow
def test_what_strangers_send_is_limited(school):
    """An endless head, many requests at once, an endless body, and nonsense."""
    url = school[2]
    get = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    post = b"POST /api/steps HTTP/1.1\r\nHost: x\r\n"
    chunk = b"10000\r\n" + b"x" * 2**16 + b"\r\n"
    cases = [
        (get[:-2] + b"X: " + b"x" * 2**20, {b"400"}),
        (b"\x16\x03\x01 TLS", {b"400"}),
        (
            post
            + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
            + 40 * chunk,
            {b"401", b"429", b"400"},
        ),
        (get[:-4] + b"\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\n", {b"400"}),
    ]
    for data, statuses in cases:
        with connection(url) as line:
            try:
                line.sendall(data)
            except ConnectionError:
                pass
            assert line.recv(2**16)[9:12] in statuses, data[:60]
    with connection(url) as line:  # requests in a row are answered one after another
        line.sendall(get * 50)
        answered = b""
        while answered.count(b"HTTP/1.1") < 3:
            answered += line.recv(2**16)
    assert Client(school, "ann").request("GET", "/api/games/push")[0] == 200


@pytest.mark.slow
def test_a_body_that_does_not_arrive_ends(school, monkeypatch):
    monkeypatch.setattr("pushlab_classroom.service.CSV_SECONDS", 0.2)
    token = school[1]["cat"].encode()
    head = b"POST /api/answers HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nAuthorization: Bearer "
    with connection(school[2]) as line:
        line.sendall(head + token + b"\r\n\r\nab")
        assert line.recv(2**16)[9:12] == b"503"


@pytest.mark.slow
def test_513_open_episodes_are_replayed_once_and_not_on_the_event_loop(
    tmp_path, monkeypatch
):
    replays = []
    replay = ClassSession.replay

    def spy(session, episode):
        is_loop = current_thread().name.startswith("Thread-")  # of running_server
        replays.append((episode, is_loop))
        return replay(session, episode)

    monkeypatch.setattr(ClassSession, "replay", spy)
    tokens = new_class(tmp_path / "class", TEAMS, **SETTINGS)
    with running_server(tmp_path / "class", begins=1e4) as url:
        school = (None, tokens, url)
        begun = {}
        for team in TEAMS:
            client = Client(school, team)
            begun[team] = client.begin(64, "push") + client.begin(64, "push")
        request = {"game": "push", "scored": True}
        answer = client.request("POST", "/api/episodes", request)[1]
        begun[team].append(answer["episodes"][0]["episode"])
        for number in range(3):
            for team, episodes in begun.items():
                client = Client(school, team)
                steps = [[episode, number, STAND_BY] for episode in episodes]
                answer = client.request("POST", "/api/steps", {"steps": steps})
                assert answer[0] == 200
        request["scored"] = False
        assert client.request("POST", "/api/episodes", request)[0] == 409
    assert replays == [(episode, False) for episode in chain(*begun.values())]
