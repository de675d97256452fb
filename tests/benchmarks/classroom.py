"""A class of 40 on a running server: is the honest order that of true values, and is any cheat ahead?

`make benchmarks ARGS=classroom` writes data/class/teams.csv, cheats.csv and order.csv (some ten minutes on two cores).

A class is made, served by a process of its own, and played by forty teams of `teams.py` through `pushlab/Remote-v0` and
uploads. What an honest agent is truly worth is found apart from the server: it plays locally with many other people,
made by the class's own generator from other secrets (Challenge 1: other quarters of the same person's life).
"""

import csv
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import teams

from pushlab.classroom import Book, close_class, new_class, replay, running
from pushlab.classroom.chance import derived, new_secret
from pushlab.classroom.lives import PRACTICE, Person, person_of, world_of
from pushlab.classroom.standings import earned, standings
from pushlab.datasets.reading import load_user
from pushlab.envs.evalumap import EvalUMAP1
from pushlab.envs.shell import Env
from pushlab.metrics.estimate import holm, mean_interval, paired_interval
from pushlab.metrics.push import expected_points

DATA = Path(__file__).resolve().parents[2] / "data" / "class"
SEED, EPISODES, USER = "a class of forty", 20, "robin"
OTHER_SEEDS = [f"another class, {number}" for number in range(1, 8)]
GROUPS, PEOPLE = 12, 10         # of true values: practice is made anew in each group, of so many people
QUARTERS = 24                   # of the person of Challenge 1
FREE = {"requests": 1e6, "steps": 1e6, "begins": 1e6}       # no team is to wait for its own limit here
SURE = 0.95


def main(quick=False):
    begun = time.time()
    with TemporaryDirectory() as folder, ProcessPoolExecutor(2, get_context("spawn")) as pool:
        folder, episodes = Path(folder) / "class", 2 if quick else EPISODES
        tokens = new_class(folder, teams.NAMES, SEED, episodes, teams.PER_QUARTER)
        with running(folder, **FREE) as url:
            jobs = {name: pool.submit(one_team, name, url, token, str(folder), episodes)
                    for name, token in sorted(tokens.items(), key=lambda one: -practice_of(one[0]))}
            met = {name: job.result() for name, job in with_progress(jobs)}
        close_class(folder)
        book = Book(folder)
        alike = list(pool.map(partial(replayed, str(folder)), book.episodes("evalumap2").query("scored").groupby(
            "team")["id"].last().tolist()))
        groups = [*pool.map(true_values, range(2 if quick else GROUPS))]
        answers = answers_worth(folder)
        tables = report(book, met, pd.concat(groups, ignore_index=True), answers, alike, time.time() - begun)
        tables["secrets"] = pd.DataFrame(pool.map(random_elsewhere, [SEED, *OTHER_SEEDS[:1 if quick else None]]))
    for name, table in tables.items():
        print(table.to_string(index=False), end="\n\n")
        if not quick:
            table.to_csv(DATA / f"{name}.csv", index=False, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    return 0


def with_progress(jobs):
    """Name and job of each team, named on the error stream as it ends."""
    for name, job in jobs.items():
        job.result()
        print(name, file=sys.stderr, flush=True)
        yield name, job


def practice_of(name):
    return next((team.practice for team in (*teams.HONEST, *teams.CHEATS) if team.name == name), 0)


def handed_out(folder):
    return load_user(Path(folder) / "handout", user=USER)


def one_team(name, url, token, folder, episodes):
    """Plays one team's whole class, in a process of the pool; what its trick met."""
    table, user = teams.Table(url, token), handed_out(folder)
    for team in (*teams.HONEST, *teams.CHEATS):
        if team.name == name:
            return teams.play(team, table, user.history, episodes)
    return teams.hand_all_in(name, table, user)


def replayed(folder, episode):
    return replay(folder, episode)[0]


# ---------------------------------------------------------------- true values

def true_values(group):
    """A row a person: the share of the best possible that each honest agent earns with people of another secret."""
    secret = new_secret(f"true values {group}")

    # All groups together go evenly from those who open little to those who open much, and so does each of them.
    settings = {"secret": secret.hex(), "episodes": GROUPS * PEOPLE, "per_quarter": teams.PER_QUARTER}

    def env(scored, user, *words):
        person = person_of(settings, "anybody", "evalumap2", scored, user)
        return Env(world_of("evalumap2", person, derived(secret, "life", scored, *words), 0))

    # Whose diary the hand-out is matters to those who learn from it: another person's in each group.
    diary = Person(derived(secret, "person", "history", 0), None, teams.PER_QUARTER)
    history = diary.live(diary.seed, 168, 84).history
    learned = {}
    for team in teams.HONEST:
        if team.practice:
            agent = team.make(history)
            for number in range(team.practice):
                teams.live(env(False, number % PRACTICE, number), agent, 1000 + number)
            learned[team.name] = agent.state()
    rows = []
    for number in range(PEOPLE):
        there = env(True, number * GROUPS + group, number)
        shares = {"group": group}
        for team in teams.HONEST:
            agent = team.make(history)
            if team.name in learned:
                agent.load(learned[team.name])
            actual, probability, best = np.array(teams.live(there, agent, number)).T
            shares[team.name] = (expected_points(actual > 0, probability).sum()
                                 / expected_points(actual > 0, best).sum())
        rows.append(shares)
    return pd.DataFrame(rows)


def random_elsewhere(seed):
    """What sending at random earns in the class of another secret, a mean over its users with a 95 % interval."""
    random, secret, shares = next(team for team in teams.HONEST if team.name == "random"), new_secret(seed), []
    settings = {"secret": secret.hex(), "episodes": EPISODES, "per_quarter": teams.PER_QUARTER}
    for number in range(EPISODES):
        person = person_of(settings, "elsewhere", "evalumap2", True, number)
        env = Env(world_of("evalumap2", person, derived(secret, "elsewhere", number), 0))
        actual, probability, best = np.array(teams.live(env, random.make(None), number)).T
        shares.append(expected_points(actual > 0, probability).sum() / expected_points(actual > 0, best).sum())
    score, low, high = mean_interval(shares)[:3]
    return {"secret": seed, "score": round(score, 4), "low": round(low, 4), "high": round(high, 4)}


def answers_worth(folder):
    """A row a quarter: the share that each way to answer earns in other quarters of the same person's life."""
    user, secret = handed_out(folder), new_secret(SEED)
    person = Person(derived(secret, "person", "history", 0), None, teams.PER_QUARTER)
    policies, rows = {name: make(user) for name, make in teams.ANSWERS.items()}, []
    for quarter in range(QUARTERS):
        world = EvalUMAP1(person.live(derived(secret, "true values", quarter), 84))
        contexts, row = world.period.context_codes, {}
        where = {"row": np.arange(len(contexts)), "user": np.zeros(len(contexts), np.int64)}
        for name, policy in policies.items():
            _, told = world.advance(where, policy(contexts), np.zeros((len(contexts), world.uniforms)))
            points, best = (expected_points(told["actual"], told[key]) for key in ("probability", "best"))
            row[name] = points.sum() / best.sum()
        rows.append(row)
    return pd.DataFrame(rows)


# ---------------------------------------------------------------- tables

def report(book, met, truth, answers, alike, seconds):
    """{name: table}: what data/class/README.md says of each."""
    truth = truth.drop(columns="group")
    true = {name: mean_interval(values) for table in (truth, answers) for name, values in table.items()}
    board = standings(book)
    board = board[board["score"].notna()].set_index("team").loc[teams.NAMES]
    board.insert(0, "kind", ["honest" if name in true else "cheat" for name in board.index])
    for column, part in (("true", "mean"), ("true_low", "low"), ("true_high", "high")):
        board[column] = [getattr(true[name], part) if name in true else np.nan for name in board.index]
    board["met"] = [", ".join(f"{what}: {count}" for what, count in met[name].items()) for name in board.index]
    columns = ["game", "kind", "score", "low", "high", "first", "last", "true", "true_low", "true_high", "met"]
    cheats = cheat_table(book, met)
    shares = earned(book, "evalumap2").loc[[name for name in teams.NAMES if name not in teams.UPLOADS]]
    people = truth.round(5).rename_axis("person").reset_index()
    return {"teams": board[columns].round(4).reset_index(), "cheats": cheats.round(4),
            "users": shares.T.round(5).reset_index(), "people": people,
            "order": order_table(book, board, cheats, truth, alike, seconds)}


def cheat_table(book, met):
    """A row a cheat: its mean paired difference to the honest team it is made from; the intervals hold all at once."""
    shares = pd.concat({game: earned(book, game) for game in ("evalumap1", "evalumap2")})
    pairs = [("evalumap2", team.name, team.made_from) for team in teams.CHEATS]
    pairs += [("evalumap2", "optima of practice", "Thompson")]      # and to one that did not practise
    pairs += [("evalumap1", name, teams.BEST_ANSWER) for name in teams.UPLOAD_CHEATS]
    rows = []
    for game, name, base in pairs:
        there = shares.loc[[(game, name), (game, base)]].dropna(axis=1).to_numpy(float)
        gap = paired_interval(*there, level=1 - (1 - SURE) / len(pairs))
        rows.append({"cheat": name, "made_from": base, "difference": gap.mean, "low": gap.low, "high": gap.high,
                     "ahead": bool(gap.low > 0), "met": ", ".join(f"{k}: {v}" for k, v in met[name].items())})
    return pd.DataFrame(rows)


def sure_pairs(values):
    """(teams, teams) bool: whether the one is surely ahead of the other, as the board tells it: paired t, Holm."""
    from scipy.stats import ttest_rel

    ones, others = np.triu_indices(len(values), 1)
    p = np.array([ttest_rel(values[one], values[other]).pvalue if not np.allclose(values[one], values[other]) else 1.0
                  for one, other in zip(ones, others)])
    sure, ahead = holm(p) < 1 - SURE, np.zeros((len(values), len(values)), bool)
    gap = values.mean(axis=1)[ones] - values.mean(axis=1)[others]
    ahead[ones, others], ahead[others, ones] = sure & (gap > 0), sure & (gap < 0)
    return ahead


def order_table(book, board, cheats, truth, alike, seconds):
    """What was to be shown, a row a quantity: value, and of how many."""
    from scipy.stats import spearmanr

    rows = []
    for game, everybody in board.groupby("game"):
        shares = earned(book, game).loc[everybody.index].dropna(axis=1).to_numpy(float)
        ahead_of = sure_pairs(shares)
        honest = (everybody["kind"] == "honest").to_numpy()
        some, ahead_of = everybody[honest], ahead_of[np.ix_(honest, honest)]
        ones, others = np.triu_indices(len(some), 1)
        score, true = some["score"].to_numpy(float), some["true"].to_numpy(float)
        ahead = np.where(score[ones] > score[others], ones, others)
        behind = ones + others - ahead
        sure = ahead_of[ahead, behind]
        right = true[ahead] > true[behind]
        clear = np.abs(true[ones] - true[others]) > 0.1
        held = (some["low"] <= some["true"]) & (some["true"] <= some["high"])
        rows += [(game, "pairs that the board says are surely apart, and ordered as their true values",
                  int((sure & right).sum()), int(sure.sum())),
                 (game, "pairs ordered as their true values", int(right.sum()), len(right)),
                 (game, "of those whose true values are 0.1 apart or more", int((right & clear).sum()),
                  int(clear.sum())),
                 (game, "intervals of scores that hold the true value", int(held.sum()), len(some)),
                 (game, "rank correlation of scores and true values", round(spearmanr(score, true)[0], 3), len(some))]
    shares = earned(book, "evalumap2")
    rest = [name for name in truth if name != "Thompson"]
    gaps = [(paired_interval(shares.loc[name], shares.loc["Thompson"]), truth[name].mean() - truth["Thompson"].mean())
            for name in rest]
    rows.append(("evalumap2", "intervals of the difference to Thompson that hold the true difference",
                 sum(gap.low <= true <= gap.high for gap, true in gaps), len(gaps)))
    # Had others been drawn: the people of the true values, twenty at a time, against all the rest.
    chosen = [np.arange(start, start + EPISODES) for start in range(0, len(truth) - EPISODES + 1, EPISODES)]
    held = [low <= truth[name].drop(some).mean() <= high for some in chosen for name in truth
            for _, low, high in [mean_interval(truth[name].iloc[some])[:3]]]
    rows.append(("evalumap2", "intervals over 20 of those people that hold the mean of the others", sum(held),
                 len(held)))
    rows += [("both", "cheats that are surely ahead of the honest team they are made from", int(cheats["ahead"].sum()),
              len(cheats)),
             ("evalumap2", "scored episodes played again from the book, the same to the digit", sum(alike), len(alike)),
             ("both", "seconds that all of it took", round(seconds), 1)]
    return pd.DataFrame(rows, columns=["game", "quantity", "value", "of"], dtype=object)
