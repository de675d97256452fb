"""What scores of the benchmark are normalised by: what chance earns, and the best there is or that is known.

    python -m pushlab.experiments.bench.anchors --out data/bench/anchors.csv

The best comes from whoever sees more than an agent may: the true probabilities of opening, a planner that knows the
user model, a search over whole schedules of a simulator. Where nobody does, it is what the workbook's agent reaches
with ten times the budget (in a lifetime, on its tasks one by one); then it is the best known, and may be beaten.
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from pushlab import agents
from pushlab.experiments.bench import agents as entrants
from pushlab.experiments.bench.protocol import run_cell
from pushlab.experiments.bench.tasks import VERSIONS, Task, find_task, read_tasks
from pushlab.experiments.cells import Cell, run_cells
from pushlab.ground.commands import run
from pushlab.ground.files import write_text

CHANCES, MANY = (
    20,
    1000,
)  # seeds of the random agent; of tasks in which it lives but 25 rounds
MORE, SOME = (
    10,
    3,
)  # times the budget, and seeds, of the agent that stands for the best known
BEAM, ROLLED = (
    2000,
    60,
)  # plans kept, ranked by an item for ever, and by greedy steps to the end
TRIES, STALE = (
    256,
    40,
)  # schedules tried at once; how often without finding a better one
WORK = (
    200_000  # steps of such batches in the search: half a minute to some minutes a task
)
COLUMNS = ["version", "task", "random", "best", "best_from"]
SIMULATORS = ("HIV", "opioid", "Zika", "World3", "credit")
OPTIMUM = "true optimum"


def anchors_of(name: str) -> list[dict[str, Any]]:
    """The two scores of a task, a row a version: version, random, best, best_from."""
    rows, best = [], None
    for task in (find_task(name, version) for version in VERSIONS):
        if (
            best is None or task.system not in SIMULATORS
        ):  # of which both versions judge the same
            best = best_of(task)
        chances = MANY if task.system == "credit" else CHANCES
        rows.append(
            {
                "random": mean_score(entrants.random, task, chances),
                "best": best[0],
                "best_from": best[1],
            }
        )
    return [{"version": version, **row} for version, row in zip(VERSIONS, rows)]


def best_of(task: Task) -> tuple[float, str]:
    """The best score, and whose it is."""
    if task.value == "probability":
        return (
            mean_score(entrants.random, task._replace(value="best"), 1),
            "best of the catalogue: info['best'] in each context, by the true probabilities",
        )
    if task.system == "recommender" or task.env.startswith("recommender"):
        tires = task.arguments.get("UserModel") == "Satiation"
        kept = (
            f"beam searches, {BEAM:,} and {ROLLED} kept"
            if tires
            else f"beam search, {BEAM:,} kept"
        )
        return (
            mean_score(lambda env: KnowingPlanner(BEAM, tires), task, 1),
            f"planner that sees the user's state and knows the model ({kept})",
        )
    if task.system in SIMULATORS:
        best, source = best_schedule(task)
        return float(np.log10(best) if task.scale == "log10" else best), source
    if (
        task.kind == "lifetime"
    ):  # of the users of `users-aba`, met 3 to 2 in the tests that count
        task = find_task("push-default")._replace(
            arguments={"user": [*3 * ["mira"], *2 * ["theo"]], "days": "train"}
        )
    return (
        mean_score(entrants.workbook, task._replace(steps=MORE * task.steps), SOME),
        f"the workbook's agent with {MORE} times the budget",
    )


def mean_score(make: Any, task: Task, seeds: int) -> float:
    """An agent's mean score over so many seeds."""
    return float(
        np.mean(
            [run_cell(make, task, seed)["scores"][0]["score"] for seed in range(seeds)]
        )
    )


# ---------------------------------------------------------------- plans


class KnowingPlanner(agents.Planner):
    """Plans on the user's state, which agents are not told: so it is no entrant.

    For a user who tires of items the plan is the better of two. One is the Planner's, whose beam is ranked by the best
    item for ever. The beam of the other, ROLLED plans wide, is ranked by the best next item at each step to the end; of
    all plans ended in this way it keeps the best, which always taking the best next item never exceeds.
    """

    def __init__(self, beam: int, tires: bool = False) -> None:
        super().__init__(beam)
        self._tires = tires

    def begin(self, env: Any, seed: int) -> None:
        super().begin(env, seed)
        self._core = env.unwrapped

    def act(self, observation: Any, info: Any, explore: bool = True) -> int:
        state = self._world.info(self._core.state, self._core.outcome)["state"][0]
        return super().act(observation, {**info, "state": state}, explore)

    def plan(
        self, world: Any, state: np.ndarray, steps: int
    ) -> tuple[np.ndarray, float]:
        plan = super().plan(world, state, steps)
        return (
            max(plan, rolled_plan(world, state, steps), key=lambda one: one[1])
            if self._tires
            else plan
        )


def rolled_plan(
    world: Any, state: np.ndarray, steps: int, beam: int = ROLLED
) -> tuple[np.ndarray, float]:
    """The best items found, int64 (steps,), and the reward expected of them, by KnowingPlanner's second beam."""
    items = np.arange(world.n_items)
    states, earned, plans = (
        np.asarray(state, float)[None],
        np.zeros(1),
        np.zeros((1, 0), np.int64),
    )
    best = plans[0], -np.inf
    for step in range(steps):
        parents, actions = (
            np.repeat(np.arange(len(states)), len(items)),
            np.tile(items, len(states)),
        )
        rewards, states = world.expect(states[parents], actions)
        earned, plans = (
            earned[parents] + rewards,
            np.column_stack([plans[parents], actions]),
        )
        at, total, ends = states, earned.copy(), [plans]
        for _ in range(step + 1, steps):
            rewards, following = world.expect(
                np.repeat(at, len(items), axis=0), np.tile(items, len(at))
            )
            rewards = rewards.reshape(len(at), -1)
            taken = rewards.argmax(axis=1)
            at, total = (
                following[np.arange(len(at)) * len(items) + taken],
                total + rewards.max(axis=1),
            )
            ends.append(taken[:, None])
        if total.max() > best[1]:
            best = np.hstack(ends)[total.argmax()], float(total.max())
        kept = np.argsort(-total, kind="stable")[:beam]
        states, earned, plans = states[kept], earned[kept], plans[kept]
    return best


# ---------------------------------------------------------------- schedules


def best_schedule(task: Task) -> tuple[float, str]:
    """The mean reward a step of the best schedule for a simulator, and how it was found.

    Without memory of the past (credit) each round's best action is the optimum. Elsewhere the search starts from the
    best action for ever, and then from schedules of a few stretches by chance. It takes the best of TRIES `varied`
    ones wherever that is better, and starts anew after STALE batches without one that is better by a millionth. Its
    chance has a seed, and its end is a number of steps, so that it finds the same each time.
    """
    unwrapped: Any = task.make(task.each[0]).unwrapped
    world = unwrapped.world
    steps, count = world.steps, world.action_space.n
    found = returns(world, np.repeat(np.arange(count)[:, None], steps, axis=1))
    schedule, value = np.full(steps, found.argmax()), found.max()
    if not getattr(world.config, "memory", True):
        return (
            value / steps,
            f"{OPTIMUM}: the best of the classifiers, as rounds do not touch each other",
        )
    rng, best, without = np.random.default_rng(0), value, 0
    for _ in range(WORK // steps):
        if without == STALE:
            cuts = np.sort(rng.integers(steps, size=rng.integers(1, 6)))
            schedule = np.concatenate(
                [
                    np.full(len(part), rng.integers(count))
                    for part in np.split(np.arange(steps), cuts)
                ]
            )
            value, without = returns(world, schedule[None])[0], 0
        others = varied(schedule, count, rng)
        found = returns(world, others)
        without = 0 if found.max() > value + 1e-6 * abs(value) else without + 1
        if found.max() > value:
            schedule, value = others[found.argmax()], found.max()
        best = max(best, value)
    return (
        best / steps,
        "best schedule that a search by chance found, knowing the simulator",
    )


def varied(
    schedule: np.ndarray, count: int, rng: np.random.Generator, tries: int = TRIES
) -> np.ndarray:
    """Schedules (tries, steps) that differ from one (steps,) by up to three changes of a stretch, each by chance.

    A change gives the stretch one action, or moves what is in it by up to three steps, or copies another stretch there.

    >>> varied(np.zeros(5, int), 2, np.random.default_rng(0), tries=3).shape
    (3, 5)
    """
    others, steps = np.repeat(schedule[None], tries, axis=0), len(schedule)
    for other in others:
        for kind in rng.integers(3, size=rng.integers(1, 4)):
            long = int(np.exp(rng.uniform(0, np.log(steps))))
            start, source = rng.integers(0, steps - long + 1, size=2)
            stretch = slice(start, start + long)
            other[stretch] = (
                rng.integers(count)
                if kind == 0
                else np.roll(other[stretch], rng.integers(-3, 4))
                if kind == 1
                else other[source : source + long].copy()
            )
    return others


def returns(world: Any, schedules: np.ndarray) -> np.ndarray:
    """The undiscounted return of each schedule (n, steps) in a simulator without chance, float64 (n,)."""
    draws = np.full((len(schedules), world.uniforms), 0.5)
    state, total = world.initial(draws, {}), np.zeros(len(schedules))
    for action in schedules.T:
        state, outcome = world.advance(state, action, draws)
        total += world.reward(outcome)
    return total


# ---------------------------------------------------------------- the command


def main(
    out: Annotated[Path, typer.Option(help="CSV file to write.")], workers: int = -1
) -> None:
    """Works out both scores of every task of both versions."""
    cells = [
        Cell({"task": full.name}, anchors_of, (full.name,), [list(full), list(quick)])
        for full, quick in zip(*map(read_tasks, VERSIONS))
    ]
    table = run_cells(cells, workers=workers, name="bench_anchors")[
        "results"
    ].sort_values("version", kind="stable")
    write_text(out, table[COLUMNS].round(6).to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    run(typer.run, main)
