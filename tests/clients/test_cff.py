"""cffconvert itself reads CITATION.cff, and what it makes of it names the version."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cffconvert")
ROOT = Path(__file__).resolve().parents[2]


def cffconvert(*words):
    command = [
        str(Path(sys.executable).with_name("cffconvert")),
        "-i",
        str(ROOT / "CITATION.cff"),
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_citation_is_valid():
    assert "valid according to schema version 1.2.0" in cffconvert("--validate")


def test_it_becomes_what_people_ask_for():
    (version,) = re.findall(
        r"^version: (\S+)$",
        (ROOT / "CITATION.cff").read_text(encoding="utf-8"),
        flags=re.M,
    )
    in_words = cffconvert("-f", "apalike")
    assert (
        re.match(r"pushlab contributors \(\d{4}\)\. pushlab: ", in_words)
        and f"(version {version})" in in_words
    )
    assert "author = {pushlab contributors}" in cffconvert("-f", "bibtex")
    assert f'"version": "{version}"' in cffconvert("-f", "zenodo")
