"""Compare the returns of stable-baselines3 and the workbook's agents, and measure the speed of batches as VecEnv.

- python -m tests.clients.returns push: one task, or several; all tasks by default
- python -m tests.clients.returns speed: steps per second, compared with DummyVecEnv

Needs the extra `rl`; writes data/clients/returns.csv and speed.csv. Each finished run is stored, and the tables contain
all finished runs. The learners have the default settings of their libraries, with these exceptions. PPO and its
variants collect steps in COPIES copies. SAC normalises observations and rewards with VecNormalize, because rewards of
these worlds reach 1e5 per step. DQN has three changed settings (DQN_SETTINGS), tried on one seed of `treated`.
"""

import argparse
import time
from functools import partial
from itertools import product
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
from gymnasium.wrappers import FlattenObservation, TransformObservation

import pushlab  # noqa: F401  the ids
from pushlab import agents, rollout
from pushlab.clients import to_sb3_vec
from pushlab.experiments.cells import Cell, run_cells
from pushlab.utils.arguments import import_optional

FOLDER = Path(__file__).parents[2] / "data" / "clients"
SEEDS = 5
# All agents are evaluated in the same episodes: EVALUATION_SEED, EVALUATION_SEED + 1, …
EPISODES = 20
EVALUATION_SEED = 1_000_000
# Copies of PPO, and their total number of steps before an update (the default).
COPIES = 8
ROLLOUT_STEPS = 2048
CODES = gym.spaces.MultiDiscrete([10] * 5)  # an observation of the room, without time
ROOM = {"encoding": "index"}
TREATED = {"T1": 7.8e5, "V": 1.2e4, "E": 39.0}  # the result of constant treatment
HIV = {"actions": "box", "log_observation": True, "timestep": 5.0}
BOX = {"actions": "box"}

# {task: (environment, its arguments, training steps)}
TASKS = {
    "goal": ("pushlab/ODE-HIV-Goal-v0", {}, 20_000),
    "treated": ("pushlab/ODE-HIV-Goal-v0", {"goal": TREATED}, 20_000),
    "push": ("pushlab/push-v0", {}, 40_960),
    "room": ("pushlab/RoomEnv-v0", ROOM, 10_240),
    "hiv": ("pushlab/ODE-HIV-v0", HIV, 4_000),
    "opioid": ("pushlab/ODE-Opioid-v0", BOX, 4_000),
    "zika": ("pushlab/ODE-Zika-v0", BOX, 4_000),
    "rabbits": ("pushlab/ODE-LotkaVolterra-v1", BOX, 4_000),
    "recommender": ("pushlab/RECEnv-v0", {}, 40_960),
}
PPO = {"n_steps": ROLLOUT_STEPS // COPIES}
# Hindsight needs a finished episode (200 steps). The defaults are for 10 million Atari frames, with an update of the
# target network every 10,000 steps: with these and seed 0 no goal was held, with or without hindsight.
DQN_SETTINGS = {
    "learning_starts": 400,
    "learning_rate": 1e-3,
    "target_update_interval": 500,
}
HER = {"replay_buffer_class": "stable_baselines3:HerReplayBuffer", **DQN_SETTINGS}

# {task: {name: (class, policy, settings)}}
LEARNERS = {
    **{
        task: {
            "DQN + HER": ("stable_baselines3:DQN", "MultiInputPolicy", HER),
            "DQN": ("stable_baselines3:DQN", "MultiInputPolicy", DQN_SETTINGS),
        }
        for task in ("goal", "treated")
    },
    "push": {
        "MaskablePPO": ("sb3_contrib:MaskablePPO", "MlpPolicy", PPO),
        "PPO": ("stable_baselines3:PPO", "MlpPolicy", PPO),
    },
    "room": {
        "RecurrentPPO": ("sb3_contrib:RecurrentPPO", "MlpLstmPolicy", {}),
        "PPO": ("stable_baselines3:PPO", "MlpPolicy", PPO),
    },
    "recommender": {"PPO": ("stable_baselines3:PPO", "MlpPolicy", PPO)},
    **{
        task: {"SAC": ("stable_baselines3:SAC", "MlpPolicy", {})}
        for task in ("hiv", "opioid", "zika", "rabbits")
    },
}
CAPACITY = 16  # memories of the room's agents
CONSTANT_TASKS = ("goal", "treated", "hiv", "opioid", "zika", "rabbits")


def make_env(task):
    name, arguments, _ = TASKS[task]
    return gym.make(name, **arguments)


def constant_actions(task):
    """Return all actions of a Discrete space, or the corners and 300 random actions of a box."""
    space = make_env(task).action_space
    if isinstance(space, gym.spaces.Discrete):
        return list(range(space.n))
    size = len(space.low)
    corners = np.stack(np.meshgrid(*zip(space.low, space.high)), -1)
    rng = np.random.default_rng(0)
    inner = rng.uniform(space.low, space.high, (300, size))
    return [*corners.reshape(-1, size), *inner]


def best_constant(task):
    """Return the agent with the best constant action in one training episode."""

    def total_reward(agent):
        log = rollout(make_env(task), agent, record="episodes", progress=False)
        return log["return"].sum()

    candidates = [agents.Constant(action) for action in constant_actions(task)]
    return max(candidates, key=total_reward)


def workbook_agents(task):
    """Return {name: function that makes the agent} of the workbook's agents for a task."""
    makers = {"random": agents.RandomAgent}
    if task == "push":
        makers |= {
            "Q-learning": agents.QTable,
            "linear Q": agents.LinearArrivalQ,
            "show all": agents.ShowAll,
            "do not disturb": agents.DoNotDisturb,
        }
    elif task == "room":
        for kind in (
            agents.EpisodicAgent,
            agents.SemanticAgent,
            agents.EpisodicSemanticAgent,
            agents.PrefilledMemoryAgent,
            agents.LearnedMemoryAgent,
        ):
            makers[f"{kind.name} {CAPACITY}"] = partial(kind, CAPACITY)
    elif task == "recommender":
        makers |= {
            "linear Q": agents.LinearQ,
            "LinUCB": agents.LinUCBItem,
            "planner": agents.Planner,
        }
    elif "actions" in TASKS[task][1]:
        makers |= {
            "linear Q": agents.LinearQ,
            "fitted Q": lambda: agents.FittedQIteration(
                gym.make(TASKS[task][0]).action_space.n,
                trees=10,
                forest_fits=4,
                iterations_per_fit=25,
                min_samples_leaf=5,
                fit_every=5,
            ),
        }
    if task in CONSTANT_TASKS:
        makers["best constant"] = partial(best_constant, task)
    return makers


def as_vec(task, copies):
    """Return copies of a task's environment as a VecEnv.

    The room's observations are one-hot and without time, because torch's LSTM rejects the size that stable-baselines3
    computes for codes. Gymnasium's observation wrappers don't accept batches that reset in the same step.
    """
    name, arguments, _ = TASKS[task]
    if task != "room":
        is_box = arguments.get("actions") == "box"
        return to_sb3_vec(name, copies, scale=is_box, **arguments)
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv([make_flat_room] * copies)


def make_flat_room():
    env = TransformObservation(
        make_env("room"),
        lambda observation: observation[[0, 1, 2, 4, 5]],
        CODES,
    )
    return FlattenObservation(env)


def evaluate(model, env, has_masks):
    """Return the return of the first episode of each copy, with deterministic actions."""
    env.seed(EVALUATION_SEED)
    observation = env.reset()
    memory = None
    is_start = np.ones(env.num_envs, bool)
    is_running = np.ones(env.num_envs, bool)
    total = np.zeros(env.num_envs)
    while is_running.any():
        options = {}
        if has_masks:
            options["action_masks"] = np.stack(env.env_method("action_masks"))
        action, memory = model.predict(
            observation, memory, is_start, deterministic=True, **options
        )
        observation, reward, is_start, _ = env.step(action)
        total += reward * is_running
        is_running &= ~is_start
    return total


def run_sb3(task, agent, seed):
    """Return the steps, CPU seconds and returns of a learner of stable-baselines3."""
    from stable_baselines3.common.vec_env import VecNormalize

    kind, policy, settings = LEARNERS[task][agent]
    settings = {
        key: import_optional(value, agent) if isinstance(value, str) else value
        for key, value in settings.items()
    }
    env = as_vec(task, COPIES if "PPO" in agent else 1)
    test_env = as_vec(task, EPISODES)
    if agent == "SAC":
        env = VecNormalize(env)
        test_env = VecNormalize(test_env, training=False, norm_reward=False)
    start = time.process_time()
    learner = import_optional(kind, agent)(
        policy, env, seed=seed, device="cpu", **settings
    )
    model = learner.learn(TASKS[task][2])
    seconds = time.process_time() - start
    if agent == "SAC":
        test_env.obs_rms = env.obs_rms
    returns = evaluate(model, test_env, "Maskable" in agent)
    return model.num_timesteps, seconds, returns


def run_workbook(task, name, seed):
    """Return the steps, CPU seconds and returns of an agent of the workbook."""
    env_id, arguments, steps = TASKS[task]
    if name in ("linear Q", "fitted Q"):  # they choose among the world's default doses
        arguments = {key: value for key, value in arguments.items() if key != "actions"}
    env = gym.make(env_id, **arguments)
    agent = workbook_agents(task)[name]()
    start = time.process_time()
    steps_so_far = 0
    episode = 0
    can_learn = type(agent).learn is not agents.Agent.learn
    while can_learn and steps_so_far < steps:
        log = rollout(
            env,
            agent,
            seed=seed,
            first_episode=episode,
            steps=steps - steps_so_far,
            record="episodes",
            progress=False,
        )
        steps_so_far += int(log["length"].sum())
        episode += 1
    seconds = time.process_time() - start
    logs = []
    for number in range(EPISODES):
        log = rollout(
            env,
            agent,
            seed=EVALUATION_SEED + number,
            learn=False,
            explore=False,
            record="episodes",
            progress=False,
        )
        logs.append(log)
    return steps_so_far, seconds, pd.concat(logs)["return"]


def run(row, seed):
    """Train and evaluate an agent with one seed; return one row."""
    import warnings

    warnings.filterwarnings("ignore", module="gymnasium|stable_baselines3")
    task, agent = row.split("/")
    run_agent = run_sb3 if agent in LEARNERS[task] else run_workbook
    steps, seconds, returns = run_agent(task, agent, seed)
    return pd.DataFrame(
        {
            "steps": [steps],
            "return": [np.mean(returns)],
            "seconds": [round(seconds, 1)],
        }
    )


def speed(row, seed):
    """Measure the CPU seconds of steps in a native batch or a DummyVecEnv, alone or in PPO."""
    from stable_baselines3 import PPO as Learner
    from stable_baselines3.common.vec_env import DummyVecEnv

    task, copies, vec, what = row.split("/")
    name = TASKS[task][0]
    n = int(copies)
    if vec == "native":
        env = to_sb3_vec(name, n)
    else:
        env = DummyVecEnv([partial(gym.make, name)] * n)
    env.seed(seed)
    env.reset()
    if what == "PPO":
        start = time.process_time()
        steps = 4 * ROLLOUT_STEPS
        learner = Learner(
            "MlpPolicy",
            env,
            seed=seed,
            device="cpu",
            n_steps=ROLLOUT_STEPS // n,
        )
        learner.learn(steps)
    else:
        actions = np.arange(n) % env.action_space.n
        for _ in range(20):
            env.step(actions)
        start = time.process_time()
        rounds = 200
        for _ in range(rounds):
            env.step(actions)
        steps = rounds * n
    seconds = time.process_time() - start
    return pd.DataFrame(
        {
            "steps": [steps],
            "seconds": [round(seconds, 3)],
            "steps_per_second": [round(steps / seconds)],
        }
    )


def write(name, function, rows, axes):
    """Run the missing cells of some rows and add all finished cells to a table."""
    cells = []
    for row in rows:
        for seed in range(SEEDS):
            cells.append(Cell({"row": row, "seed": seed}, function, (row, seed)))
    folder = FOLDER.parents[1] / "runs" / name
    log = run_cells(cells, folder, workers=1)["results"]
    labels = log["row"].str.split("/", expand=True).set_axis(axes, axis=1)
    table = pd.concat([labels, log.drop(columns="row")], axis=1)
    file = FOLDER / f"{name}.csv"
    if file.exists():
        stored = pd.read_csv(file, dtype=dict.fromkeys(axes, str))
        table = pd.concat([stored, table])
    FOLDER.mkdir(exist_ok=True)
    keys = [*axes, "seed"]
    table = table.drop_duplicates(keys, keep="last").sort_values(keys)
    table.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    import_optional("torch", "this").set_num_threads(1)
    names = [*TASKS, "speed"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=names, help=", ".join(names))
    for task in parser.parse_args().tasks:
        if task == "speed":
            settings = product(
                ("push", "recommender"),
                ("8", "64"),
                ("steps", "PPO"),
                ("native", "dummy"),
            )
            rows = [f"{name}/{n}/{vec}/{what}" for name, n, what, vec in settings]
            write("speed", speed, rows, ["task", "copies", "vec", "what"])
        else:
            names = [*workbook_agents(task), *LEARNERS[task]]
            rows = [f"{task}/{name}" for name in names]
            write("returns", run, rows, ["task", "agent"])
