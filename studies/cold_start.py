"""Measure how fast agents learn a new user: agents × users × seeds on pushlab/evalumap2-v0.

    python studies/cold_start.py --out data/studies/cold_start.csv --workers 2

writes cold_start.csv, one row per run, cold_start_curves.csv, one row per user, agent and window of 100 steps, and
cold_start_quarters.csv, one row per user, agent, seed and episode of a longer run.

An agent sends one notification for each context of a user's test quarter and learns from every answer. All agents get
the same contexts and, with the same seed, the same random numbers for the answers, so they can be compared in pairs.
Regret is the loss in the probability of an open compared with the best notification: a row of the catalogue with the
best priority, visibility and so on. With reveal=True its probability is in `info["best"]`, which no agent here reads.
The candidates have neutral values of priority, visibility and so on, so an agent that chooses among them can't avoid a
part of the regret, the `floor`.

Thompson sampling is compared with random notifications and with the most opened one. It was chosen before the shipped
users were examined, see `pushlab.agents.bandits`.

A second comparison is of functions: a table, the linear model and a neural network, with the same exploration. Its two
agents are defined here and, for students to read, in notebook 3. In the longer run each of the three meets the same
quarter eight times, with new answers.
"""

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import pandas as pd
import typer

import pushlab  # noqa: F401  registers the environments
from pushlab import agents
from pushlab.agents.protocol import Agent, agent_rng
from pushlab.agents.push import ContextFeatures, varying_columns
from pushlab.experiments.cells import Cell, run_cells
from pushlab.logs.rollout import rollout
from pushlab.metrics.estimate import mean_interval


class Learner(Agent):
    """ε-greedy as `EpsilonGreedy` is; a subclass has `start`, `values` and `update`."""

    def __init__(self):
        self.steps = 0

    def begin(self, env, seed):
        self.world = env.unwrapped.world
        self.rng = agent_rng(seed)
        if self.steps == 0:
            self.start()

    def act(self, observation, info, explore=True):
        values = self.values(observation["context"])
        epsilon = 0.2 / (1 + self.steps / 500)
        self.row = values.argmax()
        if explore and self.rng.random() < epsilon:
            self.row = self.rng.integers(len(values))
        return self.world.candidates[self.row].copy()

    def learn(self, transition):
        self.update(float(transition.next_info["opened"]))
        self.steps += 1


class Table(Learner):
    """A running mean for each candidate at each time of day."""

    name = "table"

    def start(self):
        context = self.world.schema.context
        self.time = context.components.index("time")
        self.sent = np.zeros((context.sizes[self.time], len(self.world.candidates)))
        self.opened = np.zeros_like(self.sent)

    def values(self, context):
        self.slot = context[self.time]
        mean = self.opened.sum() / max(self.sent.sum(), 1)  # of all answers so far
        return (self.opened[self.slot] + mean) / (self.sent[self.slot] + 1)

    def update(self, opened):
        self.sent[self.slot, self.row] += 1
        self.opened[self.slot, self.row] += opened


def loss(X, opened, W, w):
    """Mean log loss of a network: inputs X, hidden weights W, output weights w."""
    score = np.tanh(X @ W) @ w
    return (np.logaddexp(0, score) - opened * score).mean()


def gradients(X, opened, W, w):
    """Derivatives of the loss for W and for w."""
    hidden = np.tanh(X @ W)
    probability = 1 / (1 + np.exp(-hidden @ w))
    error = (probability - opened) / len(opened)
    back = np.outer(error, w) * (1 - hidden**2)
    return X.T @ back, hidden.T @ error


class Adam:
    """Gradient descent for one array of weights, with a step size for each weight."""

    def __init__(self, weights):
        self.weights = weights
        self.mean = np.zeros_like(weights)
        self.square = np.zeros_like(weights)
        self.count = 0

    def step(self, slope, rate=0.003):
        self.count += 1
        self.mean += 0.1 * (slope - self.mean)
        self.square += 0.001 * (slope**2 - self.square)
        size = np.sqrt(self.square / (1 - 0.999**self.count)) + 1e-8
        self.weights -= rate * self.mean / (1 - 0.9**self.count) / size


class Inputs:
    """Inputs of the network, a row a candidate: its parts and the context, 0 or 1."""

    def __init__(self, world):
        codes = world.candidates.T[varying_columns(world.candidates)]
        self.parts = np.hstack([np.eye(code.max() + 1)[code] for code in codes])
        self.features = ContextFeatures(world.schema.context)
        self.size = self.parts.shape[1] + self.features.size

    def rows(self, context):
        active = np.zeros((len(self.parts), self.features.size))
        active[:, self.features.active(context)] = 1
        return np.hstack([self.parts, active])


class Network(Learner):
    """A network of 32 hidden units; after each answer, a step on 32 answers."""

    name = "network"

    def start(self):
        self.inputs = Inputs(self.world)
        self.draw = self.rng.spawn(1)[0]  # leaves the exploration as it is
        self.W = self.draw.normal(0, 8**-0.5, (self.inputs.size, 32))
        self.w = np.zeros(32)
        self.adams = [Adam(self.W), Adam(self.w)]
        self.memory = []

    def values(self, context):
        self.X = self.inputs.rows(context)
        return np.tanh(self.X @ self.W) @ self.w

    def update(self, opened):
        self.memory.append((self.X[self.row], opened))
        batch = self.draw.integers(len(self.memory), size=32)
        batch[0] = -1  # the newest answer
        X, opened = map(np.array, zip(*(self.memory[i] for i in batch)))
        for adam, slope in zip(self.adams, gradients(X, opened, self.W, self.w)):
            adam.step(slope)


AGENTS = {
    "random": agents.RandomCandidate,  # any row of the catalogue
    "random features": agents.RandomAgent,  # any value of every feature
    "most opened": agents.MostOpened,
    "eps-greedy": agents.EpsilonGreedy,
    "LinUCB": agents.LinUCB,
    "Thompson": agents.ThompsonSampling,
    "logistic Thompson": agents.LogisticThompson,
    "table": Table,
    "network": Network,
}
FUNCTIONS = ("table", "eps-greedy", "network")
QUARTERS = 8
QUARTER_SEEDS = 5
USERS = ("mira", "noor", "theo", "ines", "omar")
SEEDS = 20
WINDOW = 100  # steps per point of a learning curve
DIGITS = 5


def run_one(user: str, agent: str, seed: int) -> dict[str, Any]:
    """Run one agent with one user.

    Returns:
        `runs`, one row: steps, and means over the last quarter and over the full episode

        - `opened_last`, `regret_last`, `opened`, `regret`: share opened, and regret
        - `best_last`, `floor_last`: the best possible share, and the regret of the best candidate

        `windows`, one row per 100 steps: step (the last one), and the means of opened, regret, best (the probability of
        the best notification) and reachable (the probability of the best candidate).
    """
    env = gym.make("pushlab/evalumap2-v0", user=user, reveal=True)
    world = env.unwrapped.world
    log = rollout(env, AGENTS[agent](), seed=seed, progress=False)
    steps = pd.DataFrame(
        {
            "opened": log["info.opened"].astype(float),
            "regret": log["info.best"] - log["info.probability"],
            "best": log["info.best"],
            "reachable": world.judge.best_probability(
                world.period.context_codes, world.candidates
            ),
        }
    )
    last = steps.tail(len(steps) // 4).mean()
    means = steps.mean()
    run = {
        "steps": len(steps),
        "opened_last": last["opened"],
        "regret_last": last["regret"],
        "best_last": last["best"],
        "floor_last": last["best"] - last["reachable"],
        "opened": means["opened"],
        "regret": means["regret"],
    }
    complete = steps.head(len(steps) // WINDOW * WINDOW)
    windows = complete.groupby(complete.index // WINDOW).mean()
    windows.insert(0, "step", (windows.index + 1) * WINDOW)
    return {"runs": [run], "windows": windows}


def run_quarters(user: str, agent: str, seed: int) -> dict[str, Any]:
    """Run one agent with one user for several quarters of the same contexts, and return the regret of each."""
    env = gym.make("pushlab/evalumap2-v0", user=user, reveal=True)
    log = rollout(env, AGENTS[agent](), seed=seed, episodes=QUARTERS, progress=False)
    regret = log["info.best"] - log["info.probability"]
    means = regret.groupby(log["episode"]).mean()
    rows = [{"episode": number, "regret": mean} for number, mean in enumerate(means, 1)]
    return {"quarters": rows}


def curve_table(windows: pd.DataFrame) -> pd.DataFrame:
    """Return means and 95 % intervals over the seeds, one row per user, agent and window."""
    rows = []
    keys = ["user", "agent", "step"]
    for key, group in windows.groupby(keys, sort=False):
        row = dict(zip(keys, key))
        for quantity in ("opened", "regret"):
            interval = mean_interval(group[quantity])
            row[quantity] = interval.mean
            row[f"{quantity}_low"] = interval.low
            row[f"{quantity}_high"] = interval.high
        row["best"] = group["best"].iloc[0]
        row["reachable"] = group["reachable"].iloc[0]
        rows.append(row)
    return pd.DataFrame(rows).round(DIGITS)


def main(
    out: Annotated[Path, typer.Option(help="CSV file; the curves go beside it.")],
    seeds: Annotated[int, typer.Option(help="Runs of each agent and user.")] = SEEDS,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its tables."""
    grid = [
        Cell({"user": user, "agent": agent, "seed": seed}, run_one, (user, agent, seed))
        for user, agent, seed in product(USERS, AGENTS, range(seeds))
    ]
    tables = run_cells(grid, workers=workers, name="cold_start")
    runs = tables["runs"].round(DIGITS)
    runs.to_csv(out, index=False, lineterminator="\n")
    curves = curve_table(tables["windows"])
    curves_file = out.with_stem(f"{out.stem}_curves")
    curves.to_csv(curves_file, index=False, lineterminator="\n")
    grid = [
        Cell(
            {"user": user, "agent": agent, "seed": seed},
            run_quarters,
            (user, agent, seed),
        )
        for user, agent, seed in product(USERS, FUNCTIONS, range(QUARTER_SEEDS))
    ]
    quarters = run_cells(grid, workers=workers, name="cold_start_quarters")["quarters"]
    quarters_file = out.with_stem(f"{out.stem}_quarters")
    quarters.round(DIGITS).to_csv(quarters_file, index=False, lineterminator="\n")
    regret = runs.pivot_table("regret_last", "user", "agent", sort=False)
    print("Mean regret over the last quarter of the episode:")
    print(regret.round(3).to_string())


if __name__ == "__main__":
    typer.run(main)
