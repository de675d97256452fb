"""data/class/nginx.conf, run by nginx: TLS in front of a class's server, steps, the board, and a restart between."""

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import gymnasium as gym
import pytest

import pushlab
from pushlab.classroom import Book, new_class, replay, running
from pushlab.ground.files import data_dir

ACTION = [0] * 7


def tool(name):
    """The path of a program; without it the test is skipped, or fails where PUSHLAB_NGINX=required."""
    path = shutil.which(name, path=os.environ["PATH"] + os.pathsep + "/usr/sbin")
    if path is None:
        (pytest.fail if os.environ.get("PUSHLAB_NGINX") == "required" else pytest.skip)(f"there is no {name}")
    return path


def free_ports(count):
    """Ports that nobody has just now."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    folder = tmp_path_factory.mktemp("school") / "class"
    return folder, new_class(folder, ["ann", "ben"], seed="rehearsal", episodes=2, per_quarter=100, days=1)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """nginx with the shipped file, for other ports, another certificate and as whoever runs the tests: (port with TLS,
    port without, port of the class's server, file of the certificate)."""
    here = tmp_path_factory.mktemp("nginx")
    nginx, openssl = tool("nginx"), tool("openssl")
    subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", here / "key.pem", "-out", here / "cert.pem"],
                   check=True, capture_output=True)
    secure, plain, server = free_ports(3)
    site = (data_dir() / "class" / "nginx.conf").read_text(encoding="utf-8")
    for shipped, ours in (("listen 443 ssl", f"listen 127.0.0.1:{secure} ssl"), ("listen 80;",
                          f"listen 127.0.0.1:{plain};"), ("127.0.0.1:8000", f"127.0.0.1:{server}"),
                          ("/etc/letsencrypt/live/class.example.org/fullchain.pem", str(here / "cert.pem")),
                          ("/etc/letsencrypt/live/class.example.org/privkey.pem", str(here / "key.pem")),
                          ("/var/log/nginx/class.log", str(here / "class.log"))):
        assert site.count(shipped) == 1
        site = site.replace(shipped, ours)
    (here / "site").write_text(site.replace("class.example.org", "localhost"))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {here / kind};\n" for kind in kinds)
    (here / "nginx.conf").write_text(f"pid {here}/pid; error_log {here}/error.log; daemon off; master_process off;\n"
                                     f"events {{}}\nhttp {{ {paths} include {here}/site; }}\n")
    with subprocess.Popen([nginx, "-p", here, "-e", here / "error.log", "-c", here / "nginx.conf"]) as process:
        try:
            until(lambda: process.poll() is not None or listens(secure))
            assert process.poll() is None, (here / "error.log").read_text()
            yield secure, plain, server, here / "cert.pem"
        finally:
            process.send_signal(signal.SIGTERM)
    log = (here / "class.log").read_text()
    assert '"POST /api/steps" 200' in log and "Bearer" not in log


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


def until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def line(proxy, monkeypatch):
    """A connection with TLS that believes the certificates of SSL_CERT_FILE."""
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy[3]))
    connection = http.client.HTTPSConnection("localhost", proxy[0], timeout=60, context=ssl.create_default_context())
    yield connection
    connection.close()


def ask(line, token, method, path, data=None, **headers):
    """Status, headers and JSON of an answer."""
    body = data if data is None or isinstance(data, bytes) else json.dumps(data).encode()
    known = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    line.request(method, path, body, known | headers)
    answer = line.getresponse()
    return answer.status, answer.headers, json.loads(answer.read())


def test_a_class_is_played_through_a_proxy_with_tls_and_a_restart(school, proxy, line):
    folder, tokens = school
    ann = tokens["ann"]
    with running(folder, port=proxy[2], behind_proxy=True):
        status, headers, told = ask(line, ann, "POST", "/api/episodes", {"game": "evalumap2", "scored": True})
        assert status == 200 and headers["Strict-Transport-Security"] and headers["X-Content-Type-Options"] == "nosniff"
        episode = told["episodes"][0]["episode"]
        answers = [ask(line, ann, "POST", "/api/steps", {"steps": [[episode, step, ACTION]]}) for step in range(30)]
        assert {status for status, *_ in answers} == {200}
        line.request("GET", "/")
        page = line.getresponse()
        assert page.status == 200 and b"ann" in page.read() and "default-src" in page.headers["Content-Security-Policy"]
        status, _, told = ask(line, ann, "POST", "/api/answers", b"x" * (2**20 + 1))
        assert status == 413 and told["right"] == "at most 1 MB"
    line.close()
    status, headers, told = ask(line, ann, "POST", "/api/steps", {"steps": [[episode, 29, ACTION]]})
    assert status == 503 and headers["Retry-After"] == "2" and set(told) == {"error", "right"}
    with running(folder, port=proxy[2], behind_proxy=True):
        until(lambda: ask(line, ann, "GET", "/api/me")[0] == 200)
        assert ask(line, ann, "POST", "/api/steps", {"steps": [[episode, 29, ACTION]]})[2] == answers[-1][2]
        assert ask(line, ann, "POST", "/api/steps", {"steps": [[episode, 30, ACTION]]})[0] == 200
    assert len(Book(folder).steps(episode)) == 31


def test_an_environment_is_played_through_the_proxy_while_the_server_is_killed_and_started(school, proxy, monkeypatch):
    folder, tokens = school
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy[3]))
    monkeypatch.setenv("PYTHONPATH", str(Path(pushlab.__file__).parents[1]))
    servers, rewards, over = [], [], False

    def start():
        servers.append(subprocess.Popen([sys.executable, "-P", "-m", "pushlab", "serve", folder, f"--port={proxy[2]}",
                                         "--behind-proxy"], stdout=subprocess.PIPE))
        assert servers[-1].stdout.readline()

    start()
    env = gym.make("pushlab/Remote-v0", url=f"https://localhost:{proxy[0]}", token=tokens["ben"], scored=True,
                   patience=600)
    try:
        env.reset()
        while not over:
            _, reward, over, *_ = env.step(ACTION)
            rewards.append(reward)
            if len(rewards) == 40:
                servers[0].kill()
                servers[0].wait()
                threading.Timer(1, start).start()       # until then the proxy answers for it
    finally:
        env.close()
        for server in servers:
            server.kill()
            server.wait()
            server.stdout.close()
    episode = int(env.unwrapped.state["episode"][0])
    assert Book(folder).steps(episode)["reward"].tolist() == rewards and len(rewards) > 40
    assert replay(folder, episode)[0]


def test_without_tls_nothing_is_told_but_where_it_is(proxy):
    plain = http.client.HTTPConnection("localhost", proxy[1], timeout=60)
    plain.request("POST", "/api/steps", b"{}")
    answer = plain.getresponse()
    assert answer.status == 308 and answer.headers["Location"].startswith("https://localhost")


def test_who_asks_is_told_by_the_proxy_and_by_nobody_else(school, proxy, line):
    folder, tokens = school
    with running(folder, port=proxy[2], behind_proxy=True, strangers=1, burst=2):
        said = [ask(line, "wrong", "GET", "/api/me", **{"X-Forwarded-For": f"10.0.0.{number}"})[0]
                for number in range(8)]
        assert 429 in said          # each would be somebody else, if it were believed
        assert ask(line, tokens["ben"], "GET", "/api/me")[0] == 200
