"""What the instructions of a syllabus mean, and every way in which a syllabus is none: see `syllabi` for the form."""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from pushlab.ground.faults import Fault

STRUCTURES = ("CL", "ANT_A", "ANT_B")
TRAIN, TEST = "train", "test"
PHASE = re.compile(r"(0|[1-9][0-9]{0,8})\.(train|test)")
OWN_KEYS = ("$episode", "$task")
TOP_KEYS = (
    "name",
    "author",
    "structure",
    "contains",
    "default_params",
    "instructions",
    "version",
    "comment",
)
MAKE_KEYS = (
    "max_episode_steps",
    "disable_env_checker",
)  # arguments of gymnasium.make itself


class Experience(NamedTuple):
    """Episodes of one task in a row: a regime, as the metrics will call it.

    task    its name
    env     id of the environment
    params  dict of the environment's arguments
    count   how many episodes
    """

    task: str
    env: str
    params: dict
    count: int  # type: ignore[assignment]

    def told(self) -> str:
        """Environment and arguments as one text, to compare and to show."""
        return json.dumps(
            {"$episode": self.env, **dict(sorted(self.params.items()))},
            ensure_ascii=False,
        )


def experience_of(
    item: Mapping[str, Any], defaults: Mapping[str, Any] | Iterable = ()
) -> Experience:
    """The Experience that an instruction stands for.

    >>> experience_of({"$repeat": {"$episode": "pushlab/RECEnv-v0", "reward_std": 0.1}, "count": 50}).task
    'RECEnv-v0'
    """
    episode, count = (
        (item["$repeat"], item["count"]) if "$repeat" in item else (item, 1)
    )
    params = dict(defaults) | {
        key: value for key, value in episode.items() if key not in OWN_KEYS
    }
    return Experience(
        episode.get("$task", episode["$episode"].rpartition("/")[2]),
        episode["$episode"],
        params,
        count,
    )


def find_faults(told: Any, file: str = "syllabus") -> list[Fault]:
    """All Faults of a syllabus, given as what its JSON holds; rows are the numbers of instructions, from 0."""
    faults: list[Fault] = []

    def say(at, key, value, right):
        """Notes a fault of instruction `at`; values are shown as JSON has them."""
        shown = (
            value
            if value is None or isinstance(value, str)
            else json.dumps(value, default=repr)[:80]
        )
        faults.append(Fault(file, at, key, shown, right, "item"))

    if not isinstance(told, dict) or not isinstance(told.get("instructions"), list):
        say(
            None,
            "instructions",
            None,
            'expected {"name": …, "instructions": [{"$phase": "1.train"}, …]}',
        )
        return faults
    _judge_head(told, say)
    defaults = (
        told.get("default_params")
        if isinstance(told.get("default_params"), dict)
        else {}
    )
    phases: list[
        tuple
    ] = []  # (instruction, name, [(instruction, Experience or None if faulty)])
    for at, item in enumerate(told["instructions"]):
        before = len(faults)
        _judge_item(item, at, defaults, say)
        if isinstance(item, dict) and "$phase" in item:
            phases.append((at, item["$phase"], []))
        elif not phases:
            say(at, None, None, 'an episode before the first {"$phase": …}')
        else:
            phases[-1][2].append(
                (at, experience_of(item, defaults) if len(faults) == before else None)
            )
    _judge_order(phases, say)
    if not faults:  # structure is judged where every instruction can be read
        tasks = list(
            dict.fromkeys(one.task for _, _, some in phases for _, one in some)
        )
        structure = told.get("structure") or ("CL" if len(tasks) == 1 else "ANT_A")
        (_judge_cl if structure == "CL" else _judge_ant)(phases, tasks, structure, say)
    return faults


def _judge_head(told, say):
    for key in told:
        if key not in TOP_KEYS:
            say(None, key, None, f"no such key; there are {', '.join(TOP_KEYS)}")
    if not isinstance(told.get("name", ""), str):
        say(None, "name", told["name"], "a text")
    if told.get("structure") not in (None, *STRUCTURES):
        say(None, "structure", told["structure"], f"one of {', '.join(STRUCTURES)}")
    if told.get("contains", "episodes") != "episodes":
        say(
            None,
            "contains",
            told["contains"],
            "episodes: an experience is an episode here",
        )
    if not isinstance(told.get("default_params", {}), dict):
        say(None, "default_params", told["default_params"], "an object of arguments")
    if not told["instructions"]:
        say(None, "instructions", None, "there are no instructions")


# ---------------------------------------------------------------- one instruction


def _judge_item(item, at, defaults, say):
    if not isinstance(item, dict):
        say(
            at,
            None,
            item,
            'an object: {"$phase": …}, {"$repeat": …, "count": …} or {"$episode": …}',
        )
    elif "$phase" in item:
        _judge_annotation(item, at, say)
    elif "$repeat" in item:
        for key in item:
            if key not in ("$repeat", "count"):
                say(
                    at,
                    key,
                    None,
                    "no such key beside $repeat and count; arguments of the environment stand within "
                    "$repeat",
                )
        count = item.get("count")
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            say(
                at,
                "count",
                "nothing" if count is None else count,
                "a whole number from 1",
            )
        _judge_episode(item["$repeat"], at, defaults, say)
    elif "$episode" in item:
        _judge_episode(item, at, defaults, say)
    else:
        say(
            at,
            None,
            item,
            "an annotation ($phase), a repetition ($repeat) or an episode ($episode)",
        )


def _judge_annotation(item, at, say):
    name, learns = item["$phase"], item.get("enable_updates")
    if not isinstance(name, str) or not PHASE.fullmatch(name):
        say(
            at, "$phase", name, '"<number>.train" or "<number>.test", such as "1.train"'
        )
    for key in item:
        if key not in ("$phase", "enable_updates"):
            say(at, key, None, "no such key beside $phase and enable_updates")
    if (
        learns is not None
        and isinstance(name, str)
        and learns is not name.endswith(TRAIN)
    ):
        say(at, "enable_updates", learns, "true in training and false in tests")


def _judge_episode(episode, at, defaults, say):
    if not isinstance(episode, dict) or not isinstance(episode.get("$episode"), str):
        say(
            at,
            "$episode",
            episode,
            'an object with "$episode", the id of an environment',
        )
        return
    env, task = episode["$episode"], episode.get("$task", "a name")
    if not isinstance(task, str) or not task.strip():
        say(at, "$task", task, "a name")
    for key in episode:
        if key.startswith("$") and key not in OWN_KEYS:
            say(at, key, None, f"no such key; with $ there are {', '.join(OWN_KEYS)}")
    known = arguments_of(env)
    if known is None:
        from gymnasium.envs.registration import registry

        near = difflib.get_close_matches(
            env, [name for name in registry if name.startswith("pushlab")], 1
        )
        hint = f"; did you mean {near[0]}?" if near else ""
        say(at, "$episode", env, f"the id of an environment that is registered{hint}")
    for key in [*defaults, *episode] if known else ():
        if not key.startswith("$") and key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = (
                f"; did you mean {near[0]}?"
                if near
                else f"; it has {', '.join(sorted(known))}"
            )
            say(at, key, None, f"{env} has no argument of that name{hint}")


def arguments_of(name: str) -> set[str] | None:
    """Names that an environment takes, a set; empty where it takes any; None where there is no such environment."""
    import gymnasium as gym
    from gymnasium.envs.registration import load_env_creator

    import pushlab  # noqa: F401  the ids

    try:
        spec = gym.spec(name)
    except (gym.error.Error, ImportError):
        return None
    world, maker = spec.kwargs.get("world"), spec.entry_point
    if isinstance(world, str):
        module, _, cls = world.partition(":")
        maker = getattr(import_module(module), cls)
    parameters = inspect.signature(
        load_env_creator(maker) if isinstance(maker, str) else maker
    ).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return set()
    return {*parameters, *MAKE_KEYS} - {"render_mode"}


# ---------------------------------------------------------------- phases


def _judge_order(phases: list[tuple], say: Callable) -> None:
    """Numbers count on from 1, or from 0.test; within one, training comes before the test; no phase is empty."""
    right: tuple[str, ...] = (
        f"0.{TEST}",
        f"1.{TRAIN}",
    )  # what may come next; nothing after what cannot be read
    after = "the start"
    for at, name, experiences in phases:
        if not experiences:
            say(at, "$phase", name, "followed by episodes; this phase has none")
        found = PHASE.fullmatch(name) if isinstance(name, str) else None
        if found and right and name not in right:
            say(at, "$phase", name, f"next; after {after} comes {' or '.join(right)}")
        right, after = (), name
        if found:
            right = (f"{int(found[1]) + 1}.{TRAIN}",)
            right = (f"{found[1]}.{TEST}", *right) if found[2] == TRAIN else right
    if phases and not any(
        isinstance(name, str) and name.endswith(TRAIN) for _, name, _ in phases
    ):
        say(None, "instructions", None, "there is no phase of training")


def _judge_cl(phases, tasks, structure, say):
    seen = [(where, one, name) for _, name, some in phases for where, one in some]
    for where, one, _ in seen:
        if one.task != tasks[0]:
            say(
                where,
                "$task",
                one.task,
                f"{tasks[0]}; a CL syllabus has one task (several are ANT_A or ANT_B)",
            )
    trained = {one.told() for _, one, name in seen if name.endswith(TRAIN)}
    if len(tasks) == 1 and len(trained) < 2:
        say(
            None,
            "instructions",
            None,
            "a CL syllabus varies the parameters of its task, and here all training is "
            "the same",
        )


def _judge_ant(phases, tasks, structure, say):
    if len(tasks) < 2:
        say(
            None,
            "instructions",
            None,
            f"an {structure} syllabus has several tasks, and here is only {tasks[0]}; "
            "name them by $task, or make it CL",
        )
    first, known = {}, []
    for (at, name, some), (_, follows, _) in zip(
        phases, [*phases[1:], (None, "", None)]
    ):
        kind, here = (
            name.partition(".")[2],
            list(dict.fromkeys(one.task for _, one in some)),
        )
        for where, one in some:
            params = first.setdefault((one.task, kind), one.told())
            if one.told() != params:
                say(
                    where,
                    None,
                    one.told(),
                    f"{params}, as before: in {structure} a task's parameters do not vary "
                    f"({one.task}, in {kind})",
                )
        if kind == TRAIN:
            known += [task for task in here if task not in known]
            if len(here) > 1:
                say(
                    at,
                    "$phase",
                    name,
                    f"training of one task, and here are {', '.join(here)}",
                )
            if not follows.endswith(TEST):
                say(
                    at,
                    "$phase",
                    name,
                    "followed by its test, which is mandatory in ANT",
                )
            continue
        wanted, whole = (
            (tasks, "all tasks")
            if structure == "ANT_B"
            else (known, "all tasks trained so far")
        )
        lacking = [task for task in wanted if task not in here]
        if lacking:
            say(
                at,
                "$phase",
                name,
                f"a test of {whole}; {', '.join(lacking)} is lacking",
            )
    if structure == "ANT_B" and not phases[0][1].endswith(TEST):
        at, name, _ = phases[0]
        say(
            at,
            "$phase",
            name,
            "0.test: ANT_B compares with what the agent could do before any training",
        )
