"""The scripts in studies/ give the stored rows again."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scripts import STUDIES, load_script

from pushlab.agents import LinearQ
from pushlab.agents.treatment import examine, make_world
from pushlab.challenges.board import read_board
from pushlab.ground.files import data_dir
from pushlab.lifetimes.live import run_syllabus

TABLES = data_dir() / "studies"
SCRIPTS = sorted(path.stem for path in STUDIES.glob("*.py"))


def rows_of(file, **values):
    """Return the rows of a stored table with these values, without their columns."""
    table = pd.read_csv(file)
    for name, value in values.items():
        table = table[table[name] == value].drop(columns=name)
    return table.reset_index(drop=True)


def check_rows(found, stored, atol=1e-4):
    """Check that rows found are the stored ones, up to rounding."""
    found = pd.DataFrame(found)
    assert set(found) >= set(stored)
    pd.testing.assert_frame_equal(
        found[list(stored)], stored, check_dtype=False, rtol=0, atol=atol
    )


def test_each_script_names_its_command():
    assert len(SCRIPTS) == 11
    for name in SCRIPTS:
        assert f"python studies/{name}.py --out data/" in load_script(name).__doc__


def test_a_script_writes_the_stored_rows(tmp_path):
    out = tmp_path / "again.csv"
    command = [sys.executable, STUDIES / "offpolicy.py", "--out", out]
    environment = os.environ | {"PUSHLAB_CACHE": str(tmp_path / "cache")}
    subprocess.run([*command, "--repetitions", "2"], check=True, env=environment)
    stored = pd.read_csv(data_dir() / "rec" / "offpolicy.csv")
    check_rows(pd.read_csv(out), stored[stored["repetition"] < 2])


def test_a_run_of_the_cold_start_comes_out_again():
    labels = {"user": "omar", "agent": "Thompson", "seed": 1}
    study = load_script("cold_start")
    tables = study.run_one(**labels)
    check_rows(tables["runs"], rows_of(TABLES / "cold_start.csv", **labels))
    windows = pd.concat([tables["windows"]] * 2).assign(**labels)
    curves = study.curve_table(windows)
    known = {name: labels[name] for name in ("user", "agent")}
    stored = rows_of(TABLES / "cold_start_curves.csv", **known)
    check_rows(curves, stored[["step", "best", "reachable"]])


@pytest.mark.parametrize(
    ("user", "agent", "seed"),
    [
        ("theo", "dismiss all", 1),
        ("theo", "show all", 1),
        pytest.param("ines", "linear Q", 3, marks=pytest.mark.slow),
    ],
)
def test_a_run_of_managing_arrivals_comes_out_again(user, agent, seed):
    found = load_script("managing_arrivals").run_one(user, agent, seed, {})
    labels = {"user": user, "agent": agent, "seed": seed}
    for name, end in (("runs", ""), ("days", "_days")):
        stored = rows_of(TABLES / f"managing_arrivals{end}.csv", **labels)
        check_rows(found[name], stored, atol=0.06 if end else 1e-4)


def test_changed_weights_are_compared_as_stored():
    study = load_script("managing_arrivals")
    assert len(study.changed_cells(5)) == 16 * 5 * 3 * 5
    days = pd.read_csv(TABLES / "managing_arrivals_days.csv").assign(changed="nothing")
    table = study.comparison_table(days)
    assert len(table) == 10 and table["better"].sum() == 8


def test_the_stored_board_is_made_of_the_stored_tests():
    made = load_script("lifelong").board_table(pd.read_csv(TABLES / "lifelong.csv"))
    board = read_board(TABLES / "lifelong_board.csv")
    for name in ("reward", "forgotten"):
        assert made[name].tolist() == pytest.approx(board[name].tolist(), abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["recognises", "elastic 60"])
def test_a_lifelong_agent_comes_out_again(agent):
    labels = {"first": "mira", "second": "theo", "agent": agent, "seed": 4}
    found = load_script("lifelong").run_one(**labels)
    end = "" if agent == "recognises" else "_remedies"
    stored = rows_of(TABLES / f"lifelong{end}.csv", **labels)
    check_rows(found["tests"], stored, atol=2e-3)
    stored = rows_of(TABLES / "lifelong_recovery.csv", **labels)
    check_rows(found["recovery"], stored)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["towns", "changes", "kinds"])
def test_lifetimes_come_out_again(name):
    study = load_script("lifetimes")
    log = run_syllabus(study.SYLLABI[name], LinearQ(), 1, progress=False)
    table = study.table_of({"linear Q": [log]})
    stored = pd.read_csv(TABLES / f"lifetimes_{name}.csv")
    stored = stored[[*study.COMMON, "linear Q 1"]]
    check_rows(table, stored.set_axis(table.columns, axis=1))


def test_memory_systems_come_out_again():
    labels = {"room": "ours", "agent": "semantic", "capacity": 8}
    found = load_script("room").run_one("ours", "semantic", 8)
    check_rows(found, rows_of(data_dir() / "room" / "memory.csv", **labels), atol=0)


def test_replaying_the_best_treatment_gives_its_stored_outcome():
    study = load_script("interventions")
    rounds = pd.read_csv(data_dir() / "ode" / "fitted_q_rounds.csv")
    best = study.best_of(rounds[rounds["policy"] == "fitted Q iteration"])
    patient = pd.read_csv(data_dir() / "ode" / "fitted_q_patient.csv")
    schedule = patient["action"].tolist()[:200]
    found, *_ = examine(make_world(), study.following([*schedule, *[0] * 200]))
    assert found["basin"] == best["basin"] == "healthy"
    assert found["return"] == pytest.approx(best["return"], rel=1e-5)
    table = study.patient_table(make_world(), schedule)
    pd.testing.assert_frame_equal(table, patient, rtol=1e-5, check_dtype=False)


def test_a_seed_of_fitted_q_runs_in_rounds():
    found = load_script("interventions").run_one(0, rounds=2, patients=2, trees=2)
    assert [row["steps"] for row in found["rounds"]] == [400, 800]
    assert len(found["schedules"]) == 400 and len(found["disturbed"]) == 40
    healthy = [row["basin_by_policy"] for row in found["disturbed"]].count("healthy")
    assert sum(row["by_policy"] for row in found["rounds"]) == healthy


@pytest.mark.slow
def test_an_imitation_comes_out_again():
    study = load_script("imitation")
    world = make_world()
    found = study.imitate(world, study.make_teacher(world), "learner", 0, 8)
    labels = {"who": "learner", "depth": 8, "seed": 0}
    stored = rows_of(data_dir() / "ode" / "imitation.csv", **labels)
    np.testing.assert_allclose(
        pd.DataFrame(found)[list(stored)], stored.astype(float), rtol=1e-4
    )


@pytest.mark.slow
def test_the_stored_coverage_comes_out_again():
    study = load_script("interval_coverage")
    table = pd.read_csv(TABLES / "coverage.csv")
    for method in ("mean_interval", "median_time", "permutation_test, paired"):
        rows = table.query(
            "method == @method and distribution == 'normal' and runs == 5"
        )
        assert rows["kept"].tolist() == [study.kept(method, "normal", 5)]


def test_the_causal_tables_have_the_stored_columns():
    study = load_script("causal")
    study.DRAWS = study.FEWER = 2
    study.SIZES = (50,)
    for name in ("kinds", "sizes", "clips", "policies"):
        found = pd.DataFrame(study.run_one(name, "zika")[name]).assign(model="zika")
        stored = pd.read_csv(data_dir() / "causal" / f"{name}.csv")
        assert set(stored) == set(found)
