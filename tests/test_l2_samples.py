"""Lifetimes that l2logger 1.8.2 wrote, and what l2metrics 3.1.0 computed from the folders that we write of them.

tests/clients/test_l2.py writes both anew where the two are installed.
"""

import json
from pathlib import Path

import pytest

from pushlab.logs.folders import read_log, write_log
from pushlab.metrics.lifelong import Settings, lifelong_report
from pushlab.metrics.lifelong.release import RELEASE_NAMES

SAMPLES = Path(__file__).parent / "samples" / "l2"
STORED = json.loads((SAMPLES / "values.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("stored", STORED, ids=lambda stored: str(stored["settings"]))
def test_our_numbers_are_those_of_l2metrics_itself(stored, tmp_path):
    logs = {name: read_log(write_log(read_log(SAMPLES / name), tmp_path / name))
            for name in ("life", "pier_one", "quay_one")}
    chosen = {**stored["settings"], "maintenance": "both", "transfer": "both", "reference": "l2metrics-3.1"}
    short = chosen.get("variant_mode") == "agnostic"
    experts = {name.split("_")[0] if short else name: [log] for name, log in logs.items() if name != "life"}
    found = lifelong_report(logs["life"], experts, settings=Settings.from_dict(chosen)).lifetime
    assert {theirs: found[name] for name, theirs in RELEASE_NAMES.items()} == pytest.approx(stored["values"], rel=1e-9)


def test_a_folder_gives_the_time_in_the_form_that_l2metrics_reads_and_always_the_same(tmp_path):
    log = read_log(SAMPLES / "life")
    assert log["timestamp"].str.fullmatch(r"\d{8}T\d{6}\.\d{6}").all() and log["timestamp"].nunique() > 1
    folder = write_log(log.drop(columns="timestamp"), tmp_path / "ours")
    for table in folder.rglob("data-log.tsv"):
        header, *rows = (line.split("\t") for line in table.read_text().splitlines())
        assert {row[header.index("timestamp")] for row in rows} == {"19700101T000000.000000"}
    assert "timestamp" not in read_log(folder)
