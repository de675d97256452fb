"""What learners of stable-baselines3 earn beside the workbook's own, and how fast batches are as
VecEnv.

- python -m tests.clients.returns push: one task, or several; without any, all of them
- python -m tests.clients.returns speed: steps a second against DummyVecEnv

Needs the extra `rl`; writes data/clients/returns.csv and speed.csv. What is finished is kept, run
by run, and the tables hold all that is finished. Settings of the learners are those of their
libraries, but for what stands here: PPO and its kin gather their steps in COPIES copies; SAC sees
observations and rewards by VecNormalize, as rewards of these worlds are up to 1e5 a step; DQN has
three settings of its own (LATE), tried on one seed of `treated`.
"""

import argparse
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
from gymnasium.wrappers import FlattenObservation, TransformObservation

import pushlab  # noqa: F401  the ids
from pushlab import agents, rollout
from pushlab.clients import to_sb3_vec
from pushlab.experiments.cells import Cell, run_cells
from pushlab.ground.arguments import bring

HERE = Path(__file__).parents[2] / "data" / "clients"
SEEDS, EPISODES, JUDGING = (
    5,
    20,
    1_000_000,
)  # judged in episodes JUDGING, JUDGING + 1, …, the same for everybody
COPIES, GATHERED = (
    8,
    2048,
)  # of PPO: copies, and steps of all together before an update (default)
CODES = gym.spaces.MultiDiscrete(
    [10] * 5
)  # what is seen in the room, without the clock
ROOM = {"encoding": "index"}
TREATED = {
    "T1": 7.8e5,
    "V": 1.2e4,
    "E": 39.0,
}  # where both drugs, always given, lead to
HIV = {"actions": "box", "log_observation": True, "timestep": 5.0}
BOX = {"actions": "box"}

# task: environment, its arguments, steps of training
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
PPO = {"n_steps": GATHERED // COPIES}
# Hindsight needs an episode, of 200 steps, that has ended; and the defaults are for 10 million frames of Atari (the
# target network is renewed every 10,000 steps): with them and seed 0 no goal was kept, with or without it.
LATE = {"learning_starts": 400, "learning_rate": 1e-3, "target_update_interval": 500}
HER = {"replay_buffer_class": "stable_baselines3:HerReplayBuffer", **LATE}

# task: {name: (class, policy, settings)}
LEARNERS = {
    **{
        task: {
            "DQN + HER": ("stable_baselines3:DQN", "MultiInputPolicy", HER),
            "DQN": ("stable_baselines3:DQN", "MultiInputPolicy", LATE),
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
LIMIT = 16  # memories of the room's agents
NO_RULES = ("goal", "treated", "hiv", "opioid", "zika", "rabbits")


def doses(task):
    """All actions of a Discrete space; of a box of doses its corners and 300 from within; to be given always."""
    space = gym.make(TASKS[task][0], **TASKS[task][1]).action_space
    if isinstance(space, gym.spaces.Discrete):
        return list(range(space.n))
    corners = np.stack(np.meshgrid(*zip(space.low, space.high)), -1).reshape(
        -1, len(space.low)
    )
    return [
        *corners,
        *np.random.default_rng(0).uniform(space.low, space.high, (300, len(space.low))),
    ]


def own(task):
    """{name: agent} of the workbook for a task; of constant actions the best one in an episode of training."""
    found = {"random": agents.RandomAgent}
    if task == "push":
        found |= {
            "Q-learning": agents.QTable,
            "linear Q": agents.LinearArrivalQ,
            "show all": agents.ShowAll,
            "do not disturb": agents.DoNotDisturb,
        }
    elif task == "room":
        found |= {
            f"{kind.name} {LIMIT}": lambda kind=kind: kind(LIMIT)
            for kind in (
                agents.EpisodicAgent,
                agents.SemanticAgent,
                agents.BothAgent,
                agents.GivenAgent,
                agents.LearnedAgent,
            )
        }
    elif task == "recommender":
        found |= {
            "linear Q": agents.LinearQ,
            "LinUCB": agents.LinUCBItem,
            "planner": agents.Planner,
        }
    elif "actions" in TASKS[task][1]:
        found |= {
            "linear Q": agents.LinearQ,
            "fitted Q": lambda: agents.FittedQIteration(
                gym.make(TASKS[task][0]).action_space.n,
                trees=10,
                growths=4,
                sweeps=25,
                leaf=5,
                every=5,
            ),
        }
    if task in NO_RULES:
        found["best constant"] = lambda: max(
            (agents.Constant(dose) for dose in doses(task)),
            key=lambda agent: rollout(
                gym.make(TASKS[task][0], **TASKS[task][1]),
                agent,
                record="episodes",
                progress=False,
            )["return"].sum(),
        )
    return found


def as_vec(task, copies):
    """Copies of a task's environment as a VecEnv.

    In the room without the clock, and as 0/1: torch's LSTM does not take the size that stable-baselines3 counts for
    codes. (Gymnasium's wrappers of observations take no batch that begins anew in the same step.)
    """
    name, arguments, _ = TASKS[task]
    if task != "room":
        return to_sb3_vec(
            name, copies, scale=arguments.get("actions") == "box", **arguments
        )
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv(
        [
            lambda: FlattenObservation(
                TransformObservation(
                    gym.make(name, **arguments),
                    lambda seen: seen[[0, 1, 2, 4, 5]],
                    CODES,
                )
            )
            for _ in range(copies)
        ]
    )


def judged(model, env, masked):
    """The return of the first episode of each copy, acting deterministically."""
    env.seed(JUDGING)
    seen, memory, begins = env.reset(), None, np.ones(env.num_envs, bool)
    total, on = np.zeros(env.num_envs), np.ones(env.num_envs, bool)
    while on.any():
        masks = (
            {"action_masks": np.stack(env.env_method("action_masks"))} if masked else {}
        )
        action, memory = model.predict(
            seen, memory, begins, deterministic=True, **masks
        )
        seen, reward, begins, _ = env.step(action)
        total += reward * on
        on &= ~begins
    return total


def learned_outside(task, agent, seed):
    """Steps, CPU seconds and returns of a learner of stable-baselines3."""
    from stable_baselines3.common.vec_env import VecNormalize

    kind, policy, settings = LEARNERS[task][agent]
    settings = {
        key: bring(value, agent) if isinstance(value, str) else value
        for key, value in settings.items()
    }
    env = as_vec(task, COPIES if "PPO" in agent else 1)
    other = as_vec(task, EPISODES)
    if agent == "SAC":
        env, other = (
            VecNormalize(env),
            VecNormalize(other, training=False, norm_reward=False),
        )
    before = time.process_time()
    model = bring(kind, agent)(policy, env, seed=seed, device="cpu", **settings).learn(
        TASKS[task][2]
    )
    took = time.process_time() - before
    if agent == "SAC":
        other.obs_rms = env.obs_rms
    return model.num_timesteps, took, judged(model, other, "Maskable" in agent)


def learned_here(task, agent, seed):
    """The same of an agent of the workbook, which begins no further episode once it has had the steps."""
    name, arguments, steps = TASKS[task]
    if agent in ("linear Q", "fitted Q"):  # which choose among the world's own doses
        arguments = {key: value for key, value in arguments.items() if key != "actions"}
    env, one = gym.make(name, **arguments), own(task)[agent]()
    before, had, episode = time.process_time(), 0, 0
    learns = type(one).learn is not agents.Agent.learn
    while learns and had < steps:
        had += int(
            rollout(
                env,
                one,
                seed=seed,
                first_episode=episode,
                steps=steps - had,
                record="episodes",
                progress=False,
            )["length"].sum()
        )
        episode += 1
    took = time.process_time() - before
    logs = [
        rollout(
            env,
            one,
            seed=JUDGING + number,
            learn=False,
            explore=False,
            record="episodes",
            progress=False,
        )
        for number in range(EPISODES)
    ]
    return had, took, pd.concat(logs)["return"]


def run(row, seed):
    """A cell: one training under one seed, judged; one row."""
    import warnings

    warnings.filterwarnings("ignore", module="gymnasium|stable_baselines3")
    task, agent = row.split("/")
    had, took, returns = (learned_outside if agent in LEARNERS[task] else learned_here)(
        task, agent, seed
    )
    return pd.DataFrame(
        {"steps": [had], "return": [np.mean(returns)], "seconds": [round(took, 1)]}
    )


def speed(row, seed):
    """A cell: CPU seconds of steps in a batch or a DummyVecEnv, alone or with PPO around them."""
    from stable_baselines3 import PPO as Learner
    from stable_baselines3.common.vec_env import DummyVecEnv

    task, copies, vec, what = row.split("/")
    name, n, ids = TASKS[task][0], int(copies), np.arange(int(copies))
    env = (
        to_sb3_vec(name, n)
        if vec == "native"
        else DummyVecEnv([lambda: gym.make(name)] * n)
    )
    env.seed(seed)
    env.reset()
    if what == "PPO":
        before, steps = time.process_time(), 4 * GATHERED
        Learner("MlpPolicy", env, seed=seed, device="cpu", n_steps=GATHERED // n).learn(
            steps
        )
    else:
        actions = ids % env.action_space.n
        for _ in range(20):
            env.step(actions)
        before, rounds = time.process_time(), 200
        for _ in range(rounds):
            env.step(actions)
        steps = rounds * n
    took = time.process_time() - before
    return pd.DataFrame(
        {
            "steps": [steps],
            "seconds": [round(took, 3)],
            "steps_per_second": [round(steps / took)],
        }
    )


def write(name, function, rows, axes):
    """Runs what is missing of some rows and adds all that is finished to a table."""
    cells = []
    for row in rows:
        for seed in range(SEEDS):
            cells.append(Cell({"row": row, "seed": seed}, function, (row, seed)))
    folder = HERE.parents[1] / "runs" / name
    log = run_cells(cells, folder, workers=1)["results"]
    table = pd.concat(
        [
            log["row"].str.split("/", expand=True).set_axis(axes, axis=1),
            log.drop(columns="row"),
        ],
        axis=1,
    )
    file = HERE / f"{name}.csv"
    if file.exists():
        table = pd.concat([pd.read_csv(file, dtype=dict.fromkeys(axes, str)), table])
    HERE.mkdir(exist_ok=True)
    table = table.drop_duplicates([*axes, "seed"], keep="last").sort_values(
        [*axes, "seed"]
    )
    table.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    bring("torch", "this").set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "tasks", nargs="*", default=[*TASKS, "speed"], help=", ".join([*TASKS, "speed"])
    )
    chosen = parser.parse_args().tasks
    for task in chosen:
        if task == "speed":
            write(
                "speed",
                speed,
                [
                    f"{one}/{n}/{vec}/{what}"
                    for one in ("push", "recommender")
                    for n in (8, 64)
                    for what in ("steps", "PPO")
                    for vec in ("native", "dummy")
                ],
                ["task", "copies", "vec", "what"],
            )
        else:
            write(
                "returns",
                run,
                [f"{task}/{agent}" for agent in [*own(task), *LEARNERS[task]]],
                ["task", "agent"],
            )
