"""The page on other people's tools, and the table of what they were tried on, agree with what there is."""

import re
from pathlib import Path

import pandas as pd

from pushlab.envs import TABLE

PAGE = Path(__file__).parents[1] / "data" / "clients" / "README.md"
TRIED = pd.read_csv(PAGE.with_name("table.csv"), keep_default_na=False)


def test_every_client_was_tried_on_every_environment():
    ids = sorted(name for name, *_ in TABLE)
    assert all(sorted(rows["id"]) == ids for _, rows in TRIED.groupby(["library", "client"]))


def test_what_fails_is_told_on_the_page():
    fails = TRIED[TRIED["result"] == "fails"]
    assert set(zip(fails["client"], fails["id"])) == {
        (f"wrappers.{kind}DtypeObservation", "pushlab/ODE-LotkaVolterra-v0") for kind in ("", "vector.")}
    assert set(TRIED["result"]) == {"works", "glue", "does not apply", "fails"}
    assert ((TRIED["how"] == "") == (TRIED["result"] == "works")).all()


def test_versions_on_the_page_are_those_that_were_tried_and_are_pinned():
    pins = [file.read_text(encoding="utf-8") for file in (
        PAGE.parents[2] / "constraints.txt", PAGE.parents[2] / "constraints-rl.txt", PAGE.parents[2] / "tools.py",
        *(Path(__file__).parent / "clients").glob("*.txt"))]
    pinned = {line.lower().replace("_", "-") for line in re.findall(r"[\w.-]+==[\w.]+", "\n".join(pins))}
    for library, version in set(zip(TRIED["library"], TRIED["version"])):
        assert f"{library}=={version}" in pinned
        assert f"| {library} {version} |" in PAGE.read_text(encoding="utf-8")


def test_what_learners_earn_is_on_the_page_as_it_is_stored():
    """Mean, and lowest to highest seed where they differ; HIV in millions; from 100 on without decimals."""
    page, stored = PAGE.read_text(encoding="utf-8"), pd.read_csv(PAGE.with_name("returns.csv"))
    rows = dict(re.findall(r"^\| `(\w+)`: (.*)$", page, re.MULTILINE))
    assert rows.keys() == set(stored["task"])
    for (task, agent), returns in stored.groupby(["task", "agent"])["return"]:
        returns = returns / (1e6 if task == "hiv" else 1)
        mean, low, high = (f"{value:,.{int(abs(returns.mean()) < 100)}f}".replace("-", "−")
                           for value in (returns.mean(), returns.min(), returns.max()))
        told = f"{agent.removesuffix(' 16')} {mean}" + (f" ({low} to {high})" if low != high else "")
        assert re.search(rf"(^|[ |]){re.escape(told)}( [|]|[,;] )", rows[task]), f"{task}: {told}"
