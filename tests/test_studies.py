"""The scripts in studies/ reproduce the stored rows."""

import ast
import os
import subprocess
import sys

import nbformat
import numpy as np
import pandas as pd
import pytest
from scripts import STUDIES, load_script

from pushlab.agents import LinearQ
from pushlab.agents.treatment import make_world, simulate_treatment
from pushlab.challenges.leaderboard import read_board
from pushlab.lifetimes.runner import run_syllabus
from pushlab.utils.files import data_dir

TABLES = data_dir() / "studies"


def check_rows(rows, file, labels, rtol=0, atol=1e-4):
    """Check that rows equal the stored rows with these labels, up to rounding."""
    stored = pd.read_csv(data_dir() / f"{file}.csv")
    for name, value in labels.items():
        stored = stored[stored[name] == value].drop(columns=name)
    actual = pd.DataFrame(rows)[list(stored)]
    pd.testing.assert_frame_equal(
        actual,
        stored.set_axis(actual.index),
        check_dtype=False,
        rtol=rtol,
        atol=atol,
    )


def test_each_script_documents_its_command():
    scripts = [path.stem for path in STUDIES.glob("*.py")]
    assert len(scripts) == 15
    for name in scripts:
        assert f"python studies/{name}.py" in load_script(name).__doc__


def test_a_script_writes_the_stored_rows(tmp_path):
    out = tmp_path / "estimates.csv"
    command = [sys.executable, STUDIES / "offpolicy.py", "--out", out]
    environment = os.environ | {"PUSHLAB_CACHE": str(tmp_path / "cache")}
    subprocess.run([*command, "--repetitions", "1"], check=True, env=environment)
    check_rows(pd.read_csv(out), "rec/offpolicy", {"repetition": 0})


def test_notebook_3_shows_the_functions_of_the_study():
    path = STUDIES.parent / "notebooks" / "03_challenge_2_cold_start.ipynb"
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    script = (STUDIES / "cold_start.py").read_text(encoding="utf-8")
    shown = {"Learner", "Table", "loss", "gradients", "Adam", "Inputs", "Network"}
    for node in ast.parse(script).body:
        if getattr(node, "name", "") in shown:
            assert ast.get_source_segment(script, node) in "\n".join(cells)
            shown.remove(node.name)
    assert not shown


COLD_START = {"user": "omar", "agent": "Thompson", "seed": 1}
ARRIVALS = {"user": "theo", "agent": "show all", "feedback": "none", "seed": 1}
LIFETIME = {
    "first": "mira",
    "second": "theo",
    "agent": "recognises",
    "seed": 4,
}
slow = pytest.mark.slow


# The name of a table, the tolerance, and the labels of a run.
@pytest.mark.parametrize(
    ("script", "table", "atol", "labels"),
    [
        ("cold_start", "runs", 1e-4, COLD_START),
        ("cold_start", "runs", 1e-4, COLD_START | {"agent": "network"}),
        ("managing_arrivals", "runs", 1e-4, ARRIVALS),
        pytest.param("lifelong", "tests", 2e-3, LIFETIME, marks=slow),
    ],
)
def test_a_run_is_reproduced(script, table, atol, labels):
    tables = load_script(script).run_one(**labels)
    check_rows(tables[table], f"studies/{script}", labels, atol=atol)


def test_interruptions_are_reproduced():
    labels = {"user": "theo", "agent": "show all", "seed": 1}
    rows = load_script("managing_arrivals").run_limited(**labels)["limits"]
    check_rows(rows, "studies/managing_arrivals_limits", labels, atol=0.06)


def test_memory_systems_are_reproduced():
    labels = {"room": "ours", "agent": "semantic", "capacity": 8}
    rows = load_script("room").run_one(*labels.values())
    check_rows(rows, "room/memory", labels)


def test_the_stored_board_follows_from_the_stored_tests():
    tests = pd.read_csv(TABLES / "lifelong.csv")
    actual = load_script("lifelong").board_table(tests)
    stored = read_board(TABLES / "lifelong_board.csv")
    for name in ("reward", "forgotten"):
        assert actual[name].tolist() == pytest.approx(stored[name].tolist(), abs=2e-3)


def test_true_effects_of_a_trial_are_projections_of_the_replayed_ones():
    study = load_script("trial")
    rows = pd.read_csv(TABLES / "trial_log.csv").assign(user=0)
    truth = study.true_effects(study.sum_effects(rows))
    for effect, (outcome, moderators) in study.EFFECTS.items():
        design = rows.assign(intercept=1.0)[["intercept", *moderators]]
        replayed = rows["effect" if outcome == "outcome" else "effect_rest"]
        expected = np.linalg.lstsq(design, replayed, rcond=None)[0]
        for name, value in zip(design, expected):
            assert truth[effect, name] == pytest.approx(value)


@slow
def test_a_policy_learned_from_a_trial_is_reproduced():
    study = load_script("trial")
    study.write_pool()
    rows = study.run_bandit(study.load_pool(), 3)
    check_rows(rows, "studies/trial_bandit", {"trial": 3})


@slow
@pytest.mark.parametrize("name", ["towns", "changes", "kinds"])
def test_lifetimes_are_reproduced(name):
    study = load_script("lifetimes")
    log = run_syllabus(study.SYLLABI[name], LinearQ(), 1, progress=False)
    stored = pd.read_csv(TABLES / f"lifetimes_{name}.csv")["linear Q 1"]
    actual = study.table_of({"linear Q": [log]})["linear Q 0"]
    assert actual.tolist() == pytest.approx(stored.tolist(), abs=1e-4)


def test_the_best_treatment_has_its_stored_outcome():
    study = load_script("interventions")
    rounds = pd.read_csv(data_dir() / "ode" / "fitted_q_rounds.csv")
    best = study.best_of(rounds[rounds["policy"] == "fitted Q iteration"])
    patient = pd.read_csv(data_dir() / "ode" / "fitted_q_patient.csv")
    schedule = patient["action"].tolist()[:200]
    policy = study.schedule_policy([*schedule, *[0] * 200])
    outcome, *_ = simulate_treatment(make_world(), policy)
    assert outcome["return"] == pytest.approx(best["return"], rel=1e-5)
    table = study.patient_table(make_world(), schedule)
    check_rows(table, "ode/fitted_q_patient", {}, rtol=1e-5)
    tables = study.run_one(0, rounds=2, patients=2, trees=2)
    assert [row["steps"] for row in tables["rounds"]] == [400, 800]


@slow
def test_an_imitation_is_reproduced():
    study = load_script("imitation")
    world = make_world()
    teacher = study.make_teacher(world)
    rows = study.imitate(world, teacher, "learner", seed=0, depth=8)
    labels = {"who": "learner", "depth": 8, "seed": 0}
    check_rows(rows, "ode/imitation", labels, rtol=1e-4)


@slow
@pytest.mark.parametrize("method", ["mean_interval", "median_time"])
def test_the_stored_coverage_is_reproduced(method):
    table = pd.read_csv(TABLES / "coverage.csv")
    rows = table.query("method == @method and distribution == 'normal' and runs == 5")
    actual = load_script("interval_coverage").coverage(method, "normal", 5)
    assert rows["kept"].tolist() == [actual]


@slow
def test_the_causal_tables_have_the_stored_columns():
    study = load_script("causal")
    study.DRAWS = study.FEWER_DRAWS = 2
    study.SIZES = study.NUISANCE_SIZES = (50,)
    for name in ("kinds", "sizes", "nuisances", "clips", "policies"):
        table = pd.DataFrame(study.run_one(name, "zika")[name])
        stored = pd.read_csv(data_dir() / "causal" / f"{name}.csv")
        assert set(stored) == {*table, "model"}
