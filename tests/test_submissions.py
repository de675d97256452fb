"""Submissions as files: what is scored, what is refused and with which words, and the exit status scripts rely on."""

import json
import tracemalloc
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import pushlab  # noqa: F401
from pushlab.__main__ import app
from pushlab.agents import RandomAgent
from pushlab.challenges import submissions
from pushlab.challenges.challenge import Challenge
from pushlab.challenges.replays import score_log
from pushlab.challenges.submissions import read_csv, score_file, score_folder
from pushlab.datasets.periods import Period
from pushlab.datasets.reading import load_user
from pushlab.ground.faults import BadData
from pushlab.ground.seeds import episode_seed
from pushlab.logs.rollout import readable, rollout
from pushlab.users import synthesis

ROWS = 60


@pytest.fixture(scope="module")
def challenge():
    user = load_user("mira")
    test = Period(user.schema, user.test.table.head(ROWS))
    return Challenge.load(replace(user, periods={**user.periods, "test": test}))


@pytest.fixture
def answers(challenge):
    return challenge.history.notifications.head(ROWS)


@pytest.fixture(scope="module")
def env(challenge):
    return gym.make("pushlab/evalumap2-v0", user=challenge.user, reveal=True)   # so that logs have all that may be in


@pytest.fixture(scope="module")
def whole_log(env):
    return rollout(env, RandomAgent(), episodes=2, seed=5, progress=False)


@pytest.fixture
def log(whole_log):
    return whole_log.copy()


def faults_of(path, challenge, number=1, **more):
    with pytest.raises(BadData) as caught:
        score_file(path, challenge, number, **more)
    return caught.value.faults


def says(faults, *wanted):
    """Whether for each (line, column, words) there is a fault with that place and those words."""
    return all(any(fault.row == row and fault.column == column and words in fault.right for fault in faults)
               for row, column, words in wanted)


# ---------------------------------------------------------------- challenge 1

def test_a_file_scores_as_its_table_does(challenge, answers, tmp_path):
    expected = challenge.evaluate(answers, seed=3).to_dict() | {"agent": "anna"}
    for number, (index, change) in enumerate([
            (False, lambda t: t), (True, lambda t: t), (False, lambda t: t[t.columns[::-1]]),
            (False, lambda t: t.assign(id=range(ROWS)).sample(frac=1, random_state=1)),
            (False, lambda t: t.rename(columns={"postingApp": "appPackage"}))]):
        path = tmp_path / str(number) / "anna.csv"
        path.parent.mkdir()
        change(answers).to_csv(path, index=index)
        assert score_file(path, challenge, seed=3).to_dict() == expected


def test_a_byte_order_mark_windows_line_ends_and_blank_lines_do_no_harm(challenge, answers, tmp_path):
    path = tmp_path / "excel.csv"
    path.write_bytes(b"\xef\xbb\xbf" + answers.to_csv(index=False, lineterminator="\r\n").encode() + b"\r\n\r\n")
    assert score_file(path, challenge).count == ROWS


@pytest.mark.parametrize("change, wanted", [
    (lambda text: text.replace("subject", "", 1).replace(",,", ",", 1), [(None, None, "")]),
    (lambda text: text.replace("priority", "prority", 1),
     [(1, "prority", "is 'priority' meant?"), (1, "priority", "missing")]),
    (lambda text: "".join(line + (",mood\n" if at == 0 else ",good\n") for at, line in enumerate(text.splitlines())),
     [(1, "mood", "not one of postingApp")]),
    (lambda text: text[:text.rindex("\n", 0, -1) + 1], [(None, None, "59 rows for 60 contexts")]),
    (lambda text: text + text.splitlines()[1] + "\n", [(None, None, "there are 61 rows; 60 are the most")]),
    (lambda text: text[:-12], [(ROWS + 1, None, "it may be torn off")]),
    (lambda text: text.replace("\n", ',"\n', 1), [(ROWS + 1, None, "not a CSV row")]),
    (lambda text: "", [(None, None, "the file is empty")]),
    (lambda text: "\n", [(None, None, "the file is empty")]),
    (lambda text: text.splitlines()[0] + "\n", [(None, None, "a header and no rows")]),
    (lambda text: "PK\x03\x04 a spreadsheet, not a table", [(1, None, "the first line should name them: postingApp")]),
    (lambda text: ",".join(map(str, range(5000))), [(1, None, "5,000 columns")]),
])
def test_a_faulty_file_is_refused_with_place_and_reason(challenge, answers, tmp_path, change, wanted):
    path = tmp_path / "a.csv"
    path.write_text(change(answers.to_csv(index=False)), encoding="utf-8")
    faults = faults_of(path, challenge)
    if wanted != [(None, None, "")]:
        assert says(faults, *wanted), faults[:5]


@pytest.mark.parametrize("column, value, right", [
    ("priority", "urgent", "one of unknown, min"), ("priority", "=1+1", "one of unknown, min"),
    ("ongoing", "", "one of False, True"), ("visibility", "NaN", "one of private"), ("subject", "", "a word"),
    ("postingApp", "nan", "a word"), ("numberOfUpdates", "3", "one of none, low"),
    ("id", "7", "an id of its own"), ("id", "60", "the id of a context, 0 to 59"), ("id", "=0", "the id of a context"),
])
def test_a_faulty_cell_is_named_by_the_line_of_the_file(challenge, answers, tmp_path, column, value, right):
    table = answers.assign(id=[str(number) for number in range(ROWS)])
    table.iloc[30, table.columns.get_loc(column)] = value
    table.to_csv(tmp_path / "a.csv", index=False)
    faults = faults_of(tmp_path / "a.csv", challenge)
    assert says(faults, (32, column, right)), faults
    assert len(faults) == (2 if column == "id" else 1)           # an id too many is one missing too


def test_a_formula_is_a_word_like_another_and_is_never_computed(challenge, answers, tmp_path):
    table = answers.copy()
    table.iloc[0, table.columns.get_loc("subject")] = '=HYPERLINK("http://x","<b>y</b>")'
    table.to_csv(tmp_path / "a.csv", index=False)
    card = score_file(tmp_path / "a.csv", challenge)
    assert '=HYPERLINK("http://x","<b>y</b>")' in card.notes[0]
    assert "<b>y" not in card._repr_html_() and "&lt;b&gt;y" in card._repr_html_()


@pytest.mark.parametrize("encoding, line", [("utf-16", 1), ("latin-1", 32)])
def test_another_encoding_is_named_with_its_line(challenge, answers, tmp_path, encoding, line):
    table = answers.copy()
    table.iloc[30, table.columns.get_loc("subject")] = "café"
    table.to_csv(tmp_path / "a.csv", index=False, encoding=encoding)
    assert says(faults_of(tmp_path / "a.csv", challenge), (line, None, "not UTF-8"))


def test_a_folder_or_nothing_where_a_file_is_meant(challenge, tmp_path):
    (tmp_path / "a.csv").mkdir()
    assert says(faults_of(tmp_path / "a.csv", challenge), (None, None, "this is a folder; an ordinary file is meant"))
    assert says(faults_of(tmp_path / "b.csv", challenge), (None, None, "the file is missing"))


def peak_of(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_file_of_200_mb_is_refused_unread(challenge, tmp_path):
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(200 * 2**20)      # a sparse file: it has the size and takes no room
    def refuse():
        assert says(faults_of(path, challenge), (None, None, "the file is larger than 64 MB, the most"))

    assert peak_of(refuse) < 2**20


def test_rows_beyond_what_could_be_right_are_counted_and_not_kept(answers, tmp_path):
    path, lines = tmp_path / "long.csv", answers.to_csv(index=False).splitlines(keepends=True)
    path.write_text(lines[0] + "".join(lines[1:]) * 1000)
    size = path.stat().st_size
    assert size > 3 * 2**20

    def read():
        table, _, faults = read_csv(path, ROWS)
        assert len(table) == ROWS and "there are 60,000 rows" in faults[0].right

    read()                              # pandas and csv are loaded
    assert peak_of(read) < size / 4


def test_the_limit_of_size_holds_for_what_is_just_above_it(challenge, answers, tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    answers.to_csv(path, index=False)
    monkeypatch.setattr(submissions, "LARGEST", path.stat().st_size)
    assert score_file(path, challenge).count == ROWS
    monkeypatch.setattr(submissions, "LARGEST", path.stat().st_size - 1)
    assert says(faults_of(path, challenge), (None, None, "the file is larger than"))


cells = st.text(st.sampled_from('ab1=,."\n\r\t\x00é '), max_size=12)


@given(st.one_of(st.binary(max_size=200), st.lists(st.lists(cells, max_size=9), max_size=9).map(
    lambda rows: "\n".join(",".join(row) for row in rows).encode())))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_refused_and_nothing_else_goes_wrong(challenge, answers, tmp_path, raw):
    names = ",".join(answers.columns).encode()
    for number, content in ((1, raw), (1, names + b"\n" + raw), (2, raw), (2, b"seed,episode,step\n" + raw)):
        (tmp_path / "a.csv").write_bytes(content)
        assert faults_of(tmp_path / "a.csv", challenge, number)


def test_a_column_name_cannot_paint_the_terminal(challenge, answers, tmp_path):
    answers.assign(**{"\x1b[31mred" + "d" * 500: 1}).to_csv(tmp_path / "a.csv", index=False)
    message = str(BadData(faults_of(tmp_path / "a.csv", challenge)))
    assert "\x1b" not in message and "[31mred" in message and len(message) < 500


@pytest.mark.parametrize("table", [None, [], {"subject": []}, "a.csv", np.zeros((ROWS, 7))])
def test_what_is_no_table_is_said_to_be_none(challenge, table):
    for call in (challenge.evaluate, lambda table: score_log(challenge, table)):
        with pytest.raises(TypeError, match="expected a pandas DataFrame"):
            call(table)


# ---------------------------------------------------------------- challenge 2

def test_a_log_scores_as_it_was_lived(challenge, log, env, tmp_path):
    card = score_log(challenge, log)
    assert card.metrics["performance"] == log["reward"].sum() / 2
    assert card.metrics["click_through_rate"] == log["info.opened"].mean()
    assert card.seeds == (5, episode_seed(5, 1)) and card.agent == "random" and card.reported
    assert card.response.median == pytest.approx(log["response_time"].median())
    assert {"learning_slope", "settled_step"} <= set(card.metrics)
    log.to_csv(tmp_path / "random.csv", index=False)
    readable(log, env).to_csv(tmp_path / "worded.csv")
    for name in ("random", "worded"):
        again = score_file(tmp_path / f"{name}.csv", challenge, 2)
        assert again.metrics == card.metrics and again.agent == name


def test_a_log_of_the_time_when_seeds_were_counted_scores_too(challenge, env, tmp_path):
    old = rollout(env, RandomAgent(), episodes=2, seed=5, seeding="counted", progress=False)
    old.to_csv(tmp_path / "old.csv", index=False)
    card = score_file(tmp_path / "old.csv", challenge, 2, seeding="counted")
    assert card.seeds == (5, 6) and card.metrics["performance"] == old["reward"].sum() / 2
    assert says(faults_of(tmp_path / "old.csv", challenge, 2), (None, "episode", "--counted"))


def test_runs_with_several_seeds_are_one_submission(challenge, env):
    runs = [rollout(env, RandomAgent(), seed=seed, progress=False) for seed in (3, 40)]
    card = score_log(challenge, pd.concat(runs))
    assert card.seeds == (3, 40)
    assert card.metrics["performance"] == sum(run["reward"].sum() for run in runs) / 2


def test_what_is_needed_of_a_log_is_little(challenge, log):
    """Seed, contexts, notifications, opens and response times; rewards and what else is told may be left out."""
    little = log[[name for name in log if name.startswith(("action.", "obs.context."))
                  or name in ("seed", "episode", "step", "response_time", "info.opened")]]
    assert score_log(challenge, little).metrics == score_log(challenge, log).metrics


def flip(log, row):
    log.loc[row, "info.opened"] = not log.loc[row, "info.opened"]
    return log


def put(column, row, value):
    def change(log):
        log[column] = log[column].astype(object)
        log.loc[row, column] = value
        return log
    return change


@pytest.mark.parametrize("edit, wanted", [
    (lambda log: flip(flip(log, 7), 99),
     [(9, "info.opened", "what the environment says"), (101, "info.opened", "what the environment says")]),
    (put("reward", 3, 2.5), [(5, "reward", "what the environment says")]),
    (put("info.probability", 3, 0.999), [(5, "info.probability", "what the environment says")]),
    (put("obs.context.day", 11, 5), [(13, "obs.context.day", "what the environment says")]),
    (put("obs.last.action", 11, 0.5), [(13, "obs.last.action", "what the environment says")]),
    (put("info.opened", 4, "perhaps"), [(6, "info.opened", "what the environment says")]),
    (put("info.opened", 4, np.nan), [(6, "info.opened", "what the environment says")]),
    (put("action.priority", 4, 6), [(6, "action.priority", "a whole number from 0 to 5")]),
    (put("action.priority", 4, "high"), [(6, "action.priority", "a whole number from 0 to 5")]),
    (put("action.subject", 4, np.nan), [(6, "action.subject", "a whole number from 0")]),
    (put("response_time", 4, -1), [(6, "response_time", "a number of seconds")]),
    (put("response_time", 4, "inf"), [(6, "response_time", "a number of seconds")]),
    (put("seed", 4, "luck"), [(6, "seed", "a whole number, 0 or more")]),
    (put("seed", slice(None), 6), [(2, "info.opened", "")]),
    (put("step", 4, 7), [(6, "step", "the next step, 4")]),
    (put("episode", slice(None), 0), [(62, "step", "the next step, 60"), (2, None, "120 steps for 60 contexts")]),
    (lambda log: log.drop(index=log.index[-3:]), [(62, None, "57 steps for 60 contexts")]),
    (lambda log: log.drop(index=log.index[4]), [(6, "step", "the next step, 4")]),
    (lambda log: log.drop(columns="response_time"), [(1, "response_time", "the column is missing")]),
    (lambda log: log.assign(mood="good"), [(1, "mood", "the column is not one of")]),
    (lambda log: log.rename(columns={"info.opened": "info.opend"}),
     [(1, "info.opend", "is 'info.opened' meant?")]),
    (lambda log: log.iloc[:0], [(None, None, "a header and no rows")]),
])
def test_a_log_that_was_edited_is_refused_with_the_rows(challenge, log, tmp_path, edit, wanted):
    edited = edit(log)
    edited.to_csv(tmp_path / "a.csv", index=False)
    faults = faults_of(tmp_path / "a.csv", challenge, 2)
    if wanted[0][2]:
        assert says(faults, *wanted), faults[:5]
    else:
        assert {fault.column for fault in faults} & {"info.opened", "info.actual"}


def test_the_luckiest_seed_cannot_be_counted_twice_nor_chosen_against_the_organiser(challenge, log, tmp_path):
    first = log[log["episode"] == 0]
    twice = pd.concat([first, log[log["episode"] == 1], first])
    twice.to_csv(tmp_path / "twice.csv", index=False)
    assert says(faults_of(tmp_path / "twice.csv", challenge, 2), (122, "seed", "both were reset with 5"))
    log.to_csv(tmp_path / "log.csv", index=False)
    assert score_file(tmp_path / "log.csv", challenge, 2, seed=5).seeds == (5, episode_seed(5, 1))
    faults = faults_of(tmp_path / "log.csv", challenge, 2, seed=1)
    assert says(faults, (2, "seed", "what this challenge is played with: seed 1"))


def test_a_log_without_rows_is_one_fault_whoever_read_it(challenge, log, env, tmp_path):
    for number, empty in enumerate((log.iloc[:0], readable(log, env).iloc[:0])):
        path = tmp_path / f"{number}.csv"
        empty.to_csv(path, index=False)
        assert [fault.right for fault in faults_of(path, challenge, 2)] == ["the table has a header and no rows"]
        for table in (empty, pd.read_csv(path)):
            with pytest.raises(BadData, match="no rows"):
                score_log(challenge, table)


def test_the_log_of_another_user_or_judge_is_refused(challenge, log):
    for other in (replace(challenge, user=replace(load_user("noor"), schema=challenge.user.schema)),
                  replace(challenge, judge="tree"), replace(challenge, opening="threshold")):
        with pytest.raises(BadData):
            score_log(other, log)


# ---------------------------------------------------------------- a folder, and the command line

def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with one small private user, kim."""
    folder = tmp_path_factory.mktemp("data")
    synthesis.write_user(synthesis.make_user(20261121, "kim", open_rate=0.4, per_quarter=150), folder / "kim")
    synthesis.write_catalogue(folder)
    return folder


@pytest.fixture
def classroom(data, tmp_path):
    """Three submissions, of which one is at fault, and a text beside them."""
    challenge = Challenge.load("kim", data=data)
    contexts = len(challenge.contexts)
    history = pd.concat([challenge.history.notifications] * 2).head(contexts)
    (tmp_path / "class").mkdir()
    history.to_csv(tmp_path / "class" / "anna.csv", index=False)
    history.iloc[[3] * contexts].to_csv(tmp_path / "class" / "bert.csv")
    history.assign(priority="urgent").to_csv(tmp_path / "class" / "carl.csv", index=False)
    (tmp_path / "class" / "README.txt").write_text("ours")
    return tmp_path / "class"


def test_a_folder_is_scored_but_for_those_at_fault(data, classroom):
    cards, faulty, passed_over = score_folder(classroom, Challenge.load("kim", data=data))
    assert [card.agent for card in cards] == ["anna", "bert"]
    assert list(faulty) == ["carl"] and list(passed_over) == ["README.txt"]
    (classroom / "anna.csv").rename(classroom / "...csv")       # its name without .csv would be the folder above
    cards, _, passed_over = score_folder(classroom, Challenge.load("kim", data=data))
    assert [card.agent for card in cards] == ["bert"] and list(passed_over) == ["...csv", "README.txt"]


def test_an_empty_log_in_a_folder_does_not_keep_the_others_from_being_scored(challenge, log, tmp_path):
    log.to_csv(tmp_path / "anna.csv", index=False)
    log.iloc[:0].to_csv(tmp_path / "bert.csv", index=False)
    cards, faulty, _ = score_folder(tmp_path, challenge, 2)
    assert [card.agent for card in cards] == ["anna"] and list(faulty) == ["bert"]


def test_two_files_of_one_name_are_both_named_and_neither_is_scored(data, classroom, tmp_path):
    answers = (classroom / "anna.csv").read_bytes()
    (classroom / "Anna.CSV").write_bytes(answers)
    if len(list(classroom.iterdir())) == 4:
        pytest.skip("this file system takes Anna.CSV and anna.csv for one")
    told = run("score", classroom, "--user", "kim", "--data", data, "--out", tmp_path / "out")
    assert told.exit_code == 1 and "3 of 4 submissions could not be scored" in told.stderr
    assert "Anna.CSV and anna.csv: " in told.stderr
    assert pd.read_csv(tmp_path / "out" / "leaderboard.csv")["agent"].tolist() == ["bert"]
    for name in ("Anna", "anna"):
        own = tmp_path / "out" / "scorecards" / name
        assert "Anna.CSV and anna.csv" in (own / "faults.txt").read_text() and not (own / "scorecard.json").exists()


def test_a_submission_may_be_called_as_the_leaderboard_is(data, classroom, tmp_path):
    (classroom / "anna.csv").rename(classroom / "leaderboard.csv.csv")
    (classroom / "bert.csv").rename(classroom / "scorecards.csv")
    told = run("score", classroom, "--user", "kim", "--data", data, "--out", tmp_path / "out")
    assert told.exit_code == 1 and "1 of 3 submissions could not be scored" in told.stderr      # carl's
    board = pd.read_csv(tmp_path / "out" / "leaderboard.csv")["agent"].tolist()
    assert sorted(board) == ["leaderboard.csv", "scorecards"]
    assert all((tmp_path / "out" / "scorecards" / name / "scorecard.json").exists() for name in board)


def test_contexts_are_written_without_what_became_of_them(data, tmp_path):
    told = run("contexts", "kim", "--data", data, "--out", tmp_path / "c.csv")
    table = pd.read_csv(tmp_path / "c.csv")
    challenge = Challenge.load("kim", data=data)
    assert told.exit_code == 0 and f"{len(table):,} contexts of kim" in told.stdout
    assert table.columns.tolist() == ["id", *challenge.user.schema.context.names]
    assert table["place"].tolist() == challenge.contexts["place"].tolist()


def test_score_prints_the_scorecard_and_writes_it(data, classroom, tmp_path):
    words = ("score", classroom / "anna.csv", "--user", "kim", "--data", data, "--out", tmp_path / "out")
    told = run(*words)
    assert told.exit_code == 0 and told.stderr == ""
    saved = json.loads((tmp_path / "out" / "scorecard.json").read_text())
    assert saved["agent"] == "anna" and f"{saved['metrics']['performance']:,.1f}" in told.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["scorecard.csv", "scorecard.json",
                                                                          "scorecard.png"]
    before = (tmp_path / "out" / "scorecard.json").read_bytes()
    assert run(*words).exit_code == 0 and (tmp_path / "out" / "scorecard.json").read_bytes() == before
    assert run(*words, "--seed", 1).exit_code == 0 and (tmp_path / "out" / "scorecard.json").read_bytes() != before


def test_score_replays_a_log_and_names_whose_response_times_they_are(data, tmp_path):
    challenge = Challenge.load("kim", data=data)
    log = rollout(gym.make("pushlab/evalumap2-v0", user=challenge.user), RandomAgent(), seed=9, progress=False)
    log.to_csv(tmp_path / "log.csv", index=False)
    words = ("score", tmp_path / "log.csv", "--user", "kim", "--data", data, "--challenge", 2,
             "--out", tmp_path / "out")
    told = run(*words)
    assert told.exit_code == 0 and "as reported by the participant" in told.stdout
    assert json.loads((tmp_path / "out" / "response_times.json").read_text())["measured_by"] == "the participant"
    assert run(*words, "--seed", 8).exit_code == 1
    flip(log, 2)
    log.to_csv(tmp_path / "log.csv", index=False)
    told = run(*words)
    assert told.exit_code == 1 and "column info.opened, row 4" in told.stderr


def test_a_leaderboard_lists_the_faulty_ones_and_scores_the_rest(data, classroom, tmp_path):
    words = ("score", classroom, "--user", "kim", "--data", data, "--out", tmp_path / "out")
    told = run(*words)
    assert told.exit_code == 1
    assert "anna" in told.stdout and "bert" in told.stdout and "carl" not in told.stdout
    assert "1 of 3 submissions could not be scored" in told.stderr and "carl.csv, column priority" in told.stderr
    assert "README.txt was passed over: it is no CSV file" in told.stderr
    board = pd.read_csv(tmp_path / "out" / "leaderboard.csv")
    assert board["rank"].tolist() == [1, 2] and board["performance"].is_monotonic_decreasing
    saved = json.loads((tmp_path / "out" / "leaderboard.json").read_text())
    assert [card["agent"] for card in saved["scored"]] == board["agent"].tolist()
    assert list(saved["faulty"]) == ["carl"]
    cards = tmp_path / "out" / "scorecards"
    assert "urgent" in (cards / "carl" / "faults.txt").read_text()
    assert (tmp_path / "out" / "leaderboard.png").exists() and not (cards / "anna" / "scorecard.png").exists()
    (classroom / "carl.csv").unlink()
    assert run(*words, "--pictures").exit_code == 0
    assert (cards / "anna" / "scorecard.png").exists() and not (cards / "carl").exists()
    assert run(*words, "--no-pictures").exit_code == 0 and not list((tmp_path / "out").rglob("*.png"))


@pytest.mark.parametrize("words", [
    ("--user", "nobody"), ("--user", "kim", "--challenge", 3), ("--user", "kim", "--period", "tomorrow"),
    ("--user", "kim", "--judge", "jury"), ("--user", "kim", "--opening", "never"), ("--user", "kim", "--seed", -1), (),
])
def test_what_is_no_fault_of_the_submission_has_status_2(data, classroom, tmp_path, words):
    told = run("score", classroom / "anna.csv", "--data", data, "--out", tmp_path / "out", *words)
    assert told.exit_code == 2 and "Traceback" not in told.stderr and not (tmp_path / "out").exists()


def test_a_submission_that_is_not_there_or_a_folder_without_any_has_status_2(data, tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("nowhere.csv", "empty"):
        assert run("score", tmp_path / name, "--user", "kim", "--data", data).exit_code == 2
    assert run("contexts", "kim", "--data", data, "--out", tmp_path / "empty").exit_code == 2


@pytest.mark.parametrize("which, shown", [("anna.csv", "performance_share"), ("", "bert")])
def test_a_result_that_cannot_be_written_is_printed_all_the_same(data, classroom, tmp_path, which, shown):
    (tmp_path / "file").write_text("mine")
    words = ("score", classroom / which if which else classroom, "--user", "kim", "--data", data, "--out")
    no_folder = run(*words, tmp_path / "file" / "out")
    assert no_folder.exit_code == 2 and shown in no_folder.stdout and str(tmp_path / "file") in no_folder.stderr
    taken = tmp_path / "out" / ("scorecard.json" if which else "leaderboard.json")
    (taken / "in the way").mkdir(parents=True)
    no_file = run(*words, tmp_path / "out")
    assert no_file.exit_code == 2 and shown in no_file.stdout and taken.name in no_file.stderr
    for told in (no_folder, no_file):
        assert "written to" not in told.stdout and "Traceback" not in told.stderr
    if not which:
        assert "carl.csv, column priority" in no_file.stderr        # and what was at fault is not forgotten


def test_an_out_that_cannot_be_is_said_before_the_work_begins(data, classroom, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    said, told = [], submissions.score_file
    monkeypatch.setattr("typer.echo", lambda text="", err=False: said.append((str(text), err)))
    monkeypatch.setattr(submissions, "score_file", lambda *args: said.append(("scoring", False)) or told(*args))
    run("score", classroom / "anna.csv", "--user", "kim", "--data", data, "--out", tmp_path / "file" / "out")
    assert said[0][1] and "file" in said[0][0] and said[1] == ("scoring", False)
    assert said[2][1] and "could not be written" in said[2][0] and "anna" in said[3][0]


def test_no_empty_folder_is_left_by_a_faulty_submission(data, classroom, tmp_path):
    told = run("score", classroom / "carl.csv", "--user", "kim", "--data", data, "--out", tmp_path / "new" / "out")
    assert told.exit_code == 1 and not (tmp_path / "new").exists()


def test_a_leaderboard_is_not_written_among_the_submissions(data, classroom):
    told = run("score", classroom, "--user", "kim", "--data", data, "--out", classroom)
    assert told.exit_code == 2 and not (classroom / "leaderboard.csv").exists()
