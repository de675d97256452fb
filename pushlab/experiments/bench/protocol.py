"""The benchmark: any agent on a fixed, versioned set of tasks, within fixed budgets, beside the agents that ship.

    pushlab bench --agent my_agent:make --out DIR --quick        # two minutes
    pushlab bench --agent my_agent:make --out DIR                # the benchmark

**An agent** is what `module:make` names: a function `make()` or `make(env)`, or a class, that gives a fresh agent for
each task and seed. It acts (`act(observation, info, explore)`), and may learn (`learn(transition)`), as
`pushlab.agents.Agent` says. Besides it may have

    train(env, steps, seed)   a training loop of its own, for learners of other libraries: `env` is a plain Gymnasium
                              environment whose step raises `BudgetSpent` beyond `steps` (let it pass, or end before)
    fit(history)              for the offline challenge: learns from a `pushlab.datasets.periods.Period`. An agent
                              without it trains in a simulation instead, where a judge fitted to that history answers
    standard = True           it gets each environment in a standard form: a Discrete action, a flat Box float32
                              observation, and `action_masks()` (`pushlab.experiments.bench.views.standard`). Otherwise, as
                              pushlab's own agents do, the environment as it is
    action_spaces, observation_spaces
                              classes of `gymnasium.spaces` that it takes, a tuple; None, the default, is any

`env.task` is the Task (`pushlab.experiments.bench.tasks`), whose `capacity` an agent with a memory keeps to. **A task that
does not fit** an agent is reported and not counted against it: where the spaces are others, where `make(env)` raises
`DoesNotFit("why")`, and lifetimes where the agent has a `train` of its own or wants the standard form: they are lived
by `act` and `learn`, in environments as they are.

**Protocol.** Each agent, task and seed is a cell of its own. The agent learns for `steps` steps (learn=True,
explore=True), in episodes that follow from the seed; an agent without `learn` goes without. Then it is judged in
`episodes` episodes (learn=False, explore=False) whose seeds are the same for every agent and run, and begin no
training.
In worlds without chance (`hiv-*`, `opioid-2002`, `zika-outbreak`, `world3`, `credit*`) each episode is the same one, in
training too, and the recommender's users may be met in training as well; a lifetime has tests of its own seed.
An online task scores the learning itself, over exactly `steps` steps: what `train` leaves of them is lived without
learning. In a lifetime the score is the mean over the tests of tasks that were trained by then.

**Rules.** An agent knows what its observations, rewards and info tell, and the environment's spaces and candidates. It
is not to step copies of an environment, `unwrapped` or one it made itself; to read the world's state or its user's
probabilities; to reset or step while it is scored; to keep anything from cell to cell; or
to use JUDGED. Checked: while it is scored, a step or reset in `begin`, `act` or `learn`, an episode broken off in an
online task, and setting a count fail the run, and info lacks ORACLE's entries (except in lifetimes). All else is trust.

**Scores.** More is better; `normalised` is (score - random) / (best - random), see `task_table` and
data/bench/README.md. Scores of the quick version are other scores, on smaller budgets and fewer episodes: they are
never to be set beside those of the full one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import closing, suppress
from time import process_time
from typing import Any

from pushlab.agents.protocol import Agent
from pushlab.experiments.bench.tasks import Task
from pushlab.experiments.bench.views import BudgetSpent, DoesNotFit, Trial, standard
from pushlab.experiments.specs import found
from pushlab.ground.arguments import demand
from pushlab.ground.seeds import part_seed

TRAINING, JUDGING = range(2)  # parts of a run that have seeds of their own
JUDGED = part_seed(
    1, JUDGING
)  # the seed of the episodes in which every agent is judged
WANTED = "an agent is named as module:make, where make() or make(env) gives one that has act(observation, info)"
LONG = 1_000_000_000  # more episodes than any budget has


def load_agent(name: str) -> Callable:
    """The function or class that `module:make` names, also of a module in the folder where one stands."""
    make = found(name)
    demand(callable(make), f"{name!r} is no agent but {make!r:.60}; {WANTED}")
    return make


def fit_for(make: Callable, env: Trial) -> Agent:
    """A fresh agent for an environment; raises DoesNotFit with the reason, TypeError for what is no agent."""
    wanted = [
        one
        for one in inspect.signature(make).parameters.values()
        if one.default is one.empty
        and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    agent = make(env) if wanted else make()
    missing = [
        name
        for name in ("act", "begin", "learn")
        if not callable(getattr(agent, name, None))
    ]
    if isinstance(agent, type) or missing == ["act", "begin", "learn"]:
        raise TypeError(
            f"{make.__name__} gave {agent!r:.60}, which is no agent; {WANTED}"
        )
    if missing:
        raise TypeError(
            f"the agent {agent!r:.60} has no {missing[0]}(); make it a pushlab.agents.Agent"
        )
    if not hasattr(agent, "name"):
        agent.name = type(
            agent
        ).__name__  # who only has what an agent is asked for is called as its class
    if env.task.kind == "lifetime" and (
        hasattr(agent, "train") or getattr(agent, "standard", False)
    ):
        raise DoesNotFit(
            "a lifetime is lived by act and learn, in environments as they are"
        )
    view = seen_by(agent, env)
    for what, space in (
        ("action", view.action_space),
        ("observation", view.observation_space),
    ):
        known = getattr(agent, f"{what}_spaces", None)
        if known is not None and not isinstance(space, tuple(known)):
            raise DoesNotFit(
                f"needs {what}s that are {' or '.join(one.__name__ for one in known)}; this task has "
                f"{type(space).__name__}"
            )
    return agent


def seen_by(agent: Agent, trial: Trial) -> Trial:
    """The environment as the agent gets it: in the standard form if it asks for that."""
    if not getattr(agent, "standard", False):
        return trial
    return trial.seen_as(standard)


class Unfit(Exception):
    """The task does not fit: DoesNotFit came from making the agent."""


def made_for(make: Callable, env: Trial) -> Agent:
    """`fit_for` in a cell. What raises DoesNotFit anywhere else has failed."""
    try:
        return fit_for(make, env)
    except DoesNotFit as reason:
        raise Unfit(str(reason)) from reason


class Watched(Agent):
    """An agent in episodes that count: while it is asked, it neither steps nor resets."""

    def __init__(self, agent: Agent, trial: Trial) -> None:
        self.name, self._agent, self._trial = agent.name, agent, trial

    def begin(self, env: Any, seed: int) -> None:
        self._trial.asked(self._agent.begin, env, seed)

    def act(self, observation: Any, info: Any, explore: bool = True) -> Any:
        return self._trial.asked(self._agent.act, observation, info, explore)

    def learn(self, transition: Any) -> None:
        self._trial.asked(self._agent.learn, transition)


# ---------------------------------------------------------------- one cell


def run_cell(make: Callable, task: Task, seed: int) -> dict[str, list[dict]]:
    """Trains and judges an agent on a task under a seed: three tables.

    scores   a row with score and steps (of training, or of the online task), if the task fits
    unfit    a row with the reason, if it does not
    seconds  a row with the CPU seconds that it took
    """
    begun = process_time()
    try:
        score, steps = (live_through if task.kind == "lifetime" else compete)(
            make, task, seed
        )
    except Unfit as reason:
        return {"unfit": [{"reason": str(reason)}]}
    return {
        "scores": [{"score": score, "steps": steps}],
        "seconds": [{"seconds": process_time() - begun}],
    }


def compete(make: Callable, task: Task, seed: int) -> tuple[float, int]:
    """Score and steps of training; where there are several users, the mean over them and the sum."""
    done = []
    for number, arguments in enumerate(task.each):
        own = part_seed(seed, TRAINING, number)
        simulated = (
            {"period": "history", "judge": "logistic"} if task.kind == "offline" else {}
        )
        with (
            closing(task.make({**arguments, **simulated})) as env,
            closing(task.make(arguments, judged=True)) as other,
        ):
            trial = Trial(
                env, task, own, task.steps, LONG if task.kind == "online" else None
            )
            agent = made_for(make, trial)
            trial = seen_by(agent, trial)
            learn(agent, trial, own)
            if task.kind == "online":
                if trial.rest():
                    live(agent, trial, own, learning=False)
                done.append((trial.score, trial.spent))
                continue
            judged = seen_by(agent, Trial(other, task, JUDGED, counted=task.episodes))
            live(
                agent,
                judged,
                part_seed(seed, JUDGING, number),
                learning=False,
                episodes=task.episodes,
            )
            done.append((judged.score, trial.spent))
    return sum(score for score, _ in done) / len(done), sum(steps for _, steps in done)


def learn(agent: Agent, trial: Trial, seed: int) -> None:
    """Spends the budget, in the agent's own way if it has one."""
    if trial.task.kind == "offline" and hasattr(agent, "fit"):
        agent.fit(trial.world.user.history)
    elif hasattr(agent, "train"):
        with suppress(BudgetSpent):
            agent.train(
                trial, trial.budget, seed % 2**32
            )  # as much as many libraries take for a seed
    elif (
        getattr(type(agent), "learn", Agent.learn) is not Agent.learn
        or trial.task.kind == "online"
    ):
        live(agent, trial, seed, learning=True)


def live(
    agent: Agent, trial: Trial, seed: int, learning: bool, episodes: int = LONG
) -> None:
    """Lives so many episodes, or as many as the budget allows."""
    from pushlab.logs.rollout import rollout

    with suppress(BudgetSpent):
        rollout(
            trial,
            Watched(agent, trial),
            episodes,
            seed,
            progress=False,
            record="episodes",
            learn=learning,
            explore=learning,
        )


def live_through(make: Callable, task: Task, seed: int) -> tuple[float, int]:
    """The mean reward of an episode in tests of tasks that were trained by then, and the steps of training."""
    from pushlab.lifetimes.live import make_envs, run_syllabus
    from pushlab.lifetimes.syllabi import read_syllabus

    syllabus = read_syllabus(task.env)
    first = syllabus.phases[0].experiences[0]
    agent = made_for(
        make, Trial(make_envs(syllabus.phases[:1])[first.key], task, seed)
    )
    log, met, rewards = (
        run_syllabus(syllabus, agent, part_seed(seed, TRAINING), progress=False),
        set(),
        [],
    )
    for _, block in log.groupby("block", sort=True):
        testing = block["block_type"].eq("test").all()
        met |= set() if testing else set(block["task"])
        rewards += (
            block.loc[block["task"].isin(met), "reward"].tolist() if testing else []
        )
    return sum(rewards) / len(rewards), int(
        log.loc[log["block_type"] == "train", "length"].sum()
    )
