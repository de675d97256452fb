"""All examples on the pages about other tools run, if their libraries are installed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT.joinpath("data", "clients", "README.md").read_text("utf-8")
RECIPES = ROOT.joinpath("docs", "tools_of_others.md").read_text("utf-8")
BLOCK = re.compile(
    r"<!-- (?:not run: )?needs ?(\S*) -->\n```python\n(.*?)```", re.DOTALL
)
EXAMPLES = BLOCK.findall(README + RECIPES)


def test_every_example_lists_its_libraries():
    assert len(BLOCK.findall(README)) == README.count("```python") > 9


@pytest.mark.parametrize(
    "libraries, code",
    EXAMPLES,
    ids=[f"{i}-{libraries}" for i, (libraries, _) in enumerate(EXAMPLES)],
)
def test_an_example_runs(libraries, code, tmp_path, monkeypatch):
    for library in filter(None, libraries.split(",")):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    monkeypatch.setenv("L2DATA", str(tmp_path / "l2data"))
    exec(compile(code, "an example", "exec"), {"__name__": "__main__"})
