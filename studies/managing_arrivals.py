"""Measure the value of managing arriving notifications: agents × users × seeds on pushlab/push-v0.

    python studies/managing_arrivals.py --out data/studies/managing_arrivals.csv --workers 2

writes managing_arrivals.csv, one row per run, managing_arrivals_days.csv, one row per run and day, and two tables
about interruptions: managing_arrivals_limits.csv, one row per run and day of agents whose pushes are limited, and
managing_arrivals_weeks.csv, one row per run and week on a phone that forgets nothing at midnight.

An agent learns on the first two thirds of a user's days. It is then evaluated on each day of the last third, without
learning or exploring. With the same seed all agents get the same days and the same random number for each notification,
so they can be compared in pairs. All seeds share the 28 days, which differ more than the seeds do. The table therefore
has each day, and intervals are over seeds and days. Rewards have the environment's default weights
(`pushlab.envs.push.world.WEIGHTS`), fixed before any agent was trained.

Each learner is trained with three kinds of feedback: full, observed, and observed with a model of missed opens
(`imputes_missed`), the last one with and without random decisions. All are evaluated by the full reward.

Linear Q and its settings were chosen on private users (`pushlab.users.synthesis.make_user`), before the shipped users
were examined.
"""

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import typer

import pushlab  # noqa: F401  registers the environments
from pushlab.agents import (
    Agent,
    DismissAll,
    DoNotDisturb,
    LinearArrivalQ,
    QTable,
    ShowAll,
)
from pushlab.agents.arrivals import CACHE, CHECK, SHOW
from pushlab.experiments.cells import Cell, run_cells
from pushlab.logs.push_days import (
    DAY_METRICS,
    EVALUATION_SEED_PART,
    day_means,
    evaluate_by_day,
    run_day,
)
from pushlab.utils.seeds import part_seed

AGENTS = {
    "show all": ShowAll,
    "dismiss all": DismissAll,
    "do not disturb": DoNotDisturb,
    "Q-learning": QTable,
    "linear Q": LinearArrivalQ,
}
LEARNERS = ("Q-learning", "linear Q")
# Feedback in training: the environment's argument, and attributes of the learner.
FEEDBACK = {
    "full": ("full", {}),
    "observed": ("observed", {}),
    "imputed": ("observed", {"imputes_missed": True}),
    "greedy": ("observed", {"imputes_missed": True, "epsilon": 0.0}),
}
NO_FEEDBACK = "none"  # of rules, which don't learn
USERS = ("mira", "noor", "theo", "ines", "omar")
SEEDS = 20
LIMITED_SEEDS = 10
QUIET = (22, 7)  # hours
# Most notifications shown in any 60 minutes, and whether none are shown in the quiet hours.
LIMITS = {
    "none": (np.inf, False),
    "quiet": (np.inf, True),
    "quiet, 8": (8, True),
    "quiet, 4": (4, True),
    "quiet, 2": (2, True),
    "quiet, 1": (1, True),
}
WEEK = 7
ROUNDS = 5  # passes of a learner through its days
DIGITS = 4
# Parts of a seed; pushlab.logs.push_days.JUDGING is 1.
TRAINING = 0
ORDER = 2


def train(env: Any, agent: Agent, rounds: int = ROUNDS, seed: int = 0) -> Agent:
    """Train an agent on all days of the environment, in a different order each round."""
    days = env.unwrapped.world.start_days
    rng = np.random.default_rng(part_seed(seed, ORDER))
    for round_number in range(rounds):
        for number, day in enumerate(rng.permutation(days).tolist()):
            day_seed = part_seed(seed, TRAINING, round_number, number)
            run_day(env, agent, day, day_seed, learn=True)
    return agent


def run_one(user: str, agent: str, feedback: str, seed: int) -> dict[str, Any]:
    """Train and evaluate one agent with one user.

    Args:
        feedback: A key of FEEDBACK, or NO_FEEDBACK for an agent that isn't trained.

    Returns:
        `runs`, one row of means over the days, and `days`, one row per day.
    """
    learner: Any = AGENTS[agent]()
    if feedback != NO_FEEDBACK:
        observable, attributes = FEEDBACK[feedback]
        vars(learner).update(attributes)
        env = gym.make("pushlab/push-v0", user=user, days="train", feedback=observable)
        train(env, learner, seed=seed)
    env = gym.make("pushlab/push-v0", user=user, days="test")
    days = evaluate_by_day(env, learner, seed)
    columns = ["day", "reward", "opens", "interruptions", "delay"]
    return {"runs": [day_means(days)], "days": days[columns]}


def is_quiet(minutes: Any) -> Any:
    """Return whether minutes since a midnight are in the quiet hours."""
    hours = np.asarray(minutes) / 60 % 24
    return (hours >= QUIET[0]) | (hours < QUIET[1])


class Limited(Agent):
    """Limits how often an agent interrupts. What it would show too often or too late is cached.

    Args:
        agent: The agent that decides otherwise.
        per_hour: Most notifications shown in any 60 minutes.
        has_quiet_hours: Whether nothing is shown in the quiet hours.
    """

    def __init__(self, agent: Agent, per_hour: float, has_quiet_hours: bool):
        self.agent = agent
        self.per_hour = per_hour
        self.has_quiet_hours = has_quiet_hours

    def begin(self, env, seed):
        self.agent.begin(env, seed)
        self._shown = []

    def act(self, observation, info, explore=True):
        now = info["time"]
        self._shown = [minute for minute in self._shown if now - minute < 60]
        is_full = len(self._shown) >= self.per_hour
        if not is_full and not (self.has_quiet_hours and is_quiet(now)):
            action = self.agent.act(observation, info, explore)
            if action == SHOW:
                self._shown.append(now)
            return action
        mask = info["action_mask"].copy()
        mask[CHECK] = 0
        action = self.agent.act(observation, info | {"action_mask": mask}, explore)
        return CACHE if action == SHOW else action

    def learn(self, transition):
        self.agent.learn(transition)


def wellbeing(events: Any) -> dict[str, float]:
    """Return measures of the interruptions of a day, from its `events()`.

    Returns:
        `night`: notifications shown in the quiet hours; `busiest`: most notifications shown in any 60 minutes;
        `stretch`: minutes of the longest stretch without one between the quiet hours.
    """
    shown = np.sort(events["shown"].dropna())
    within_hour = np.searchsorted(shown, shown + 60) - np.arange(len(shown))
    by_day = shown[~is_quiet(shown)]
    edges = np.concatenate([[60 * QUIET[1]], by_day, [60 * QUIET[0]]])
    return {
        "night": int(is_quiet(shown).sum()),
        "busiest": int(within_hour.max(initial=0)),
        "stretch": np.diff(edges).max(),
    }


def total_reward(info: dict[str, Any]) -> float:
    """Return the reward of an episode, from its last info."""
    return sum(info[name] for name in info if name.startswith("parts."))


def evaluate_limited(user: str, agent: Agent, seed: int) -> list[dict[str, Any]]:
    """Return a row per test day of a user, with its measures of well-being."""
    env = gym.make("pushlab/push-v0", user=user, days="test")
    rows = []
    for day in env.unwrapped.world.start_days.tolist():
        day_seed = part_seed(seed, EVALUATION_SEED_PART, day)
        info = run_day(env, agent, day, day_seed, learn=False)
        row = {
            "day": day,
            "reward": total_reward(info),
            "opens": info["opens"],
            "interruptions": info["shown"],
        }
        rows.append(row | wellbeing(env.unwrapped.events()))
    return rows


def run_limited(user: str, agent: str, seed: int) -> dict[str, Any]:
    """Train an agent with one user and evaluate it without limits; a learner also under each of LIMITS."""
    learner = AGENTS[agent]()
    limits = ["none"]
    if agent in LEARNERS:
        limits = list(LIMITS)
        train(gym.make("pushlab/push-v0", user=user, days="train"), learner, seed=seed)
    rows = []
    for limit in limits:
        limited = Limited(learner, *LIMITS[limit])
        for row in evaluate_limited(user, limited, seed):
            rows.append({"limit": limit, **row})
    return {"limits": rows}


def run_shared(seed: int) -> dict[str, Any]:
    """Train one linear Q with all users and evaluate it with each."""
    learner = LinearArrivalQ()
    env = gym.make("pushlab/push-v0", user=list(USERS), days="train")
    days = env.unwrapped.world.start_days
    rng = np.random.default_rng(part_seed(seed, ORDER))
    pairs = [*product(USERS, np.unique(days).tolist())]
    for round_number in range(ROUNDS):
        for number, index in enumerate(rng.permutation(len(pairs)).tolist()):
            user, day = pairs[index]
            day_seed = part_seed(seed, TRAINING, round_number, number)
            run_day(env, learner, day, day_seed, learn=True, user=user)
    rows = []
    for user in USERS:
        for row in evaluate_limited(user, learner, seed):
            rows.append({"user": user, "limit": "none", **row})
    return {"limits": rows}


def run_weeks(user: str, agent: str, seed: int) -> dict[str, Any]:
    """Train an agent on weeks that nothing ends at midnight, and evaluate it on the test weeks.

    Each agent is evaluated as it is, and with quiet hours.
    """
    learner = AGENTS[agent]()
    settings = {"user": user, "horizon": WEEK}
    env = gym.make("pushlab/push-v0", days="train", **settings)
    if agent != "show all":
        rng = np.random.default_rng(part_seed(seed, ORDER))
        starts = np.tile(env.unwrapped.world.start_days[::WEEK], ROUNDS)
        for number, day in enumerate(rng.permutation(starts).tolist()):
            run_day(env, learner, day, part_seed(seed, TRAINING, number), learn=True)
    env = gym.make("pushlab/push-v0", days="test", **settings)
    rows = []
    for limit in ("none", "quiet"):
        for day in env.unwrapped.world.start_days[::WEEK].tolist():
            limited = Limited(learner, *LIMITS[limit])
            day_seed = part_seed(seed, EVALUATION_SEED_PART, day)
            info = run_day(env, limited, day, day_seed, learn=False)
            events = env.unwrapped.events()
            at_night = events[is_quiet(events["shown"]) & events["shown"].notna()]
            moved = at_night[~is_quiet(at_night["arrived"])]
            row = {
                "limit": limit,
                "day": day,
                "reward": total_reward(info),
                "interruptions": info["shown"],
                "night": len(at_night),
                "moved": len(moved),
                "moved opened": int((moved["outcome"] == "opened").sum()),
            }
            rows.append(row)
    return {"weeks": rows}


def make_cells(seeds: int) -> list[Cell]:
    """Return the cells of all users, agents and kinds of feedback, one seed after another."""
    cells = []
    for seed, user, agent in product(range(seeds), USERS, AGENTS):
        for feedback in FEEDBACK if agent in LEARNERS else [NO_FEEDBACK]:
            labels = {"user": user, "agent": agent, "feedback": feedback, "seed": seed}
            cells.append(Cell(labels, run_one, tuple(labels.values())))
    return cells


def make_interruption_cells(seeds: int) -> list[Cell]:
    """Return the cells of the limits, of the shared agent, and of the weeks."""
    limited_seeds = min(seeds, LIMITED_SEEDS)
    cells = []
    for seed, user in product(range(limited_seeds), USERS):
        for agent in ("show all", "do not disturb", "linear Q"):
            labels = {"user": user, "agent": agent, "seed": seed}
            cells.append(Cell(labels, run_limited, tuple(labels.values())))
    for seed in range(limited_seeds):
        labels = {"agent": "linear Q, shared", "seed": seed}
        cells.append(Cell(labels, run_shared, (seed,)))
    for seed, user, agent in product(range(seeds), USERS, ("show all", *LEARNERS)):
        labels = {"user": user, "agent": agent, "seed": seed}
        cells.append(Cell(labels, run_weeks, tuple(labels.values())))
    return cells


def main(
    out: Annotated[Path, typer.Option(help="CSV file; the other tables go beside it.")],
    seeds: Annotated[int, typer.Option(help="Runs of each agent and user.")] = SEEDS,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its tables."""
    cells = make_cells(seeds) + make_interruption_cells(seeds)
    tables = run_cells(cells, workers=workers, name="managing_arrivals")
    runs = tables["runs"].round(DIGITS)
    runs.to_csv(out, index=False, lineterminator="\n")
    for name in ("days", "limits", "weeks"):
        table = tables[name].round(DIGITS).round({"delay": 1, "stretch": 1})
        file = out.with_stem(f"{out.stem}_{name}")
        table.to_csv(file, index=False, lineterminator="\n")
    groups = runs.groupby(["user", "agent", "feedback"], sort=False)
    means = groups[list(DAY_METRICS)].mean()
    print("Means per day:")
    print(means.round(2).to_string(na_rep="–"))


if __name__ == "__main__":
    typer.run(main)
