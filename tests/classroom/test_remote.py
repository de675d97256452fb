"""`pushlab/Remote-v0`: a phone on the server of a class, with the interface of the local one."""

import copy
import json
import pickle
import re
import subprocess
import sys
import threading
import traceback
import warnings
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from ports import free_ports
from small_class import answers_table, as_lists
from typer.testing import CliRunner
from waiting import PATIENCE

import pushlab
from pushlab import agents, rollout
from pushlab.__main__ import app
from pushlab_classroom import ClassDatabase, new_class, replay, running_server
from pushlab_classroom.client import Refused, ServerConnection
from pushlab_classroom.database import EPISODES
from pushlab_classroom.episode import ReplayedEpisode
from pushlab_classroom.private_users import derive, new_secret

ID = "pushlab/Remote-v0"
SEED = "a secret of tests"
TEAMS = ["ann", "ben", "cem", "dee", "eve", "fay", "gus", "hal", "kim", "leo", "mia"]
LAVISH = {"requests": 1e6, "begins": 1e4}
ACTION = [0] * 7


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    """A served class: folder, tokens by team, url."""
    folder = tmp_path_factory.mktemp("remote") / "class"
    tokens = new_class(folder, TEAMS, SEED, episodes=3, per_quarter=100, days=2)
    with running_server(folder, **LAVISH) as url:
        yield SimpleNamespace(folder=folder, tokens=tokens, url=url)


@pytest.fixture
def make(classroom):
    """A function that creates a team's environment, which is closed after the test."""
    made = []

    def make(team, copies=None, **arguments):
        arguments = {"url": classroom.url, "token": classroom.tokens[team], **arguments}
        if copies is None:
            made.append(gym.make(ID, **arguments))
        else:
            made.append(gym.make_vec(ID, copies, **arguments))
        return made[-1]

    yield make
    for env in made:
        env.close()


def local_env(folder, episode):
    """Return the local environment of an episode, and the result of its reset."""
    book = ClassDatabase(folder)
    rows = book.query(f"{EPISODES} WHERE episodes.id = ?", int(episode))
    row = rows.to_dict("records")[0]
    secret = new_secret(SEED)
    env = ReplayedEpisode(book.settings | {"secret": secret.hex()}, row).env
    words = [row[name] for name in ("name", "game", "scored", "number")]
    return env, *env.reset(seed=derive(secret, "chance", *words))


def choose(env, rng):
    """Return a random allowed action."""
    if isinstance(env.action_space, gym.spaces.Discrete):
        return int(rng.choice(np.flatnonzero(env.action_masks())))
    return rng.integers(env.action_space.nvec)


def like_remote(info):
    """Return the info of a local environment, with `statuses` as long as in the remote one."""
    if "statuses" not in info:
        return info
    longer = np.zeros(2 * 256, np.int8)  # days * arrivals a day
    longer[: len(info["statuses"])] = info["statuses"]
    return info | {"statuses": longer}


@pytest.mark.parametrize(("game", "scored"), [("evalumap2", True), ("push", False)])
def test_equals_the_local_environment_to_the_digit(make, classroom, game, scored):
    env = make("ann", game=game, scored=scored).unwrapped
    rng = np.random.default_rng(7)
    observation, info = env.reset(seed=7)
    local, first, expected = local_env(classroom.folder, env.state["episode"][0])
    names = "name labels observation_names action_names action_choices drawing "
    names += "observation_space action_space "
    if game == "evalumap2":
        names += "candidates"
    else:
        names += "actions status_names weights status_rewards horizon"
        words = env.world.decode_one(observation)
        assert words == local.world.decode_one(first)
    for name in names.split():
        values = [getattr(one.world, name) for one in (env, local)]
        if name.endswith("space"):
            assert values[0] == values[1], name
        else:
            assert as_lists(values[0]) == as_lists(values[1]), name
    assert data_equivalence((observation, info), (first, like_remote(expected)), True)
    over = False
    while not over:
        action = choose(local, rng)
        answer = env.step(action)
        *expected, info = local.step(action)
        assert data_equivalence(answer, (*expected, like_remote(info)), True)
        over = answer[2]
        if game == "push":
            assert env.action_masks().tolist() == local.action_masks().tolist()
    frame = local.frame() | {"user": "unknown"}
    if game == "evalumap2":
        for hidden in ("best", "probability"):
            del frame["push"][hidden]
        assert env.world.episodes_left == 2
    assert env.frame() == json.loads(json.dumps(frame))
    with pytest.raises(gym.error.ResetNeeded):
        env.step(action)


def test_a_batch_equals_as_many_local_environments(make, classroom):
    envs = make("ben", 3, game="push")
    rng = np.random.default_rng(8)
    envs.reset()
    ids = envs.unwrapped.state["episode"]
    locals_ = [local_env(classroom.folder, one)[0] for one in ids]
    ended = [False] * 3
    for _ in range(60):
        actions = np.array([choose(local, rng) for local in locals_])
        seen, rewards, terminated, _, infos = envs.step(actions)
        ids = envs.unwrapped.state["episode"]
        for at in range(3):
            if ended[at]:
                locals_[at], expected, info = local_env(classroom.folder, ids[at])
                reward = 0.0
                ended[at] = False
            else:
                expected, reward, ended[at], _, info = locals_[at].step(actions[at])
            assert (rewards[at], terminated[at]) == (reward, ended[at])
            assert data_equivalence(seen[at], expected, True)
            for key, value in like_remote(info).items():
                assert np.array_equal(infos[key][at], value), key


@pytest.mark.parametrize(
    ("game", "agent"),
    [("evalumap2", agents.ThompsonSampling), ("push", agents.LinearArrivalQ)],
)
def test_agents_run_unchanged_and_logs_name_the_local_environment(
    make, classroom, game, agent, monkeypatch
):
    env = make("dee", game=game, render_mode="rgb_array")
    monkeypatch.setenv("PUSHLAB_TOKEN", classroom.tokens["dee"])
    if game == "push":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env.unwrapped, skip_render_check=True)
    log = rollout(env, agent(), seed=5, progress=False, steps=10)
    local = rollout(f"pushlab/{game}-v0", agent(), steps=3, progress=False)
    assert list(log) == list(local)
    assert set(log["env"]) == {f"{game}-v0"}
    assert set(log["task"]) == {f"{game}-v0:practice"}
    assert env.render().std() > 10


def test_a_scored_episode_is_resumed_and_a_second_program_is_refused(make):
    one = make("fay", scored=True)
    two = make("fay", scored=True)
    one.reset()
    two.reset()
    first = one.step(ACTION)
    assert data_equivalence(first, two.step(ACTION), True)  # counts once
    one.step(ACTION)
    with pytest.raises(Refused, match="another action") as refused:
        two.step([1] + [0] * 6)
    assert refused.value.status == 409
    assert "the next step is 2; if another program uses" in str(refused.value)
    episode = one.unwrapped.state["episode"][0]
    message = f"episode {episode} continues after 2 steps"
    with pytest.warns(UserWarning, match=message):
        two.reset()
    two.step([1] + [0] * 6)
    assert two.unwrapped.state["step"].tolist() == [3]


def test_copies_rest_if_no_scored_episode_is_left(make, classroom):
    with pytest.raises(Refused, match="has 3 left"):
        make("gus", 4, game="push", scored=True).reset()
    with pytest.raises(ValueError, match="NEXT_STEP or DISABLED"):
        make("gus", 2, scored=True, autoreset_mode="SameStep")
    envs = make("gus", 2, game="push", scored=True)
    envs.reset()
    actions = np.array([4, 0])  # stand by and show: they end at different times
    over = np.zeros(2, bool)
    rested = 0
    while envs.unwrapped.world.episodes_left or not over.all():
        before = over
        _, rewards, over, *_ = envs.step(actions)
        assert not rewards[before].any()
        rested += (before & over).sum()
    assert rested > 0
    episodes = ClassDatabase(classroom.folder).episodes().query("team == 'gus'")
    assert episodes["finished"].notna().tolist() == [True] * 3
    with pytest.raises(Refused, match="has 0 left"):
        envs.step(actions)


class Moody(BaseHTTPRequestHandler):
    """A server that answers each path like a busy server, a proxy or a portal."""

    protocol_version = "HTTP/1.1"
    requests = []

    def do_GET(self):
        refusal = {"error": "too much", "right": "ask", "left": 0}
        status, answer, place = {
            "/page": (200, "Welcome", None),
            "/moved": (301, "", "https://class.example.org/"),
            "/hasty": (429, refusal, None),
            "/no": (403, refusal, None),
        }.get(self.path, (200, {"path": self.path}, None))
        if self.path[1:].isdigit() and self.path not in self.requests:
            status = int(self.path[1:])
        self.requests.append(self.path)
        is_json = isinstance(answer, dict)
        body = json.dumps(answer).encode() if is_json else answer.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if is_json else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "3")
        if place:
            self.send_header("Location", place)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def moody():
    with ThreadingHTTPServer(("127.0.0.1", 0), Moody) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield ServerConnection(
            f"http://127.0.0.1:{server.server_port}/", "token", PATIENCE
        )
        server.shutdown()


@pytest.fixture
def waits(monkeypatch):
    """Times that a connection would have waited, without waiting."""
    seconds = []
    clock = SimpleNamespace(monotonic=lambda: sum(seconds), sleep=seconds.append)
    monkeypatch.setattr("pushlab_classroom.client.time", clock)
    return seconds


def test_a_busy_server_is_asked_again_after_a_while(moody, waits):
    for path in ("/429", "/502", "/503", "/504"):
        assert moody.request("GET", path) == {"path": path}
    assert waits == [3] * 4


def test_unexpected_answers_raise_clear_errors(moody):
    words = {
        "/page": r"answers with status 200, but not as the server of a class",
        "/moved": "https://class.example.org/",
        "/hasty": r"too much, ask \(429\)\. Earlier steps are stored",
    }
    impatient = ServerConnection(moody.url, "token", patience=0)
    for path, message in words.items():
        with pytest.raises(ConnectionError, match=message):
            impatient.request("GET", path)
    message = r"refused the request \(403\): too much; ask"
    with pytest.raises(Refused, match=message) as error:
        moody.request("GET", "/no")
    again = pickle.loads(pickle.dumps(error.value))
    assert (again.status, again.content["left"], str(again)) == (
        403,
        0,
        str(error.value),
    )


def test_the_answer_to_an_interrupted_request_is_dropped(moody, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(HTTPConnection, "getresponse", interrupt)
        moody.request("GET", "/slow")
    assert moody.request("GET", "/quick") == {"path": "/quick"}


def test_a_missing_server_is_tried_for_ten_seconds(waits):
    [port] = free_ports()
    connection = ServerConnection(f"http://127.0.0.1:{port}", "token")
    message = "for 10 s: .*refused.*address.*running"
    with pytest.warns(UserWarning, match="trying for another 7 s"):
        with pytest.raises(ConnectionError, match=message):
            connection.request("GET", "/api/games/push")
    assert waits == pytest.approx([0, 0.2, 0.4, 0.8, 1.6, 3.2, 3.8])


@pytest.mark.slow
def test_an_agent_continues_after_the_server_was_killed(tmp_path):
    folder = tmp_path / "class"
    [token] = new_class(folder, ["ann"], SEED, episodes=2, per_quarter=100).values()
    [port] = free_ports()
    command = [sys.executable, "-m", "pushlab", "serve", str(folder), f"--port={port}"]
    seen = []
    for most in (30, 10_000):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            url = server.stdout.readline().decode().split()[-1]
            if not seen:
                env = gym.make(ID, url=url, token=token, scored=True, patience=PATIENCE)
                env.reset()
            over = False
            while not over and len(seen) < most:
                action = [len(seen) % 7] + [0] * 6
                _, reward, over, *_ = env.step(action)
                seen.append((action, reward))
            server.kill()
    env.close()
    assert over
    steps = ClassDatabase(folder).steps(1)
    assert list(zip(steps["action"].map(json.loads), steps["reward"])) == seen
    assert replay(folder, 1)[0]


def test_the_token_is_in_no_text_spec_or_copy(make, classroom, monkeypatch):
    token = classroom.tokens["kim"]
    env = make("kim")
    envs = make("kim", 2)
    for one in (env, envs):
        world = one.unwrapped.world
        objects = [vars(one.unwrapped), vars(world), vars(world.connection)]
        assert token not in f"{one!r} {one} {one.spec!r} {objects!r}"
        assert "token" not in one.spec.kwargs
        for copied in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="can't be pickled or copied"):
                copied(one)
    spec = gym.envs.registration.EnvSpec.from_json(env.spec.to_json())
    with pytest.raises(ValueError, match="PUSHLAB_TOKEN"):
        gym.make(spec)
    monkeypatch.setenv("PUSHLAB_TOKEN", token)
    with gym.make(spec) as again:
        assert again.unwrapped.world.game == "evalumap2"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scord", True),
        ("game", "evalumap1"),
        ("patience", -1),
        ("url", "https://me:word@class.example.org"),
        ("url", "http://127.0.0.1:99999"),
        ("token", "two words"),
        ("token", "not-this-one"),  # the server's own refusal
    ],
)
def test_wrong_arguments_are_named_without_the_token(classroom, name, value):
    arguments = {"url": classroom.url, "token": classroom.tokens["kim"], name: value}
    for maker in (gym.make, gym.make_vec):
        with pytest.raises((ValueError, Refused), match=name) as error:
            maker(ID, **arguments)
        message = "".join(traceback.format_exception(error.value))
        for secret in (classroom.tokens["kim"], "word@", "not-this-one"):
            assert secret not in message


def test_an_address_without_encryption_warns(recwarn):
    for url, warnings_ in (
        ("http://class.example.org", 1),
        ("http://127.0.0.1.example.org:80/a", 1),
        ("https://class.example.org", 0),
        ("http://localhost:8000", 0),
        ("http://[::1]:8000", 0),
    ):
        recwarn.clear()
        ServerConnection(url, "token")
        assert len(recwarn) == warnings_


def test_answers_are_handed_in_from_python_and_the_shell(classroom, tmp_path):
    def shell(token=classroom.tokens["leo"], **values):
        table.assign(**values).to_csv(path, index=False, lineterminator="\n")
        words = ["hand-in", str(path), "--url", classroom.url]
        return CliRunner().invoke(app, words, input=f"{token}\n")

    path = tmp_path / "answers.csv"
    table = answers_table(classroom.folder)
    score = pushlab.hand_in(table, classroom.url, classroom.tokens["leo"])
    assert score["low"] <= score["public"] <= score["high"]
    assert score["left"] == 19
    result = shell()
    assert result.exit_code == 0
    assert f"{score['public']:.3f} of the" in result.stdout
    assert "19 uploads left" in result.stdout  # the same file counts once
    result = shell(subject="frends")
    assert "note: subject: not in the history: frends" in result.stdout
    result = shell(priority="urgent")
    assert result.exit_code == 1
    assert "urgent" in result.stderr
    assert "not the token of a team" in shell("wrong").stderr


@pytest.mark.slow
def test_the_handouts_examples_run_in_its_folder(classroom, monkeypatch):
    handout = classroom.folder / "handout"
    monkeypatch.chdir(handout)
    readme = (handout / "README.md").read_text(encoding="utf-8")
    readme = readme.replace("https://...", classroom.url)
    readme = readme.replace('"..."', repr(classroom.tokens["mia"]))
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    names = {}
    for block in blocks:
        exec(block, names)
    assert len(blocks) == 5
    assert len(names["log"]) > 20
    names["env"].close()
    names["envs"].close()
    (handout / "answers.csv").unlink()
