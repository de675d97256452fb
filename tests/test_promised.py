"""What was promised at the last release still holds, and what is going says so in time: docs/versions.md."""

import ast
import copy
import importlib.util
import inspect
import json
import warnings
from pathlib import Path

import pytest
from packaging.version import Version

import pushlab
from pushlab.ground.deprecated import deprecated

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("promised", ROOT / "tests" / "promised.py")
promised = importlib.util.module_from_spec(spec)
spec.loader.exec_module(promised)


@pytest.fixture(scope="module")
def now():
    return promised.promises()


def test_every_promise_of_the_last_release_holds(now):
    listed = promised.read()
    assert Version(listed["version"]) <= Version(pushlab.__version__)
    found = promised.broken(listed["promises"], now)
    assert not found, promised.told(found)


def test_at_a_release_the_list_is_that_of_the_release(now):
    """Whoever raises the version renews the list: what is new in it is promised from then on, also a new default."""
    listed = promised.read()
    if Version(listed["version"]) == Version(pushlab.__version__):
        missing = promised.new_in(listed["promises"], now)
        assert not missing, f"not in {promised.FILE.name} yet; run python tests/promised.py --renew: {missing}"


def test_what_the_list_does_not_have_yet_is_missed(now, monkeypatch, capsys):
    """A parameter, a method, an option or a column that is added to what is there already."""
    new = copy.deepcopy(now)
    new["name"]["pushlab.rollout"].append(["more", "keyword_only", "None"])
    new["name"]["pushlab.World"]["has"]["more"] = "attribute"
    new["command"]["pushlab score"]["options"]["--more"] = "None"
    new["columns"]["answers.csv"].append("more")
    assert promised.broken(now, new) == {}
    assert sorted(promised.new_in(now, new)) == ["columns answers.csv", "command pushlab score", "name pushlab.World",
                                                 "name pushlab.rollout"]
    monkeypatch.setattr(promised, "promises", lambda: new)
    assert promised.main([]) == 0 and "--renew adds it" in capsys.readouterr().out


def change(promises, kind, name, **others):
    """The promises with one thing changed, as a new version of pushlab would show it; None takes it away."""
    new = copy.deepcopy(promises)
    if others:
        new[kind][name] |= others
    else:
        del new[kind][name]
    return new


WORLD, COMMAND = "pushlab/RECEnv-v0", "pushlab score"


@pytest.mark.parametrize("kind, name, others, told", [
    ("world", WORLD, {}, "is gone"),
    ("world", WORLD, {"rewards": [0.2, 0.3]}, "rewards was"),
    ("world", WORLD, {"action": {"Discrete": [6, 0]}}, "action was {'Discrete': [5, 0]} and is {'Discrete': [6, 0]}"),
    ("world", WORLD, {"steps": 3}, "steps was"),
    ("world", WORLD, {"parameters": []}, "is gone"),
    ("command", COMMAND, {}, "is gone"),
    ("command", COMMAND, {"options": {}}, "option --challenge is gone"),
    ("command", COMMAND, {"options": {"--opening": "'threshold'"}}, "--opening was 'sampled' and is 'threshold'"),
    ("command", COMMAND, {"needed": ["--data"]}, "option --data is needed now"),
    ("command", COMMAND, {"arguments": []}, "arguments were"),
    ("columns", "answers.csv", {}, "is gone"),
    ("exit", "pushlab nothing", {}, "is gone"),
    ("benchmark", "seeds", {"judged": [1]}, "judged"),
])
def test_what_breaks_a_promise_is_told_by_name_with_what_to_do(now, kind, name, others, told):
    found = promised.broken(now, change(now, kind, name, **others))
    assert list(found) == [f"{kind} {name}"] and told in found[f"{kind} {name}"]
    assert promised.WHAT_TO_DO[kind] in promised.told(found)


def of_eight_worlds(monkeypatch):
    """An argument that worlds hand on to their base is called otherwise there."""
    from pushlab.envs.ode.world import ODE

    old = inspect.signature(ODE.__init__)
    named = [one.replace(name="cells") if one.name == "bins" else one for one in old.parameters.values()]
    begin = ODE.__init__

    def __init__(self, *given, cells=None, **arguments):
        begin(self, *given, bins=cells, **arguments)

    __init__.__signature__ = old.replace(parameters=named)
    monkeypatch.setattr(ODE, "__init__", __init__)


def of_a_method(monkeypatch):
    monkeypatch.setattr(pushlab.Challenge, "assess", pushlab.Challenge.evaluate, raising=False)
    monkeypatch.delattr(pushlab.Challenge, "evaluate")


def of_an_agent(monkeypatch):
    def act(self, observation, info, explore=False):
        raise NotImplementedError

    monkeypatch.setattr(pushlab.Agent, "act", act)


def of_seeds(monkeypatch):
    from pushlab.ground import seeds

    monkeypatch.setattr(seeds, "EPISODE", 5)


def of_components(monkeypatch):
    """The numbers of an observation in another order, the same in their sum."""
    from pushlab.envs.ode.world import ODE

    monkeypatch.setattr(ODE, "observe", lambda self, state, own=ODE.observe: own(self, state)[:, ::-1])


def one_world():
    import gymnasium as gym

    return {"pushlab/ODE-Zika-v0": promised.world(gym, "pushlab/ODE-Zika-v0")}


@pytest.mark.filterwarnings("ignore:.*is not within the observation space")
@pytest.mark.parametrize("mutate, kind, look, told", [
    (of_eight_worlds, "world", one_world, {"world pushlab/ODE-Zika-v0": "parameter bins is gone"}),
    (of_components, "world", one_world, {"world pushlab/ODE-Zika-v0": "seen was"}),
    (of_a_method, "name", promised.names, {"name pushlab.Challenge": "evaluate: is gone"}),
    (of_an_agent, "name", promised.names, {"name pushlab.Agent": "act: the default of explore was True and is False"}),
    (of_seeds, "benchmark", lambda: {"seeds": promised.seeds()}, {"benchmark seeds": "judged"}),
])
def test_what_is_changed_in_the_library_is_seen(now, monkeypatch, mutate, kind, look, told):
    mutate(monkeypatch)
    after = {**now, kind: {**now[kind], **look()}}
    found = promised.broken(now, after)
    for name, what in told.items():
        assert what in found.get(name, ""), found


PLAIN = [["env", "positional_or_keyword", None], ["seed", "positional_or_keyword", "0"]]


@pytest.mark.parametrize("later, told", [
    (PLAIN[:1], "parameter seed is gone"),
    (PLAIN[::-1], "parameter env was number 1 and is number 2"),
    ([PLAIN[0], ["seed", "positional_or_keyword", "1"]], "the default of seed was 0 and is 1"),
    ([PLAIN[0], ["seed", "keyword_only", "0"]], "parameter seed was positional_or_keyword and is keyword_only"),
    ([*PLAIN, ["user", "keyword_only", None]], "parameter user is needed now"),
    ([*PLAIN, ["user", "keyword_only", "'mira'"]], ""),
    ([*PLAIN, ["more", "var_keyword", None]], ""),
])
def test_a_function_may_learn_and_not_forget(later, told):
    found = promised.other_parameters(PLAIN, later)
    assert told in found and bool(told) == bool(found)


def test_the_last_digits_of_another_processor_break_nothing(now):
    new = copy.deepcopy(now)
    new["world"][WORLD]["rewards"] = [value * (1 + 1e-9) for value in new["world"][WORLD]["rewards"]]
    new["world"]["pushlab/Another-v0"] = new["world"][WORLD]
    assert promised.broken(now, new) == {}


@pytest.mark.parametrize("release", sorted((ROOT / "tests" / "samples" / "kept").glob("*")), ids=lambda path: path.name)
def test_a_lifetime_that_an_older_release_wrote_is_read_as_it_was(release):
    """Eight episodes of two steps: what 0.7.0 wrote, `told.json` what it read."""
    from pushlab import read_log

    log, told = read_log(release / "life"), json.loads((release / "told.json").read_text(encoding="utf-8"))
    assert set(told["columns"]) <= set(log.columns)
    for column, values in told["columns"].items():
        assert log[column].tolist() == values, column
    assert log.attrs["measure"] == told["measure"]


# ---------------------------------------------------------------- what is going

def test_a_deprecation_names_the_line_that_has_to_change():
    def old():
        deprecated("old()", "new()", since="0.8", until="0.10")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        old()
    warning, = caught
    assert warning.category is FutureWarning and Path(warning.filename).name == "test_promised.py"
    assert "old()" in str(warning.message) and "new()" in str(warning.message) and "0.10" in str(warning.message)


def deprecations():
    """(place, since, until) of each call in the library."""
    for path in sorted((ROOT / "pushlab").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "deprecated(" not in text or path.name == "deprecated.py":
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "deprecated":
                given = {one.arg: ast.literal_eval(one.value) for one in node.keywords if one.arg in ("since", "until")}
                yield f"{path.relative_to(ROOT)}, line {node.lineno}", given["since"], given["until"]


def test_what_is_deprecated_warns_in_two_minor_versions_and_is_gone_in_time():
    for place, since, until in deprecations():
        first, last = Version(since), Version(until)
        assert last.major > first.major or last.minor - first.minor >= 2, f"{place}: {since} to {until} is too short"
        assert Version(pushlab.__version__) < last, f"{place}: it was to be gone in {until}"
