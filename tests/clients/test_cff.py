"""cffconvert accepts CITATION.cff and converts it with the right version."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cffconvert")
ROOT = Path(__file__).resolve().parents[2]


CITATION = ROOT / "CITATION.cff"


def cffconvert(*options):
    program = Path(sys.executable).with_name("cffconvert")
    command = [str(program), "-i", str(CITATION), *options]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_citation_is_valid():
    assert "valid according to schema version 1.2.0" in cffconvert("--validate")


def test_the_citation_converts_to_common_formats():
    text = CITATION.read_text(encoding="utf-8")
    (version,) = re.findall(r"^version: (\S+)$", text, flags=re.M)
    reference = cffconvert("-f", "apalike")
    assert re.match(r"pushlab contributors \(\d{4}\)\. pushlab: ", reference)
    assert f"(version {version})" in reference
    assert "author = {pushlab contributors}" in cffconvert("-f", "bibtex")
    assert f'"version": "{version}"' in cffconvert("-f", "zenodo")
