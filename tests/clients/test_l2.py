"""Lifetimes exchanged with l2logger 1.8.2 and l2metrics 3.1.0 themselves: what one writes, the
other evaluates.

- python tests/clients/test_l2.py: # writes tests/samples/l2 anew, which the ordinary suite compares
  with

Both want NumPy 1 and pandas 2.2, and so an environment of their own, tests/clients/l2.txt (make
clients-l2).
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("l2metrics")

from l2logger.l2logger import DataLogger
from l2logger.util import read_log_data, read_logger_info, validate_log
from l2metrics.report import MetricsReport
from l2metrics.util import store_ste_data

from pushlab.agents import LinearQ
from pushlab.lifetimes.live import run_syllabus
from pushlab.logs.folders import read_log, write_log
from pushlab.metrics.lifelong import Settings, lifelong_report
from pushlab.metrics.lifelong.release import RELEASE_NAMES

SAMPLES = Path(__file__).parents[1] / "samples" / "l2"
TASKS = ("pier_one", "quay_one")
# By the names of l2metrics; every choice stands here at least once.
CHOICES = [
    {},
    {"normalization_method": "none", "smoothing_method": "none"},
    {"normalization_method": "run", "smoothing_method": "hanning", "window_length": 5},
    {
        "clamp_outliers": True,
        "aggregation_method": "median",
        "smoothing_method": "hamming",
    },
    {"smoothing_method": "blackman", "do_smooth_eval_data": True},
    {
        "smoothing_method": "bartlett",
        "ste_averaging_method": "time",
        "window_length": 3,
    },
    {"variant_mode": "agnostic"},
    {"data_range": {task: {"min": -2.0, "max": 12.0} for task in TASKS}},
]


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    """Where l2metrics keeps its experts: nowhere but in this test's folder."""
    monkeypatch.setenv("L2DATA", str(tmp_path / "l2data"))


def write_theirs(folder, blocks, seed):
    """A lifetime logged by l2logger: (kind, task, experiences) a regime, tests of one row share a block; its folder."""
    chance, number, block, before = np.random.default_rng(seed), 0, -1, None
    logger = DataLogger(
        str(folder),
        "sample",
        {"metrics_columns": ["reward", "length"]},
        {"complexity": "1-low", "difficulty": "1-easy", "scenario_type": "custom"},
    )
    for kind, task, many in blocks:
        block += kind == "train" or kind != before
        before = kind
        for one in range(many):
            value = chance.normal(
                8.0 * one / many if kind == "train" else 5.0 + block / 4, 1.0
            )
            logger.log_record(
                {
                    "block_num": block,
                    "exp_num": number,
                    "block_type": kind,
                    "task_name": task,
                    "task_params": {"level": 1},
                    "worker_id": "w-0",
                    "reward": round(value, 3),
                    "length": int(chance.integers(5, 9)),
                }
            )
            number += 1
    logger.close()
    return Path(logger.scenario_dir)


def write_samples(folder):
    """A lifetime and an expert of each task, as l2logger writes them: {name: folder}."""
    tests = [("test", task, 2) for task in TASKS]
    life = [
        *tests,
        *(regime for task in TASKS * 3 for regime in (("train", task, 12), *tests)),
    ]
    made = {"life": write_theirs(folder, life, 0)}
    return made | {
        task: write_theirs(folder, [("train", task, 15)], seed)
        for seed, task in enumerate(TASKS, 1)
    }


def theirs(folder, **chosen):
    """{name: value} of the lifetime as l2metrics computes them, NaN for what it has no value for."""
    report = MetricsReport(
        log_dir=folder, maintenance_method="both", transfer_method="both", **chosen
    )
    report.calculate()
    values = report.lifetime_metrics_df
    return {
        name: float(values[name].iloc[0]) if len(values[name]) else np.nan
        for name in RELEASE_NAMES.values()
    }


def ours(log, experts, chosen):
    """The same as we compute them under reference="l2metrics-3.1"."""
    settings = Settings.from_dict(
        {
            **chosen,
            "maintenance": "both",
            "transfer": "both",
            "reference": "l2metrics-3.1",
        }
    )
    found = lifelong_report(log, experts, settings=settings).lifetime
    return {
        theirs: float(found.get(name, np.nan)) for name, theirs in RELEASE_NAMES.items()
    }


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_l2metrics_computes_from_our_folder_what_we_compute(chosen, tmp_path):
    logs = {name: read_log(folder) for name, folder in write_samples(tmp_path).items()}
    for name, log in logs.items():
        write_log(log.drop(columns="timestamp"), tmp_path / "ours" / name)
        if name != "life":
            store_ste_data(tmp_path / "ours" / name)
    found = theirs(tmp_path / "ours" / "life", **chosen)
    # Without regard to variants l2metrics looks for experts under the task's name without its variant.
    experts = {
        task.split("_")[0] if chosen.get("variant_mode") else task: [logs[task]]
        for task in TASKS
    }
    assert ours(logs["life"], experts, chosen) == pytest.approx(
        found, rel=1e-9, nan_ok=True
    )
    assert np.isfinite(list(found.values())).all()


def test_a_lifetime_lived_here_passes_their_check_and_their_command(tmp_path):
    log = run_syllabus("recommender-ant-b", LinearQ(), progress=False)
    write_log(log, tmp_path / "life")
    data = read_log_data(tmp_path / "life")
    validate_log(data, read_logger_info(tmp_path / "life")["metrics_columns"])
    assert list(data["task_name"]) == list(log["task"])
    np.testing.assert_allclose(
        data["reward"], log["reward"], rtol=1e-13
    )  # their reader rounds the last digit
    command = [
        sys.executable,
        "-P",
        "-m",
        "l2metrics",
        "-l",
        tmp_path / "life",
        "-O",
        tmp_path / "out",
        "-m",
        "both",
        "-t",
        "both",
    ]
    done = subprocess.run(
        command, env={**os.environ, "MPLBACKEND": "Agg"}, capture_output=True, text=True
    )
    assert done.returncode == 0 and "ERROR" not in done.stderr, done.stderr[-2000:]
    told = json.loads((tmp_path / "out" / "life_metrics.json").read_text())
    mine = ours(log, None, {})
    assert {
        name: told[name] for name in mine if told[name] is not None
    } == pytest.approx(
        {name: value for name, value in mine.items() if np.isfinite(value)}, abs=1e-9
    )  # ten decimals are written


def test_what_l2logger_writes_is_read_as_its_own_reader_reads_it(tmp_path):
    folder = write_samples(tmp_path)["life"]
    log, data = read_log(folder), read_log_data(folder)
    names = {
        "block": "block_num",
        "episode": "exp_num",
        "block_type": "block_type",
        "task": "task_name",
        "params": "task_params",
        "worker": "worker_id",
        "timestamp": "timestamp",
        "reward": "reward",
        "length": "length",
    }
    for name, theirs_name in names.items():
        assert log[name].tolist() == data[theirs_name].tolist(), name


if __name__ == "__main__":
    import shutil

    with tempfile.TemporaryDirectory() as place:
        os.environ["L2DATA"] = str(Path(place) / "l2data")
        shutil.rmtree(SAMPLES, ignore_errors=True)
        for name, folder in write_samples(Path(place) / "theirs").items():
            shutil.copytree(folder, SAMPLES / name)
            write_log(read_log(folder).drop(columns="timestamp"), Path(place) / name)
            if name != "life":
                store_ste_data(Path(place) / name)
        values = [
            {"settings": chosen, "values": theirs(Path(place) / "life", **chosen)}
            for chosen in CHOICES
        ]
    (SAMPLES / "values.json").write_text(json.dumps(values, indent=1) + "\n")
