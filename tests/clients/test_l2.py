"""Lifetimes can be exchanged with l2logger 1.8.2 and l2metrics 3.1.0.

- python tests/clients/test_l2.py: rewrites tests/samples/l2, the reference of the ordinary suite

Both require NumPy 1 and pandas 2.2, and therefore a separate virtual environment (`make clients-l2`).
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
from pushlab.lifetimes.runner import run_syllabus
from pushlab.logs.files import read_log, write_log
from pushlab.metrics.lifelong import Settings, lifelong_report
from pushlab.metrics.lifelong.l2metrics import L2METRICS_NAMES

SAMPLES = Path(__file__).parents[1] / "samples" / "l2"
TASKS = ("pier_one", "quay_one")
# Settings by the names of l2metrics; each choice is used at least once.
SETTINGS = [
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
    """Make l2metrics store its experts in the test's folder."""
    monkeypatch.setenv("L2DATA", str(tmp_path / "l2data"))


def write_l2logger_folder(folder, regimes, seed):
    """Log a lifetime with l2logger and return its folder.

    Args:
        regimes: (kind, task, number of experiences) of each regime. Consecutive tests share a block.
    """
    rng = np.random.default_rng(seed)
    number = 0
    block = -1
    previous = None
    logger = DataLogger(
        str(folder),
        "sample",
        {"metrics_columns": ["reward", "length"]},
        {"complexity": "1-low", "difficulty": "1-easy", "scenario_type": "custom"},
    )
    for kind, task, count in regimes:
        block += kind == "train" or kind != previous
        previous = kind
        for i in range(count):
            mean = 8.0 * i / count if kind == "train" else 5.0 + block / 4
            value = rng.normal(mean, 1.0)
            logger.log_record(
                {
                    "block_num": block,
                    "exp_num": number,
                    "block_type": kind,
                    "task_name": task,
                    "task_params": {"level": 1},
                    "worker_id": "w-0",
                    "reward": round(value, 3),
                    "length": int(rng.integers(5, 9)),
                }
            )
            number += 1
    logger.close()
    return Path(logger.scenario_dir)


def write_samples(folder):
    """Write a lifetime and an expert of each task with l2logger; return {name: folder}."""
    tests = [("test", task, 2) for task in TASKS]
    regimes = [*tests]
    for task in TASKS * 3:
        regimes += [("train", task, 12), *tests]
    folders = {"life": write_l2logger_folder(folder, regimes, 0)}
    for seed, task in enumerate(TASKS, 1):
        regimes = [("train", task, 15)]
        folders[task] = write_l2logger_folder(folder, regimes, seed)
    return folders


def l2metrics_values(folder, **settings):
    """Return {name: value} of a lifetime as computed by l2metrics, NaN for missing values."""
    report = MetricsReport(
        log_dir=folder,
        maintenance_method="both",
        transfer_method="both",
        **settings,
    )
    report.calculate()
    table = report.lifetime_metrics_df
    values = {}
    for name in L2METRICS_NAMES.values():
        values[name] = float(table[name].iloc[0]) if len(table[name]) else np.nan
    return values


def pushlab_values(log, experts, settings):
    """Return the values of `l2metrics_values` as computed by pushlab with reference="l2metrics-3.1"."""
    settings = Settings.from_dict(
        {
            **settings,
            "maintenance": "both",
            "transfer": "both",
            "reference": "l2metrics-3.1",
        }
    )
    lifetime = lifelong_report(log, experts, settings=settings).lifetime
    values = {}
    for name, release_name in L2METRICS_NAMES.items():
        values[release_name] = float(lifetime.get(name, np.nan))
    return values


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_l2metrics_and_pushlab_compute_the_same_values(settings, tmp_path):
    logs = {name: read_log(folder) for name, folder in write_samples(tmp_path).items()}
    folder = tmp_path / "pushlab"
    for name, log in logs.items():
        write_log(log.drop(columns="timestamp"), folder / name)
        if name != "life":
            store_ste_data(folder / name)
    expected = l2metrics_values(folder / "life", **settings)
    experts = {}
    for task in TASKS:
        # In this mode l2metrics looks up experts by the name of the task without its variant.
        name = task.split("_")[0] if settings.get("variant_mode") else task
        experts[name] = [logs[task]]
    actual = pushlab_values(logs["life"], experts, settings)
    assert actual == pytest.approx(expected, rel=1e-9, nan_ok=True)
    assert np.isfinite(list(expected.values())).all()


def test_a_pushlab_lifetime_passes_the_check_and_the_command_of_l2metrics(tmp_path):
    log = run_syllabus("recommender-ant-b", LinearQ(), progress=False)
    write_log(log, tmp_path / "life")
    data = read_log_data(tmp_path / "life")
    validate_log(data, read_logger_info(tmp_path / "life")["metrics_columns"])
    assert list(data["task_name"]) == list(log["task"])
    # The reader of l2logger rounds the last digit.
    np.testing.assert_allclose(data["reward"], log["reward"], rtol=1e-13)
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
    result = subprocess.run(
        command,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    is_good = result.returncode == 0 and "ERROR" not in result.stderr
    assert is_good, result.stderr[-2000:]
    values = json.loads((tmp_path / "out" / "life_metrics.json").read_text())
    expected = {}
    actual = {}
    for name, value in pushlab_values(log, None, {}).items():
        if values[name] is not None:
            expected[name] = values[name]
        if np.isfinite(value):
            actual[name] = value
    # The file has ten decimals.
    assert expected == pytest.approx(actual, abs=1e-9)


def test_a_log_of_l2logger_is_read_like_by_its_own_reader(tmp_path):
    folder = write_samples(tmp_path)["life"]
    log = read_log(folder)
    data = read_log_data(folder)
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
    for name, l2_name in names.items():
        assert log[name].tolist() == data[l2_name].tolist(), name


if __name__ == "__main__":
    import shutil

    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        os.environ["L2DATA"] = str(home / "l2data")
        shutil.rmtree(SAMPLES, ignore_errors=True)
        for name, folder in write_samples(home / "l2logger").items():
            shutil.copytree(folder, SAMPLES / name)
            write_log(read_log(folder).drop(columns="timestamp"), home / name)
            if name != "life":
                store_ste_data(home / name)
        values = []
        for settings in SETTINGS:
            result = l2metrics_values(home / "life", **settings)
            values.append({"settings": settings, "values": result})
    (SAMPLES / "values.json").write_text(json.dumps(values, indent=1) + "\n")
