"""Lifetimes: what a syllabus makes of an agent, tests that leave no trace, and life after an interruption."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import pushlab
from pushlab import agents
from pushlab.agents.protocol import Agent, plain_state
from pushlab.ground.faults import BadData
from pushlab.lifetimes.experts import Experts
from pushlab.lifetimes.live import run_experts, run_syllabi, run_syllabus
from pushlab.lifetimes.syllabi import ant_a, ant_b, cl
from pushlab.logs.folders import read_log, write_log
from pushlab.metrics.lifelong import lifelong_report

# ---------------------------------------------------------------- a world and agents whose right answers are known


class Doors(gym.Env):
    """One step: of four doors one pays 1. The observation is the number of the room."""

    def __init__(self, room=0, right=3):
        self.room, self.right = room, right
        self.observation_space, self.action_space = gym.spaces.Discrete(3), gym.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.room, {}

    def step(self, action):
        return self.room, float(action == self.right), True, False, {}


class DoorAgent(Agent):
    """Tries doors in order until one pays; `by` says for which rooms one finding serves."""

    by = staticmethod(lambda room: str(room))

    def __init__(self):
        self.found, self.tried = {}, {}

    def act(self, room, info, explore=True):
        here = self.by(room)
        return self.found[here] if here in self.found else self.tried.get(here, 0) if explore else 0

    def learn(self, transition):
        here = self.by(transition.observation)
        if transition.reward:
            self.found[here] = int(transition.action)
        else:
            self.tried[here] = self.tried.get(here, 0) + 1

    def state(self):
        return {"found": dict(self.found), "tried": dict(self.tried)}

    def load(self, state):
        self.found, self.tried = dict(state["found"]), dict(state["tried"])


class NeverForgets(DoorAgent):
    name = "never forgets"


class TransfersFully(DoorAgent):
    """One finding serves all rooms."""

    name, by = "transfers fully", staticmethod(lambda room: "any")


class ForgetsCompletely(DoorAgent):
    """Keeps what it knows of the room in which it is being trained, and of no other."""

    name = "forgets completely"

    def learn(self, transition):
        here = self.by(transition.observation)
        self.found = {room: door for room, door in self.found.items() if room == here}
        self.tried = {room: count for room, count in self.tried.items() if room == here}
        super().learn(transition)


class ByChance(Agent):
    """Draws from a generator of its own that no episode makes anew."""

    name = "by chance"

    def __init__(self):
        self.chance = np.random.Generator(np.random.PCG64(5))
        self.learned = 0

    def act(self, room, info, explore=True):
        return int(self.chance.integers(4))

    def learn(self, transition):
        self.learned += 1

    def state(self):
        return {"chance": self.chance, "learned": self.learned}

    def load(self, state):
        from pushlab.agents.protocol import as_generator

        self.chance, self.learned = as_generator(state["chance"]), state["learned"]


gym.register("pushlab-tests/Doors-v0", entry_point=Doors)
ROOMS = {name: {"$episode": "pushlab-tests/Doors-v0", "room": room, "right": right}
         for name, room, right in (("red", 0, 3), ("blue", 1, 2))}
SAME = {name: {**room, "right": 3} for name, room in ROOMS.items()}
DAYS = {"north": {"$episode": "pushlab/RECEnv-v0", "random_state": 1},
        "south": {"$episode": "pushlab/RECEnv-v0", "random_state": 2}}
RED_BLUE_RED = ant_a(ROOMS, train=10, test=5, order=["red", "blue", "red"])


def means_of_tests(log):
    """Mean reward of each test: a row a test phase, a column a task."""
    tests = log[log["block_type"] == "test"]
    return tests.groupby(["phase", "task"])["reward"].mean().unstack()


def training_of(log):
    return [block["reward"].tolist() for _, block in log[log["block_type"] == "train"].groupby("block")]


# ---------------------------------------------------------------- the log

def test_the_log_says_what_was_lived():
    log = run_syllabus(RED_BLUE_RED, NeverForgets(), seed=4, progress=False)
    assert list(log.columns) == ["run", "env", "agent", "seed", "lifetime", "phase", "block", "block_type", "task",
                                 "params", "regime", "episode", "reward", "length"]
    assert len(log) == RED_BLUE_RED.count == 70 and log["episode"].tolist() == list(range(70))
    assert log["block"].drop_duplicates().tolist() == list(range(7))
    assert log.groupby("block")["phase"].first().tolist() == [
        "0.test", "1.train", "1.test", "2.train", "2.test", "3.train", "3.test"]
    assert log.groupby("regime")["task"].first().tolist() == ["red", "blue", "red", "red", "blue", "blue", "red",
                                                              "blue", "red", "red", "blue"]
    assert {json.loads(params)["right"] for params in log[log["task"] == "blue"]["params"]} == {2}
    assert log["seed"].eq(4).all() and log["agent"].eq("never forgets").all() and log["length"].eq(1).all()
    assert log.attrs["syllabus_type"] == "ANT_A"


def test_an_agent_that_never_forgets():
    log = run_syllabus(RED_BLUE_RED, NeverForgets(), progress=False)
    assert means_of_tests(log)["red"].tolist() == [0, 1, 1, 1] and means_of_tests(log)["blue"].tolist() == [0, 0, 1, 1]
    assert training_of(log) == [[0, 0, 0] + [1] * 7, [0, 0] + [1] * 8, [1] * 10]


def test_an_agent_that_forgets_completely():
    log = run_syllabus(RED_BLUE_RED, ForgetsCompletely(), progress=False)
    assert means_of_tests(log)["red"].tolist() == [0, 1, 0, 1] and means_of_tests(log)["blue"].tolist() == [0, 0, 1, 0]
    assert training_of(log) == [[0, 0, 0] + [1] * 7, [0, 0] + [1] * 8, [0, 0, 0] + [1] * 7]


def test_an_agent_that_transfers_fully():
    log = run_syllabus(ant_b(SAME, train=10, test=5), TransfersFully(), progress=False)
    assert means_of_tests(log)["red"].tolist() == [0, 1, 1] and means_of_tests(log)["blue"].tolist() == [0, 1, 1]
    assert training_of(log) == [[0, 0, 0] + [1] * 7, [1] * 10]


def test_the_metrics_of_these_three_are_the_known_ones():
    """Rewards are 0 and 1, and so 0 and 100 on the scale of the metrics."""
    faithful = lifelong_report(run_syllabus(RED_BLUE_RED, NeverForgets(), progress=False)).lifetime
    assert faithful["performance_maintenance_mrlep"] == faithful["performance_maintenance_mrtlp"] == 0
    assert faithful["recovery_time"] == 0
    forgetful = lifelong_report(run_syllabus(RED_BLUE_RED, ForgetsCompletely(), progress=False)).lifetime
    assert forgetful["performance_maintenance_mrlep"] == forgetful["performance_maintenance_mrtlp"] == -100
    assert forgetful["recovery_time"] == 3                                  # it tries three doors again
    syllabus = ant_b(SAME, train=10, test=5)
    experts = run_experts(syllabus, TransfersFully(), progress=False)
    carried = lifelong_report(run_syllabus(syllabus, TransfersFully(), progress=False), experts)
    assert carried.lifetime["forward_transfer_contrast"] == 1 and carried.lifetime["backward_transfer_contrast"] == 0
    # Blue is at 1 from the first of its 10 episodes, where the expert's mean is 7 / 10; red is what its expert is.
    assert carried.lifetime["relative_performance"] == pytest.approx((1 + 10 / 7) / 2)
    alone = lifelong_report(run_syllabus(syllabus, NeverForgets(), progress=False), experts)
    assert alone.lifetime["relative_performance"] == pytest.approx(1)


def test_a_restarting_agent_forgets_and_a_told_one_does_not():
    forgetful = run_syllabus(RED_BLUE_RED, agents.Restarting(NeverForgets), progress=False)
    assert means_of_tests(forgetful)["red"].tolist() == [0, 1, 0, 1]
    faithful = means_of_tests(run_syllabus(RED_BLUE_RED, agents.Told(TransfersFully), progress=False))
    assert faithful["red"].tolist() == [0, 1, 1, 1] and faithful["blue"].tolist() == [0, 0, 1, 1]


def test_a_user_is_recognised_by_how_much_they_open():
    day = {"$episode": "pushlab/push-v0", "days": "train"}
    syllabus = ant_a({"mira": {**day, "user": "mira"}, "theo": {**day, "user": "theo"}}, train=6, test=2,
                     order=["mira", "theo", "mira"])
    agent = agents.Recognising(agents.QTable)
    run_syllabus(syllabus, agent, progress=False)
    assert agent.met == [0] * 6 + [0] + [1] * 5 + [1] + [0] * 5        # it takes a day, and the tests leave no trace
    assert [opened > unopened for opened, unopened, _ in agent.users] == [True, False]


# ---------------------------------------------------------------- tests leave no trace

VARIED = {False: (DAYS["north"], [{}, {"obs_std": 0.3}, {}]),
          True: (ROOMS["red"], [{"room": 0}, {"room": 1, "right": 2}, {"room": 0}])}


@pytest.mark.parametrize("make", [NeverForgets, ByChance, agents.LinearQ, agents.LinUCBItem,
                                  lambda: agents.FittedQIteration(5, trees=3, growths=1, sweeps=3, every=5)])
def test_training_is_the_same_with_and_without_tests(make):
    """What an agent knows, where its generators stand and what it earns later: all the same, to the bit."""
    episode, variations = VARIED[isinstance(make(), (NeverForgets, ByChance))]
    agent, untested = make(), make()
    log = run_syllabus(cl(episode, variations, train=8, test=6), agent, seed=1, progress=False)
    alone = run_syllabus(cl(episode, variations, train=8), untested, seed=1, progress=False)
    assert training_of(log) == training_of(alone)
    assert plain_state(agent.state()) == plain_state(untested.state()) != plain_state(make().state())


def test_tests_do_not_learn_or_explore():
    class Witness(agents.LinearQ):
        seen = []

        def act(self, observation, info, explore=True):
            self.seen.append(("act", explore))
            return super().act(observation, info, explore)

        def learn(self, transition):
            self.seen.append(("learn",))
            super().learn(transition)

    log = run_syllabus(cl(DAYS["north"], [{}, {"obs_std": 0.3}], train=2, test=3), Witness(), progress=False)
    steps = {kind: int(log[log["block_type"] == kind]["length"].sum()) for kind in ("train", "test")}
    assert {event: Witness.seen.count(event) for event in set(Witness.seen)} == {
        ("act", True): steps["train"], ("act", False): steps["test"], ("learn",): steps["train"]}


def test_a_task_is_tested_in_the_same_episodes_at_every_visit_and_trained_in_others():
    seeds = {}

    class Seeds(agents.RandomAgent):
        def begin(self, env, seed):
            seeds.setdefault(self.learning, []).append(seed)
            super().begin(env, seed)

        def begin_task(self, task, learning):
            self.learning = learning

    log = run_syllabus(ant_a(DAYS, train=4, test=3), Seeds(), seed=2, progress=False)
    tests = log[log["block_type"] == "test"].groupby(["task", "phase"])["reward"].apply(list).unstack()
    assert (tests["0.test"] == tests["1.test"]).all() and (tests["1.test"] == tests["2.test"]).all()
    assert tests.loc["north", "0.test"] != tests.loc["south", "0.test"]
    assert len(set(seeds[True])) == 8 and not set(seeds[True]) & set(seeds[False])     # trained twice for 4 episodes
    assert len(set(seeds[False])) == 3
    other = run_syllabus(ant_a(DAYS, train=4, test=3), agents.RandomAgent(), seed=3, progress=False)
    assert not set(log["reward"]) & set(other["reward"])


def test_the_same_seed_gives_the_same_lifetime():
    once, again = (run_syllabus(ant_a(DAYS, train=6, test=3), agents.LinearQ(), seed=5, progress=False)
                   for _ in range(2))
    pd.testing.assert_frame_equal(once, again)


# ---------------------------------------------------------------- interruptions

SYLLABUS = ant_a(DAYS, train=12, test=4, order=["north", "south", "north"])
MAKERS = {"linear Q": "agents.LinearQ(half_at=5)",
          "forests": "agents.FittedQIteration(5, trees=3, growths=1, sweeps=3, every=4)",      # refits from its data
          "restarts": "agents.Restarting(agents.LinearQ)",
          "told": "agents.Told(agents.LinUCBItem)"}
SCRIPT = """
import json, os, signal, sys
import pushlab.lifetimes.book as book, pushlab.lifetimes.live as lifetimes
from pushlab import agents
from pushlab.lifetimes.syllabi import read_syllabus

folder, syllabus, agent, where, after = *sys.argv[1:5], int(sys.argv[5])
agent = eval(agent)

def die_in(owner, name, when=lambda *arguments: True):
    # the call number `after` is the last thing this process does
    calls, real = [], getattr(owner, name)

    def counted(*arguments, **more):
        calls.append(when(*arguments))
        if sum(calls) == after:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **more)
    setattr(owner, name, counted)

if where == "training":
    die_in(type(agent), "learn")
elif where == "test":
    die_in(type(agent), "act", lambda agent, observation, info, explore: not explore)
elif where == "between":                    # the block is written, that it is finished is not
    die_in(book, "write_text", lambda path, text: path.name == "agent.json")
lifetimes.run_syllabus(read_syllabus(json.loads(syllabus)), agent, 3, folder, progress=False)
"""


def start(folder, agent, where="nowhere", after=1):
    path = [str(Path(pushlab.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    told = json.dumps(SYLLABUS.to_dict())
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder), told, agent, where, str(after)],
                            env=environment, stderr=subprocess.PIPE)


def finished(folder):
    path = folder / "agent.json"
    return json.loads(path.read_text())["finished"] if path.exists() else 0


@pytest.mark.posix
@pytest.mark.parametrize("name, where, after, blocks", [
    ("linear Q", "test", 100, 2), ("linear Q", "between", 5, 3), ("forests", "training", 130, 3)])
def test_a_killed_lifetime_goes_on_and_ends_as_it_would_have(name, where, after, blocks, tmp_path):
    process = start(tmp_path / "killed", MAKERS[name], where, after)
    _, words = process.communicate(timeout=900)
    assert process.returncode == -signal.SIGKILL, words.decode()
    assert finished(tmp_path / "killed") == blocks
    agent, whole = eval(MAKERS[name]), eval(MAKERS[name])
    resumed = run_syllabus(SYLLABUS, agent, 3, tmp_path / "killed", progress=False)
    uninterrupted = run_syllabus(SYLLABUS, whole, 3, tmp_path / "whole", progress=False)
    pd.testing.assert_frame_equal(resumed, uninterrupted, check_exact=True)
    assert plain_state(agent.state()) == plain_state(whole.state())
    assert files_in(tmp_path / "killed") == files_in(tmp_path / "whole")
    pd.testing.assert_frame_equal(uninterrupted, run_syllabus(SYLLABUS, eval(MAKERS[name]), 3, progress=False),
                                  check_exact=True)


def files_in(folder):
    """{path: contents} of all files."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_killed_at_any_moment_from_outside(tmp_path):
    process = start(tmp_path / "killed", MAKERS["linear Q"])
    while finished(tmp_path / "killed") < 1 and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    process.communicate(timeout=900)
    resumed = run_syllabus(SYLLABUS, eval(MAKERS["linear Q"]), 3, tmp_path / "killed", progress=False)
    uninterrupted = run_syllabus(SYLLABUS, eval(MAKERS["linear Q"]), 3, progress=False)
    pd.testing.assert_frame_equal(resumed, uninterrupted, check_exact=True)


def test_a_finished_lifetime_is_read_and_not_lived_again(tmp_path):
    first, agent = agents.LinearQ(), agents.LinearQ()
    log = run_syllabus(SYLLABUS, first, 0, tmp_path, progress=False)
    agent.act = lambda *arguments: pytest.fail("there was nothing left to do")
    pd.testing.assert_frame_equal(run_syllabus(SYLLABUS, agent, 0, tmp_path, progress=False), log, check_exact=True)
    assert plain_state(agent.state()) == plain_state(first.state())


@pytest.mark.posix
def test_killed_in_its_first_block_it_begins_anew(tmp_path):
    process = start(tmp_path / "killed", MAKERS["linear Q"], "between", 2)       # written, not said to be
    _, words = process.communicate(timeout=900)
    assert process.returncode == -signal.SIGKILL, words.decode()
    assert (tmp_path / "killed" / "0" / "0-test").exists() and not finished(tmp_path / "killed")
    resumed = run_syllabus(SYLLABUS, eval(MAKERS["linear Q"]), 3, tmp_path / "killed", progress=False)
    uninterrupted = run_syllabus(SYLLABUS, eval(MAKERS["linear Q"]), 3, progress=False)
    pd.testing.assert_frame_equal(resumed, uninterrupted, check_exact=True)


def test_a_folder_belongs_to_one_lifetime(tmp_path):
    run_syllabus(SYLLABUS, agents.LinearQ(), 0, tmp_path, progress=False)
    for syllabus, agent, seed in ((SYLLABUS, agents.LinearQ(), 1), (SYLLABUS, agents.LinUCBItem(), 0),
                                  (ant_a(DAYS, 12, 4), agents.LinearQ(), 0)):
        with pytest.raises(ValueError, match="holds the lifetime of 'linear Q' in 'adapting to new tasks, A', seed 0"):
            run_syllabus(syllabus, agent, seed, tmp_path, progress=False)
    with pytest.raises(FileExistsError, match="holds a lifetime already"):
        run_syllabus(SYLLABUS, agents.LinearQ(), 0, tmp_path, progress=False, resume=False)


def test_a_log_of_somebody_else_is_not_written_over(tmp_path):
    log = run_syllabus(ant_a(DAYS, 2, 1), agents.LinearQ(), 0, progress=False)
    write_log(log, tmp_path)
    before = files_in(tmp_path)
    with pytest.raises(FileExistsError, match="holds a log already that is not of this lifetime"):
        run_syllabus(SYLLABUS, agents.LinearQ(), 0, tmp_path, progress=False)
    assert files_in(tmp_path) == before


def test_a_lifetime_that_lost_a_block_does_not_learn_it_twice(tmp_path):
    run_syllabus(SYLLABUS, agents.LinearQ(), 0, tmp_path, progress=False)
    shutil.rmtree(tmp_path / "0" / f"{len(SYLLABUS.phases) - 1}-test")
    with pytest.raises(ValueError, match="has lost blocks: 7 were finished, and 6 are there"):
        run_syllabus(SYLLABUS, agents.LinearQ(), 0, tmp_path, progress=False)


@pytest.mark.parametrize("file, old, new", [("data-log.tsv", "0", "1"), ("columns.json", "{", "{ ")])
def test_a_block_that_was_changed_since_is_not_gone_on_with(tmp_path, file, old, new):
    run_syllabus(RED_BLUE_RED, NeverForgets(), 0, tmp_path, progress=False)
    path = next(tmp_path.glob(f"0/1-*/{file}"))
    head, _, tail = path.read_text().rpartition(old)
    path.write_text(head + new + tail)
    before = files_in(tmp_path)
    with pytest.raises(ValueError):
        run_syllabus(RED_BLUE_RED, NeverForgets(), 0, tmp_path, progress=False)
    assert files_in(tmp_path) == before
    path.unlink()
    with pytest.raises(ValueError):
        run_syllabus(RED_BLUE_RED, NeverForgets(), 0, tmp_path, progress=False)


def test_a_lifetime_written_before_blocks_had_checksums_goes_on(tmp_path):
    log = run_syllabus(RED_BLUE_RED, NeverForgets(), 0, tmp_path, progress=False)
    told = json.loads((tmp_path / "agent.json").read_text())
    told.pop("blocks")
    told["check"] = sha256(json.dumps([told["mark"], told["finished"], told["state"]]).encode()).hexdigest()
    (tmp_path / "agent.json").write_text(json.dumps(told))
    assert run_syllabus(RED_BLUE_RED, NeverForgets(), 0, tmp_path, progress=False).equals(log)


@pytest.mark.parametrize("text", ["{", "[]", '{"mark": 1}'])
def test_a_file_of_what_was_learned_that_cannot_be_read_is_named(text, tmp_path):
    (tmp_path / "agent.json").write_text(text)
    with pytest.raises(BadData, match="agent.json: what a lifetime keeps of itself"):
        run_syllabus(SYLLABUS, agents.LinearQ(), 0, tmp_path, progress=False)


def test_an_agent_that_cannot_tell_what_it_learned_is_told_so_before_anything_runs(tmp_path):
    class Silent(Agent):
        def act(self, observation, info, explore=True):
            return 0

        def learn(self, transition):
            self.last = transition

    with pytest.raises(ValueError, match="Silent learns and does not say what.*write state"):
        run_syllabus(SYLLABUS, Silent(), 0, tmp_path / "new", progress=False)
    assert not (tmp_path / "new").exists()
    assert len(run_syllabus(SYLLABUS, Silent(), 0, progress=False)) == SYLLABUS.count


# ---------------------------------------------------------------- errors

def test_environments_that_cannot_be_made_are_named_before_anything_runs():
    wrong = ant_a({"a": {"$episode": "pushlab/push-v0", "user": "nobody"},
                   "b": {"$episode": "pushlab/push-v0", "user": "mira", "max_age": -1}}, train=1, test=1)
    with pytest.raises(BadData) as error:
        run_syllabus(wrong, agents.ShowAll(), progress=False)
    assert len(error.value.faults) == 2
    assert "task a" in str(error.value) and "max_age is a number of minutes from 0" in str(error.value)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "one", None])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match="seed is a whole number from 0"):
        run_syllabus(SYLLABUS, agents.LinearQ(), seed, progress=False)


# ---------------------------------------------------------------- experts, and many lifetimes

def test_experts_learn_one_task_each_and_nothing_of_another():
    agent = NeverForgets()
    experts = run_experts(RED_BLUE_RED, agent, progress=False)
    assert list(experts) == ["red", "blue"] and agent.found == {}
    assert [len(experts[task][0]) for task in experts] == [20, 10]
    assert experts["blue"][0]["reward"].tolist() == [0, 0] + [1] * 8
    assert set(experts["red"][0]["task"]) == {"red"} and set(experts["red"][0]["block_type"]) == {"train"}
    assert len(run_experts(RED_BLUE_RED, agent, episodes=7, progress=False)["red"][0]) == 7


def test_experts_go_into_a_store_and_come_out_as_they_were(tmp_path):
    store = Experts(tmp_path)
    runs = run_experts(RED_BLUE_RED, ForgetsCompletely(), seed=2, store=store, progress=False)
    assert store.tasks == ["blue", "red"]
    log = run_syllabus(RED_BLUE_RED, ForgetsCompletely(), seed=2, progress=False)
    for name in ("relative_performance", "sample_efficiency"):
        assert lifelong_report(log, store).lifetime[name] == lifelong_report(log, runs).lifetime[name]


def test_a_lifetime_is_read_back_as_it_was_lived(tmp_path):
    log = run_syllabus(RED_BLUE_RED, NeverForgets(), 1, tmp_path, progress=False)
    read = read_log(tmp_path)
    pd.testing.assert_frame_equal(read, log, check_exact=True)
    assert read.attrs["syllabus_type"] == "ANT_A" and read.attrs["scenario"]["syllabus"] == RED_BLUE_RED.to_dict()


def test_many_lifetimes_are_each_what_it_is_alone(tmp_path):
    made = [agents.LinearQ(), agents.LinUCBItem()]
    logs = run_syllabi(SYLLABUS, made, seeds=2, folder=tmp_path, jobs=2, progress=False)
    assert {name: len(some) for name, some in logs.items()} == {"linear Q": 2, "LinUCB": 2}
    alone = run_syllabus(SYLLABUS, agents.LinearQ(), 1, progress=False, lifetime=1)
    pd.testing.assert_frame_equal(logs["linear Q"][1], alone, check_exact=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LinUCB-0", "LinUCB-1", "linear-Q-0", "linear-Q-1"]
    assert made[0].weights is None
    with pytest.raises(ValueError, match="different names"):
        run_syllabi(SYLLABUS, [agents.LinearQ(), agents.LinearQ()])
