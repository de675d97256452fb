"""What scores of the benchmark are normalised by: what chance earns, and the best there is or that is known.

    python -m pushlab.studies.bench.anchors --out data/bench/anchors.csv

The best comes from whoever sees more than an agent may: the true probabilities of opening, a planner that knows the
user model, a search over whole schedules of a simulator. Where nobody does, it is what the workbook's agent reaches
with ten times the budget (in a lifetime, on its tasks one by one); then it is the best known, and may be beaten.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from pushlab import agents
from pushlab.ground.files import write_text
from pushlab.studies.bench import agents as entrants
from pushlab.studies.bench.protocol import run_cell
from pushlab.studies.bench.tasks import VERSIONS, Task, find_task, read_tasks
from pushlab.studies.cells import Cell, run_cells

CHANCES = 20                # seeds of the random agent
MORE, SOME = 10, 3          # times the budget, and seeds, of the agent that stands for the best known
BEAM = 2000
COLUMNS = ["version", "task", "random", "best", "best_from"]
SIMULATORS = ("HIV", "opioid", "Zika", "World3", "credit")
OPTIMUM = "true optimum"


def anchors_of(name: str) -> list[dict[str, Any]]:
    """The two scores of a task, a row a version: version, random, best, best_from."""
    rows, best = [], None
    for task in (find_task(name, version) for version in VERSIONS):
        if best is None or task.system not in SIMULATORS:           # of which both versions judge the same
            best = best_of(task)
        rows.append({"random": mean_score(entrants.random, task, CHANCES), "best": best[0], "best_from": best[1]})
    return [{"version": version, **row} for version, row in zip(VERSIONS, rows)]


def best_of(task: Task) -> tuple[float, str]:
    """The best score, and whose it is."""
    if task.value == "probability":
        return (mean_score(entrants.random, task._replace(value="best"), 1),
                f"{OPTIMUM}: the best notification of the catalogue in each context")
    if task.system == "recommender" or task.env.startswith("recommender"):
        return (mean_score(lambda env: agents.Planner(BEAM), task, 1),
                f"planner that sees the user's state and knows the model (beam search, {BEAM:,} kept)")
    if task.system in SIMULATORS:
        best, source = best_schedule(task)
        return float(np.log10(best) if task.scale == "log10" else best), source
    if task.kind == "lifetime":         # of the users of `users-aba`, met 3 to 2 in the tests that count
        task = find_task("push-default")._replace(arguments={"user": [*3 * ["mira"], *2 * ["theo"]], "days": "train"})
    return (mean_score(entrants.workbook, task._replace(steps=MORE * task.steps), SOME),
            f"the workbook's agent with {MORE} times the budget")


def mean_score(make: Any, task: Task, seeds: int) -> float:
    """An agent's mean score over so many seeds."""
    return float(np.mean([run_cell(make, task, seed)["scores"][0]["score"] for seed in range(seeds)]))


# ---------------------------------------------------------------- schedules

def best_schedule(task: Task) -> tuple[float, str]:
    """The mean reward a step of the best schedule for a simulator, and how it was found.

    Without memory of the past (credit) each round's best action is the optimum. Elsewhere a search goes uphill, from
    the best action for ever: of all schedules in which one stretch, of 1, 2, 4, … steps, takes another action, the best
    is the next, until none is better.
    """
    unwrapped: Any = task.make(task.each[0]).unwrapped
    world = unwrapped.world
    count = world.action_space.n
    found = returns(world, np.repeat(np.arange(count)[:, None], world.steps, axis=1))
    schedule, best = np.full(world.steps, found.argmax()), found.max()
    if not getattr(world.config, "memory", True):
        return best / world.steps, f"{OPTIMUM}: the best of the classifiers, as rounds do not touch each other"
    while True:
        others = np.array(list(neighbours(schedule, count)))
        found = returns(world, others)
        if found.max() <= best + 1e-9 * abs(best):
            return best / world.steps, "best schedule that a search uphill found, knowing the simulator"
        schedule, best = others[found.argmax()], found.max()


def neighbours(schedule: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """All schedules (steps,) in which one stretch takes another action; stretches overlap by half.

    >>> len(list(neighbours(np.array([0, 0]), count=2)))
    3
    """
    steps, long = len(schedule), 1
    while long <= steps:
        for start in range(0, steps - long + 1, max(1, long // 2)):
            for action in range(count):
                other = schedule.copy()
                other[start:start + long] = action
                if (other != schedule).any():
                    yield other
        long *= 2


def returns(world: Any, schedules: np.ndarray) -> np.ndarray:
    """The undiscounted return of each schedule (n, steps) in a simulator without chance, float64 (n,)."""
    draws = np.full((len(schedules), world.uniforms), 0.5)
    state, total = world.initial(draws, {}), np.zeros(len(schedules))
    for action in schedules.T:
        state, outcome = world.advance(state, action, draws)
        total += world.reward(outcome)
    return total


# ---------------------------------------------------------------- the command

def main(out: Annotated[Path, typer.Option(help="CSV file to write.")], workers: int = -1) -> None:
    """Works out both scores of every task of both versions."""
    cells = [Cell({"task": full.name}, anchors_of, (full.name,), [list(full), list(quick)])
             for full, quick in zip(*map(read_tasks, VERSIONS))]
    table = run_cells(cells, workers=workers, name="bench_anchors")["results"].sort_values("version", kind="stable")
    write_text(out, table[COLUMNS].round(6).to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)
