"""A class's server, a process of its own: what strangers and floods get from it, and that others notice nothing."""

import http.client
import json
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from urllib.parse import urlsplit

import psutil
import pytest
from typer.testing import CliRunner

from pushlab.__main__ import app
from pushlab.classroom import Book, new_class, running

TEAMS = ("ann", "ben", "cat", "dan", "eve", "fay", "gus", "hal")
LIMITS = {"requests": 100.0, "slowest": 2.0, "connections": 60, "of_one": 40, "at_once": 16, "strangers": 10.0}
ROW = "org.pushlab.chat,msg,friends,none,default,False,private"
ONE, OTHER = [[0] * 7, [1, 0, 0, 0, 0, 0, 0]]       # actions


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """The folder of a class that is being served, its tokens and its address."""
    folder = tmp_path_factory.mktemp("school") / "class"
    tokens = new_class(folder, TEAMS, seed="rehearsal", episodes=2, per_quarter=100, days=1)
    with running(folder, **LIMITS) as url:
        yield folder, tokens, urlsplit(url)


class Client:
    """A team's connection."""

    def __init__(self, school, team):
        _, tokens, url = school
        self.line = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        self.headers = {"Authorization": f"Bearer {tokens.get(team, team)}"}

    def ask(self, method, path, data=None, headers=(), raw=None):
        """Status and JSON of an answer."""
        body = raw if data is None else json.dumps(data).encode()
        kind = {"Content-Type": "application/json"} if body is not None else {}
        self.line.request(method, path, body, {**self.headers, **kind, **dict(headers)})
        answer = self.line.getresponse()
        self.told = answer.headers
        return answer.status, json.loads(answer.read())

    def begin(self, game="evalumap2", scored=False, **more):
        return self.ask("POST", "/api/episodes", {"game": game, "scored": scored, **more})

    def play(self, *steps):
        return self.ask("POST", "/api/steps", {"steps": steps})

    def episode(self):
        return self.begin()[1]["episodes"][0]["episode"]


@pytest.fixture(scope="module")
def ann(school):
    return Client(school, "ann")


@pytest.fixture(scope="module")
def hers(ann):
    """An episode of Ann's."""
    return ann.episode()


def still_up(school):
    """Another team is answered."""
    status, told = Client(school, "ben").ask("GET", "/api/me")
    assert (status, told["team"]) == (200, "ben")


def is_a_refusal(told):
    words = json.dumps(told)
    assert set(told) >= {"error", "right"} and all(told[key] for key in ("error", "right"))
    assert not any(one in words for one in ("Traceback", "File \"", ".py", "sqlite", "/tmp", "site-packages"))


def test_a_step_is_answered_and_answered_again(ann, hers, school):
    status, first = ann.play([hers, 0, ONE])
    assert status == 200 and set(first["answers"][0]) >= {"observation", "reward", "terminated", "info"}
    assert ann.play([hers, 0, ONE]) == (200, first)
    assert not {"probability", "best", "expected"} & set(first["answers"][0]["info"])
    status, told = ann.play([hers, 0, OTHER])
    assert status == 409 and "another action" in told["error"] and told["step"] == 1
    assert ann.play([hers, 7, ONE])[1]["step"] == 1         # a step that is not its turn
    assert len(Book(school[0]).steps(hers)) == 1


@pytest.mark.parametrize("raw", [
    b"", b"{", b"null", b"[]", b'"steps"', b"7", b"\x00\xff\xfe" * 99, b"\x1f\x8b\x08\x00" + b"\x00" * 99,
    b'{"steps":' + b"[" * 15_000 + b"]" * 15_000 + b"}", b'{"steps": [[1, ' + b"9" * 20_000 + b", 0]]}",
    b'{"steps": [[1, 0, 1e400]]}', b'{"steps": [[1, 0, NaN]]}', b'{"steps": [], "steps": []}',
    b'{"steps": [[1, 0, "\\ud800"]]}', '{"stéps": []}'.encode("latin-1"), b"{}", b'{"steps": [], "more": 1}',
    b'{"steps": {}}', b'{"steps": []}', b'{"steps": [1]}', b'{"steps": [[]]}', b'{"steps": [[1, 2]]}',
    b'{"steps": ["abc"]}', b'{"steps": [null]}', b'{"steps": [' + b"[1,0,0]," * 256 + b"[1,0,0]]}",
], ids=lambda raw: raw[:24].decode("latin-1") + f"… {len(raw)}")
def test_nonsense_for_steps_is_refused(ann, school, raw):
    status, told = ann.ask("POST", "/api/steps", raw=raw)
    assert status == 422
    is_a_refusal(told)
    still_up(school)


@pytest.mark.parametrize("episode", [None, True, "1", 1.0, -1, 0, 10**30, [1], {}], ids=str)
def test_what_is_no_episode_is_none(ann, episode):
    status, told = ann.play([episode, 0, ONE])
    assert status == 404
    is_a_refusal(told)


@pytest.mark.parametrize("step", [None, True, "0", 0.0, -1, 10**30, [0]], ids=str)
def test_what_is_no_step_is_none(ann, hers, step):
    status, told = ann.play([hers, step, ONE])
    assert status == 409
    is_a_refusal(told)


@pytest.mark.parametrize("action", [
    None, True, 0, -1, "0", [], [0] * 6, [0] * 8, [[0] * 7] * 2, [0.5] * 7, [None] * 7, ["a"] * 7, [10**30] * 7,
    [-1] * 7, [True] + [0] * 6, [0.0] * 7, {}, {"a": 1}, [0] * 10_000, "x" * 30_000], ids=lambda value: str(value)[:30])
def test_what_is_no_action_is_none(ann, hers, action):
    status, told = ann.play([hers, 1, action])
    assert status == 422 and len(told["error"]) + len(told["right"]) < 1000
    is_a_refusal(told)


@pytest.mark.parametrize("asked, status", [
    ({"game": "chess", "scored": False}, 404), ({"game": ["push"], "scored": False}, 404),
    ({"game": "evalumap1", "scored": False}, 404), ({"game": "push", "scored": "no"}, 422), ({"game": "push"}, 422),
    *(({"game": "push", "scored": False, "count": count}, 422) for count in (0, 1.5, True, "2", None, 1000, 10**20)),
    *(({"game": "push", "scored": False, "held": held}, 422) for held in (1, "1", {"1": 1}, True)),
    *(({"game": "push", "scored": False, "held": held}, 404) for held in ([10**9], [[]], [None], ["1"])),
    ({"game": "push", "scored": True, "count": 3}, 409)], ids=str)
def test_what_is_no_episode_to_begin_is_none(ann, asked, status):
    said, told = ann.ask("POST", "/api/episodes", asked)
    assert said == status
    is_a_refusal(told)


@pytest.mark.parametrize("method, path, headers, status", [
    ("GET", "/api/steps", {}, 405), ("DELETE", "/api/steps", {}, 405), ("PUT", "/api/me", {}, 405),
    ("OPTIONS", "/api/steps", {}, 405), ("TRACE", "/", {}, 405),
    ("GET", "/api", {}, 404), ("GET", "/api/me/", {}, 404), ("GET", "/class.db", {}, 404),
    ("GET", "/../class.db", {}, 404), ("GET", "/%2e%2e/%2e%2e/etc/passwd", {}, 404),
    ("GET", "/api/games/..%2f..", {}, 404), ("GET", "/api/games/%00", {}, 404), ("GET", "/api/games/chess", {}, 404),
    ("GET", "/api/games/" + "a" * 5000, {}, 404),
    ("GET", "/api/episodes/" + "9" * 5000 + "/frame", {}, 404), ("GET", "/api/episodes/-1/frame", {}, 404),
    ("GET", "/api/episodes/%D9%A1/frame", {}, 404),
    ("GET", "/api/me", {"Authorization": ""}, 401), ("GET", "/api/me", {"Authorization": "Bearer"}, 401),
    ("GET", "/api/me", {"Authorization": "Basic YW5uOnB3"}, 401),
    ("GET", "/api/me", {"Authorization": "Bearer " + "x" * 9000}, 401),
    ("GET", "/api/me", {"Authorization": b"Bearer \xff\xfe\xc3"}, 401),
    ("GET", "/api/me", {"Authorization": "Bearer ' OR 1=1 --"}, 401)], ids=lambda value: str(value)[:30])
def test_strangers_and_wrong_ways_are_refused(ann, school, method, path, headers, status):
    said, told = ann.ask(method, path, headers=headers)
    assert said == status
    is_a_refusal(told)


def test_a_body_has_a_length_a_type_and_an_end(ann, school):
    for headers, raw, status in (({"Content-Type": "text/plain"}, b"{}", 415), ({}, b" " * 10 * 2**20, 413),
                                 ({}, iter([b"{", b"}"]), 411)):
        said, told = ann.ask("POST", "/api/steps", raw=raw, headers=headers)
        assert said == status
        is_a_refusal(told)
    said, told = ann.ask("POST", "/api/answers", raw=b"id\n" * 2**19, headers={"Content-Type": "text/csv"})
    assert said == 413
    said, told = ann.ask("POST", "/api/answers", raw=b"id,colour\n1,red\n", headers={"Content-Type": "text/csv"})
    assert said == 422 and "postingApp" in told["error"]
    is_a_refusal(told)
    still_up(school)


# ---------------------------------------------------------------- below HTTP

@contextmanager
def open_line(school):
    url = school[2]
    with closing(socket.create_connection((url.hostname, url.port), timeout=60)) as line:
        yield line


def all_of(line):
    """What the server says until it closes the connection."""
    told = b""
    try:
        while part := line.recv(2**16):
            told += part
    except ConnectionError:
        pass
    return told


HEAD = b"GET /api/me HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize("sent, status", [
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)), b"400"), (b"\x00" * 4000, b"400"),
    (b"hello\r\n\r\n", b"400"), (b"GET / HTTP/9.9\r\n\r\n", b"400"),
    (b"POST /api/steps HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
    (b"POST /api/steps HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", b"400"),
    (b"POST /api/steps HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
    (HEAD + b"X: " + b"a" * 100_000 + b"\r\n\r\n", b"431"), (HEAD + b"X: 1\r\n" * 20_000 + b"\r\n", b"431"),
], ids=lambda value: str(value[:20]))
def test_what_is_no_request_is_refused_and_closed(school, sent, status):
    with open_line(school) as line:
        line.sendall(sent)
        is_refused_once(line, status)
    still_up(school)


def is_refused_once(line, status):
    head, _, body = all_of(line).partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == status and head.count(b"HTTP/1.1") == 1
    is_a_refusal(json.loads(body))


def test_what_does_not_come_in_whole_is_refused_in_time_and_closed(school):
    post = (b"POST /api/steps HTTP/1.1\r\nAuthorization: Bearer " + school[1]["cat"].encode()
            + b"\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n{")
    with ExitStack() as stack:
        lines = [stack.enter_context(open_line(school)) for _ in range(5)]
        for line, sent in zip(lines, (b"", b"\r\n" * 50, HEAD, post, HEAD)):
            line.sendall(sent)
        still_up(school)
        for _ in range(3):              # a few bytes now and then do not help
            time.sleep(0.5)
            lines[-1].sendall(b"X: 1\r\n")
        for line in lines:
            is_refused_once(line, b"408")


def test_chunks_without_end_come_to_one(school):
    with open_line(school) as line:
        line.sendall(b"POST /api/steps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + school[1]["cat"].encode()
                     + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        with pytest.raises(OSError):                    # the server closes while they are sent
            while True:
                line.sendall(b"10\r\n" + b"x" * 16 + b"\r\n")
    still_up(school)


def test_requests_may_be_pipelined_and_of_an_old_version(school):
    about = b"Host: x\r\nAuthorization: Bearer " + school[1]["cat"].encode() + b"\r\n"
    with open_line(school) as line:
        line.sendall(3 * (b"GET /api/me HTTP/1.1\r\n" + about + b"\r\n")
                     + b"GET /nothing HTTP/1.1\r\nConnection: close\r\n" + about + b"\r\n")
        told = all_of(line)
    assert [part[:3] for part in told.split(b"HTTP/1.1 ")[1:]] == [b"200"] * 3 + [b"404"]
    with open_line(school) as line:
        line.sendall(b"GET /api/me HTTP/1.0\r\n" + about + b"\r\n")
        assert b" 200 OK\r\n" in all_of(line)           # which ends, as the connection is closed


def test_of_thousands_of_requests_in_a_row_few_are_looked_at(school):
    with open_line(school) as line:
        line.sendall(b"GET /n HTTP/1.1\r\n\r\n" * 10_000)
        assert all_of(line).count(b"HTTP/1.1") < 20
    still_up(school)


def test_answers_to_who_has_left_are_no_fault(tmp_path):
    new_class(tmp_path / "class", ["ann"], seed="rehearsal", episodes=2, per_quarter=100, days=1)
    server = subprocess.Popen([sys.executable, "-P", "-m", "pushlab", "serve", tmp_path / "class", "--port", "0",
                               "--strangers", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        port = int(server.stdout.readline().decode().rpartition(":")[2])
        for first in (False, True, True, True):
            with closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as line:
                line.sendall(b"GET /n HTTP/1.1\r\n\r\n" * 12)
                line.recv(1) if not first else time.sleep(0.05)
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as line:
            until(lambda: line.request("GET", "/n") or line.getresponse().read())
        time.sleep(0.5)         # refusals for haste are held that long
    finally:
        server.terminate()
        _, said = server.communicate(timeout=600)
    assert b"Traceback" not in said, said.decode()


def test_of_too_many_connections_from_one_address_those_go_that_ask_for_nothing(school):
    before = Client(school, "dan")
    before.ask("GET", "/api/me")
    lines = [socket.create_connection((school[2].hostname, school[2].port), timeout=60) for _ in range(60)]
    try:
        still_up(school)                # a newcomer is let in
        line = before.line.sock
        assert before.ask("GET", "/api/me")[0] == 200 and before.line.sock is line
        told = [all_of(line) for line in lines]
        assert any(one.startswith(b"HTTP/1.1 503") and b"too many connections" in one for one in told)
    finally:
        for line in lines:
            line.close()
    until(lambda: open_again(school))


def test_who_sends_half_requests_on_all_connections_holds_up_nobody_else(school):
    post = (b"POST /api/steps HTTP/1.1\r\nAuthorization: Bearer " + school[1]["cat"].encode()
            + b"\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n{")
    dan = Client(school, "dan")
    dan.ask("GET", "/api/me")
    own = dan.line.sock
    with ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(open_line(school)).sendall(post)
        assert [dan.ask("GET", "/api/me")[0] for _ in range(3)] == [200] * 3 and dan.line.sock is own
        still_up(school)
    until(lambda: open_again(school))


def open_again(school):
    try:
        still_up(school)
    except (ConnectionError, AssertionError, http.client.HTTPException, KeyError):
        return False
    return True


def until(holds, seconds=900):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def eight_times(flood, done):
    """Threads that each do this while the block runs; `done` tells them to end."""
    threads = [threading.Thread(target=flood) for _ in range(8)]
    for one in threads:
        one.start()
    try:
        yield
    finally:
        done.set()
        for one in threads:
            one.join()


# ---------------------------------------------------------------- too much of it

def test_a_team_beyond_its_rate_waits_and_another_is_answered(school):
    told, done = [], threading.Event()

    def flood():
        eve = Client(school, "eve")
        while not done.is_set():
            status, answer = eve.ask("GET", "/api/me")
            told.append((status, answer, eve.told["Retry-After"]))

    with eight_times(flood, done):
        until(lambda: sum(status == 429 for status, *_ in list(told)) >= 8)
        fay = Client(school, "fay")
        episode = fay.episode()
        assert [fay.play([episode, step, ONE])[0] for step in range(30)] == [200] * 30
    refused = [(answer, retry) for status, answer, retry in told if status == 429]
    for answer, retry in refused:
        is_a_refusal(answer)
        assert int(retry) >= 1 and 0 < answer["wait"] < int(retry) + 1
    assert {status for status, *_ in told} == {200, 429}


def flooded(client, path):
    """The statuses of one request after another, until one is 429 for haste."""
    said = []
    while 429 not in said:
        status, told = client.ask("GET", path)
        said.append(status)
        assert len(said) < 10_000
    is_a_refusal(told)
    return said


def test_wrong_tokens_are_counted_by_address_and_right_ones_not_held_up(school):
    stranger = Client(school, "nobody's token")
    assert set(flooded(stranger, "/api/me")) == {401, 429}
    still_up(school)


def test_what_is_not_there_is_not_there_for_a_flood_either(school):
    assert set(flooded(Client(school, ""), "/nothing")) == {404, 429}
    still_up(school)


def test_tables_that_are_none_hold_up_their_sender_alone(school):
    eve, said = Client(school, "eve"), []
    while 429 not in said:
        said.append(eve.ask("POST", "/api/answers", raw=b",\n" * 2**19, headers={"Content-Type": "text/csv"})[0])
        assert len(said) < 1000
    assert set(said) == {422, 429}
    still_up(school)


def test_the_board_is_there_for_anybody_and_not_for_a_flood(school):
    anybody = Client(school, "")
    assert anybody.ask("GET", "/board.json")[0] == 200
    assert set(flooded(anybody, "/board.json")) == {200, 429}
    still_up(school)


def test_a_thousand_sessions_are_not_opened(school):
    gus, ids = Client(school, "gus"), set()
    while True:
        status, told = gus.begin(count=8)
        if status != 200:
            break
        ids |= {one["episode"] for one in told["episodes"]}
        assert len(ids) < 1000
    assert status == 429 and "episodes" in told["error"] and int(gus.told["Retry-After"]) >= 1
    is_a_refusal(told)
    hal = Client(school, "hal")
    assert hal.play([hal.episode(), 0, ONE])[0] == 200
    status, told = hal.play([min(ids), 0, ONE])          # another team's
    assert status == 404 and hal.ask("GET", f"/api/episodes/{min(ids)}/frame")[0] == 404
    assert told == hal.play([10**9, 0, ONE])[1] | {"error": told["error"]}      # not even that it exists
    assert gus.play([max(ids), 0, ONE])[0] == 200


def test_bodies_that_are_nothing_hold_up_their_sender_alone(school):
    done, said = threading.Event(), []

    def flood():
        eve = Client(school, "eve")
        while not done.is_set():
            said.append(eve.ask("POST", "/api/steps", raw=b'{"steps": [' + b"[1,0," * 6000))

    with eight_times(flood, done):
        until(lambda: any("bytes" in told["error"] for _, told in list(said)))
        fay = Client(school, "fay")
        episode = fay.episode()
        assert [fay.play([episode, step, ONE])[0] for step in range(50)] == [200] * 50
    assert {status for status, _ in said} <= {422, 429}


def test_what_a_client_holds_is_as_much_as_it_may_begin(ann, hers):
    status, told = ann.begin(held=[hers] * 17)
    assert status == 422 and "held" in told["right"]
    status, told = ann.begin(held=[hers] * 16_000)
    assert status == 413


def test_a_full_disk_is_told_as_such_and_passes(tmp_path):
    tokens = new_class(tmp_path / "class", ["ann"], seed="rehearsal", episodes=2, per_quarter=100, days=1)
    with running(tmp_path / "class") as url:
        ann = Client((None, tokens, urlsplit(url)), "ann")
        table = (tmp_path / "class" / "handout" / "robin" / "contexts.csv").read_text().splitlines()
        header = "id,postingApp,category,subject,numberOfUpdates,priority,ongoing,visibility"
        with closing(sqlite3.connect(tmp_path / "class" / "class.db", isolation_level=None, timeout=30)) as link:
            link.executescript("CREATE TRIGGER full1 BEFORE INSERT ON episodes BEGIN SELECT raise(FAIL, 'full'); END;"
                               "CREATE TRIGGER full2 BEFORE INSERT ON uploads BEGIN SELECT raise(FAIL, 'full'); END")
            rows = "".join(f"{row.partition(',')[0]},{ROW}\n" for row in table[1:])
            said = [ann.begin(), ann.begin(scored=True), ann.ask("POST", "/api/answers", headers={
                "Content-Type": "text/csv"}, raw=f"{header}\n{rows}".encode())]
            link.executescript("DROP TRIGGER full1; DROP TRIGGER full2")
        for status, told in said:
            assert status == 503 and "could not be kept" in told["error"], told
            is_a_refusal(told)
        assert ann.begin()[0] == 200 and ann.ask("GET", "/api/me")[1]["games"]["evalumap2"]["left"] == 2


def test_what_nobody_expected_is_told_by_a_number(school):
    folder, _, _ = school
    ann = Client(school, "ann")
    with closing(sqlite3.connect(folder / "class.db", isolation_level=None, timeout=30)) as link:
        link.execute("ALTER TABLE uploads RENAME TO gone")
        try:
            status, told = ann.ask("GET", "/api/me")
        finally:
            link.execute("ALTER TABLE gone RENAME TO uploads")
    assert status == 500 and any(one.isdigit() for one in told["error"])
    is_a_refusal(told)
    assert "uploads" not in json.dumps(told)
    assert Client(school, "ann").ask("GET", "/api/me")[0] == 200


def test_the_server_stays_small_and_alone(school):
    folder, *_ = school
    server, = [one for one in psutil.Process().children() if str(folder) in one.cmdline()]
    assert server.memory_info().rss < 700 * 2**20 and server.num_fds() < 100
    told = CliRunner().invoke(app, ["serve", str(folder), "--port", "0"])
    assert told.exit_code == 1 and "played by another process" in told.stderr
    still_up(school)


def test_what_was_answered_is_there_after_the_server_was_stopped(tmp_path):
    tokens = new_class(tmp_path / "class", ["ann"], seed="rehearsal", episodes=2, per_quarter=100, days=1)
    with running(tmp_path / "class") as url:
        ann = Client((None, tokens, urlsplit(url)), "ann")
        episode = ann.episode()
        answers = [ann.play([episode, step, ONE])[1]["answers"][0] for step in range(20)]
    assert [json.loads(one) for one in Book(tmp_path / "class").steps(episode)["answer"]] == answers


def test_a_class_that_is_not_there_is_not_served(tmp_path):
    with pytest.raises(RuntimeError, match="is no class"), running(tmp_path):
        pass
