"""What each release promises to the next, as a list: tests/promised.json; docs/versions.md says what a promise is.

    python tests/promised.py               what has changed since the list was written; nothing is written
    python tests/promised.py --renew       the list anew, at a release: what is new joins it
    python tests/promised.py --renew --end "name pushlab.old"       ... and lets go what was deprecated for long enough

The list holds the worlds by their ids, with spaces and what ten steps tell; public names with their parameters;
commands with their options; the columns of logs; versions of formats; and tasks and budgets of the benchmark.
"""

import argparse
import enum
import hashlib
import importlib
import inspect
import json
import sys
import warnings
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_suffix(".json")
ROOMS = ("pushlab", "pushlab.agents", "pushlab.causal", "pushlab.classroom", "pushlab.clients", "pushlab.plots",
         "pushlab.metrics.estimate", "pushlab.metrics.lifelong", "pushlab.metrics.offpolicy",
         "pushlab.users.synthesis")
SEED, STEPS = 7, 10
# Of numbers in `worlds`: another processor or another NumPy may move the last digits, and a model multiplies them.
CLOSE = 1e-5


def promises():
    """{kind: {what: what is promised of it}} of the pushlab that is imported."""
    return {"world": worlds(), "name": names(), "command": commands(), "columns": columns(), "format": formats(),
            "benchmark": tasks()}


# ---------------------------------------------------------------- what there is

def worlds():
    """{id: spaces, parameters, limit of steps, and what the first steps under one seed tell}."""
    import gymnasium as gym

    from pushlab.envs import TABLE

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)         # Gymnasium's, of a -v0 that has a -v1
        return {name: world(gym, name) for name, *_ in TABLE}


def world(gym, name):
    """What is promised of one id. Actions are drawn by the action space under the same seed."""
    env = gym.make(name)
    env.action_space.seed(SEED)
    observation, info = env.reset(seed=SEED)
    lived = {"seen": [total(observation)], "rewards": [], "ends": []}
    for _ in range(STEPS):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        lived["seen"].append(total(observation))
        lived["rewards"].append(float(reward))
        lived["ends"].append(int(terminated) + 2 * int(truncated))
        if terminated or truncated:
            break
    told = {"observation": space(env.observation_space), "action": space(env.action_space),
            "steps": env.spec.max_episode_steps, "info": sorted(info), **lived,
            "parameters": parameters(type(env.unwrapped.world))}
    env.close()
    return told


def total(observation):
    """One number that follows from all of an observation: sums of numbers, and of the letters of words."""
    if isinstance(observation, dict):
        return sum(total(observation[key]) for key in sorted(observation))
    if isinstance(observation, str):
        return float(sum(observation.encode()))
    if isinstance(observation, tuple | list):
        return sum(total(one) for one in observation)
    return float(np.sum(observation))


def space(one):
    """A space in words, the same under every version of NumPy: kind, shape, type and what its bounds add up to."""
    import gymnasium as gym

    if isinstance(one, gym.spaces.Dict):
        return {"Dict": {name: space(part) for name, part in one.items()}}
    if isinstance(one, gym.spaces.Tuple):
        return {"Tuple": [space(part) for part in one]}
    if isinstance(one, gym.spaces.Text):
        return {"Text": [one.min_length, one.max_length, "".join(sorted(one.characters))]}
    if isinstance(one, gym.spaces.Box):
        return {"Box": [list(one.shape), str(one.dtype), float(one.low.sum()), float(one.high.sum())]}
    if isinstance(one, gym.spaces.Discrete):
        return {"Discrete": [int(one.n), int(one.start)]}
    return {type(one).__name__: np.asarray(getattr(one, "nvec", one.shape)).tolist()}


def names():
    """{public name: its parameters, or the kind of thing that it is}: what the rooms list in `__all__`."""
    found = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            found[f"{room}.{name}"] = parameters(thing) if callable(thing) else type(thing).__name__
    return found


def parameters(thing):
    """[[name, kind, default], …] of a function or of a class's constructor; the default is None where one is needed."""
    try:
        given = inspect.signature(thing).parameters.values()
    except ValueError:          # of a class that Python made itself
        return []
    return [[one.name, one.kind.name.lower(), None if one.default is one.empty else spelt(one.default)]
            for one in given]


def spelt(default):
    """A default as text, without addresses in memory."""
    if isinstance(default, enum.Enum) or inspect.isroutine(default) or inspect.isclass(default):
        return getattr(default, "__name__", str(default))
    if isinstance(default, np.ndarray):
        return f"array of {default.size}"
    text = repr(default)
    return type(default).__name__ if " at 0x" in text else text


def commands():
    """{command: its options, and what it has to be given}."""
    import typer

    from pushlab.__main__ import app

    found = {}

    def look(command, path):
        for name, below in getattr(command, "commands", {}).items():
            look(below, f"{path} {name}")
        options = [one for one in command.params if one.param_type_name == "option"]
        found[path] = {"options": sorted(name for one in options for name in (*one.opts, *one.secondary_opts)),
                       "needed": sorted(one.opts[0] for one in options if one.required),
                       "arguments": [[one.name, one.required] for one in command.params if one not in options]}

    look(typer.main.get_command(app), "pushlab")
    return found


def columns():
    """{log: its columns}, of a rollout in either form."""
    from pushlab import RandomAgent, rollout

    return {record: list(rollout("pushlab/RECEnv-v0", RandomAgent(), record=record, steps=2, progress=False))
            for record in ("steps", "episodes")}


def formats():
    """{format: its version}; a schema's is the names of the keys that the shipped ones use."""
    from pushlab.classroom import book
    from pushlab.ground.files import data_dir
    from pushlab.logs import folders

    schemas = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((data_dir() / "schemas").glob("*.json"))]
    return {"class.db": book.VERSION, "lifetime folder": [folders.SCENARIO, folders.LOGGER, folders.TABLE,
                                                           folders.COLUMNS, folders.STEPS],
            "schema": sorted({key for schema in schemas for key in schema}),
            "syllabi": sorted(path.stem for path in (data_dir() / "syllabi").glob("*.json"))}


def tasks():
    """{version of the benchmark: what its tasks, budgets and the two ends of its scale come to, as a checksum}."""
    from pushlab.ground.files import data_dir
    from pushlab.studies.bench.tasks import VERSIONS, read_tasks

    anchors = (data_dir() / "bench" / "anchors.csv").read_text(encoding="utf-8").splitlines()
    told = {version: [json.dumps(task._asdict(), sort_keys=True) for task in read_tasks(version)]
            + [line for line in anchors if line.startswith(f"{version},")] for version in VERSIONS}
    return {version: hashlib.sha256("\n".join(lines).encode()).hexdigest() for version, lines in told.items()}


# ---------------------------------------------------------------- what became of it

def broken(old, new):
    """{promise: what became of it} of all that no longer holds: gone, or other than it was. What is new breaks none."""
    found = {}
    for kind, things in old.items():
        for name, promised in things.items():
            if name not in new[kind]:
                found[f"{kind} {name}"] = "is gone"
            elif told := JUDGES[kind](promised, new[kind][name]):
                found[f"{kind} {name}"] = told
    return found


def other_world(old, new):
    told = [f"{key} was {old[key]} and is {new[key]}" for key in old
            if key != "parameters" and not near(old[key], new[key])]
    return "; ".join([*told, *filter(None, [other_parameters(old["parameters"], new["parameters"])])])


def near(old, new):
    """Whether two promises are the same, numbers up to CLOSE."""
    if isinstance(old, dict):
        return isinstance(new, dict) and old.keys() == new.keys() and all(near(old[key], new[key]) for key in old)
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(near, old, new))
    if isinstance(old, float) and isinstance(new, int | float):
        return abs(old - new) <= CLOSE * max(1.0, abs(old))
    return old == new


def other_parameters(old, new):
    """What a caller of old would notice: a parameter that is gone, moved, has another default, or is newly needed."""
    if not isinstance(old, list) or not isinstance(new, list):
        return "" if old == new else f"was {old} and is {new}"
    by_name, found = {name: (place, kind, default) for place, (name, kind, default) in enumerate(new)}, []
    for place, (name, kind, default) in enumerate(old):
        if name not in by_name:
            found.append(f"parameter {name} is gone")
            continue
        there, now, value = by_name[name]
        if kind != now and now != "positional_or_keyword":
            found.append(f"parameter {name} was {kind} and is {now}")
        if there != place and kind.startswith("positional"):
            found.append(f"parameter {name} was number {place + 1} and is number {there + 1}")
        if default != value:
            found.append(f"the default of {name} was {default} and is {value}")
    known = {name for name, *_ in old}
    return "; ".join(found + [f"parameter {name} is needed now" for name, kind, default in new
                              if name not in known and default is None and not kind.startswith("var_")])


def other_command(old, new):
    gone = [f"option {name} is gone" for name in old["options"] if name not in new["options"]]
    needed = [f"option {name} is needed now" for name in new["needed"] if name not in old["needed"]]
    before, now = old["arguments"], new["arguments"]
    moved = before != now[:len(before)] or any(required for _, required in now[len(before):])
    return "; ".join(gone + needed + [f"arguments were {before} and are {now}"] * moved)


def other_list(old, new):
    if not isinstance(old, list):
        return "" if old == new else f"was {old} and is {new}"
    return "; ".join(f"{name} is gone" for name in old if name not in new)


JUDGES = {"world": other_world, "name": other_parameters, "command": other_command, "columns": other_list,
          "format": other_list, "benchmark": other_list}
WHAT_TO_DO = {
    "world": "register it under the next -vN and keep this one as it was",
    "name": "keep the old name or parameter and let it warn: pushlab.ground.deprecated",
    "command": "keep the old command or option and let it warn: pushlab.ground.deprecated",
    "columns": "keep the column; a new one may stand beside it",
    "format": "raise the format's version and go on reading the old one, or refuse it by name",
    "benchmark": "leave this version as it is and add the next one, pushlab-bench-2",
}


def told(found):
    """The message: each promise that is broken and what to do, a line each."""
    lines = [f"  {name}: {what}\n      -> {WHAT_TO_DO[name.split()[0]]}" for name, what in found.items()]
    return "\n".join(["these promises of the last release no longer hold (docs/versions.md):", *lines])


def read():
    return json.loads(FILE.read_text(encoding="utf-8"))


def main(arguments=None):
    """Tells what is broken (exit code 1), or writes the list anew; what is broken and not ended stops that."""
    import pushlab

    parser = argparse.ArgumentParser(description="What each release promises to the next.")
    parser.add_argument("--renew", action="store_true", help="write the list anew")
    parser.add_argument("--end", action="append", default=[], metavar="PROMISE", help="one that may be let go")
    asked = parser.parse_args(arguments)
    now = promises()
    found = broken(read()["promises"], now) if FILE.exists() else {}
    if unknown := set(asked.end) - set(found):
        parser.error(f"these hold, or were never promised: {sorted(unknown)}")
    if left := {name: what for name, what in found.items() if name not in asked.end}:
        print(told(left))
        return 1
    if asked.renew:
        lines = [f'{json.dumps(kind)}: {{\n' + ",\n".join(
            f" {json.dumps(name)}: {json.dumps(what)}" for name, what in things.items()) + "\n}"
            for kind, things in now.items()]
        text = f'{{"version": {json.dumps(pushlab.__version__)}, "promises": {{\n' + ",\n".join(lines) + "\n}}\n"
        FILE.write_text(text, encoding="utf-8")
    print(f"{sum(map(len, now.values()))} promises hold" + f", written to {FILE.name}" * asked.renew)
    return 0


if __name__ == "__main__":
    sys.exit(main())
