"""Slips of a first hour: one line that says what was meant."""

import re
import warnings

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pushlab
from pushlab import RandomAgent, load_user, plots, rollout, score_file
from pushlab.__main__ import app
from pushlab.agents import MostOpened, ReplayHistory
from pushlab.challenges.challenge import Challenge
from pushlab.ground.faults import BadData
from pushlab.logs.collect import collect

ID = "pushlab/evalumap1-v0"
CHAT = {"postingApp": "org.pushlab.chat", "category": "msg", "subject": "friends", "numberOfUpdates": "none",
        "priority": "default", "ongoing": "False", "visibility": "private"}


@pytest.fixture(scope="module")
def env():
    env = gym.make(ID, user="mira")
    env.reset(seed=7)
    return env


@pytest.fixture(scope="module")
def half(env):
    return env.unwrapped.world.schema.notification


@pytest.fixture(scope="module")
def challenge():
    return Challenge.load("mira")


# ---------------------------------------------------------------- words

def test_a_word_that_no_data_have_is_warned_of_with_the_nearest(half):
    with pytest.warns(UserWarning, match="know no subject 'freinds'.*is 'friends' meant"):
        codes = half.encode_one({**CHAT, "subject": "freinds"})
    assert half.decode_one(codes)["subject"] == "other"
    with pytest.warns(UserWarning, match="'other'$"):
        half.encode_one({**CHAT, "subject": "volcanology"})


def test_known_words_and_other_itself_are_not_warned_of(half):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        half.encode_one(CHAT)
        half.encode_one({**CHAT, "subject": "other", "ongoing": False})


@pytest.mark.parametrize(("words", "message"), [
    ({**CHAT, "prioritee": "max"}, "'prioritee' is no feature.*is 'priority' meant"),
    ({**CHAT, "place": "home"}, "'place' is no feature; there are postingApp"),
    ({**CHAT, "priority": "hihg"}, "column priority.*'hihg' is not one of unknown, min"),
    ({name: CHAT[name] for name in CHAT if name != "priority"}, "column priority: the column is missing"),
    ({**CHAT, "subject": None}, "column subject: the column is missing"),
])
def test_a_wrong_key_or_value_is_refused(half, words, message):
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        half.encode_one(words)


# ---------------------------------------------------------------- actions

@pytest.mark.parametrize(("slip", "message"), [
    (lambda codes: CHAT, r"got a dict.*schema\.notification\.encode_one"),
    (lambda codes: pd.DataFrame([CHAT]), r"got a DataFrame; schema\.notification\.encode_one"),
    (lambda codes: codes.astype(float), r"action\.astype\(int\)"),
    (lambda codes: None, "got None: does the policy return"),
])
def test_an_action_that_is_no_codes_is_told_what_makes_them(env, half, slip, message):
    with pytest.raises(ValueError, match=message) as refused:
        env.step(slip(half.encode_one(CHAT)))
    assert "\n" not in str(refused.value)


def test_where_actions_are_one_number_nobody_is_sent_to_a_schema():
    items = gym.make("pushlab/RECEnv-v0")
    items.reset(seed=0)
    with pytest.raises(ValueError, match=r"int\(action\)"):
        items.step(1.0)
    with pytest.raises(ValueError, match="got a dict") as refused:
        items.step({"item": 1})
    assert "schema" not in str(refused.value)


@pytest.mark.parametrize("where", [ID, "pushlab/RECEnv-v0", "pushlab/ODE-Zika-v0"])
def test_a_policy_that_returns_nothing(where):
    def forgetful(observation):
        observation.sum()

    with pytest.raises(ValueError, match="'forgetful' returned nothing.*return action"):
        rollout(where, forgetful, steps=1, progress=False)


@pytest.mark.parametrize(("given", "message"), [
    ({"steps": -3}, "steps is a whole number from 0 up; got -3"),
    ({"episodes": 0}, "episodes is a whole number from 1 up; got 0"),
    ({"episodes": 2.5}, "episodes is a whole number"),
])
def test_counts_that_cannot_be(given, message):
    with pytest.raises(ValueError, match=message):
        rollout(ID, RandomAgent(), progress=False, **given)


def test_a_collection_of_no_episodes():
    with pytest.raises(ValueError, match="episodes is a whole number from 1 up; got 0"):
        collect("pushlab/RECEnv-v0", lambda seen: np.full((len(seen), 5), 0.2), episodes=0)


# ---------------------------------------------------------------- names

@pytest.mark.parametrize("slip", ["pushlab/EvalUMAP1-v0", "pushlab/evalumpa1-v0", "evalumap1-v0"])
def test_an_id_in_other_capitals_is_suggested(slip):
    for make in (lambda: rollout(slip, RandomAgent(), steps=1, progress=False),
                 lambda: collect(slip, lambda seen: None, episodes=1)):
        with pytest.raises(gym.error.UnregisteredEnv, match=f"is '{ID}' meant"):
            make()


def test_a_user_in_other_capitals_is_suggested():
    with pytest.raises(FileNotFoundError, match="is 'mira' meant"):
        load_user("Mira")


def test_a_log_where_frames_are_meant(env):
    log, films = rollout(env, RandomAgent(), steps=2, record="frames", progress=False)
    for slip in (log, films, env):
        with pytest.raises(TypeError, match=r"films\[0\] after"):
            plots.phone(slip)
    assert plots.phone(films[0]).axes


@pytest.mark.parametrize("agent", [ReplayHistory, MostOpened])
def test_a_user_where_a_history_is_meant(agent):
    with pytest.raises(TypeError, match=r"takes a Period; got a User; its \.history is meant"):
        agent(load_user("mira"))


# ---------------------------------------------------------------- files

@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_file_with_other_separators(tmp_path, challenge, mark):
    pd.DataFrame([CHAT] * 3).to_csv(tmp_path / "mine.csv", sep=mark, index=False)
    with pytest.raises(BadData) as refused:
        score_file(tmp_path / "mine.csv", challenge)
    assert len(refused.value.faults) == 1 and "save the file as CSV with commas" in str(refused.value)


def test_a_submission_to_the_other_challenge(tmp_path, challenge):
    answers, log = tmp_path / "answers.csv", tmp_path / "log.csv"
    pd.DataFrame([CHAT] * 3).to_csv(answers, index=False)
    rollout("pushlab/evalumap2-v0", RandomAgent(), steps=3, progress=False).to_csv(log, index=False)
    for file, number, message in ((answers, 2, "as Challenge 1 takes"), (log, 1, "as Challenge 2 takes")):
        with pytest.raises(BadData, match=message) as refused:
            score_file(file, challenge, number)
        assert len(refused.value.faults) == 1


def test_notes_are_seen_wherever_the_scorecard_is_made(tmp_path, challenge):
    answers = pd.DataFrame([{**CHAT, "subject": "freinds"}] * len(challenge.contexts))
    with pytest.warns(UserWarning, match="does not know.*freinds"):
        card = challenge.evaluate(answers)
    page = card._repr_html_()
    assert "freinds" in repr(card) and page.index("freinds") < page.index("<table>")
    answers.to_csv(tmp_path / "answers.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")                  # the report of a file has the note, once
        assert score_file(tmp_path / "answers.csv", challenge).report().count("freinds") == 1
        assert not challenge.evaluate(answers.assign(subject="other")).notes        # that is what it is called


def test_the_command_says_its_version():
    told = CliRunner().invoke(app, ["--version"])
    assert told.exit_code == 0 and told.stdout == f"pushlab {pushlab.__version__}\n"


def test_no_answer_in_words_is_an_answer():
    assert rollout(gym.make("pushlab/RoomEnv-v0"), lambda seen: None, steps=3, progress=False)["reward"].sum() == 0


@pytest.mark.parametrize(("old", "new", "words"), [
    (",False,private", ",FALSE,private", "'FALSE' is not one of False, True; is 'False' meant?"),
    ("id,postingApp,category,subject,numberOfUpdates,priority,ongoing,visibility\n", "",
     "row 1: none of these is a column; the first line should name them: postingApp"),
    ("\n", "\n0,org.pushlab.chat,msg,friends,none,default,False,private\n",
     "are the most that there can be: user mira has 2,866 contexts. Is this file for another user?"),
])
def test_a_submission_that_went_wrong_in_a_common_way_is_told_so(tmp_path, old, new, words):
    head = "id,postingApp,category,subject,numberOfUpdates,priority,ongoing,visibility\n"
    rows = [f"{number},org.pushlab.chat,msg,friends,none,default,False,private\n" for number in range(2866)]
    (tmp_path / "answers.csv").write_text("".join([head, *rows]).replace(old, new))
    with pytest.raises(BadData) as told:
        score_file(tmp_path / "answers.csv", Challenge.load("mira"))
    assert words in str(told.value)


def test_a_note_on_an_unknown_value_names_its_neighbour(tmp_path):
    rows = [f"{number},org.pushlab.chat,msg,freinds,none,default,False,private\n" for number in range(2866)]
    head = "id,postingApp,category,subject,numberOfUpdates,priority,ongoing,visibility\n"
    (tmp_path / "answers.csv").write_text("".join([head, *rows]))
    assert score_file(tmp_path / "answers.csv", Challenge.load("mira")).notes[0].endswith("; is 'friends' meant?")


def test_a_name_is_no_challenge(tmp_path):
    with pytest.raises(TypeError, match=r"such as Challenge.load\('mira'\), got 'mira'"):
        score_file(tmp_path / "answers.csv", "mira")
