"""What is sent to a class's server on purpose: two requests in one, and one step from many connections at once."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from itertools import repeat
from urllib.parse import urlsplit

import pytest

from pushlab.classroom import Book, new_class, running

ACTIONS = [[app, 0, 0, 0, 0, 0, 0] for app in range(3)]


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """The folder of a class that is being served, the token of its team and its address."""
    folder = tmp_path_factory.mktemp("school") / "class"
    token, = new_class(folder, ["ann"], seed="rehearsal", episodes=2, per_quarter=100, days=1).values()
    with running(folder) as url:
        yield folder, token, urlsplit(url)


@pytest.mark.parametrize("head, body", [
    ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), ("Content-Length: 44\r\n" * 2, "0" * 44),
    ("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"), ("Content-Length: +5\r\n", "01234"),
    ("Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n"), ("Content-Length: 5, 5\r\n", "01234"),
    ("X: a\r\n b\r\n", ""), ("X: a\0b\r\n", ""), ("X\r\n", "")], ids=repr)
def test_two_readers_of_a_request_cannot_find_different_ends(school, head, body):
    _, token, url = school
    hidden = f"GET /api/me HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n"
    with closing(socket.create_connection((url.hostname, url.port), timeout=600)) as line:
        line.sendall(f"POST /api/steps HTTP/1.1\r\nHost: x\r\n{head}\r\n{body}{hidden}".encode())
        told = b"".join(iter(lambda: line.recv(2**16), b""))
    assert told.startswith(b"HTTP/1.1 400 ") and told.count(b"HTTP/1.1 ") == 1


def ask(line, token, path, data):
    """Status and JSON of an answer on this connection."""
    line.request("POST", path, json.dumps(data), {"Authorization": f"Bearer {token}",
                                                  "Content-Type": "application/json"})
    answer = line.getresponse()
    return answer.status, json.loads(answer.read())


def test_a_step_that_many_connections_ask_for_at_once_is_made_once(school):
    folder, token, url = school
    with ExitStack() as stack:
        lines = [stack.enter_context(closing(HTTPConnection(url.hostname, url.port, timeout=600))) for _ in range(9)]
        begun = ask(lines[0], token, "/api/episodes", {"game": "evalumap2", "scored": False})[1]
        episode = begun["episodes"][0]["episode"]
        for step in range(10):
            asked = [{"steps": [[episode, step, ACTIONS[number % 3]]]} for number in range(9)]
            with ThreadPoolExecutor(9) as pool:
                said = list(pool.map(ask, lines, repeat(token), repeat("/api/steps"), asked))
            made = json.loads(Book(folder).steps(episode)["action"].iloc[step])
            assert [status == 200 for status, _ in said] == [data["steps"][0][2] == made for data in asked]
            assert sorted(status for status, _ in said) == [200] * 3 + [409] * 6
            answers = [told for status, told in said if status == 200]
            assert answers == answers[:1] * 3
