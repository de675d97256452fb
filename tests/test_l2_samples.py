"""Lifetimes that l2logger 1.8.2 wrote give the numbers that l2metrics 3.1.0 computes.

tests/clients/test_l2.py computes both again if the two packages are installed.
"""

import json
from pathlib import Path

import pytest

from pushlab.logs.files import read_log, write_log
from pushlab.metrics.lifelong import Settings, lifelong_report
from pushlab.metrics.lifelong.l2metrics import L2METRICS_NAMES

SAMPLES = Path(__file__).parent / "samples" / "l2"
SAVED = json.loads((SAMPLES / "values.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Each log after it was read, written and read again."""
    folder = tmp_path_factory.mktemp("written")
    names = ("life", "pier_one", "quay_one")
    return {
        name: read_log(write_log(read_log(SAMPLES / name), folder / name))
        for name in names
    }


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: str(saved["settings"]))
def test_the_metrics_are_those_of_l2metrics(saved, logs):
    experts = {name: [log] for name, log in logs.items() if name != "life"}
    settings = {"maintenance": "both", "transfer": "both", "reference": "l2metrics-3.1"}
    settings |= saved["settings"]
    if settings.get("variant_mode") == "agnostic":
        experts = {name.split("_")[0]: log for name, log in experts.items()}
    report = lifelong_report(
        logs["life"], experts, settings=Settings.from_dict(settings)
    )
    found = {theirs: report.lifetime[ours] for ours, theirs in L2METRICS_NAMES.items()}
    assert found == pytest.approx(saved["values"], rel=1e-9)


def test_a_log_without_times_gets_one_that_l2metrics_reads(tmp_path):
    log = read_log(SAMPLES / "life").drop(columns="timestamp")
    times = read_log(write_log(log, tmp_path / "ours"))["timestamp"]
    assert set(times) == {"19700101T000000.000000"}
