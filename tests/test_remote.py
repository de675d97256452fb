"""A phone on a class's server is the local phone, to the digit, whatever the network does; its token stays secret."""

import copy
import json
import os
import pickle
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.utils.env_checker import check_env
from typer.testing import CliRunner

import pushlab
from pushlab import agents, rollout
from pushlab.__main__ import app
from pushlab.classroom import Book, new_class, replay, running
from pushlab.classroom.book import connect
from pushlab.classroom.chance import derived
from pushlab.classroom.lived import Lived
from pushlab.envs.remote import link as link_module
from pushlab.envs.remote.link import Link, Refused
from pushlab.logs.rollout import readable

ID, SECRET = "pushlab/Remote-v0", "a secret of tests, long enough"
TEAMS = ["ann", "ben", "cem", "dee", "eve", "fay", "gus", "hal", "ida", "jon", "kim", "leo", "mia", "nan"]
LAVISH = {"requests": 1e6, "steps": 1e6, "begins": 1e4}


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A class with its server: folder, tokens by team, url."""
    folder = tmp_path_factory.mktemp("remote") / "class"
    tokens = new_class(folder, TEAMS, seed=SECRET, episodes=3, per_quarter=100, days=2)
    with running(folder, **LAVISH) as url:
        yield SimpleNamespace(folder=folder, tokens=tokens, url=url)


@pytest.fixture
def made(room):
    """A function that makes an environment of a team, closed at the end."""
    mine = []

    def make(team, number=None, url=None, **kwargs):
        kwargs = {"url": url or room.url, "token": room.tokens[team], **kwargs}
        mine.append(gym.make(ID, **kwargs) if number is None else gym.make_vec(ID, number, **kwargs))
        return mine[-1]

    yield make
    for env in mine:
        env.close()


def lived(folder, episode):
    """The local Env that lives the same life as an episode of a class, with what its reset tells."""
    with closing(connect(folder)) as link:
        row = link.execute("SELECT * FROM lived WHERE id = ?", (int(episode),)).fetchone()
        settings = link.execute("SELECT * FROM class").fetchone()
    words, secret = [row[key] for key in ("name", "game", "scored", "number")], bytes.fromhex(settings["secret"])
    env = Lived(settings, row).env
    return env, *env.reset(seed=derived(secret, "chance", *words))


def steps_of(folder):
    """Rows (episode, step, action, reward) of all steps that the server has kept."""
    with closing(connect(folder)) as link:
        return [tuple(row) for row in link.execute("SELECT episode, step, action, reward FROM steps")]


def choose(env, info, chance):
    """Any allowed action."""
    space = getattr(env, "single_action_space", env.action_space)
    if "action_mask" in info:
        return int(chance.choice(np.flatnonzero(info["action_mask"])))
    return chance.integers(space.nvec)


def same(one, other):
    """Whether two things told by environments are equal in keys, types, shapes and every digit."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and (one == other).all()
    return type(one) is type(other) and one == other


def widened(info, other):
    """The info of a local world with its `fates` as long as those of the other: nothing arrives any more."""
    if "fates" not in info:
        return info
    return info | {"fates": np.pad(info["fates"], (0, len(other["fates"]) - len(info["fates"])))}


# ---------------------------------------------------------------- the same phone

@pytest.mark.parametrize("game", ["evalumap2", "push"])
def test_is_an_environment_as_gymnasium_wants_it(made, room, game, monkeypatch):
    monkeypatch.setenv("PUSHLAB_TOKEN", room.tokens["ann"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = made("ann", game=game, disable_env_checker=True)
        check_env(env.unwrapped)


@pytest.mark.parametrize("game, scored", [("evalumap2", True), ("evalumap2", False), ("push", True), ("push", False)])
def test_is_the_local_world_to_the_digit(made, room, game, scored):
    env, chance = made("ann", game=game, scored=scored).unwrapped, np.random.default_rng(7)
    seen = env.reset(seed=7)
    local, *first = lived(room.folder, env.state["episode"][0])
    assert env.observation_space == local.observation_space and env.action_space == local.action_space
    for name in ("name", "labels", "observation_names", "action_names", "action_choices", "drawing"):
        assert getattr(env.world, name) == getattr(local.world, name)
    if game == "push":
        assert (env.world.actions, env.world.fates) == (local.world.actions, local.world.fates)
        assert (env.world.worths == local.world.worths).all() and env.world.weights == local.world.weights
        assert env.world.decode_one(seen[0]) == local.world.decode_one(first[0])
    else:
        assert (env.world.candidates == local.world.candidates).all()
    assert same(seen[0], first[0]) and same(seen[1], widened(first[1], seen[1]))
    over, steps = False, 0
    while not over:
        action = choose(env, seen[1], chance)
        told, expected = env.step(action), local.step(action)
        assert all(map(same, told[:4], expected)) and same(told[4], widened(expected[4], told[4]))
        assert env.action_masks().tolist() == local.action_masks().tolist()
        seen, over, steps = (told[0], told[4]), told[2], steps + 1
    assert steps > 20 or game == "push"
    if game == "evalumap2":
        pd.testing.assert_frame_equal(env.engagements(), local.engagements())
    theirs = local.frame() | {"user": "not told"}
    if game == "evalumap2":
        theirs["push"] = {key: value for key, value in theirs["push"].items() if key not in ("best", "probability")}
    assert env.frame() == json.loads(json.dumps(theirs))
    with pytest.raises(gym.error.ResetNeeded):
        env.step(action)


@pytest.mark.parametrize("game, mode", [("evalumap2", "NextStep"), ("push", "NextStep"), ("push", "SameStep")])
def test_a_batch_is_as_many_local_worlds_to_the_digit(made, room, game, mode):
    envs, chance = made("ben", 3, game=game, autoreset_mode=mode), np.random.default_rng(8)
    seen, infos = envs.reset()
    ids = envs.unwrapped.state["episode"].tolist()
    locals_ = [lived(room.folder, one) for one in ids]
    ended, ends = [False] * 3, 0
    for _ in range(150):
        masks = [local.action_masks() if game == "push" else None for local, *_ in locals_]
        actions = np.array([choose(envs, {} if mask is None else {"action_mask": mask}, chance) for mask in masks])
        seen, rewards, terminated, truncated, infos = envs.step(actions)
        now = envs.unwrapped.state["episode"].tolist()
        for at, (local, *_) in enumerate(locals_):
            if ended[at] and mode == "NextStep":
                assert now[at] != ids[at]
                locals_[at] = lived(room.folder, now[at])
                expected = (locals_[at][1], 0.0, False, False, locals_[at][2])
            else:
                expected = local.step(actions[at])
            ended[at], told = expected[2], {
                key: values[at] for key, values in infos.items() if key[0] != "_" and not key.startswith("final")}
            if ended[at] and mode == "SameStep":
                last = infos["final_obs"][at]
                assert (last == expected[0]).all() and infos["final_info"]["time"][at] == expected[4]["time"]
                assert (rewards[at], terminated[at]) == expected[1:3]
                locals_[at] = lived(room.folder, now[at])
                expected = (locals_[at][1], expected[1], True, False, locals_[at][2])
            one = {part: values[at] for part, values in seen.items()} if isinstance(seen, dict) else seen[at]
            assert same(one, expected[0])
            assert (rewards[at], terminated[at], truncated[at]) == expected[1:4]
            for key, value in widened(expected[4], told).items():
                assert np.array_equal(told[key], value), key
        ends, ids = ends + sum(ended), now
    assert ends >= 3


def test_info_has_one_shape_in_every_episode_as_recorders_want_it(made, room):
    shapes = set()
    for _ in range(4):
        env = made("dee", game="push")
        shapes |= {env.reset()[1]["fates"].shape, env.step(4)[4]["fates"].shape}
    local = {lived(room.folder, episode)[2]["fates"].shape for episode in Book(room.folder).episodes("push")["id"]}
    assert len(shapes) == 1 < len(local)


def test_copies_are_reset_by_mask_while_others_go_on(made):
    envs = made("cem", 3, game="evalumap2", autoreset_mode="Disabled")
    envs.reset()
    before = envs.unwrapped.state["episode"].tolist()
    envs.step(np.zeros((3, 7), int))
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    after = envs.unwrapped.state
    assert after["episode"][[0, 2]].tolist() == [before[0], before[2]] and after["episode"][1] not in before
    assert after["step"].tolist() == [1, 0, 1]
    envs.step(np.zeros((3, 7), int))


def test_agents_of_the_notebooks_run_unchanged_and_logs_are_the_local_ids(made, room):
    for game, name, local, some in (
            ("evalumap2", "evalumap2-v0", "pushlab/evalumap2-v0",
             [agents.RandomAgent(), agents.RandomCandidate(), agents.MostOpened(), agents.EpsilonGreedy(),
              agents.LinUCB(), agents.ThompsonSampling(), lambda observation: [0] * 7]),
            ("push", "push-v0", "pushlab/push-v0",
             [agents.RandomAgent(), agents.ShowAll(), agents.DismissAll(), agents.DoNotDisturb(), agents.QTable(),
              agents.LinearArrivalQ(), agents.LinearQ(), agents.LinUCBItem()])):
        env, theirs = made("dee", game=game), rollout(local, agents.RandomAgent(), steps=3, progress=False)
        for agent in some:
            log = rollout(env, agent, seed=5, progress=False, steps=25)
            assert list(log.columns.difference(["propensity"])) == list(theirs.columns.difference(["propensity"]))
            assert set(log["env"]) == {name} and set(log["task"]) == {f"{name}:practice"}
            assert room.tokens["dee"] not in log.to_csv()
        if game == "evalumap2":
            assert readable(log, env)["action.priority"].iloc[0] == env.unwrapped.world.schema.notification[
                "priority"].words[0]


def test_pictures_show_what_a_phone_knows(made):
    for game in ("evalumap2", "push"):
        env = made("dee", game=game, render_mode="rgb_array")
        _, info = env.reset()
        for _ in range(4):
            *_, info = env.step(choose(env, info, np.random.default_rng(1)))
        picture = env.render()
        assert picture.dtype == np.uint8 and picture.std() > 10
        assert "not told" in str(env.unwrapped.frame()) and "probability" not in str(env.unwrapped.frame())


# ---------------------------------------------------------------- episodes that count

def test_a_scored_episode_is_taken_up_where_it_stands(made, room):
    env, chance = made("eve", scored=True), np.random.default_rng(3)
    env.reset()
    episode, rewards = env.unwrapped.state["episode"][0], []
    for _ in range(10):
        rewards.append(env.step(chance.integers(env.action_space.nvec))[1])
    again = made("eve", scored=True)
    with pytest.warns(UserWarning, match=f"episode {episode} is taken up where it stands, after 10 steps"):
        again.reset(seed=1)
    over = False
    while not over:
        _, reward, over, _, _ = again.step(chance.integers(env.action_space.nvec))
        rewards.append(reward)
    local, chance = lived(room.folder, episode)[0], np.random.default_rng(3)
    assert rewards == [local.step(chance.integers(env.action_space.nvec))[1] for _ in rewards]


def test_two_programs_with_one_token_share_practice_and_are_told_of_a_clash(made):
    one, two = made("fay"), made("fay")
    one.reset(), two.reset()
    for env in (one, two, one, two):
        env.step([0] * 7)                       # each its own episode
    one, two = made("fay", scored=True), made("fay", scored=True)
    one.reset(), two.reset()
    assert one.unwrapped.state["episode"] == two.unwrapped.state["episode"]
    assert same(one.step([0] * 7), two.step([0] * 7))      # the same step in the same words counts once
    one.step([0] * 7)
    with pytest.raises(Refused, match="another action") as refusal:
        two.step([1, 0, 0, 0, 0, 0, 0])
    assert refusal.value.status == 409 and "Right: step 2; does another program" in str(refusal.value)
    with pytest.warns(UserWarning, match="taken up"):
        two.reset()
    two.step([1, 0, 0, 0, 0, 0, 0])


def test_a_scored_batch_that_is_too_large_is_refused_before_anything_begins(made, room):
    envs = made("gus", 4, scored=True)
    with pytest.raises(Refused, match="3 scored episodes"):
        envs.reset()
    env = made("gus", scored=True)
    env.reset()
    assert env.unwrapped.world.left == 2
    with pytest.raises(ValueError, match="NEXT_STEP or DISABLED"):
        made("gus", 2, scored=True, autoreset_mode="SameStep")


@pytest.mark.parametrize("game", ["evalumap2", "push"])
def test_copies_rest_when_no_scored_episode_is_left(made, room, game):
    envs, chance = made("hal", 2, game=game, scored=True), np.random.default_rng(0)
    _, infos = envs.reset()
    played, rested, ended = set(), 0, np.zeros(2, bool)
    for _ in range(2000):
        was = ended
        actions = np.array([choose(envs, {"action_mask": infos["action_mask"][at]} if game == "push" else {}, chance)
                            for at in range(2)])
        _, rewards, ended, _, infos = envs.step(actions)
        played |= set(envs.unwrapped.state["episode"].tolist())
        rested += (was & ended).sum()
        assert not rewards[was].any()
        if ended.all() and len(played) == 3:
            break
    assert len(played) == 3 and envs.unwrapped.world.left == 0
    with pytest.raises(Refused, match="no scored episodes"):
        envs.step(actions)
    kept = [row for row in steps_of(room.folder) if row[0] in played]
    assert all(sorted(step for episode, step, *_ in kept if episode == one) == [*range(len(
        [1 for episode, *_ in kept if episode == one]))] for one in played)


# ---------------------------------------------------------------- what goes wrong on the way

@contextmanager
def tearing(url, share, seed):
    """A TCP proxy to url that tears connections at random: before a request arrives, or after, before it is answered.

    Yields its url and a dict with the number of connections torn "before" and "after".
    """
    chance, torn, host = random.Random(seed), {"before": 0, "after": 0}, ("127.0.0.1", int(url.rpartition(":")[2]))

    def whole(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            some = connection.recv(65536)
            if not some:
                return b""
            data += some
        head, _, rest = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        while length and len(rest) < int(length[1]):
            rest += connection.recv(65536)
        return head + b"\r\n\r\n" + rest

    def serve(client):
        with client, socket.create_connection(host) as server:
            while request := whole(client):
                fate = chance.random() / share
                if fate < 0.5:
                    torn["before"] += 1
                    return
                server.sendall(request)
                answer = whole(server)
                if fate < 1:
                    torn["after"] += 1
                    client.sendall(answer[:chance.randrange(len(answer))])
                    return
                client.sendall(answer)

    def accept():
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", torn
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("number", [None, 2])
def test_dropped_connections_lose_and_double_nothing(made, room, number):
    team, chance = "ida" if number is None else "jon", np.random.default_rng(4)
    with tearing(room.url, 0.2, seed=5) as (url, torn):
        env = made(team, number, url=url, scored=True)
        env.reset()
        episodes = np.atleast_1d(env.unwrapped.state["episode"]).tolist()
        rewards, actions = [], []
        for _ in range(45):
            actions.append(chance.integers(env.unwrapped.world.action_space.nvec, size=(number or 1, 7)))
            _, reward, *_ = env.step(actions[-1] if number else actions[-1][0])
            rewards.append(np.atleast_1d(reward).tolist())
    assert torn["before"] > 2 and torn["after"] > 2
    kept = {(episode, step): (json.loads(action), reward) for episode, step, action, reward in steps_of(room.folder)
            if episode in episodes}
    assert kept == {(episode, step): (actions[step][at].tolist(), rewards[step][at])
                    for at, episode in enumerate(episodes) for step in range(45)}
    for at, episode in enumerate(episodes):
        local = lived(room.folder, episode)[0]
        assert [local.step(action[at])[1] for action in actions] == [reward[at] for reward in rewards]


class Moody(BaseHTTPRequestHandler):
    """Answers each path in its own way, as proxies, portals and busy servers do."""

    protocol_version, asked = "HTTP/1.1", {}

    def do_GET(self):
        mood, times = self.path.strip("/"), self.asked.get(self.path, 0)
        self.asked[self.path] = times + 1
        status, headers, body = {
            "page": (200, {}, b"<h1>Welcome to the library's network</h1>"), "list": (200, {}, b"[1]"),
            "moved": (301, {"Location": "https://class.example.org/moved"}, b""),
            "gone": (404, {}, b"<h1>nginx</h1>"), "deep": (200, {}, b"[" * 100_000),
            "slow": (200, {}, b'{"slow": 1}'), "quick": (200, {}, b'{"quick": 1}'), "well": (200, {}, b'{"well": 1}'),
            "endless": (200, {}, b"{" + b" " * 2**20 + b"}"),
            "hasty": (429, {}, b'{"error": "too many", "right": "1 a second"}'),
            "no": (403, {}, b'{"error": "closed", "right": "ask", "left": 0}'),
        }.get(mood, (200, {}, b'{"well": 1}') if times else (int(mood), {"Retry-After": "0"}, b""))
        if mood == "slow":
            slow.set()
            threading.Event().wait(0.5)
        self.send_response(status)
        kind = "application/json" if body[:1] == b"{" else "text/html"
        for name, value in {**headers, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


slow = threading.Event()


@pytest.fixture(scope="module")
def moody():
    Moody.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Moody) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Link(f"http://127.0.0.1:{server.server_port}/", "token", patience=20.0)
        server.shutdown()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_asked_again(moody, status):
    assert moody.ask("GET", f"/{status}") == {"well": 1}


def test_a_busy_servers_own_words_are_told(moody):
    link = Link(moody.url, "token", patience=0.2)
    with pytest.raises(ConnectionError, match=r"too many, 1 a second \(429\)\. What it answered before stands"):
        link.ask("GET", "/hasty")


def test_an_answer_without_an_end_is_not_read(moody, monkeypatch):
    monkeypatch.setattr(link_module, "LARGEST", 2**16)
    with pytest.raises(ConnectionError, match="without an end"):
        Link(moody.url, "token", patience=0.2).ask("GET", "/endless")


def test_a_server_that_does_not_encrypt_is_said_at_once(moody):
    with pytest.raises(ConnectionError, match="http:// or https://"):
        Link(moody.url.replace("http:", "https:"), "token").ask("GET", "/quick")


def test_who_waits_long_is_told_once_also_where_the_server_is_there_and_says_nothing(monkeypatch):
    monkeypatch.setattr(link_module, "TIMEOUT", 1.0)
    monkeypatch.setattr(link_module, "LONGEST", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.warns(UserWarning) as told:
        link = Link(f"http://127.0.0.1:{silent.getsockname()[1]}", "token", patience=2.5)
        begun = time.monotonic()
        with pytest.raises(ConnectionError, match="timed out"):
            link.ask("GET", "/quick")
    assert time.monotonic() - begun >= 2.5 and len(told) == 1 and "asking on for" in str(told[0].message)


@pytest.mark.parametrize("path, words", [
    ("page", "not as the server of a class"), ("list", "not as the server of a class"), ("gone", r"answers \(404\)"),
    ("moved", "https://class.example.org/moved"), ("deep", "not as the server")])
def test_what_is_no_class_is_said(moody, path, words):
    with pytest.raises(ConnectionError, match=words):
        moody.ask("GET", f"/{path}")


def test_a_refusal_has_the_servers_words_and_travels_between_processes(moody):
    with pytest.raises(Refused, match=r"refused \(403\): closed. Right: ask") as refusal:
        moody.ask("GET", "/no")
    again = pickle.loads(pickle.dumps(refusal.value))
    assert (again.status, again.told, str(again)) == (403, {"error": "closed", "right": "ask", "left": 0},
                                                     str(refusal.value))


@pytest.mark.posix
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows has no signals between threads")
def test_after_an_interruption_a_late_answer_is_nobodys(moody):
    main = threading.get_ident()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=lambda: slow.wait(20) and signal.pthread_kill(main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            moody.ask("GET", "/slow")
    finally:
        signal.signal(signal.SIGINT, before)
    assert moody.ask("GET", "/quick") == {"quick": 1}


@pytest.mark.posix
def test_a_forked_process_dials_for_itself(moody):
    moody.ask("GET", "/quick")
    script = ("import os, sys; from pushlab.envs.remote.link import Link\n"
              f"link = Link({moody.url!r}, 'token'); link.ask('GET', '/quick'); child = os.fork()\n"
              "path = 'quick' if child else 'well'\n"
              "told = [list(link.ask('GET', f'/{path}')) for _ in range(50)]\n"
              "assert told == [[path]] * 50\n"
              "os._exit(0) if not child else sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))")
    assert subprocess.run([sys.executable, "-c", script], timeout=120).returncode == 0


def test_nobody_there_is_said_soon(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ConnectionError, match=f"no answer from {url} .*refused.*address right.*started") as error:
        gym.make(ID, url=url, token="t", patience=0.3)
    assert "stands" not in str(error.value)
    monkeypatch.setattr(link_module, "FIRST", 0.3)
    monkeypatch.setenv("PUSHLAB_TOKEN", "t")
    (tmp_path / "answers.csv").write_text("id\n")
    told = CliRunner().invoke(app, ["hand-in", str(tmp_path / "answers.csv"), "--url", url])
    assert told.exit_code == 1 and "address right" in told.stderr


# ---------------------------------------------------------------- a server that is killed

def test_programs_go_on_when_the_server_is_killed_and_nothing_counts_twice(tmp_path):
    folder, names = tmp_path / "class", ["one", "two", "three"]
    tokens = new_class(folder, names, seed=SECRET, episodes=2, per_quarter=150)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def start():
        server = subprocess.Popen([sys.executable, "-P", "-m", "pushlab", "serve", folder, f"--port={port}"],
                                  env={**os.environ, "PYTHONPATH": str(Path(pushlab.__file__).parents[1])},
                                  stdout=subprocess.PIPE)
        assert server.stdout.readline()
        return server

    def play(name):
        env = gym.make(ID, url=f"http://127.0.0.1:{port}", token=tokens[name], scored=True)
        env.reset()
        chance, over = np.random.default_rng(len(name)), False
        while not over:
            action = chance.integers(env.action_space.nvec)
            _, reward, over, *_ = env.step(action)
            lives[name].append((action.tolist(), reward))
        env.close()
        return int(env.unwrapped.state["episode"][0])

    lives = {name: [] for name in names}
    server = start()
    with ThreadPoolExecutor(3) as threads:
        playing = [threads.submit(play, name) for name in names]
        while not all(map(len, lives.values())) and not any(one.done() for one in playing):
            time.sleep(0.01)
        server.kill()                       # in the middle of a step of each
        server.wait()
        before = sum(map(len, lives.values()))
        again = start()
        episodes = [one.result(300) for one in playing]
    again.terminate()
    again.wait(60)
    server.stdout.close(), again.stdout.close()
    assert before < sum(map(len, lives.values()))
    assert sorted(steps_of(folder)) == sorted((episode, step, json.dumps(action, separators=(",", ":")), reward)
                                              for episode, life in zip(episodes, lives.values())
                                              for step, (action, reward) in enumerate(life))
    assert all(replay(folder, episode)[0] for episode in episodes)


# ---------------------------------------------------------------- the token

def everything_of(error):
    return "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))


def test_the_token_is_in_no_text_that_others_may_see(made, room, tmp_path):
    token = room.tokens["kim"]
    env = made("kim")
    env.reset()
    envs = made("kim", 2)
    for one in (env, envs):
        assert token not in repr(one) + str(one) + repr(one.spec) + repr(vars(one.unwrapped)) + repr(
            vars(one.unwrapped.world)) + repr(vars(one.unwrapped.world.link))
        assert "url" in one.spec.kwargs and "token" not in one.spec.kwargs
    assert token not in env.spec.to_json()
    log = rollout(env, agents.RandomAgent(), steps=2, progress=False)
    assert len(log) == 2 and token not in log.to_csv()
    for copied in (copy.deepcopy, pickle.dumps):
        for one in (env, envs, env.unwrapped.world, env.unwrapped.world.link):
            with pytest.raises(TypeError, match="neither pickled nor copied"):
                copied(one)


@pytest.mark.parametrize("arguments", [
    {"scord": True}, {"game": "evalumap1"}, {"game": 5}, {"scored": "yes"}, {"patience": "long"}, {"url": 5},
    {"url": "class.example.org"}, {"url": "https://me:word@class.example.org"}, {"url": "https://class.example.org?token=a"},
    {"url": "http://127.0.0.1:1x"}, {"url": "http://127.0.0.1:99999"}, {"url": "https://..."},
    {"render_mode": "ansi"}, {"token": 7}, {"token": "two words"}, {"token": "a\nb: c"},
    {"token": ""}, {"token": "wrong"}])
def test_wrong_arguments_are_named_and_tell_no_token(room, arguments, monkeypatch):
    monkeypatch.delenv("PUSHLAB_TOKEN", raising=False)
    token = arguments.get("token", room.tokens["kim"])
    for make in (gym.make, gym.make_vec):
        if make is gym.make_vec and "render_mode" in arguments:
            continue
        with pytest.raises((ValueError, Refused)) as error, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(ID, **{"url": room.url, "token": room.tokens["kim"], **arguments})
        said = str(error.value)
        assert next(iter(arguments)) in said
        assert not token or str(token) not in everything_of(error.value) or token in ("", 7, "wrong")
        assert "word@" not in said and "token=a" not in said


def test_a_wrong_token_is_refused_in_the_servers_words(room):
    wrong = "not-this" + "-one"
    with pytest.raises(Refused, match="no token of a team.*PUSHLAB_TOKEN.*token=.*new one") as refusal:
        gym.make(ID, url=room.url, token=wrong)
    assert refusal.value.status == 401 and wrong not in everything_of(refusal.value)


def test_an_address_that_says_too_much_is_told(room):
    with pytest.raises(Refused, match=r"404.*without /api"):
        gym.make(ID, url=room.url + "/api", token=room.tokens["kim"])


def test_who_is_not_encrypted_is_told(recwarn):
    for url, warned in (("http://class.example.org", True), ("https://class.example.org", False),
                        ("http://127.0.0.1.example.org:80/a", True), ("http://localhost:8000", False),
                        ("http://127.0.0.1:8000", False), ("http://[::1]:8000", False)):
        recwarn.clear()
        link = Link(url, "secret-word")
        assert [str(one.message).count("can read your token") for one in recwarn
                if one.category is UserWarning] == [1] * warned
        assert "secret-word" not in repr(link) + "".join(str(one.message) for one in recwarn)


def test_an_environment_is_made_again_from_its_spec_with_the_token_of_the_surroundings(made, room, monkeypatch):
    env = made("kim", game="push")
    spec = gym.envs.registration.EnvSpec.from_json(env.spec.to_json())
    monkeypatch.delenv("PUSHLAB_TOKEN", raising=False)
    with pytest.raises(ValueError, match="PUSHLAB_TOKEN"):
        gym.make(spec)
    monkeypatch.setenv("PUSHLAB_TOKEN", room.tokens["kim"])
    again = gym.make(spec)
    assert again.unwrapped.world.game == "push" and again.reset()[1]["time"] == 0.0
    again.close()


# ---------------------------------------------------------------- Challenge 1

def answers_to(room):
    """A right table of answers to the hand-out's contexts."""
    (contexts,) = (room.folder / "handout").rglob("contexts.csv")
    catalogue = pd.read_csv(next((room.folder / "handout").rglob("catalogue.csv")))
    return pd.DataFrame({"id": pd.read_csv(contexts)["id"], "postingApp": catalogue["postingApp"][0],
                         "category": catalogue["category"][0], "subject": catalogue["subject"][0],
                         "numberOfUpdates": "none", "priority": "default", "ongoing": "False", "visibility": "private"})


def test_answers_are_handed_in_from_python_and_from_the_shell(room, tmp_path, monkeypatch):
    table, path = answers_to(room), tmp_path / "answers.csv"
    told = pushlab.hand_in(table, room.url, room.tokens["leo"])
    assert told["low"] <= told["public"] <= told["high"] and told["left"] == 19
    path.write_text(table.to_csv(index=False, lineterminator="\n"))
    monkeypatch.setenv("PUSHLAB_TOKEN", room.tokens["leo"])
    assert pushlab.hand_in(path, room.url) == told          # the same bytes count once
    shell = CliRunner().invoke(app, ["hand-in", str(path), "--url", room.url])
    assert shell.exit_code == 0 and f"{told['public']:.3f}" in shell.stdout and "19 uploads left" in shell.stdout
    monkeypatch.delenv("PUSHLAB_TOKEN")
    typed = CliRunner().invoke(app, ["hand-in", str(path)], input=room.tokens["mia"] + "\n",
                               env={"PUSHLAB_URL": room.url})
    assert typed.exit_code == 0 and room.tokens["mia"] not in typed.output


def test_faulty_answers_are_refused_with_every_fault(room, tmp_path, monkeypatch):
    table = answers_to(room)
    table.loc[[1, 3], "priority"] = "urgent"
    (tmp_path / "folder").mkdir()
    (path := tmp_path / "answers.csv").write_text(table.to_csv(index=False))
    monkeypatch.setenv("PUSHLAB_TOKEN", room.tokens["mia"])
    shell = CliRunner().invoke(app, ["hand-in", str(path), "--url", room.url])
    assert shell.exit_code == 1 and "2 faults" in shell.stderr and "urgent" in shell.stderr
    assert "\nRight: as the README" in shell.stderr and "answers.csv" not in shell.stderr
    path.write_text(answers_to(room).assign(subject="frends").to_csv(index=False))
    shell = CliRunner().invoke(app, ["hand-in", str(path), "--url", room.url])
    assert shell.exit_code == 0 and "note: " in shell.stdout and "'frends'" in shell.stdout
    for name in ("folder", "missing.csv"):
        shell = CliRunner().invoke(app, ["hand-in", str(tmp_path / name), "--url", room.url])
        assert shell.exit_code == 1 and name in shell.stderr and "Traceback" not in shell.stderr


def test_the_id_is_listed():
    assert ID in CliRunner().invoke(app, ["envs"]).stdout


def test_the_handouts_examples_run_in_its_folder(room, monkeypatch):
    handout = room.folder / "handout"
    text = (handout / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(handout)
    told = {}
    try:
        for block in blocks:
            exec(block.replace("https://...", room.url).replace('"..."', repr(room.tokens["nan"])), told)
        assert len(blocks) == 5 and len(told["log"]) > 20 and told["over"]
    finally:
        for name in ("env", "envs"):
            told[name].close() if name in told else None
        (handout / "answers.csv").unlink(missing_ok=True)
    assert Link(room.url, room.tokens["nan"]).ask("GET", "/api/me")["uploads"]["left"] == 19
