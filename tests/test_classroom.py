"""A class on disk: private users, fair chance, and steps that are kept before they are told."""

import hashlib
import io
import itertools
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pushlab import load_user
from pushlab.classroom import Book, Refusal, Room, close_class, export, new_class, new_token, replay
from pushlab.classroom.book import connect, transaction
from pushlab.classroom.chance import derived
from pushlab.classroom.lived import Lived
from pushlab.classroom.lives import Person, person_of, whom
from pushlab.classroom.standings import standings
from pushlab.ground.faults import BadData
from pushlab.logs.folders import read_log
from pushlab.metrics.push import expected_points

GAMES = ("evalumap2", "push")
SMALL = {"seed": "rehearsal", "episodes": 2, "per_quarter": 100, "days": 7}
TIMES = ["begun", "finished"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A class nobody has played in: its folder and tokens."""
    folder = tmp_path_factory.mktemp("class") / "autumn"
    return folder, new_class(folder, ["reds", "blues"], **SMALL)


@pytest.fixture
def fresh(made, tmp_path):
    """A copy of it of one's own: (folder, tokens)."""
    return shutil.copytree(made[0], tmp_path / "autumn"), made[1]


@pytest.fixture
def room(fresh):
    """The copy, opened; its teams by name are room.teams."""
    room = Room.open(fresh[0])
    room.teams = {name: room.team_of(token) for name, token in fresh[1].items()}
    yield room
    room.close()


def action_of(game, step, told):
    """What these tests play: it follows from the step and what was told, and is always allowed."""
    if game == "evalumap2":
        return [step % 15, step % 12, step % 4, (7 * step + told["observation"]["context"][0]) % 28, 3, 0, step % 3]
    allowed = np.flatnonzero(told["info"]["action_mask"])
    return int(allowed[step % len(allowed)])


def play_on(room, team, episode, most=10_000):
    """Plays an episode from where it stands, at most so many steps; the answers."""
    game = Book(room.folder).rows("SELECT game FROM episodes WHERE id = ?", episode)["game"][0]
    told, answers = room.stand(episode), []
    for step in range(told["step"], told["step"] + most * (not told["over"])):
        told, = room.play(team, [(episode, step, action_of(game, step, told))])
        answers.append(told)
        if told["terminated"]:
            break
    return answers


def board(folder):
    """All that is worth anything, without the times."""
    book = Book(folder)
    steps = book.rows("SELECT episode, step, action, reward, expected, best, answer FROM steps ORDER BY episode, step")
    return book.episodes().drop(columns=TIMES), steps


@pytest.fixture(scope="module")
def straight(made, tmp_path_factory):
    """The same class played in one go: its board."""
    folder = shutil.copytree(made[0], tmp_path_factory.mktemp("straight") / "autumn")
    with closing(Room.open(folder)) as room:
        for game in GAMES:
            for token in made[1].values():
                team = room.team_of(token)
                play_on(room, team, *room.begin(team, game, True))
    return board(folder)


# ---------------------------------------------------------------- a new class

def test_only_the_owner_may_read_a_class_and_no_token_is_in_it(made):
    folder, tokens = made
    assert [stat.S_IMODE((folder / name).stat().st_mode) for name in (".", "class.db")] == [0o700, 0o600]
    kept = (folder / "class.db").read_bytes()
    assert len(set(tokens.values())) == 2 and all(len(token) == 64 for token in tokens.values())
    assert not any(token.encode() in kept for token in tokens.values())
    assert all(hashlib.sha256(token.encode()).hexdigest().encode() in kept for token in tokens.values())


def test_the_handout_holds_nothing_of_the_test_period_but_its_contexts(made):
    handout = made[0] / "handout"
    assert sorted(path.relative_to(handout).as_posix() for path in handout.rglob("*") if path.is_file()) == [
        "README.md", "catalogue.csv", "robin/contexts.csv", "robin/train/context_on_posting.csv",
        "robin/train/context_on_removal.csv", "robin/train/notifications.csv", "schema.json"]
    user = load_user(handout, user="robin")
    contexts = pd.read_csv(handout / "robin" / "contexts.csv")
    assert list(contexts) == ["id", *user.schema.context.names] and contexts["id"].tolist() == [*range(len(contexts))]
    readme = (handout / "README.md").read_text()
    assert "{" not in readme and "robin" in readme and "2 episodes" in readme


def test_a_seed_makes_the_same_class_again_with_other_tokens(made, straight, tmp_path):
    tokens = new_class(tmp_path / "again", ["reds", "blues"], **SMALL)
    assert not set(tokens.values()) & set(made[1].values())
    with closing(Room.open(tmp_path / "again")) as room:
        for game in GAMES:
            for token in tokens.values():
                play_on(room, room.team_of(token), *room.begin(room.team_of(token), game, True))
    for again, before in zip(board(tmp_path / "again"), straight):
        pd.testing.assert_frame_equal(again, before, check_exact=True)
    assert (tmp_path / "again" / "handout" / "robin" / "contexts.csv").read_bytes() == (
        made[0] / "handout" / "robin" / "contexts.csv").read_bytes()


def test_without_a_seed_two_classes_share_nothing(tmp_path):
    for name in ("one", "two"):
        new_class(tmp_path / name, ["reds"], **{**SMALL, "seed": None})
    one, two = (Book(tmp_path / name).rows("SELECT secret, seeded FROM class").iloc[0] for name in ("one", "two"))
    assert len(one["secret"]) == 64 and one["secret"] != two["secret"] and one["seeded"] == 0
    diaries = [(tmp_path / name / "handout" / "robin" / "contexts.csv").read_bytes() for name in ("one", "two")]
    assert diaries[0] != diaries[1]


@pytest.mark.parametrize(("teams", "more", "words"), [
    ([], {}, "1 to 500 teams"), (["reds", "Reds"], {}, "'reds'"), (["reds", " "], {}, "''"),
    (["a"] * 501, {}, "got 501"), (["reds"], {"episodes": 1}, "episodes"), (["reds"], {"days": 0}, "days"),
    (["reds"], {"per_quarter": 10**6}, "per_quarter"), (["reds"], {"days": True}, "days"),
    (["reds"], {"seed": ""}, "seed"), (["reds"], {"seed": " "}, "seed")])
def test_a_class_that_cannot_be_is_refused_and_leaves_nothing(teams, more, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        new_class(tmp_path / "class", teams, **{**SMALL, **more})
    assert not any(tmp_path.iterdir())


def test_a_folder_that_holds_anything_stays_as_it_is(tmp_path):
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(FileExistsError, match="not empty"):
        new_class(tmp_path, ["reds"], **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("content", [None, b"", b"no database", b"SQLite format 3\0 and then nothing"])
def test_what_is_no_class_is_said_to_be_none(content, tmp_path):
    if content is not None:
        (tmp_path / "class.db").write_bytes(content)
    for opened in (Room.open, Book):
        with pytest.raises((FileNotFoundError, ValueError), match="is no class"):
            opened(tmp_path)


# ---------------------------------------------------------------- fairness

def test_an_episode_is_what_the_library_plays_with_the_same_user_and_seed(room):
    """To the digit: the same life, seed and actions in gym.make, which tells the truth as well."""
    team, secret = room.teams["reds"], hashlib.sha256(b"rehearsal").digest()
    for game in GAMES:
        episode, = room.begin(team, game, True)
        began, answers = room.stand(episode), play_on(room, team, episode)
        user, = Book(room.folder).episodes(game)["user"]
        person = Person(derived(secret, "person", "scored", user, "reds", game), (0.3, 0.7)[user], 100)
        life, chance = (derived(secret, what, "reds", game, 1, 0) for what in ("life", "chance"))
        if game == "push":
            env = gym.make("pushlab/push-v0", user=person.live(life, 21), days=(0, 7), horizon=7)
        else:
            env = gym.make("pushlab/evalumap2-v0", user=person.live(life, 84), reveal=True)
        observation, info = env.reset(seed=chance)
        told, points = began, 0.0
        for step, answer in enumerate(answers):
            assert json.dumps(told["observation"]) == json.dumps(plain(observation))
            assert all(plain(info[key]) == value for key, value in told["info"].items())
            observation, reward, over, _, info = env.step(action_of(game, step, told))
            if game == "evalumap2":
                points += expected_points([info["actual"]], [info["probability"]])[0]
            assert (reward, over) == (answer["reward"], answer["terminated"])
            told = answer
        assert over
        row = Book(room.folder).episodes(game).iloc[0]
        assert row["return"] == pytest.approx(sum(answer["reward"] for answer in answers), abs=1e-12)
        assert game == "push" or row["expected"] == pytest.approx(points, abs=1e-9)


def plain(value):
    return {key: plain(part) for key, part in value.items()} if isinstance(value, dict) else np.asarray(value).tolist()


def test_a_fresh_life_keeps_taste_and_has_other_days():
    lives = [Person(7, 0.3, 300).live(seed, 84) for seed in (1, 2)]
    assert all(life.truth | {"intercept": 0} == lives[0].truth | {"intercept": 0} for life in lives)
    one, two = (life.test for life in lives)
    assert len(one) != len(two) or (one.context_codes != two.context_codes).any()
    assert np.mean([life.test.opened.mean() for life in lives]) == pytest.approx(0.3, abs=0.06)    # about 600 rows


def test_users_are_numbered_and_each_team_meets_each_number_once_in_an_order_of_its_own(tmp_path):
    names = [f"team {number}" for number in range(6)]
    tokens = new_class(tmp_path / "class", names, **{**SMALL, "episodes": 4})
    with closing(Room.open(tmp_path / "class")) as room:
        for token in tokens.values():
            for game in GAMES:
                room.begin(room.team_of(token), game, True, 4)
    met = Book(tmp_path / "class").episodes().groupby(["team", "game"])["user"].agg(tuple)
    assert all(sorted(users) == [0, 1, 2, 3] for users in met)
    assert len(set(met)) > 6                            # of twelve, 24 orders there are


def test_no_user_is_met_twice_and_those_of_a_number_open_as_much():
    """Neither by a team in two games nor by two teams: nobody gains by what was learned of a user before."""
    settings = {"secret": bytes(32).hex(), "episodes": 4, "per_quarter": 2000}
    people = {(team, game, user): person_of(settings, team, game, True, user)
              for team in ("reds", "blues") for game in GAMES for user in range(4)}
    assert len({one.seed for one in people.values()}) == 16
    tastes = [one.live(1, 84) for (_, _, user), one in people.items() if user == 1]
    assert len({json.dumps(one.truth["pairs"]) for one in tastes}) == 4
    assert [one.test.opened.mean() for one in tastes] == pytest.approx([0.4] * 4, abs=0.04)
    assert [people["reds", "push", user].rate for user in range(4)] == pytest.approx([0.2, 0.4, 0.6, 0.8])
    others = {person_of(settings, team, game, False, 0).seed for team in ("reds", "blues") for game in GAMES}
    assert len(others) == 1 and not others & {one.seed for one in people.values()}


def test_no_two_episodes_have_the_same_contexts(room):
    reds, blues = room.teams.values()
    episodes = [(team, episode) for team in (reds, blues) for scored, count in ((True, 2), (False, 4))
                for episode in room.begin(team, "evalumap2", scored, count)]
    lived = {tuple(tuple(answer["observation"]["context"]) for answer in play_on(room, team, episode, 20))
             for team, episode in episodes}
    assert len(lived) == len(episodes)


def test_nothing_that_is_told_holds_what_no_phone_tells(room):
    team, told = room.teams["reds"], []
    for game in GAMES:
        told += [room.describe(game), room.me(team)]
        episode, = room.begin(team, game, False)
        told += [room.stand(episode), *play_on(room, team, episode, 30), room.frame(episode)]
    told += Book(room.folder).phone()
    text = json.dumps(told)
    secret = hashlib.sha256(b"rehearsal").hexdigest()
    assert not any(f'"{word}"' in text for word in ("probability", "best", "expected", "seed", "truth"))
    assert secret not in text and "secret" not in Book(room.folder).settings
    assert len(Book(room.folder).phone()) == 30 and len(Book(room.folder).phone(5)) == 5


# ---------------------------------------------------------------- whoever asks

def test_a_token_is_one_team_until_it_gets_a_new_one(fresh, room):
    folder, tokens = fresh
    assert room.team_of(tokens["reds"]).name == "reds"
    assert [room.team_of(token) for token in ("", "x" * 43, tokens["reds"][:-1], "\ud800", "' OR 1=1 --")] == [None] * 5
    token = new_token(folder, "reds")           # while it is played
    assert room.team_of(tokens["reds"]) is None and room.team_of(token).name == "reds"
    with pytest.raises(ValueError, match="no team is called 'greens'; there are reds, blues"):
        new_token(folder, "greens")


@pytest.mark.parametrize("episode", [99, 0, -1, True, None, "1", 1.0, [1], {}, 10**30])
def test_an_episode_of_others_is_refused_as_one_that_is_not(episode, room):
    reds, blues = room.teams.values()
    theirs, = room.begin(blues, "evalumap2", True)
    words = []
    for one, way in itertools.product((theirs, episode), ("ask", "play", "hold")):
        with pytest.raises(Refusal) as refused:
            if way == "ask":
                room.owned(reds, [one])
            elif way == "play":
                room.play(reds, [(one, 0, [0] * 7)])
            else:
                room.begin(reds, "push", False, 1, [one])
        told = refused.value.told
        words.append((refused.value.status, told["error"].replace(f"{one!r:.40}", "N"), told["right"]))
    assert len(set(words)) == 1 and words[0][0] == 404


WRONG = {"evalumap2": [None, 3, [0] * 6, [0] * 8, [-1] + [0] * 6, [99] + [0] * 6, [0.5] * 7, "abcdefg", ["0"] * 7, {},
                       [[0] * 7] * 2, [None] * 7, [10**30] + [0] * 6, [0, [0, [0, [0]]]], [2**63] + [0] * 6, []],
         "push": [None, 5, -1, 1.5, "4", [4, 4], [], {}, 10**400, 2**63, [[[[]]]], float("nan")]}


@pytest.mark.parametrize(("game", "action"), [(game, action) for game, wrong in WRONG.items() for action in wrong],
                         ids=lambda value: f"{value!r:.24}")
def test_a_wrong_action_says_what_would_be_right_and_moves_nothing(game, action, room):
    team = room.teams["reds"]
    one, other = room.begin(team, game, False, 2)
    before = room.stand(one), room.stand(other)
    good = action_of(game, 0, before[1])
    with pytest.raises(Refusal) as refused:
        room.play(team, [(other, 0, good), (one, 0, action)])
    assert refused.value.status == 422 and refused.value.told["right"] and refused.value.told["episode"] == one
    assert json.dumps(refused.value.told)
    assert (room.stand(one), room.stand(other)) == before and not len(Book(room.folder).steps(other))


@pytest.mark.parametrize(("game", "scored"), [("evalumap1", True), ("chess", True), (None, False), (["push"], False),
                                              ("push", 1), ("push", "true"), ("push", None)])
def test_episodes_that_cannot_be_are_refused(game, scored, room):
    with pytest.raises(Refusal) as refused:
        room.begin(room.teams["reds"], game, scored)
    assert refused.value.status in (404, 422)
    assert not len(Book(room.folder).episodes())


def test_scored_episodes_are_few_and_an_open_one_is_taken_up(room):
    team = room.teams["reds"]
    first, = room.begin(team, "evalumap2", True)
    play_on(room, team, first, 7)
    assert room.begin(team, "evalumap2", True) == [first] and room.stand(first)["step"] == 7
    both = room.begin(team, "evalumap2", True, 2)
    assert both[0] == first and room.begin(team, "evalumap2", True, held=[first]) == both[1:]
    for count, held in ((3, []), (1, both)):
        with pytest.raises(Refusal, match="2 scored|no scored") as refused:
            room.begin(team, "evalumap2", True, count, held)
        assert refused.value.status == 409 and refused.value.told["left"] == 0
    play_on(room, team, first)
    assert room.begin(team, "evalumap2", True) == both[1:] and room.me(team)["games"]["evalumap2"] == {
        "left": 0, "scored": both[1:], "practice": []}
    assert room.me(team)["games"]["push"]["left"] == 2 == room.stand(room.begin(team, "push", False)[0])["left"]


def test_practice_begins_anew_each_time_with_three_users(room):
    team = room.teams["reds"]
    ids = [room.begin(team, "push", False)[0] for _ in range(6)]
    users = Book(room.folder).episodes().set_index("id")["user"]
    assert len(set(ids)) == 6 and sorted(users[ids[:3]]) == [0, 1, 2] == sorted(users[ids[3:]])


# ---------------------------------------------------------------- steps, again and again

def test_a_step_sent_again_is_answered_as_before_to_the_byte(room):
    team = room.teams["reds"]
    for game in GAMES:
        episode, = room.begin(team, game, True)
        told, sent = room.stand(episode), []
        for step in range(12):
            action = action_of(game, step, told)
            told, = room.play(team, [(episode, step, action)])
            sent.append((action, json.dumps(told)))
        for _ in range(2):
            for step, (action, answer) in enumerate(sent):
                assert json.dumps(room.play(team, [(episode, step, action)])[0]) == answer
            room.forget(episode)
        assert room.stand(episode)["step"] == 12 == len(Book(room.folder).steps(episode))
        other = [(sent[3][0] + 1) % 5] if game == "push" else [0] * 7
        for step, action in ((3, other if game == "evalumap2" else other[0]), (13, sent[0][0]), (-1, 0), ("1", 0),
                             (True, 0), (10**40, 0), (None, 0)):
            with pytest.raises(Refusal) as refused:
                room.play(team, [(episode, step, action)])
            assert refused.value.status == 409 and refused.value.told["step"] == 12
        with pytest.raises(Refusal, match="twice"):
            room.play(team, [(episode, 12, sent[0][0])] * 2)
        play_on(room, team, episode)
        end = room.stand(episode)
        with pytest.raises(Refusal, match="is over"):
            room.play(team, [(episode, end["step"], sent[0][0])])
        assert end["over"]


OPERATIONS = st.lists(st.tuples(st.sampled_from(["play", "play", "forget", "load", "kill", "again"]),
                                st.integers(0, 3), st.integers(1, 40)), max_size=30)


@settings(max_examples=20)
@given(OPERATIONS)
def test_however_it_is_interrupted_the_board_is_that_of_one_straight_run(made, straight, tmp_path_factory, operations):
    folder = shutil.copytree(made[0], tmp_path_factory.mktemp("broken") / "autumn")
    room = Room.open(folder)
    teams = [room.team_of(token) for token in made[1].values()]
    playing = [(team, game, *room.begin(team, game, True)) for game in GAMES for team in teams]
    try:
        for what, which, count in operations:
            team, game, episode = playing[which]
            if what == "play":
                play_on(room, team, episode, count)
            elif what == "forget":
                room.forget(episode)
            elif what == "load":
                room.load(episode)
            elif what == "again" and room.stand(episode)["step"]:
                step = room.stand(episode)["step"] - 1
                told = room.stand(episode) if step == 0 else None
                made_so = Book(folder).steps(episode)["action"][step]
                room.play(team, [(episode, step, json.loads(made_so))])
                assert told is None or room.stand(episode) == told
            elif what == "kill":
                kill(room)
                room = Room.open(folder)
        for team, _, episode in playing:
            play_on(room, team, episode)
    finally:
        room.close()
    for now, before in zip(board(folder), straight):
        pd.testing.assert_frame_equal(now, before, check_exact=True)


def kill(room):
    """What is left of a room whose process ended at once: the file."""
    room._link.close()
    room._alone.release()


PLAYER = """
import json, sys, time
from pushlab.classroom import Room
room = Room.open(sys.argv[1])
team = room.team_of(sys.argv[2])
episode, = room.begin(team, "evalumap2", True)
step = room.stand(episode)["step"]
while True:
    room.play(team, [(episode, step, [step % 15, 0, 0, 0, 3, 0, 0])])
    step += 1
    print(step, flush=True)
    time.sleep(0.02)                # so that it is killed before the episode is over
"""


@pytest.mark.posix
def test_a_killed_process_leaves_a_class_that_goes_on_with_all_that_was_told(fresh):
    folder, tokens = fresh
    told = 0
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", PLAYER, str(folder), tokens["reds"]], stdout=subprocess.PIPE)
        for _ in range(15):
            told = int(process.stdout.readline())
        with pytest.raises(BlockingIOError, match="another process"):
            Room.open(folder)
        os.kill(process.pid, signal.SIGKILL)
        told = max([told, *map(int, process.stdout.read().split()[:-1])])
        process.wait()
        process.stdout.close()
    assert len(Book(folder).steps(1)) in (told, told + 1, told + 2)         # kept, and not told any more
    with closing(Room.open(folder)) as room:
        assert room.stand(1)["step"] == len(Book(folder).steps(1))
    assert replay(folder, 1)[0]


def test_a_full_disk_tells_nothing_that_is_not_kept_and_loses_nothing_that_was(room):
    """A database that may not grow is what a full disk is to SQLite."""
    team = room.teams["reds"]
    episode, = room.begin(team, "evalumap2", True)
    play_on(room, team, episode, 20)
    room._link.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages, = room._link.execute("PRAGMA page_count").fetchone()
    room._link.execute(f"PRAGMA max_page_count = {pages}")
    kept, told = room.stand(episode)["step"], room.stand(episode)
    with pytest.raises(OSError, match="full"):
        for _ in range(60):
            told, = room.play(team, [(episode, kept, action_of("evalumap2", kept, told))])
            kept += 1
    assert not room.loaded(episode) and room.stand(episode)["step"] == kept == len(Book(room.folder).steps(episode))
    assert kept < 80
    room._link.execute("PRAGMA max_page_count = 1000000")
    play_on(room, team, episode)
    assert replay(room.folder, episode)[0] and Book(room.folder).episodes()["finished"].notna().all()


def test_threads_may_make_episodes_again_while_others_are_played(room):
    team = room.teams["reds"]
    ids, late = room.begin(team, "evalumap2", False, 4), 0
    with ThreadPoolExecutor(2) as pool:
        for step in range(30):
            room.forget(ids[step % 4])
            making = [(one, pool.submit(room.lived, one)) for one in ids]
            for episode in ids[:2 + step % 3] if step < 29 else ids:
                now = room.load(episode).step
                room.play(team, [(episode, now, [now % 15, 0, 0, 0, 3, 0, 0])])
            for episode, made in making:
                room.forget(episode)
                try:
                    room.load(episode, made.result())
                except Refusal as refused:
                    assert refused.status == 503        # it was played since that was made
                    late += 1
    assert late and [room.stand(episode)["step"] for episode in ids] == [30, 30, 20, 10]
    assert all(replay(room.folder, episode)[0] for episode in ids)


def test_of_the_team_with_most_episodes_in_memory_the_one_used_least_lately_leaves(room):
    room.most, (reds, blues) = 3, room.teams.values()
    hers, ids = room.begin(blues, "push", False), room.begin(reds, "push", False, 5)
    for one in [*hers, *ids[:2], ids[0], *ids[2:]]:
        room.load(one)
    assert [room.loaded(one) for one in [*hers, *ids]] == [True, False, False, False, True, True]
    steps = [(one, 0, int(np.flatnonzero(room.stand(one)["info"]["action_mask"])[0])) for one in ids]
    assert room.play(reds, steps) == room.play(reds, steps)         # more at once than may stay


def test_an_episode_that_was_changed_is_said_to_be_and_not_asked_for_again(fresh, room):
    team = room.teams["reds"]
    episode, = room.begin(team, "evalumap2", False)
    room.play(team, [(episode, 0, [0] * 7)])
    room.forget(episode)
    with closing(connect(fresh[0], write=True)) as link, transaction(link):
        link.execute("UPDATE steps SET answer = '{}' WHERE episode = ?", (episode,))
    with pytest.raises(Refusal, match="lecturer") as refusal:
        room.load(episode)
    assert refusal.value.status == 500          # 503 would be asked again


# ---------------------------------------------------------------- Challenge 1

def answers_for(folder, **values):
    """A CSV file that gives every context of the hand-out the same notification, as bytes."""
    contexts = pd.read_csv(folder / "handout" / "robin" / "contexts.csv")
    plain = {"postingApp": "org.pushlab.chat", "category": "msg", "subject": "friends", "numberOfUpdates": "none",
             "priority": "default", "ongoing": "False", "visibility": "private"}
    return contexts[["id"]].assign(**{**plain, **values}).to_csv(index=False).encode()


def test_an_upload_is_scored_on_a_half_at_once_and_on_the_other_at_the_end(fresh, room):
    folder, team = fresh[0], room.teams["reds"]
    told = room.upload(team, answers_for(folder))
    points = Book(folder).answers("reds")
    shares = points.groupby("half")[["expected", "best"]].sum().pipe(lambda sums: sums["expected"] / sums["best"])
    assert told["public"] == pytest.approx(shares["public"], abs=0.00051)
    assert told["low"] < told["public"] < told["high"]
    assert told["left"] == 19 and abs((points["half"] == "public").mean() - 0.5) < 0.01
    assert (points["expected"] <= points["best"] + 1e-12).all()
    assert Book(folder).uploads()["private"].isna().all() and Book(folder).answers("blues") is None
    close_class(folder)
    assert Book(folder).uploads()["private"][0] == pytest.approx(shares["private"], abs=0.00051)
    with pytest.raises(Refusal, match="closed"):
        room.upload(team, answers_for(folder, subject="family"))


def test_answers_are_judged_by_the_truth_of_the_handed_out_user(fresh, room):
    secret = hashlib.sha256(b"rehearsal").digest()
    seed = derived(secret, "person", "history", 0)
    user = Person(seed, None, 100).live(seed, 168, 84)
    handed = load_user(fresh[0] / "handout", user="robin")
    assert (handed.history.context_codes == user.history.context_codes).all()
    assert (handed.history.opened == user.history.opened).all()
    given = pd.read_csv(fresh[0] / "handout" / "robin" / "contexts.csv", dtype=str)
    assert (user.schema.context.encode(given) == user.test.context_codes).all()
    room.upload(room.teams["reds"], answers_for(fresh[0], subject="family"))
    from pushlab.users.simulated import SimulatedUser

    code = user.schema.notification.encode(pd.read_csv(io.BytesIO(answers_for(fresh[0], subject="family")), dtype=str))
    chance = SimulatedUser.from_truth(user).probability(user.test.context_codes, code)
    np.testing.assert_allclose(Book(fresh[0]).answers("reds")["expected"], expected_points(user.test.opened, chance))


def test_uploads_are_few_the_last_counts_and_the_same_again_is_none(fresh, room):
    folder, team = fresh[0], room.teams["reds"]
    first = room.upload(team, answers_for(folder))
    assert room.upload(team, answers_for(folder)) == first
    with pytest.raises(BadData, match="priority, rows 2, 3"):
        room.upload(team, answers_for(folder, priority="urgent"))
    for number in range(19):
        told = room.upload(team, answers_for(folder, ongoing=str(number % 2 == 0)))
    assert told["left"] == 0 == room.me(team)["uploads"]["left"]
    with pytest.raises(Refusal, match="no uploads left"):
        room.upload(team, answers_for(folder))
    assert room.upload(team, answers_for(folder, ongoing="True")) == told
    assert Book(folder).uploads()["number"].tolist() == [*range(20)] and room.me(room.teams["blues"])["uploads"][
        "left"] == 20


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"id\n", b"\xff\xfe", b"a,b\n1,2\n", b"id,id\n0,0\n",
                                  b'"' * 1000, b"[" * 100_000])
def test_a_file_that_is_none_is_said_to_be_none_and_counts_nothing(data, room):
    with pytest.raises(BadData):
        room.upload(room.teams["reds"], data)
    assert room.me(room.teams["reds"])["uploads"]["left"] == 20


# ---------------------------------------------------------------- the end

def test_closing_settles_what_was_left_open_and_lets_practice_go_on(fresh, room):
    """Leaving a phone alone puts off all that arrives; so much is what an open episode of push is worth."""
    folder, reds, blues = fresh[0], *room.teams.values()
    begun = {(team, game): room.begin(team, game, True)[0] for team in (reds, blues) for game in GAMES}
    for (team, _), episode in begun.items():
        play_on(room, team, episode, most=15)
    left = begun[blues, "push"]
    before = Book(folder).episodes("push").set_index("id")["return"]
    close_class(folder)
    close_class(folder)                         # once more does no harm
    with pytest.raises(Refusal, match="closed"):
        room.begin(reds, "push", True)
    for game in GAMES:
        episode = begun[reds, game]
        with pytest.raises(Refusal, match="closed"):
            room.play(reds, [(episode, 15, action_of(game, 15, room.stand(episode)))])
        play_on(room, reds, *room.begin(reds, game, False), most=3)
    with closing(connect(folder)) as link:
        row = link.execute("SELECT * FROM lived WHERE id = ?", (left,)).fetchone()
        kept = [one for one, in link.execute("SELECT action FROM steps WHERE episode = ? ORDER BY step", (left,))]
        life = Lived(link.execute("SELECT * FROM class").fetchone(), row, kept)
    total = before[left]
    while not life.over:
        total += life.advance(2 if life.now["info"]["hand"] >= 0 else 4)[1]
    settled = Book(folder).episodes("push").set_index("id")["return"][left]
    assert settled == pytest.approx(total, abs=1e-9) and settled != before[left]
    score = standings(Book(folder)).set_index(["game", "team"])["score"]
    played = Book(folder).episodes().set_index("id").loc[begun[reds, "evalumap2"]]
    assert score["evalumap2", "reds"] == pytest.approx(played["expected"] / played["best"] / 2)     # of two episodes
    never = Book(folder).episodes("push").query("scored and number == 1").set_index("team")
    with closing(connect(folder)) as link:
        row = link.execute("SELECT * FROM lived WHERE id = ?", (int(never["id"]["blues"]),)).fetchone()
        alone = Lived(link.execute("SELECT * FROM class").fetchone(), row).leave()
    assert never["return"]["blues"] == pytest.approx(alone) and alone < 0
    assert score["push", "blues"] == pytest.approx((settled + alone) / 14)
    assert replay(folder, int(never["id"]["blues"]))[0]


def test_who_stops_after_a_lucky_episode_leads_no_more_often_than_others(tmp_path):
    """Forty equal teams with five users; one of them stops as soon as its mean is high."""
    names, users = [f"team {number}" for number in range(40)], 5
    new_class(tmp_path / "class", names, **SMALL | {"episodes": users})
    rng, book, first = np.random.default_rng(1), Book(tmp_path / "class"), []
    with closing(connect(tmp_path / "class", write=True)) as link:
        settings = link.execute("SELECT * FROM class").fetchone()
        orders = [[whom(settings, name, "evalumap2", True, number) for number in range(users)] for name in names]
        for _ in range(60):
            shares = 0.6 + rng.normal(0, 0.08, users) + rng.normal(0, 0.03, (40, users))
            rows = []
            for team, earned in enumerate(shares):
                order = orders[team]
                for number, user in enumerate(order):
                    rows.append((team + 1, number, user, float(earned[user])))
                    if not team and earned[order[:number + 1]].mean() > 0.68:
                        break
            with link:
                link.execute("DELETE FROM episodes")
                link.execute("UPDATE class SET closed = NULL")
                link.executemany('INSERT INTO episodes (team, game, scored, number, user, begun, finished, steps, '
                                 'expected, best, "of") VALUES (?, "evalumap2", 1, ?, ?, 0, 1, 9, ?, 1, 9)', rows)
            close_class(book.folder)
            table = standings(book).query("game == 'evalumap2'")
            first.append(table["team"].iloc[0])
            assert table["score"].notna().all()
    assert first.count("team 0") <= 5 and len(set(first)) > 20


def test_a_team_that_began_none_stays_out_when_the_class_is_closed_and_one_that_stops_does_not_win(fresh, room):
    reds, blues = room.teams.values()
    play_on(room, reds, *room.begin(reds, "evalumap2", True))
    table = standings(Book(fresh[0])).set_index(["game", "team"])
    assert table.loc[("evalumap2", "reds"), ["done", "of"]].tolist() == [1, 2]
    before = table["score"]["evalumap2", "reds"]
    room.begin(blues, "push", True)                 # and was killed before it was told anything
    close_class(fresh[0])
    score = standings(Book(fresh[0])).set_index(["game", "team"])["score"]
    assert score["evalumap2", "reds"] == pytest.approx(before / 2)
    assert np.isnan(score["evalumap2", "blues"]) and np.isnan(score["push", "reds"]) and score["push", "blues"] < 0


def test_the_board_tells_no_more_digits_of_uploads_than_their_answers(fresh, room):
    told = room.upload(room.teams["reds"], answers_for(fresh[0]))
    row = standings(Book(fresh[0])).set_index(["game", "team"]).loc[("evalumap1", "reds")]
    assert row[["score", "low", "high"]].tolist() == [told[key] for key in ("public", "low", "high")]


def test_of_practice_the_episodes_used_last_stay(fresh, room, monkeypatch):
    from pushlab.classroom import room as module

    monkeypatch.setattr(module, "KEPT", 3)
    reds, blues = room.teams.values()
    theirs, = room.begin(blues, "push", False)
    scored, = room.begin(reds, "push", True)
    ids = room.begin(reds, "evalumap2", False, 3)
    for one in (ids[1], ids[0], ids[2]):
        play_on(room, reds, one, 2)
    answers = play_on(room, reds, ids[1], 1)
    more = room.begin(reds, "push", False, 2, held=[ids[2]])
    book = Book(fresh[0])
    assert set(book.episodes()["id"]) == {theirs, scored, ids[1], ids[2], *more}
    for gone in (lambda: room.play(reds, [(ids[0], 2, [0] * 7)]), lambda: room.load(ids[0])):
        with pytest.raises(Refusal) as refused:
            gone()
        assert refused.value.status == 404
    assert not len(book.steps(ids[0]))
    made = json.loads(book.steps(ids[1])["action"][2])
    assert room.play(reds, [(ids[1], 2, made)]) == answers
    again, = room.begin(reds, "push", False)
    assert book.episodes().set_index("id")["number"][again] == 2


@pytest.mark.posix
def test_an_episode_begun_by_a_process_that_was_killed_before_it_was_made_counts_as_nothing(fresh):
    folder, tokens = fresh
    begin = ("import os, signal, sys; from pushlab.classroom import Room; room = Room.open(sys.argv[1]); "
             "room.begin(room.team_of(sys.argv[2]), 'evalumap2', True); os.kill(os.getpid(), signal.SIGKILL)")
    assert subprocess.run([sys.executable, "-c", begin, folder, tokens["reds"]]).returncode == -signal.SIGKILL
    close_class(folder)
    before = standings(Book(folder)).set_index(["game", "team"])
    assert before.loc[("evalumap2", "reds"), "score"] == 0 and np.isnan(before.loc[("evalumap2", "blues"), "score"])
    Room.open(folder).close()                   # and a server that is started again changes nothing
    pd.testing.assert_frame_equal(standings(Book(folder)).set_index(["game", "team"]), before)


def test_a_clock_that_is_set_back_lets_go_of_nothing_that_is_played(fresh, room, monkeypatch):
    from pushlab.classroom import room as module

    monkeypatch.setattr(module, "KEPT", 3)
    team = room.teams["reds"]
    old, ids = room.begin(team, "evalumap2", False), room.begin(team, "evalumap2", False)
    play_on(room, team, old[0], 2)
    monkeypatch.setattr(module.time, "time", lambda: 0.0)
    ids += room.begin(team, "evalumap2", False)
    for one in ids:
        play_on(room, team, one, 2)
    room.begin(team, "evalumap2", False, held=[])
    times = Book(fresh[0]).steps(ids[0])["at"]
    assert not len(Book(fresh[0]).steps(old[0])) and len(times) == 2
    assert (times > 1e9).all() and (times.diff()[1:] >= 0).all()


@pytest.mark.posix
def test_a_database_that_is_gone_or_another_one_takes_no_steps(made, fresh, room):
    team = room.teams["reds"]
    episode, = room.begin(team, "evalumap2", True)
    play_on(room, team, episode, 3)
    (fresh[0] / "class.db").unlink()
    for _ in range(2):
        with pytest.raises(OSError, match="class.db"):
            room.play(team, [(episode, 3, [0] * 7)])
        shutil.copy(made[0] / "class.db", fresh[0])


def test_a_batch_that_cannot_be_kept_whole_is_not_kept_at_all(fresh, room):
    team = room.teams["reds"]
    ids = room.begin(team, "push", False, 3)
    with closing(connect(fresh[0], write=True)) as link, transaction(link):
        link.execute(f"CREATE TRIGGER bad BEFORE INSERT ON steps WHEN new.episode = {ids[1]} "
                     "BEGIN SELECT raise(FAIL, 'bad'); END")
    steps = [(one, 0, action_of("push", 0, room.stand(one))) for one in ids]
    with pytest.raises(OSError, match="bad"):
        room.play(team, steps)
    assert [room.stand(one)["step"] for one in ids] == [0] * 3
    assert not len(Book(fresh[0]).rows("SELECT * FROM steps"))
    with closing(connect(fresh[0], write=True)) as link, transaction(link):
        link.execute("DROP TRIGGER bad")
    assert len(room.play(team, steps)) == 3


def test_a_lecturer_plays_any_episode_again_and_finds_what_was_changed(fresh, room):
    folder, team = fresh[0], room.teams["reds"]
    for game in GAMES:
        play_on(room, team, *room.begin(team, game, True))
    assert [replay(folder, episode)[0] for episode in (1, 2)] == [True, True]
    with closing(sqlite3.connect(folder / "class.db")) as link, link:
        link.execute("UPDATE steps SET reward = reward + 1 WHERE episode = 1 AND step = 4")
        link.execute("UPDATE steps SET action = '3' WHERE episode = 2 AND step = 0")
        link.execute("UPDATE episodes SET expected = 99 WHERE id = 1")
    same, table = replay(folder, 1)
    assert not same and table[["step", "what"]].values.tolist() == [[4, "reward"], [-1, "expected"]]
    assert not replay(folder, 2)[0]
    with pytest.raises(ValueError, match="no episode 77"):
        replay(folder, 77)


def test_sums_of_an_episode_are_those_of_its_steps(straight):
    episodes, steps = straight
    sums = steps.groupby("episode")[["reward", "expected", "best"]].sum().reset_index()
    np.testing.assert_allclose(episodes["return"], sums["reward"], rtol=0, atol=1e-9)
    cold = (episodes["game"] == "evalumap2").to_numpy()
    np.testing.assert_allclose(episodes["expected"][cold], sums["expected"][cold].astype(float), atol=1e-9)
    np.testing.assert_allclose(episodes["best"][cold], sums["best"][cold].astype(float), atol=1e-9)
    assert (episodes["steps"][cold] == episodes["of"][cold]).all() and episodes["of"][~cold].isna().all()


def test_an_export_is_read_as_logs_and_lifetimes_are(fresh, room, tmp_path):
    folder = fresh[0]
    new_token(folder, "reds")
    with closing(connect(folder, write=True)) as link, link:
        link.execute("UPDATE teams SET name = '=reds/../x' WHERE name = 'reds'")
    room.close()
    with closing(Room.open(folder)) as room:
        team = room.team_of(new_token(folder, "=reds/../x"))
        for game in GAMES:
            for _ in range(2):
                play_on(room, team, *room.begin(team, game, True))
    out = export(folder, tmp_path / "out")
    assert sorted(path.name for path in (out / "logs" / "push").iterdir()) == ["001-reds-x.csv"]
    log = pd.read_csv(out / "logs" / "evalumap2" / "001-reds-x.csv")
    episodes = Book(folder).episodes("evalumap2")
    assert log.groupby("block")["reward"].sum().tolist() == pytest.approx(episodes["points"].tolist())
    assert set(log["agent"]) == {"'=reds/../x"} and {"obs.context.day", "action.subject", "info.opened"} <= {*log}
    assert (log["response_time"] >= 0).all() and not {"info.probability", "info.best", "info.fates"} & {*log}
    for game in GAMES:
        lifetime = read_log(out / "lifetimes" / game / "001-reds-x")
        assert lifetime["block"].nunique() == 2 and set(lifetime["block_type"]) == {"train"}
        users = [f"{game}:user {user}" for user in Book(folder).episodes(game)["user"]]
        assert [*lifetime["task"].unique()] == users
    days = read_log(out / "lifetimes" / "push" / "001-reds-x")
    returns = days.groupby("block")["reward"].sum().tolist()
    assert returns == pytest.approx(Book(folder).episodes("push")["return"].tolist()) and len(days) > 6
    assert "'=reds" in (out / "standings.csv").read_text() and (out / "uploads.csv").is_file()
    export(folder, out)                                             # an earlier one is remade
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("")
    with pytest.raises(FileExistsError, match="something else"):
        export(folder, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]
