"""Every example of data/clients/README.md runs as it stands there, each where its libraries are installed."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "data" / "clients" / "README.md").read_text(
    encoding="utf-8"
)
EXAMPLES = re.findall(r"<!-- needs ?(\S*) -->\n```python\n(.*?)```", PAGE, re.DOTALL)


def test_every_example_says_what_it_needs():
    assert len(EXAMPLES) == PAGE.count("```python") > 10


@pytest.mark.parametrize(
    "needed, code",
    EXAMPLES,
    ids=[f"{at}-{needed}" for at, (needed, _) in enumerate(EXAMPLES)],
)
def test_an_example_runs(needed, code, tmp_path, monkeypatch):
    for library in filter(None, needed.split(",")):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    monkeypatch.setenv("L2DATA", str(tmp_path / "l2data"))
    exec(compile(code, "an example", "exec"), {"__name__": "__main__"})
