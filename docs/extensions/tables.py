"""Tables of an environment's page: observation, action, reward and arguments, from its world and its docstrings."""

import inspect
import re
from fnmatch import fnmatchcase

import numpy as np
from gymnasium import spaces

ARGUMENT = re.compile(r"^([\w, ]+):(?: |\n)(.*(?:\n(?:    .*|))*)", re.M)
# A base class of a world has these arguments only for others.
HIDDEN = {"args", "kwargs", "arguments"}
MAX_WORDS = 7


def rows_of(world, texts, features):
    """Return the rows of a world's tables by section.

    Args:
        texts: The world's texts in docs/tables.toml.
        features: The texts of the features of phones.
    """
    observation = texts.get("observation", {})
    parts = {}
    if hasattr(world, "schema"):
        observation = {**observation, **features}
        parts = features
    return {
        "Observation": observation_rows(world, observation),
        "Action": action_rows(world, parts),
        "Reward": reward_rows(world, texts.get("reward", [])),
    }


def observation_rows(world, texts):
    """Return a row for each component of a world's observation: name, range, unit, meaning.

    Components in a row with the same text, such as the tags of a place, share a row.

    Args:
        texts: {pattern of a name: "meaning" or "meaning | unit"} of a world whose variables have no such texts.
    """
    space = world.observation_space
    if isinstance(space, spaces.Dict):
        parts = list(space.items())
        return [described(name, extent(part), texts) for name, part in parts]
    if isinstance(space, spaces.Tuple):
        return [described(name, "text", texts) for name in texts]
    names = list(world.observation_names or map(str, range(space.shape[0])))
    variables = {}
    if hasattr(world, "model"):
        variables = {variable.name: variable for variable in world.model.variables}
    groups = {}
    for index, name in enumerate(names):
        pattern = matching(name, texts) or name
        groups.setdefault(pattern, []).append(index)
    rows = []
    for pattern, indices in groups.items():
        values = extent(space, indices)
        if pattern in variables:
            variable = variables[pattern]
            rows.append((f"``{pattern}``", values, variable.unit, variable.meaning))
            continue
        name, values, unit, meaning = described(pattern, values, texts)
        words = words_of(world, names[indices[0]]) if len(indices) == 1 else ""
        rows.append((name, values, unit, f"{meaning}{words}"))
    return rows


def matching(name, texts):
    """Return the first pattern that a name fits, None if there is none."""
    return next((pattern for pattern in texts if fnmatchcase(name, pattern)), None)


def described(name, values, texts):
    """Return the row of a component whose text is in a table of texts."""
    meaning, _, unit = texts.get(matching(name, texts) or name, "").partition(" | ")
    name = name.replace("*", "…")
    return f"``{name}``", values, unit or "code", meaning


def extent(space, indices=None):
    """Return the range of some components of a space, or the kind of a space of another kind."""
    if isinstance(space, spaces.MultiDiscrete):
        if indices is None:
            return f"{len(space.nvec)} codes"
        last = sorted({int(space.nvec[index]) - 1 for index in indices})
        return f"0 to {last[0]}" if len(last) == 1 else f"0 to {last[0]}–{last[-1]}"
    if isinstance(space, spaces.Box):
        places = range(space.shape[0]) if indices is None else indices
        low = np.min([space.low[index] for index in places])
        high = np.max([space.high[index] for index in places])
        count = f"{len(places)} numbers, " if indices is None else ""
        return f"{count}{number(low)} to {number(high)}"
    return str(space)


def number(value):
    """Return a number with four digits, as people write it."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    base, _, exponent = f"{value:.2e}".partition("e")
    return f"{base} × 10\\ :sup:`{int(exponent)}`"


def words_of(world, name):
    """Return the words of a feature's codes as the end of a sentence."""
    schema = getattr(world, "schema", None)
    if schema is None:
        return ""
    for features in (schema.context, schema.notification):
        if name in features.names:
            feature = features[name]
            return f": {some(feature.labels or feature.words)}"
    return ""


def some(words):
    """Return the first words of a long list, and how many there are."""
    words = [str(word) for word in words]
    if len(words) <= MAX_WORDS:
        return ", ".join(words)
    return f"{', '.join(words[:4])} and {len(words) - 4} more"


def action_rows(world, texts):
    """Return a row for each action, or for each part of an action: code, words.

    Args:
        texts: {name of a part: meaning}.
    """
    choices = world.action_choices or []
    if len(choices) == 1 and isinstance(world.action_space, spaces.Discrete):
        return [(str(code), str(word)) for code, word in enumerate(choices[0][1])]
    rows = []
    for name, words in choices:
        meaning = texts.get(name, "")
        rows.append(
            (f"``{name}``", f"{meaning}: {some(words)}" if meaning else some(words))
        )
    return rows


def reward_rows(world, texts):
    """Return a row for each part of the reward: part, value, when. Values name the world's parameters."""
    config = getattr(world, "config", None)
    parameters = vars(config) if config is not None else {}
    return [[text.format(**parameters) for text in row] for row in texts]


def argument_rows(classes, sections_of):
    """Return a row for each argument of a world: name, default, meaning.

    Args:
        classes: The world's class, then the base classes that its documentation refers to.
        sections_of: Function of a class that returns {title: text} of its docstring.
    """
    rows = {}
    for owner in classes:
        parameters = inspect.signature(owner.__init__).parameters
        for names, text in ARGUMENT.findall(sections_of(owner).get("Args", "")):
            names = [name.strip() for name in names.split(",")]
            if owner is not classes[0] and "model" in names:
                continue  # each world has its own
            shown = [name for name in names if name not in HIDDEN]
            if not shown or rows.keys() & set(shown):
                continue
            defaults = [default_of(owner, classes, name) for name in shown]
            if parameters.keys() >= set(shown):
                defaults = [short(parameters[name].default) for name in shown]
            label = ", ".join(f"``{name}``" for name in shown)
            texts = dict.fromkeys(filter(None, defaults))
            rows[shown[0]] = (label, ", ".join(texts), " ".join(text.split()))
    return list(rows.values())


def default_of(owner, classes, name):
    """Return the default of an argument from the first class that has it."""
    for one in (owner, *classes):
        parameters = inspect.signature(one.__init__).parameters
        if name in parameters:
            return short(parameters[name].default)
    return ""


def short(default):
    """Return a default as code, "" if there is none."""
    if default is inspect.Parameter.empty:
        return ""
    return f"``{getattr(default, '__name__', None) or repr(default)}``"
