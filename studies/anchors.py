"""Compute the scores that normalise the benchmark: random play, and the best possible or best known score of each task.

    python studies/anchors.py --out data/bench/anchors.csv

writes anchors.csv, one row per version and task, within some minutes.

The best score comes from a policy with more information than an agent: the true probabilities of opening, a planner
with the user model, or a search over schedules of a simulator. Without such a policy, it is the score of the workbook's
agent with ten times the budget (for a lifetime, on each of its tasks alone). An agent can beat such a score.
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from pushlab import agents
from pushlab.experiments.bench import agents as entrants
from pushlab.experiments.bench.protocol import run_task
from pushlab.experiments.bench.tasks import VERSIONS, Task, find_task, read_tasks
from pushlab.experiments.cells import Cell, run_cells
from pushlab.utils.files import write_text

RANDOM_SEEDS = 20  # runs of random play
CREDIT_SEEDS = 1000  # in credit, because its episodes have only 25 rounds
BUDGETS = 10  # budgets of the agent with the best known score
SEEDS = 3  # runs of this agent
BEAM = 2000  # plans in the beam that is ranked by repeating the best item
GREEDY_BEAM = 60  # plans in the beam that is ranked by greedy steps to the end
BATCH = 256  # schedules
PATIENCE = 40  # batches without progress before the search restarts
SEARCH_STEPS = 200_000  # half a minute to some minutes per task
COLUMNS = ["version", "task", "random", "best", "best_from"]
SIMULATORS = ("HIV", "opioid", "Zika", "World3", "credit")


def anchors_of(*tasks: Task) -> list[dict[str, Any]]:
    """Return the anchors of a task, one row per version."""
    rows = []
    best = None
    for version, task in zip(VERSIONS, tasks):
        if best is None or task.system not in SIMULATORS:
            best = best_of(task)  # simulators have the same scores in both versions
        seeds = CREDIT_SEEDS if task.system == "credit" else RANDOM_SEEDS
        rows.append(
            {
                "version": version,
                "random": mean_score(entrants.random, task, seeds),
                "best": best[0],
                "best_from": best[1],
            }
        )
    return rows


def best_of(task: Task) -> tuple[float, str]:
    """Return the best score of a task and a description of its source."""
    if task.value == "probability":
        return (
            mean_score(entrants.random, task._replace(value="best"), 1),
            "best of the catalogue: info['best'] in each context, by the true probabilities",
        )
    if task.system == "recommender" or task.env.startswith("recommender"):
        has_satiation = task.arguments.get("UserModel") == "Satiation"
        search = f"beam search, {BEAM:,} kept"
        if has_satiation:
            search = f"beam searches, {BEAM:,} and {GREEDY_BEAM} kept"
        return (
            mean_score(lambda env: OraclePlanner(BEAM, has_satiation), task, 1),
            f"planner that sees the user's state and knows the model ({search})",
        )
    if task.system in SIMULATORS:
        best, source = best_schedule(task)
        return float(np.log10(best) if task.scale == "log10" else best), source
    if task.kind == "lifetime":
        # The users of `users-aba`, weighted by their number of scored tests.
        users = [*3 * ["mira"], *2 * ["theo"]]
        task = find_task("push-default")
        task = task._replace(arguments={"user": users, "days": "train"})
    task = task._replace(steps=BUDGETS * task.steps)
    return (
        mean_score(entrants.workbook, task, SEEDS),
        f"the workbook's agent with {BUDGETS} times the budget",
    )


def mean_score(make: Any, task: Task, seeds: int) -> float:
    """Return an agent's mean score over this number of seeds."""
    runs = [run_task(make, task, seed) for seed in range(seeds)]
    return float(np.mean([run["scores"][0]["score"] for run in runs]))


# ---------------------------------------------------------------- plans


class OraclePlanner(agents.Planner):
    """A planner that reads the user's state, which is hidden from the agents of the benchmark.

    For a user with satiation it takes the better of two plans. The first is the Planner's, with a beam ranked by
    repeating the best item. The second has a beam of GREEDY_BEAM plans, ranked by always taking the best next item
    until the end. It is therefore never worse than the greedy plan.
    """

    def __init__(self, beam: int, has_satiation: bool = False) -> None:
        super().__init__(beam)
        self._has_satiation = has_satiation

    def begin(self, env: Any, seed: int) -> None:
        super().begin(env, seed)
        self._env = env.unwrapped

    def act(self, observation: Any, info: Any, explore: bool = True) -> int:
        true_info = self._world.info(self._env.state, self._env.outcome)
        state = true_info["state"][0]
        return super().act(observation, {**info, "state": state}, explore)

    def plan(
        self, world: Any, state: np.ndarray, steps: int
    ) -> tuple[np.ndarray, float]:
        plan = super().plan(world, state, steps)
        if not self._has_satiation:
            return plan
        other = greedy_beam_plan(world, state, steps)
        return max(plan, other, key=lambda pair: pair[1])


def greedy_beam_plan(
    world: Any, state: np.ndarray, steps: int, beam: int = GREEDY_BEAM
) -> tuple[np.ndarray, float]:
    """Return the items of OraclePlanner's second plan, int64 (steps,), and their expected reward."""
    items = np.arange(world.n_items)
    states = np.asarray(state, float)[None]
    rewards_so_far = np.zeros(1)
    plans = np.zeros((1, 0), np.int64)
    best = (plans[0], -np.inf)
    for step in range(steps):
        parents = np.repeat(np.arange(len(states)), len(items))
        actions = np.tile(items, len(states))
        rewards, states = world.expected_step(states[parents], actions)
        rewards_so_far = rewards_so_far[parents] + rewards
        plans = np.column_stack([plans[parents], actions])
        remaining = steps - step - 1
        total, completions = greedy_end(world, states, rewards_so_far, remaining)
        if total.max() > best[1]:
            best_plan = np.hstack([plans, completions])[total.argmax()]
            best = (best_plan, float(total.max()))
        selected = np.argsort(-total, kind="stable")[:beam]
        states = states[selected]
        rewards_so_far = rewards_so_far[selected]
        plans = plans[selected]
    return best


def greedy_end(
    world: Any, states: np.ndarray, rewards: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rewards, shape (states,), after `steps` more steps with the best next item, and these items."""
    count = world.n_items
    rows = np.arange(len(states))
    completions = np.zeros((len(states), 0), np.int64)
    for _ in range(steps):
        items = np.tile(np.arange(count), len(rows))
        gains, next_states = world.expected_step(
            np.repeat(states, count, axis=0), items
        )
        gains = gains.reshape(len(rows), count)
        best = gains.argmax(axis=1)
        states = next_states[rows * count + best]
        rewards = rewards + gains.max(axis=1)
        completions = np.column_stack([completions, best])
    return rewards, completions


# ---------------------------------------------------------------- schedules


def best_schedule(task: Task) -> tuple[float, str]:
    """Return the mean reward per step of the best schedule for a simulator, and a description of its source.

    In rounds without memory (credit) the best action of each round is the optimum. In the other simulators the search
    starts from the best constant action. It moves to the best of BATCH variations if it is better. After PATIENCE
    batches without an improvement of a millionth it restarts from a random schedule. Its seed and its number of steps
    are fixed, so the result is reproducible.
    """
    unwrapped: Any = task.make(task.user_arguments[0]).unwrapped
    world = unwrapped.world
    steps = world.max_steps
    actions = world.action_space.n
    constant = np.repeat(np.arange(actions)[:, None], steps, axis=1)
    values = returns(world, constant)
    schedule = constant[values.argmax()]
    value = values.max()
    if not getattr(world.config, "memory", True):
        return (
            value / steps,
            "true optimum: the best of the classifiers, as rounds do not touch each other",
        )
    rng = np.random.default_rng(0)
    best = value
    stale = 0
    for _ in range(SEARCH_STEPS // steps):
        if stale == PATIENCE:
            schedule = random_schedule(steps, actions, rng)
            value = returns(world, schedule[None])[0]
            stale = 0
        schedules = variations(schedule, actions, rng)
        values = returns(world, schedules)
        highest = values.max()
        has_progress = highest > value + 1e-6 * abs(value)
        stale = 0 if has_progress else stale + 1
        if highest > value:
            schedule = schedules[values.argmax()]
            value = highest
        best = max(best, value)
    return (
        best / steps,
        "best schedule that a search by chance found, knowing the simulator",
    )


def random_schedule(steps: int, actions: int, rng: np.random.Generator) -> np.ndarray:
    """Return a schedule of two to six stretches, each with one random action."""
    cuts = np.sort(rng.integers(steps, size=rng.integers(1, 6)))
    stretches = np.split(np.arange(steps), cuts)
    parts = [np.full(len(part), rng.integers(actions)) for part in stretches]
    return np.concatenate(parts)


def variations(
    schedule: np.ndarray, actions: int, rng: np.random.Generator, count: int = BATCH
) -> np.ndarray:
    """Return schedules, shape (count, steps), each with one to three random changes of a stretch.

    A change sets the stretch to one action, shifts its content by up to three steps, or copies another stretch to it.

    >>> variations(np.zeros(5, int), 2, np.random.default_rng(0), count=3).shape
    (3, 5)
    """
    schedules = np.repeat(schedule[None], count, axis=0)
    steps = len(schedule)
    for changed in schedules:
        for kind in rng.integers(3, size=rng.integers(1, 4)):
            length = int(np.exp(rng.uniform(0, np.log(steps))))
            start, source = rng.integers(0, steps - length + 1, size=2)
            stretch = slice(start, start + length)
            if kind == 0:
                changed[stretch] = rng.integers(actions)
            elif kind == 1:
                changed[stretch] = np.roll(changed[stretch], rng.integers(-3, 4))
            else:
                changed[stretch] = changed[source : source + length].copy()
    return schedules


def returns(world: Any, schedules: np.ndarray) -> np.ndarray:
    """Return the undiscounted return of each schedule (n, steps) in a deterministic simulator, float64 (n,)."""
    draws = np.full((len(schedules), world.uniforms), 0.5)
    state = world.initial(draws, {})
    total = np.zeros(len(schedules))
    for action in schedules.T:
        state, outcome = world.advance(state, action, draws)
        total += world.reward(outcome)
    return total


# ---------------------------------------------------------------- the command


def main(
    out: Annotated[Path, typer.Option(help="CSV file.")],
    workers: Annotated[int, typer.Option(help="Processes.")] = -1,
) -> None:
    """Compute both anchors of every task in both versions and write the table."""
    cells = []
    for tasks in zip(*map(read_tasks, VERSIONS)):
        cells.append(Cell({"task": tasks[0].name}, anchors_of, tasks))
    table = run_cells(cells, workers=workers, name="bench_anchors")["results"]
    table = table.sort_values("version", kind="stable")[COLUMNS].round(6)
    write_text(out, table.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)
