"""What a syllabus has to be, and every way in which one is not: see `pushlab.lifetimes.syllabi` for the form."""

import difflib
import inspect
import json
from importlib import import_module

from pushlab.ground.faults import Fault
from pushlab.lifetimes.syllabi import OWN_KEYS, PHASE, STRUCTURES, TEST, TRAIN, experience_of

TOP_KEYS = ("name", "author", "structure", "contains", "default_params", "instructions", "version", "comment")
MAKE_KEYS = ("max_episode_steps", "disable_env_checker")        # arguments of gymnasium.make itself


def find_faults(told, file="syllabus"):
    """All Faults of a syllabus, given as what its JSON holds; rows are the numbers of instructions, from 0."""
    if not isinstance(told, dict) or not isinstance(told.get("instructions"), list):
        return [_fault(file, None, "instructions", None,
                       'expected {"name": …, "instructions": [{"$phase": "1.train"}, …]}')]
    faults = list(_faults_of_head(told, file))
    defaults = told.get("default_params") if isinstance(told.get("default_params"), dict) else {}
    items, phases = told["instructions"], []
    if not items:
        faults.append(_fault(file, None, "instructions", None, "there are no instructions"))
    for at, item in enumerate(items):
        found = list(_faults_of_item(item, at, file, defaults))
        faults += found
        if isinstance(item, dict) and "$phase" in item:
            phases.append((at, item["$phase"], []))
        elif not phases:
            faults.append(_fault(file, at, None, None, 'an episode before the first {"$phase": …}'))
        elif not found:
            phases[-1][2].append((at, experience_of(item, defaults)))
        else:
            phases[-1][2].append((at, None))
    faults += _faults_of_order(phases, file)
    if not faults:                      # structure is judged where every instruction can be read
        faults += _faults_of_structure(phases, told.get("structure"), file)
    return faults


def _fault(file, at, key, value, right):
    """A Fault of instruction `at`; values are shown as JSON has them."""
    shown = None if value is None else value if isinstance(value, str) else json.dumps(value, default=repr)[:80]
    return Fault(file, at, key, shown, right, "item")


def _faults_of_head(told, file):
    for key in told:
        if key not in TOP_KEYS:
            yield _fault(file, None, key, None, f"no such key; there are {', '.join(TOP_KEYS)}")
    if not isinstance(told.get("name", ""), str):
        yield _fault(file, None, "name", told["name"], "a text")
    if told.get("structure") not in (None, *STRUCTURES):
        yield _fault(file, None, "structure", told["structure"], f"one of {', '.join(STRUCTURES)}")
    if told.get("contains", "episodes") != "episodes":
        yield _fault(file, None, "contains", told["contains"], "episodes: an experience is an episode here")
    if not isinstance(told.get("default_params", {}), dict):
        yield _fault(file, None, "default_params", told["default_params"], "an object of arguments")


# ---------------------------------------------------------------- one instruction

def _faults_of_item(item, at, file, defaults):
    if not isinstance(item, dict):
        yield _fault(file, at, None, item, 'an object: {"$phase": …}, {"$repeat": …, "count": …} or {"$episode": …}')
    elif "$phase" in item:
        yield from _faults_of_annotation(item, at, file)
    elif "$repeat" in item:
        for key in item:
            if key not in ("$repeat", "count"):
                yield _fault(file, at, key, None, "no such key beside $repeat and count; arguments of the environment "
                                                  "stand within $repeat")
        count = item.get("count")
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            yield _fault(file, at, "count", "nothing" if count is None else count, "a whole number from 1")
        yield from _faults_of_episode(item["$repeat"], at, file, defaults)
    elif "$episode" in item:
        yield from _faults_of_episode(item, at, file, defaults)
    else:
        yield _fault(file, at, None, item, "an annotation ($phase), a repetition ($repeat) or an episode ($episode)")


def _faults_of_annotation(item, at, file):
    name = item["$phase"]
    if not isinstance(name, str) or not PHASE.fullmatch(name):
        yield _fault(file, at, "$phase", name, '"<number>.train" or "<number>.test", such as "1.train"')
    for key in item:
        if key not in ("$phase", "enable_updates"):
            yield _fault(file, at, key, None, "no such key beside $phase and enable_updates")
    learns = item.get("enable_updates")
    if learns is not None and isinstance(name, str) and learns is not name.endswith(TRAIN):
        yield _fault(file, at, "enable_updates", learns, "true in training and false in tests")


def _faults_of_episode(episode, at, file, defaults):
    if not isinstance(episode, dict) or not isinstance(episode.get("$episode"), str):
        yield _fault(file, at, "$episode", episode, 'an object with "$episode", the id of an environment')
        return
    if not isinstance(episode.get("$task", "a name"), str) or not episode.get("$task", "a name").strip():
        yield _fault(file, at, "$task", episode["$task"], "a name")
    for key in episode:
        if key.startswith("$") and key not in OWN_KEYS:
            yield _fault(file, at, key, None, f"no such key; with $ there are {', '.join(OWN_KEYS)}")
    known = arguments_of(episode["$episode"])
    if known is None:
        yield _fault(file, at, "$episode", episode["$episode"], f"the id of an environment{_near(episode['$episode'])}")
        return
    for key in [*defaults, *episode]:
        if not key.startswith("$") and known and key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(sorted(known))}"
            yield _fault(file, at, key, None, f"{episode['$episode']} has no argument of that name{hint}")


def arguments_of(name):
    """Names that an environment takes, a set; empty where it takes any; None where there is no such environment."""
    import gymnasium as gym
    from gymnasium.envs.registration import load_env_creator

    import pushlab  # noqa: F401  the ids

    try:
        spec = gym.spec(name)
    except (gym.error.Error, ImportError):
        return None
    world = spec.kwargs.get("world")
    if isinstance(world, str):
        module, _, cls = world.partition(":")
        maker = getattr(import_module(module), cls)
    else:
        maker = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
    parameters = inspect.signature(maker).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return set()
    return {*parameters, *MAKE_KEYS} - {"render_mode"}


def _near(name):
    from gymnasium.envs.registration import registry

    near = difflib.get_close_matches(name, [key for key in registry if key.startswith("pushlab")], 1)
    return f" that is registered; did you mean {near[0]}?" if near else " that is registered"


# ---------------------------------------------------------------- phases

def _faults_of_order(phases, file):
    """Numbers count on from 1, or from 0.test; within one, training comes before the test; no phase is empty."""
    right = ((0, TEST), (1, TRAIN))
    after = "the start"
    for at, name, experiences in phases:
        if not experiences:
            yield _fault(file, at, "$phase", name, "followed by episodes; this phase has none")
        found = PHASE.fullmatch(name) if isinstance(name, str) else None
        here = (int(found[1]), found[2]) if found else None
        if here and right and here not in right:
            yield _fault(file, at, "$phase", name, f"next; after {after} comes {' or '.join(map(_word, right))}")
        right, after = _following(here), name
    if phases and not any(isinstance(name, str) and name.endswith(TRAIN) for _, name, _ in phases):
        yield _fault(file, None, "instructions", None, "there is no phase of training")


def _following(phase):
    """What may come after a phase (number, kind); None after one that cannot be read."""
    if phase is None:
        return None
    on = (phase[0] + 1, TRAIN)
    return ((phase[0], TEST), on) if phase[1] == TRAIN else (on,)


def _word(phase):
    return f"{phase[0]}.{phase[1]}"


# ---------------------------------------------------------------- structures

def _faults_of_structure(phases, structure, file):
    tasks = list(dict.fromkeys(one.task for _, _, some in phases for _, one in some))
    structure = structure or ("CL" if len(tasks) == 1 else "ANT_A")
    if structure == "CL":
        yield from _faults_of_cl(phases, tasks, file)
    else:
        yield from _faults_of_ant(phases, tasks, structure, file)


def _faults_of_cl(phases, tasks, file):
    seen = [(where, one) for _, _, some in phases for where, one in some]
    for where, one in seen:
        if one.task != seen[0][1].task:
            yield _fault(file, where, "$task", one.task, f"{seen[0][1].task}; a CL syllabus has one task (several are "
                                                         "ANT_A or ANT_B)")
    trained = {_spelled(one) for _, name, some in phases if name.endswith(TRAIN) for _, one in some}
    if len(tasks) == 1 and len(trained) < 2:
        yield _fault(file, None, "instructions", None, "a CL syllabus varies the parameters of its task, and here all "
                                                       "training is the same")


def _faults_of_ant(phases, tasks, structure, file):
    if len(tasks) < 2:
        yield _fault(file, None, "instructions", None, f"an {structure} syllabus has several tasks, and here is only "
                                                       f"{tasks[0]}; name them by $task, or make it CL")
    first, known = {}, []
    for number, (at, name, some) in enumerate(phases):
        kind, here = name.partition(".")[2], [one.task for _, one in some]
        for where, one in some:
            params = first.setdefault((one.task, kind), _spelled(one))
            if _spelled(one) != params:
                right = f"{params}, as before: in {structure} a task's parameters do not vary ({one.task}, in {kind})"
                yield _fault(file, where, None, _spelled(one), right)
        if kind == TRAIN:
            known += [task for task in dict.fromkeys(here) if task not in known]
            if len(set(here)) > 1:
                several = ", ".join(dict.fromkeys(here))
                yield _fault(file, at, "$phase", name, f"training of one task, and here are {several}")
            follows = phases[number + 1][1] if number + 1 < len(phases) else ""
            if not follows.endswith(TEST):
                yield _fault(file, at, "$phase", name, "followed by its test, which is mandatory in ANT")
        else:
            wanted = tasks if structure == "ANT_B" else known
            lacking = [task for task in wanted if task not in here]
            if lacking:
                whole = "all tasks" if structure == "ANT_B" else "all tasks trained so far"
                yield _fault(file, at, "$phase", name, f"a test of {whole}; {', '.join(lacking)} is lacking")
    if structure == "ANT_B" and not phases[0][1].endswith(TEST):
        right = "0.test: ANT_B compares with what the agent could do before any training"
        yield _fault(file, phases[0][0], "$phase", phases[0][1], right)


def _spelled(one):
    """An experience's environment and arguments as one text, to compare and to show."""
    return json.dumps({"$episode": one.env, **dict(sorted(one.params.items()))}, ensure_ascii=False)
