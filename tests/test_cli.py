"""The command line: what it prints, and the exit status a script relies on."""

import pytest
from typer.testing import CliRunner

from pushlab.__main__ import app
from pushlab.datasets import data_dir, load_user
from pushlab.envs import TABLE


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_envs_lists_every_id():
    told = run("envs")
    assert told.exit_code == 0 and all(name in told.stdout for name, *_ in TABLE)


def test_check_reports_a_user_and_a_folder_of_users():
    one, all_of_them = run("data", "check", "mira"), run("data", "check", data_dir() / "push")
    assert one.exit_code == all_of_them.exit_code == 0
    assert "history:" in one.stdout and one.stdout.strip() in all_of_them.stdout
    assert all_of_them.stdout.count("\nuser ") + 1 >= 5


def test_check_lists_the_faults_of_all_users_and_fails(tmp_path):
    import shutil

    for name in ("mira", "noor"):
        shutil.copytree(data_dir() / "push" / name, tmp_path / name)
        table = tmp_path / name / "test" / "notifications.csv"
        table.write_text(table.read_text().replace("vibrate", f"hum of {name}", 1))
    told = run("data", "check", tmp_path)
    assert told.exit_code == 1 and "hum of mira" in told.stderr and "hum of noor" in told.stderr
    assert "ringerMode" in told.stderr and "Traceback" not in told.stderr


@pytest.mark.parametrize("words, status", [
    (("data", "check", "nobody"), 1), (("data", "check"), 2), (("data", "shake"), 2), (("fly",), 2),
    (("make-user", "--seed", "one", "--out", "x"), 2), (("make-user", "--seed", "1"), 2),
])
def test_what_cannot_be_done_has_its_status(words, status):
    assert run(*words).exit_code == status


def test_a_private_user_is_made_and_can_be_lived_with(tmp_path):
    import gymnasium as gym

    import pushlab  # noqa: F401

    told = run("make-user", "--seed", 20261121, "--out", tmp_path / "kim", "--name", "kim", "--open-rate", 0.3,
               "--per-quarter", 400)
    assert told.exit_code == 0 and "hand out train/ and test/ only" in told.stdout
    user = load_user(tmp_path / "kim")
    assert user.truth["name"] == "kim" and abs(user.history.opened.mean() - 0.3) < 0.1
    env = gym.make("pushlab/evalumap1-v0", user=str(tmp_path / "kim"))
    env.reset(seed=1)
    assert "best" in env.step(env.action_space.sample())[4]
    again = run("make-user", "--seed", 1, "--out", tmp_path / "kim")
    assert again.exit_code == 1 and load_user(tmp_path / "kim").truth["name"] == "kim"
