"""What each release promises to the next, as a list: tests/promised.json; docs/versions.md says what a promise is.

    python tests/promised.py               what has changed since the list was written; nothing is written
    python tests/promised.py --renew       the list anew, at a release: what is new joins it
    python tests/promised.py --renew --end "name pushlab.old"       ... and lets go what was deprecated for long enough

The list holds the worlds by their ids, with spaces, arguments and what ten steps tell; public names with parameters,
methods and attributes; commands with options and defaults, and exit codes of some calls; columns of logs and keys of
scorecards; versions of formats; and tasks, budgets and seeds of the benchmark.
"""

import argparse
import enum
import functools
import hashlib
import importlib
import inspect
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_suffix(".json")
ROOMS = ("pushlab", "pushlab.agents", "pushlab.causal", "pushlab.classroom", "pushlab.clients", "pushlab.plots",
         "pushlab.metrics.estimate", "pushlab.metrics.lifelong", "pushlab.metrics.offpolicy",
         "pushlab.users.synthesis")
ALSO = ("pushlab.challenges.scorecard.Scorecard",)      # public for what they answer, and not to be made by hand
CALLS = (["--version"], ["envs"], ["nothing"], ["data", "check", "mira"], ["data", "check", "no-such-folder"],
         ["data", "check"], ["score", "faulty.csv", "--out", "out", "--user", "mira"],
         ["score", "faulty.csv", "--out", "out", "--user", "nobody"], ["score"])
SEED, STEPS = 7, 10
# Of numbers in `worlds`: another processor or another NumPy may move the last digits, and a model multiplies them.
CLOSE = 1e-5


def promises():
    """{kind: {what: what is promised of it}} of the pushlab that is imported."""
    return {"world": worlds(), "name": names(), "command": commands(), "columns": columns(), "format": formats(),
            "benchmark": {**tasks(), "seeds": seeds()}, "exit": exits()}


# ---------------------------------------------------------------- what there is

def worlds():
    """{id: spaces, parameters, limit of steps, and what the first steps under one seed tell}."""
    import gymnasium as gym

    from pushlab.envs import TABLE

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)         # Gymnasium's, of a -v0 that has a -v1
        return {**{name: world(gym, name) for name, *_ in TABLE}, **remote()}


def world(gym, name):
    """What is promised of one id. Actions are drawn by the action space under the same seed."""
    env = gym.make(name)
    env.action_space.seed(SEED)
    observation, info = env.reset(seed=SEED)
    lived = {"seen": [parts(observation)], "rewards": [], "ends": []}
    for _ in range(STEPS):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        lived["seen"].append(parts(observation))
        lived["rewards"].append(float(reward))
        lived["ends"].append(int(terminated) + 2 * int(truncated))
        if terminated or truncated:
            break
    told = {"observation": space(env.observation_space), "action": space(env.action_space),
            "steps": env.spec.max_episode_steps, "info": sorted(info), **lived,
            "parameters": [*arguments_of(type(env.unwrapped.world)), *of_the_shell(type(env.unwrapped))]}
    env.close()
    return told


def remote():
    """{id: arguments} of the world on a server: what it is like is the server's to say."""
    from pushlab.envs import REMOTE
    from pushlab.envs.remote import env

    known = [one for one in parameters(env.Remote) if one[1] != "var_keyword"]
    return {REMOTE[0]: {"parameters": [*known, *of_the_shell(env.RemoteEnv)]}}


def of_the_shell(env):
    """What an Env takes besides the arguments of its world."""
    return [[name, "keyword_only", default] for name, kind, default in parameters(env)
            if name != "world" and not kind.startswith("var_")]


def arguments_of(world):
    """The parameters of a world's constructor, and those of its bases that it hands on by **arguments."""
    found = {}
    for one in world.__mro__:
        if "__init__" not in vars(one):
            continue
        for each in inspect.signature(one).parameters.values():
            if one is world:
                found[each.name] = [each.name, each.kind.name.lower(), default_of(each)]
            elif each.name not in found and each.default is not each.empty and taken(world, each):
                found[each.name] = [each.name, "keyword_only", default_of(each)]
        if not any(each.kind is each.VAR_KEYWORD for each in inspect.signature(one).parameters.values()):
            break
    return [one for one in found.values() if one[1] != "var_keyword"]


def taken(world, parameter):
    """Whether a world takes a parameter of its base, and does not give it itself."""
    try:
        world(**{parameter.name: parameter.default})
    except TypeError as error:
        return "multiple values" not in str(error)
    except ValueError:          # a value that does not suit this world: it has been looked at
        return True
    return True


def parts(observation):
    """An observation as plain lists, every component in its place."""
    if isinstance(observation, dict):
        return {key: parts(one) for key, one in observation.items()}
    if isinstance(observation, tuple | list):
        return [parts(one) for one in observation]
    return observation if isinstance(observation, str) else np.asarray(observation).tolist()


def space(one):
    """A space in words, the same under every version of NumPy: kind, shape, type and bounds, component by component."""
    import gymnasium as gym

    if isinstance(one, gym.spaces.Dict):
        return {"Dict": {name: space(part) for name, part in one.items()}}
    if isinstance(one, gym.spaces.Tuple):
        return {"Tuple": [space(part) for part in one]}
    if isinstance(one, gym.spaces.Text):
        return {"Text": [one.min_length, one.max_length, "".join(sorted(one.characters))]}
    if isinstance(one, gym.spaces.Box):
        return {"Box": [list(one.shape), str(one.dtype), one.low.tolist(), one.high.tolist()]}
    if isinstance(one, gym.spaces.Discrete):
        return {"Discrete": [int(one.n), int(one.start)]}
    return {type(one).__name__: np.asarray(getattr(one, "nvec", one.shape)).tolist()}


def names():
    """{public name: its parameters, of a class its methods too, or the kind of thing that it is}.

    Public is what the rooms list in `__all__`, and ALSO.
    """
    listed = [f"{room}.{name}" for room in ROOMS for name in importlib.import_module(room).__all__]
    found = {}
    for path in [*listed, *ALSO]:
        room, _, name = path.rpartition(".")
        thing = getattr(importlib.import_module(room), name)
        if inspect.isclass(thing):
            found[path] = {"parameters": parameters(thing), "has": members(thing)}
        else:
            found[path] = parameters(thing) if callable(thing) else type(thing).__name__
    return found


def members(one):
    """{name: parameters of a method, "attribute" or an attribute's value} of what pushlab gives a public class."""
    found = {}
    for name in sorted(dir(one)):
        owner = next((base for base in one.__mro__ if name in vars(base)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("pushlab"):
            continue
        thing = vars(owner)[name]
        if isinstance(thing, property | functools.cached_property) or inspect.isdatadescriptor(thing):
            found[name] = "attribute"
        elif callable(thing) or isinstance(thing, classmethod | staticmethod):
            found[name] = parameters(getattr(one, name))
        else:
            found[name] = spelt(thing)
    return found


def parameters(thing):
    """[[name, kind, default], …] of a function or of a class's constructor; the default is None where one is needed."""
    try:
        given = inspect.signature(thing).parameters.values()
    except ValueError:          # of a class that Python made itself
        return []
    return [[one.name, one.kind.name.lower(), default_of(one)] for one in given]


def default_of(parameter):
    return None if parameter.default is parameter.empty else spelt(parameter.default)


def spelt(default):
    """A default as text, without addresses in memory."""
    if isinstance(default, enum.Enum) or inspect.isroutine(default) or inspect.isclass(default):
        return getattr(default, "__name__", str(default))
    if isinstance(default, np.ndarray):
        return f"array of {default.size}"
    text = repr(default)
    return type(default).__name__ if " at 0x" in text else text


def commands():
    """{command: its options with defaults, and what it has to be given}."""
    import typer

    from pushlab.__main__ import app

    found = {}

    def look(command, path):
        for name, below in getattr(command, "commands", {}).items():
            look(below, f"{path} {name}")
        options = [one for one in command.params if one.param_type_name == "option"]
        found[path] = {"options": {name: unasked(one) for one in options for name in (*one.opts, *one.secondary_opts)},
                       "needed": sorted(one.opts[0] for one in options if one.required),
                       "arguments": [[one.name, one.required, unasked(one)] for one in command.params
                                     if one not in options]}

    look(typer.main.get_command(app), "pushlab")
    return found


def unasked(option):
    """The default of an option or argument as text. Click's word for "none" is another one in each of its versions."""
    value = option.default
    if getattr(option, "is_flag", False):
        return str(value is True)
    if value is None or "UNSET" in repr(value) or value in ((), []):
        return "None"
    return str(value.value) if isinstance(value, enum.Enum) else spelt(value)


def exits():
    """{call: its exit code}."""
    from typer.testing import CliRunner

    from pushlab.__main__ import app

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "faulty.csv").write_text("id,subject\n0,nothing\n", encoding="utf-8")
        placed = {"faulty.csv": str(Path(folder) / "faulty.csv"), "out": str(Path(folder) / "out")}
        return {f"pushlab {' '.join(words)}": CliRunner().invoke(app, [placed.get(word, word) for word in words])
                .exit_code for words in CALLS}


def columns():
    """{table or file: its columns or keys}: logs of every world, what is handed in, what scoring tells."""
    import pandas as pd

    from pushlab import Challenge, RandomAgent, rollout
    from pushlab.challenges.answers import OPTIONAL
    from pushlab.challenges.board import COLUMNS
    from pushlab.challenges.scorecard import leaderboard
    from pushlab.envs import TABLE

    def lived(name, record):
        return list(rollout(name, RandomAgent(), record=record, steps=2, progress=False))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        logs = {f"{record} of {name}": lived(name, record) for name, *_ in TABLE for record in ("steps", "episodes")}
    challenge = Challenge.load("mira")
    history, wanted = challenge.history.notifications, len(challenge.contexts)
    features = list(challenge.user.schema.notification.names)
    answers = pd.concat([history[features]] * (wanted // len(history) + 1), ignore_index=True)[:wanted]
    card = challenge.evaluate(answers.assign(id=range(wanted), response_time=0.5))
    with tempfile.TemporaryDirectory() as folder:
        card.save(folder)
        files = {path.name: path.read_text(encoding="utf-8") for path in Path(folder).iterdir()}
    saved = json.loads(files["scorecard.json"])
    return {**logs, "answers.csv": [*features, *OPTIONAL], "board.csv": list(COLUMNS),
            "scorecard.json": sorted(saved), "scorecard.json, metrics": sorted(saved["metrics"]),
            "scorecard.json, judges": sorted({key for judge in saved["judges"].values() for key in judge}),
            "scorecard.csv": [line.partition(",")[0] for line in files["scorecard.csv"].splitlines()],
            "response_times.json": sorted(json.loads(files["response_times.json"])),
            "leaderboard": list(leaderboard([card]))}


def formats():
    """{format: its version}; a schema's is the names of the keys that the shipped ones use."""
    from pushlab import RandomAgent, rollout, write_log
    from pushlab.classroom import book
    from pushlab.ground.files import data_dir
    from pushlab.logs import folders

    log = rollout("pushlab/RECEnv-v0", RandomAgent(), record="episodes", steps=2, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        logger = json.loads((write_log(log, Path(folder) / "life") / folders.LOGGER).read_text(encoding="utf-8"))
    schemas = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((data_dir() / "schemas").glob("*.json"))]
    return {"class.db": book.VERSION, "log_format_version": logger["log_format_version"],
            "lifetime folder": [folders.SCENARIO, folders.LOGGER, folders.TABLE, folders.COLUMNS, folders.STEPS],
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


def seeds():
    """Seeds of the benchmark: of its episodes, of its parts, and of an agent's own chance."""
    from pushlab import episode_seed, part_seed
    from pushlab.agents.protocol import own_chance
    from pushlab.studies.bench import protocol

    return {"judged": [episode_seed(protocol.JUDGED, episode) for episode in range(4)],
            "training": [episode_seed(part_seed(seed, protocol.TRAINING, user), episode)
                         for seed in (0, 7) for user in (0, 1) for episode in range(3)],
            "judging": [part_seed(seed, protocol.JUDGING, user) for seed in (0, 7) for user in (0, 1)],
            "chance": own_chance(7).integers(2**53, size=3).tolist()}


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
            if key != "parameters" and not near(old[key], new.get(key))]
    return "; ".join([*told, *filter(None, [other_parameters(old["parameters"], new["parameters"])])])


def near(old, new):
    """Whether two promises are the same, numbers up to CLOSE."""
    if isinstance(old, dict):
        return isinstance(new, dict) and old.keys() == new.keys() and all(near(old[key], new[key]) for key in old)
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(near, old, new))
    if isinstance(old, float) and isinstance(new, int | float):
        return old == new or abs(old - new) <= CLOSE * max(1.0, abs(old))
    return old == new


def other_name(old, new):
    """As other_parameters, of a class its methods and attributes too."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return other_parameters(old, new)
    told = [other_parameters(old["parameters"], new["parameters"])]
    for name, promised in old["has"].items():
        now = new["has"].get(name)
        what = "is gone" if now is None else other_parameters(promised, now)
        told.append(f"{name}: {what}" if what else "")
    return "; ".join(filter(None, told))


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
    gone = [f"option {name} is gone" if name not in new["options"] else
            f"the default of {name} was {default} and is {new['options'][name]}"
            for name, default in old["options"].items() if new["options"].get(name) != default]
    needed = [f"option {name} is needed now" for name in new["needed"] if name not in old["needed"]]
    before, now = old["arguments"], new["arguments"]
    moved = before != now[:len(before)] or any(required for _, required, _ in now[len(before):])
    return "; ".join(gone + needed + [f"arguments were {before} and are {now}"] * moved)


def other_list(old, new):
    if not isinstance(old, list):
        return "" if old == new else f"was {old} and is {new}"
    return "; ".join(f"{name} is gone" for name in old if name not in new)


def other(old, new):
    return "" if old == new else f"was {old} and is {new}"


def new_in(old, new):
    """What `--renew` would write and the list does not have yet, or not like that."""
    return [f"{kind} {name}" for kind, things in new.items() for name, what in things.items()
            if name not in old.get(kind, {}) or not near(old[kind][name], what)]


JUDGES = {"world": other_world, "name": other_name, "command": other_command, "columns": other_list,
          "format": other_list, "benchmark": other, "exit": other}
WHAT_TO_DO = {
    "world": "register it under the next -vN and keep this one as it was",
    "name": "keep the old name or parameter and let it warn: pushlab.ground.deprecated",
    "command": "keep the old command or option and let it warn: pushlab.ground.deprecated",
    "columns": "keep the column; a new one may stand beside it",
    "format": "raise the format's version and go on reading the old one, or refuse it by name",
    "benchmark": "leave this version as it is and add the next one, pushlab-bench-2",
    "exit": "leave the code as it was: scripts ask for it",
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
    listed = read()["promises"] if FILE.exists() else {}
    found = broken(listed, now)
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
    elif more := new_in(listed, now):
        print(f"not in the list yet, or not like that: {', '.join(more)}; --renew adds it")
    held = now if asked.renew else listed
    print(f"{sum(map(len, held.values()))} promises hold" + f", written to {FILE.name}" * asked.renew)
    return 0


if __name__ == "__main__":
    sys.exit(main())
