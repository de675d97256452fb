"""A class on disk: its users, episodes, uploads, closing, export and replay."""

import hashlib
import io
import json
import shutil
import sqlite3
import stat
from contextlib import closing

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from small_class import SETTINGS, answers_table, as_lists

from pushlab import load_user
from pushlab.logs.files import lifetime_log
from pushlab.metrics.push import expected_points
from pushlab.users.simulated import SimulatedUser
from pushlab.utils.issues import BadData
from pushlab_classroom import (
    ClassDatabase,
    close_class,
    export,
    new_class,
    replay,
)
from pushlab_classroom.episode import ReplayedEpisode
from pushlab_classroom.private_users import (
    PrivateUser,
    derive,
    private_user,
    user_number,
)
from pushlab_classroom.session import ClassSession, Refusal, read_csv
from pushlab_classroom.standings import standings

GAMES = ("evalumap2", "push")
TWO_DAYS = SETTINGS | {"days": 2}
SECRET = hashlib.sha256(b"rehearsal").digest()
STAND_BY = 4


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder and tokens of a new class."""
    folder = tmp_path_factory.mktemp("class") / "autumn"
    return folder, new_class(folder, ["reds", "blues"], **TWO_DAYS)


@pytest.fixture
def session(made, tmp_path):
    """The session of a copy of the class; `session.teams` has its teams by name."""
    folder, tokens = made
    session = ClassSession(shutil.copytree(folder, tmp_path / "autumn"))
    session.teams = {name: session.team_of(token) for name, token in tokens.items()}
    yield session
    session.close()


def state(session, episode):
    """Return the state of an episode, which is loaded if necessary."""
    if not session.is_loaded(episode):
        session.load(episode, session.replay(episode))
    return session.state(episode)


def choose(step, answer):
    """Return an allowed action that depends on the step and the last answer."""
    if "action_mask" in answer["info"]:
        allowed = np.flatnonzero(answer["info"]["action_mask"])
        return int(allowed[step % len(allowed)])
    subject = (7 * step + answer["observation"]["context"][0]) % 28
    return [step % 15, step % 12, step % 4, subject, 3, 0, step % 3]


def play(session, team, episode, max_steps=10_000):
    """Play at most `max_steps` further steps of an episode; return the answers."""
    answer = state(session, episode)
    answers = []
    for step in range(answer["step"], answer["step"] + max_steps):
        answer = session.play(team, [(episode, step, choose(step, answer))])[0]
        answers.append(answer)
        if answer["terminated"]:
            break
    return answers


def local_episode(game, user, number):
    """Return the local environment of a scored episode of the reds, and its reset."""
    seed = derive(SECRET, "person", "scored", int(user), "reds", game)
    person = PrivateUser(seed, (0.3, 0.7)[user], 100)
    life = derive(SECRET, "life", "reds", game, 1, number)
    if game == "push":
        user = person.simulate(life, 16)
        env = gym.make("pushlab/push-v0", user=user, days=(0, 2), horizon=2)
    else:
        user = person.simulate(life, 84)
        env = gym.make("pushlab/evalumap2-v0", user=user, reveal=True)
    chance = derive(SECRET, "chance", "reds", game, 1, number)
    return env, *env.reset(seed=chance)


def answers_csv(folder, **values):
    """Return the answers as the bytes of a CSV file."""
    return answers_table(folder, **values).to_csv(index=False).encode()


def test_a_new_class_is_its_owners_and_stores_hashes_of_tokens(made):
    folder, tokens = made
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "class.db").stat().st_mode) == 0o600
    stored = (folder / "class.db").read_bytes()
    for token in tokens.values():
        assert len(token) == 64
        assert token.encode() not in stored
        assert hashlib.sha256(token.encode()).hexdigest().encode() in stored


def test_the_handout_has_no_answers_of_the_test_period(made):
    handout = made[0] / "handout"
    files = "README.md catalogue.csv context_on_posting.csv context_on_removal.csv "
    files += "contexts.csv notifications.csv schema.json"
    assert sorted(path.name for path in handout.rglob("*.*")) == files.split()
    names = load_user(handout, user="robin").schema.context.names
    contexts = pd.read_csv(handout / "robin" / "contexts.csv")
    assert list(contexts) == ["id", *names]


def test_a_seed_repeats_a_class_but_not_its_tokens(made, tmp_path):
    handouts = []
    for name, seed in (("same", "rehearsal"), ("other", None)):
        tokens = new_class(tmp_path / name, ["reds"], **TWO_DAYS | {"seed": seed})
        assert tokens["reds"] != made[1]["reds"]
        handouts.append((tmp_path / name / "handout/robin/contexts.csv").read_bytes())
    original = (made[0] / "handout/robin/contexts.csv").read_bytes()
    assert [handout == original for handout in handouts] == [True, False]


@pytest.mark.parametrize("game", GAMES)
def test_an_episode_equals_the_local_environment_to_the_digit(session, game):
    reds = session.teams["reds"]
    [episode] = session.begin(reds, game, True)
    before = state(session, episode)
    answers = play(session, reds, episode)
    book = ClassDatabase(session.folder)
    row = book.episodes(game).iloc[0]
    env, observation, info = local_episode(game, row["user"], 0)
    actions = []
    points = []
    for answer in answers:
        assert before["observation"] == as_lists(observation)
        assert before["info"].items() <= as_lists(info).items()
        assert not {"probability", "best"} & set(before["info"])
        actions.append(choose(len(actions), before))
        observation, reward, over, _, info = env.step(actions[-1])
        assert (reward, over) == (answer["reward"], answer["terminated"])
        if game == "evalumap2":
            chances = [info["probability"], info["best"]]
            points.append(expected_points([info["actual"]] * 2, chances))
        before = answer
    assert over
    assert row["steps"] == len(answers)
    assert row["return"] == pytest.approx(sum(one["reward"] for one in answers))
    if game == "evalumap2":
        sums = np.sum(points, axis=0).tolist()
        assert [row["expected"], row["best"]] == pytest.approx(sums)

    # A step is answered again as before, also after a replay, and counts once.
    steps = [(episode, step, action) for step, action in enumerate(actions)]
    for step in (0, 3, -1):
        assert not session.loaded
        state(session, episode)
        assert session.play(reds, [steps[step]]) == [answers[step]]
    state(session, episode)
    other = (actions[3] + 1) % 5 if game == "push" else [0] * 7
    for step, message in ((3, "another action"), (len(steps), "is over")):
        with pytest.raises(Refusal, match=message) as refused:
            session.play(reds, [(episode, step, other)])
        assert (refused.value.status, refused.value.content["step"]) == (
            409,
            len(steps),
        )
    assert replay(session.folder, episode)[0]


def test_each_team_has_its_own_users_as_hard_as_those_of_others():
    settings = {"secret": SECRET.hex(), "episodes": 4, "per_quarter": 2000}
    orders = set()
    seeds = set()
    for team in "abcdef":
        for game in GAMES:
            order = [
                user_number(settings, team, game, True, number) for number in range(4)
            ]
            assert sorted(order) == [0, 1, 2, 3]
            orders.add(tuple(order))
            people = [private_user(settings, team, game, True, one) for one in range(4)]
            rates = [person.open_rate for person in people]
            assert rates == pytest.approx([0.2, 0.4, 0.6, 0.8])
            seeds |= {person.seed for person in people}
    assert len(orders) > 6  # of 12
    assert len(seeds) == 48
    opened = people[1].simulate(1, 84).test.opened
    assert opened.mean() == pytest.approx(0.4, abs=0.04)
    practice = {private_user(settings, team, "push", False, 0).seed for team in "abc"}
    assert len(practice - seeds) == 1


def test_refused_requests_change_nothing(session):
    reds, blues = session.teams.values()
    phone, other = session.begin(reds, "evalumap2", False, 2)
    [foreign] = session.begin(blues, "evalumap2", True)
    for episode in (phone, other):
        state(session, episode)
    action = [0] * 7
    cases = [
        (404, session.play, [(foreign, 0, action)]),
        (404, session.play, [(99, 0, action)]),
        (422, session.play, [(other, 0, action), (phone, 0, [99] + [0] * 6)]),
        (422, session.play, [(phone, 0, action), (phone, 1, action)]),
        (409, session.play, [(phone, 1, action)]),
        (409, session.begin, "push", True, 3),
        (404, session.begin, "push", False, 1, [foreign]),
    ]
    errors = []
    for status, request, *arguments in cases:
        with pytest.raises(Refusal) as refused:
            request(reds, *arguments)
        assert refused.value.status == status, arguments
        errors.append(refused.value.content["error"])
    assert errors[0].replace(str(foreign), "99") == errors[1]
    assert not len(ClassDatabase(session.folder).steps(other))


def test_scored_episodes_are_few_and_an_open_one_is_resumed(session):
    reds = session.teams["reds"]
    [first] = session.begin(reds, "evalumap2", True)
    play(session, reds, first, 7)
    assert session.begin(reds, "evalumap2", True) == [first]
    both = session.begin(reds, "evalumap2", True, 2)
    assert session.begin(reds, "evalumap2", True, held=[first]) == both[1:]
    with pytest.raises(Refusal, match="has 0 left") as refused:
        session.begin(reds, "evalumap2", True, held=both)
    assert refused.value.content["left"] == 0
    play(session, reds, first)
    assert session.begin(reds, "evalumap2", True) == both[1:]


def test_practice_has_three_users_and_keeps_the_episodes_used_last(
    session, monkeypatch
):
    reds, blues = session.teams.values()
    monkeypatch.setattr("pushlab_classroom.session.PRACTICE_EPISODES", 3)
    ids = [session.begin(reds, "push", False)[0] for _ in range(3)]
    assert sorted(ClassDatabase(session.folder).episodes()["user"]) == [0, 1, 2]
    for episode in ids:
        state(session, episode)
    message = r"playing 3 practice episodes and asked for 1 more, .* finish some first"
    with pytest.raises(Refusal, match=message):
        session.begin(reds, "push", False)
    assert session.begin(blues, "push", False)
    play(session, reds, ids[1], 2)
    monkeypatch.setattr("pushlab_classroom.session.PAUSE", 0)  # nothing is being played
    play(session, reds, ids[0])
    [more] = session.begin(reds, "push", False)
    left = ClassDatabase(session.folder).episodes().query("team == 'reds'")
    assert left["id"].tolist() == [*ids[:2], more]
    assert list(session.loaded) == ids[1:2]  # one is over, and one deleted


def test_a_full_disk_refuses_steps_and_loses_none(session):
    reds = session.teams["reds"]
    [episode] = session.begin(reds, "evalumap2", True)
    play(session, reds, episode, 20)
    pragma = session._connection.execute
    pragma("PRAGMA wal_checkpoint(TRUNCATE)")
    [pages] = pragma("PRAGMA page_count").fetchone()
    pragma(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(OSError, match="full"):
        play(session, reds, episode)
    n_stored = len(ClassDatabase(session.folder).steps(episode))
    assert state(session, episode)["step"] == n_stored < 80
    pragma("PRAGMA max_page_count = 1000000")
    assert play(session, reds, episode)[-1]["terminated"]
    assert replay(session.folder, episode)[0]


def test_uploads_are_scored_by_the_truth_in_a_public_and_a_private_half(session):
    reds, blues = session.teams.values()
    seed = derive(SECRET, "person", "history", 0)
    truth = PrivateUser(seed, None, 100).simulate(seed, 168, 84)
    history = load_user(session.folder / "handout", user="robin").history
    assert (history.opened == truth.history.opened).all()
    data = answers_csv(session.folder)
    table = pd.read_csv(io.BytesIO(data), dtype=str)
    codes = truth.schema.notification.encode(table)
    person = SimulatedUser.from_truth(truth)
    chance = person.probability(truth.test.context_codes, codes)
    expected = expected_points(truth.test.opened, chance)

    score = session.upload(reds, data)
    book = ClassDatabase(session.folder)
    points = book.answers("reds")
    np.testing.assert_allclose(points["expected"], expected)
    sums = points.groupby("half")[["expected", "best"]].sum()
    shares = sums["expected"] / sums["best"]
    assert score["public"] == pytest.approx(shares["public"], abs=0.00051)
    assert score["low"] < score["public"] < score["high"]
    shown = standings(book)[["score", "low", "high"]].max()
    assert shown.tolist() == [score["public"], score["low"], score["high"]]
    assert book.uploads()["private"].isna().all()

    close_class(session.folder)
    private = pytest.approx(shares["private"], abs=0.00051)
    assert standings(book)["score"].max() == private
    with pytest.raises(Refusal, match="closed"):
        session.upload(blues, data)


def test_an_uploaded_table_is_small():
    assert read_csv(b"a,b\n1,x\n", "up", 1).values.tolist() == [["1", "x"]]
    for data in (b"a\n1\n2\n", b"a," * 60, b"a\n1,2\n", b"a\n\xff\n", b""):
        with pytest.raises(BadData, match="up"):
            read_csv(data, "up", 1)


def test_uploads_are_few_and_faulty_or_repeated_files_do_not_count(
    session, monkeypatch
):
    reds = session.teams["reds"]
    monkeypatch.setattr("pushlab_classroom.session.MAX_UPLOADS", 2)
    first = session.upload(reds, answers_csv(session.folder))
    assert session.upload(reds, answers_csv(session.folder)) == first
    with pytest.raises(BadData, match="priority, all .* rows"):
        session.upload(reds, answers_csv(session.folder, priority="urgent"))
    assert (
        session.upload(reds, answers_csv(session.folder, ongoing="True"))["left"] == 0
    )
    with pytest.raises(Refusal, match="no uploads left"):
        session.upload(reds, answers_csv(session.folder))
    assert ClassDatabase(session.folder).uploads()["number"].tolist() == [0, 1]


def test_a_closed_class_scores_all_episodes_of_who_began_any(session):
    """Unplayed episodes score 0 in Challenge 2, and in push as a phone without an agent."""
    reds, blues = session.teams.values()
    for game in GAMES:
        play(session, reds, *session.begin(reds, game, True), max_steps=5)
    session.begin(blues, "evalumap2", True)
    book = ClassDatabase(session.folder)
    assert standings(book)["score"].isna().all()  # no episode is finished
    assert standings(book)["playing"].dropna().tolist() == [0, 5, 5]
    close_class(session.folder)
    with pytest.raises(Refusal, match="closed"):
        play(session, reds, 1)
    assert play(session, reds, *session.begin(reds, "push", False), max_steps=3)

    score = standings(book).set_index(["game", "team"])["score"]
    row = book.episodes("evalumap2").iloc[0]
    half = row["expected"] / row["best"] / 2  # of two episodes
    assert score["evalumap2", "reds"] == pytest.approx(half)
    assert score["evalumap2", "blues"] == 0
    assert np.isnan(score["push", "blues"])
    episodes = book.episodes("push").query("scored")
    returns = []
    for row in episodes.itertuples():
        env, _, info = local_episode("push", row.user, row.number)
        actions = [json.loads(action) for action in book.steps(row.id)["action"]]
        returns.append(0.0)
        over = False
        while not over:
            later = 2 if info["action_mask"][2] else STAND_BY
            action = actions.pop(0) if actions else later
            _, reward, over, _, info = env.step(action)
            returns[-1] += reward
    assert episodes["return"].tolist() == pytest.approx(returns)
    assert score["push", "reds"] == pytest.approx(sum(returns) / 4)  # of four days


def test_an_interrupted_close_is_completed_by_another(session, monkeypatch):
    reds, blues = session.teams.values()
    play(session, reds, *session.begin(reds, "push", True))
    play(session, blues, *session.begin(blues, "push", True), max_steps=3)
    session.upload(reds, answers_csv(session.folder))
    database = ClassDatabase(session.folder)
    before = standings(database)

    def interrupt(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ReplayedEpisode, "return_without_agent", interrupt)
        close_class(session.folder)
    assert database.settings["closed"] is None
    columns = ["game", "team", "score", "first", "last", "done"]
    pd.testing.assert_frame_equal(standings(database)[columns], before[columns])
    assert database.uploads()["private"].isna().all()
    with pytest.raises(Refusal, match="closed"):
        play(session, blues, 2, max_steps=4)
    close_class(session.folder)
    assert database.settings["closed"] is not None
    assert standings(database).query("game == 'push'")["score"].notna().all()
    assert database.uploads()["private"].notna().all()


def test_replay_finds_what_was_changed(session):
    reds = session.teams["reds"]
    for game in GAMES:
        play(session, reds, *session.begin(reds, game, True), max_steps=6)
    with closing(sqlite3.connect(session.folder / "class.db")) as link, link:
        link.execute(
            "UPDATE steps SET reward = reward + 1 WHERE (episode, step) = (1, 4)"
        )
        link.execute("UPDATE episodes SET expected = 99 WHERE id = 1")
        link.execute("UPDATE steps SET answer = '{}' WHERE (episode, step) = (2, 5)")
    same, table = replay(session.folder, 1)
    assert not same
    assert table["step"].tolist() == [4, -1]
    assert table["stored"][1][-1] == 99
    with pytest.raises(Refusal, match="lecturer"):
        session.replay(2)


def test_an_export_is_read_as_logs_and_lifetimes(session, tmp_path):
    reds = session.teams["reds"]
    for game in GAMES:
        for _ in range(2):
            play(session, reds, *session.begin(reds, game, True))
    out = export(session.folder, tmp_path / "out")
    for game in GAMES:
        episodes = ClassDatabase(session.folder).episodes(game)
        log = pd.read_csv(out / "logs" / game / "001-reds.csv")
        returns = log.groupby("block")["reward"].sum()
        assert returns.tolist() == pytest.approx(episodes["return"].tolist())
        lifetime = lifetime_log(log)
        users = [f"{game}:user {user}" for user in episodes["user"]]
        assert lifetime["task"].unique().tolist() == users
        assert lifetime["reward"].tolist() == pytest.approx(returns.tolist())
    export(session.folder, out)  # replaces an earlier export
    with pytest.raises(FileExistsError, match="not empty"):
        export(session.folder, session.folder)
