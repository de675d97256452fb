"""Lifetimes: training, tests without traces, experts, and interruptions."""

import json

import gymnasium as gym
import pandas as pd
import pytest

from pushlab import agents
from pushlab.agents.protocol import Agent, state_to_json
from pushlab.lifetimes.runner import run_syllabi, run_syllabus
from pushlab.lifetimes.syllabi import ant_a, cl
from pushlab.logs.files import read_log

QUIET = {"progress": False}


class Doors(gym.Env):
    """One step: of four doors one pays 1. The observation is the number of the room."""

    observation_space = gym.spaces.Discrete(3)
    action_space = gym.spaces.Discrete(4)

    def __init__(self, room=0, right=3):
        self.room = room
        self.right = right

    def reset(self, *, seed=None, options=None):
        return self.room, {}

    def step(self, action):
        return self.room, float(action == self.right), True, False, {}


class DoorAgent(Agent):
    """Tries the doors of a room in order until one pays.

    Args:
        forgets: It remembers only the room in which it learns.
    """

    name = "doors"

    def __init__(self, forgets=False):
        self.forgets = forgets
        self.doors = {}

    def act(self, room, info, explore=True):
        return self.doors.get(str(room), 0)

    def learn(self, transition):
        door = self.act(transition.observation, {})
        if self.forgets:
            self.doors = {}
        self.doors[str(transition.observation)] = door + 1 - int(transition.reward)

    def state(self):
        return {"doors": dict(self.doors)}

    def load(self, state):
        self.doors = dict(state["doors"])


def forgetful():
    return DoorAgent(forgets=True)


gym.register("pushlab-tests/Doors-v0", entry_point=Doors)
RED = {"$episode": "pushlab-tests/Doors-v0", "room": 0, "right": 3}
BLUE = {"$episode": "pushlab-tests/Doors-v0", "room": 1, "right": 2}
RED_BLUE_RED = ant_a({"red": RED, "blue": BLUE}, 10, 5, order=["red", "blue", "red"])
NORTH = {"$episode": "pushlab/RECEnv-v0", "random_state": 1}
TOWNS = ant_a({"north": NORTH, "south": {**NORTH, "random_state": 2}}, 12, 4)
VARIED = [{}, {"obs_std": 0.3}, {}]
NEW_RED = [0] * 3 + [1] * 7
NEW_BLUE = [0] * 2 + [1] * 8
KNOWN = [1] * 10
REMEMBERED = [[NEW_RED, NEW_BLUE, KNOWN], [0, 1, 1, 1], [0, 0, 1, 1]]
FORGOTTEN = [[NEW_RED, NEW_BLUE, NEW_RED], [0, 1, 0, 1], [0, 0, 1, 0]]


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        (DoorAgent(), REMEMBERED),
        (forgetful(), FORGOTTEN),
        (agents.RestartingAgent(DoorAgent), FORGOTTEN),
        (agents.TaskAwareAgent(forgetful), REMEMBERED),
    ],
)
def test_rewards_of_agents_that_remember_or_forget(agent, expected):
    log = run_syllabus(RED_BLUE_RED, agent, **QUIET)
    tests = log[log["block_type"] == "test"].groupby(["task", "phase"])["reward"]
    means = tests.mean()
    trained = log[log["block_type"] == "train"]
    training = [block["reward"].tolist() for _, block in trained.groupby("block")]
    assert [training, means["red"].tolist(), means["blue"].tolist()] == expected


def test_the_log_of_a_lifetime_and_its_folder(tmp_path):
    log = run_syllabus(RED_BLUE_RED, DoorAgent(), 4, tmp_path, lifetime=2, **QUIET)
    assert len(log) == 70 and log["episode"].tolist() == list(range(70))
    constant = ["run", "env", "agent", "seed", "lifetime", "length"]
    name = "adapting to new tasks, A doors 4"
    assert (log[constant] == [name, "Doors-v0", "doors", 4, 2, 1]).all(axis=None)
    columns = ["regime", "phase", "block", "block_type", "task"]
    assert log.loc[10, columns].tolist() == [2, "1.train", 1, "train", "red"]
    assert log["params"][5] == json.dumps({"right": 2, "room": 1})
    back = read_log(tmp_path / "log.csv")
    pd.testing.assert_frame_equal(back, log, check_exact=True)
    assert back.attrs["syllabus_type"] == log.attrs["syllabus_type"] == "ANT_A"


def test_each_agent_of_several_has_a_folder_of_its_own(tmp_path):
    players = []
    for name in ("no doors", "no/doors", "no-doors"):
        player = DoorAgent()
        player.name = name
        players.append(player)
    logs = run_syllabi(RED_BLUE_RED, players, 1, tmp_path, **QUIET)
    folders = ["no doors-0", "no%2Fdoors-0", "no-doors-0"]
    assert sorted(folder.name for folder in tmp_path.iterdir()) == sorted(folders)
    for folder, (log,) in zip(folders, logs.values(), strict=True):
        assert read_log(tmp_path / folder / "log.csv").equals(log)


class Witness(agents.LinearQ):
    """Records the seeds of its episodes, also those of its copies."""

    seeds: dict = {}
    breaks_at = None

    def begin_task(self, task, learning):
        self.learning = learning

    def begin(self, env, seed):
        super().begin(env, seed)
        self.seeds.setdefault(self.learning, []).append(seed)

    def act(self, observation, info, explore=True):
        assert explore == self.learning
        return super().act(observation, info, explore)

    def learn(self, transition):
        assert self.learning
        super().learn(transition)
        if self.episodes == self.breaks_at:
            raise KeyboardInterrupt


def test_tests_leave_no_trace_and_repeat_their_episodes():
    Witness.seeds = {}
    agent = Witness()
    run_syllabus(cl(NORTH, VARIED, 8, 6), agent, 1, **QUIET)
    trained = Witness.seeds[True]
    tested = Witness.seeds[False]
    assert len(set(trained)) == 24 and not {*trained} & {*tested}
    assert tested == tested[:6] * 8
    untested = agents.LinearQ()
    run_syllabus(cl(NORTH, VARIED, 8), untested, 1, **QUIET)
    assert state_to_json(agent.state()) == state_to_json(untested.state())


def stored_blocks(folder):
    return sorted((folder / "blocks").glob("*.json"))


def test_an_interrupted_lifetime_ends_as_it_would_have(tmp_path):
    Witness.breaks_at = 17
    with pytest.raises(KeyboardInterrupt) as error:
        run_syllabus(TOWNS, Witness(), 3, tmp_path, **QUIET)
    Witness.breaks_at = None
    assert error.value.log["block"].max() == len(stored_blocks(tmp_path)) == 3
    other = Witness()
    whole = run_syllabus(TOWNS, other, 3, **QUIET)
    for _ in range(2):
        one = Witness()
        resumed = run_syllabus(TOWNS, one, 3, tmp_path, **QUIET)
        pd.testing.assert_frame_equal(resumed, whole, check_exact=True)
        assert state_to_json(one.state()) == state_to_json(other.state())
        block = stored_blocks(tmp_path)[2]
        block.write_text(block.read_text().replace("1", "2"))


def test_finished_blocks_belong_to_one_agent_syllabus_and_seed(tmp_path):
    for forgets, syllabus, seed, count in (
        (False, RED_BLUE_RED, 0, 7),
        (False, RED_BLUE_RED, 0, 7),
        (True, RED_BLUE_RED, 0, 14),
        (True, cl(RED, [{}, {"right": 2}], 5), 0, 16),
        (True, RED_BLUE_RED, 1, 23),
    ):
        run_syllabus(syllabus, DoorAgent(forgets), seed, tmp_path, **QUIET)
        assert len(stored_blocks(tmp_path)) == count


class Silent(agents.LinearQ):
    """Learns and has no state of its own."""

    state_attributes = {}


def test_agents_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match="Silent learns and has no state"):
        run_syllabus(RED_BLUE_RED, Silent(), 0, tmp_path, **QUIET)
    agent = DoorAgent()
    run_syllabus(RED_BLUE_RED, agent, 0, **QUIET)
    with pytest.raises(ValueError, match="'doors' has learned in this session"):
        run_syllabus(RED_BLUE_RED, agent, 0, tmp_path, **QUIET)
