"""Check the analysis of micro-randomised trials of pushes against effects that are known by replay.

    python studies/trial.py --out data/studies/trial.csv --workers 2

writes

- trial_truth.csv: true effects of a push on the next hour and on the rest of the day, by place and dose
- trial.csv: bias, coverage and power of each estimator, by number of people
- trial_estimates.csv: the estimates of the mean effect in each trial of 40 people
- trial_bandit.csv: the policy that is learned from one trial, and two others, on new people
- trial_log.csv: the available decisions of one trial of 40 people, with their replayed effects

The world is pushlab/push-v0 with habituation, and the pool of people is made up (`make_user`). Volume and open rate go
together: who gets few notifications opens more of them. All people open more at home. A person of a trial is a random
user of the pool with a random block of 14 days, drawn with replacement. So the intervals' claim, over people, is tested
with new people in each trial. The true effects are those of the entire pool: each available decision of each day is
replayed the other way.

The naive estimators ignore that the probability of a push depends on the history: they give all decisions the weight 1.
Their intervals are clustered by person as well.
"""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from scipy import stats

from pushlab.causal import PushTrial, excursion_effect
from pushlab.datasets.reading import load_users
from pushlab.envs.push.world import Push
from pushlab.experiments.cells import Cell, run_cells
from pushlab.users.synthesis import make_user, write_user
from pushlab.utils.files import cache_dir
from pushlab.utils.seeds import part_seed

POOL = 60
POOL_SEED = 26_000
VOLUMES = (800, 3200)  # notifications in 84 days
OPEN_RATES = (0.75, 0.45)  # of the person with the lowest and with the highest volume
HOME = "TYPE_OTHER"
AT_HOME = 0.9  # added to the log-odds of an open at home
ELSEWHERE = -0.25
HABITUATION = 0.3
DAYS = 14
BLOCKS = 6  # blocks of 14 days in a user's 84 days
SIZES = (10, 20, 40)
TRIALS = 1000
BANDIT_TRIALS = 100
TRIALS_PER_CELL = 25
USERS_PER_CELL = 5
DIGITS = 4
# Parts of a seed.
DRAWING, ANSWERS, REPLAYS, BANDIT, JUDGING, EXAMPLE = range(6)

DOSES = ("0 to 1", "1 to 2", "2 to 3", "3 or more")
HISTORY = ("home", "dose", "shown", "hour")  # controls: known before the decision
# Effects: outcome and moderators.
EFFECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mean": ("outcome", ()),
    "home": ("outcome", ("home",)),
    "dose": ("outcome", ("dose",)),
    "home and dose": ("outcome", ("home", "dose")),
    "rest of the day": ("rest", ()),
}
# Estimators: whether decisions are weighted, and the controls.
ESTIMATORS: dict[str, tuple[bool, tuple[str, ...]]] = {
    "weighted": (True, ()),
    "weighted, controls": (True, HISTORY),
    "naive": (False, ()),
    "naive, controls": (False, HISTORY),
}


# ---------------------------------------------------------------- the people


def pool_folder() -> Path:
    """Return the folder of the pool's users in pushlab's cache."""
    return cache_dir() / "trial_pool"


def write_pool() -> None:
    """Make the users of the pool, and write their tables."""
    for number in range(POOL):
        share = (number + 0.5) / POOL
        volume = round(VOLUMES[0] + share * (VOLUMES[1] - VOLUMES[0]))
        rate = round(OPEN_RATES[0] + share * (OPEN_RATES[1] - OPEN_RATES[0]), 3)
        name = f"p{number:02d}"
        user = make_user(POOL_SEED + number, name, rate, volume)
        write_user(user, pool_folder() / name, overwrite=True)


@cache
def load_pool() -> Push:
    """Return push-v0 with all users of the pool. Each process reads them once."""
    users = load_users(pool_folder()).values()
    people = [with_common_taste(user) for user in users]
    return Push(people, habituation=HABITUATION, max_age=0)


def with_common_taste(user: Any) -> Any:
    """Return a user who opens more at home, and less elsewhere, than the generator made it."""
    truth = deepcopy(user.truth)
    places = truth["context"].setdefault("place", {})
    places[HOME] = round(places.get(HOME, 0.0) + AT_HOME - ELSEWHERE, 3)
    truth["intercept"] = round(truth["intercept"] + ELSEWHERE, 3)
    return replace(user, truth=truth)


def draw_trial(world: Push, seed: int, users: Any) -> PushTrial:
    """Return a trial of 40 people who are drawn with replacement from these users, each with a random block of days."""
    rng = np.random.default_rng(part_seed(seed, DRAWING))
    drawn = rng.choice(users, SIZES[-1])
    first_day = DAYS * rng.integers(BLOCKS, size=SIZES[-1])
    answers = part_seed(seed, ANSWERS)
    return PushTrial(world, drawn, first_day, DAYS, seed=answers)


def with_features(log: pd.DataFrame) -> pd.DataFrame:
    """Return a log with the columns home (0 or 1) and hour (of the day)."""
    home = log["context.place"] == HOME
    return log.assign(home=home.astype(float), hour=log["time"] / 60)


# ---------------------------------------------------------------- the truth


def replay_users(first: int, repetition: int) -> pd.DataFrame:
    """Return the replayed effects of all available decisions of some users, in sums by user, place and dose."""
    users = np.arange(first, min(first + USERS_PER_CELL, POOL))
    seed = part_seed(repetition, REPLAYS, first)
    trial = PushTrial(load_pool(), users, days=DAYS * BLOCKS, seed=seed)
    return sum_effects(with_features(trial.replay(trial.run())))


def sum_effects(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the sums of replayed rows, and of products with the dose, by user, place and whole doses."""
    rows = rows.assign(
        points=1,
        doses=np.minimum(rows["dose"] // 1, 3).astype(int),
        dose_squared=rows["dose"] ** 2,
        effect_dose=rows["effect"] * rows["dose"],
        effect_rest_dose=rows["effect_rest"] * rows["dose"],
    )
    names = ["points", "dose", "dose_squared"]
    names += ["effect", "effect_dose", "effect_rest", "effect_rest_dose"]
    return rows.groupby(["user", "home", "doses"])[names].sum().reset_index()


def true_effects(sums: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return {(effect, moderator): true value}, projections of the replayed effects on the moderators."""
    home = sums["home"]
    one = sums["points"].sum()
    at_home = sums["points"] @ home
    # Sums of products of 1, home and dose.
    products = np.array(
        [
            [one, at_home, sums["dose"].sum()],
            [at_home, at_home, sums["dose"] @ home],
            [sums["dose"].sum(), sums["dose"] @ home, sums["dose_squared"].sum()],
        ]
    )
    truth = {}
    for effect, (outcome, moderators) in EFFECTS.items():
        name = "effect" if outcome == "outcome" else "effect_rest"
        right = [sums[name].sum(), sums[name] @ home, sums[f"{name}_dose"].sum()]
        columns = [0, *(1 + ("home", "dose").index(part) for part in moderators)]
        left = products[np.ix_(columns, columns)]
        solution = np.linalg.solve(left, np.array(right)[columns])
        for moderator, value in zip(("intercept", *moderators), solution):
            truth[effect, moderator] = float(value)
    return truth


def truth_table(sums: pd.DataFrame) -> pd.DataFrame:
    """Return mean effects by place and dose; all of either first. Errors are those of the simulation."""
    repetitions = sums["repetition"].nunique()
    rows = []
    for place, doses in product((None, 1, 0), (None, 0, 1, 2, 3)):
        group = sums
        if place is not None:
            group = group[group["home"] == place]
        if doses is not None:
            group = group[group["doses"] == doses]
        parts = group.groupby(["user", "repetition"])
        parts = parts[["points", "effect", "effect_rest"]].sum()
        points = parts["points"].sum()
        row = {
            "place": {None: "all", 1: "home", 0: "elsewhere"}[place],
            "dose": "all" if doses is None else DOSES[doses],
            "decisions": points,
        }
        for name in ("effect", "effect_rest"):
            row[name] = parts[name].sum() / points
            residual = parts[name] - row[name] * parts["points"]
            variance = repetitions * residual.groupby("user").var().sum()
            row[f"{name}_error"] = np.sqrt(variance) / points
        rows.append(row)
    return pd.DataFrame(rows).round(DIGITS)


# ---------------------------------------------------------------- trials


def analyse(log: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the estimates of all effects by all estimators, for the first people of a log."""
    rows = []
    log = log[log["available"]]
    for people in SIZES:
        part = log[log["person"] < people]
        # With a constant probability all weights are 1.
        constant = part.assign(probability=part["action"].mean())
        for effect, estimator in product(EFFECTS, ESTIMATORS):
            outcome, moderators = EFFECTS[effect]
            is_weighted, controls = ESTIMATORS[estimator]
            table = excursion_effect(
                part if is_weighted else constant, moderators, controls, outcome
            )
            labels = {"people": people, "effect": effect, "estimator": estimator}
            rows += [
                {**labels, **row} for row in table.reset_index().to_dict("records")
            ]
    return rows


def run_trials(first: int) -> pd.DataFrame:
    """Run trials with the seeds from `first` on, and return their estimates."""
    world = load_pool()
    rows = []
    for seed in range(first, first + TRIALS_PER_CELL):
        log = with_features(draw_trial(world, seed, np.arange(POOL)).run())
        rows += [{"trial": seed, **row} for row in analyse(log)]
    return pd.DataFrame(rows)


def coverage_table(estimates: pd.DataFrame, truth: dict) -> pd.DataFrame:
    """Return bias, coverage and power of each estimator, effect and number of people."""
    rows = []
    keys = ["people", "effect", "moderator", "estimator"]
    for key, group in estimates.groupby(keys, sort=False):
        value = truth[key[1], key[2]]
        covers = (group["low"] <= value) & (value <= group["high"])
        excludes = (group["low"] > 0) | (group["high"] < 0)
        interval = stats.binomtest(int(covers.sum()), len(group)).proportion_ci(
            method="exact"
        )
        spread = group["estimate"].std()
        rows.append(
            {
                **dict(zip(keys, key)),
                "trials": len(group),
                "truth": value,
                "bias": group["estimate"].mean() - value,
                "bias_error": spread / np.sqrt(len(group)),
                "spread": spread,
                "standard_error": group["standard_error"].mean(),
                "coverage": covers.mean(),
                "coverage_low": interval.low,
                "coverage_high": interval.high,
                "power": excludes.mean(),
            }
        )
    return pd.DataFrame(rows).round(DIGITS)


# ---------------------------------------------------------------- a policy from a trial


def learn_policy(log: pd.DataFrame) -> Any:
    """Return a policy that pushes if the estimated effect at this place and dose exceeds a threshold.

    The threshold lets pass the share of decisions that the trial pushed, and is never below 0.
    """
    weights = excursion_effect(log, ["home", "dose"], HISTORY)["estimate"]

    def effect(rows):
        home = rows["context.place"] == HOME
        return (
            weights["intercept"]
            + weights["home"] * home
            + weights["dose"] * rows["dose"]
        )

    available = log[log["available"]]
    threshold = np.quantile(effect(available), 1 - available["action"].mean())
    threshold = max(threshold, 0.0)
    return lambda rows: (effect(rows) > threshold).astype(float)


def always(rows: Any) -> np.ndarray:
    """Push until the budget is used up."""
    return np.ones(len(rows["time"]))


def run_bandit(world: Push, seed: int) -> list[dict[str, Any]]:
    """Learn a policy from a trial of the users with even numbers; judge it on the others, paired by person and day.

    Returns:
        A row for each policy, with means per day: pushes, and opened less dismissed pushes (`day`); and `outcome`, the
        mean outcome over all reachable arrivals, the same for each policy.
    """
    number = part_seed(seed, BANDIT)
    log = with_features(draw_trial(world, number, np.arange(0, POOL, 2)).run())
    trial = draw_trial(world, part_seed(seed, JUDGING), np.arange(1, POOL, 2))
    policies = {"trial": None, "always": always, "learned": learn_policy(log)}
    rows = []
    for name, policy in policies.items():
        log = trial.run(policy)
        days = log.groupby("copy")
        rows.append(
            {
                "trial": seed,
                "policy": name,
                "pushes": days["action"].sum().mean(),
                "outcome": log.loc[log["reachable"], "outcome"].mean(),
                "day": days["rest"].first().mean(),
            }
        )
    return rows


def run_bandits(first: int) -> list[dict[str, Any]]:
    """Run `run_bandit` with the seeds from `first` on."""
    world = load_pool()
    rows = []
    for seed in range(first, first + TRIALS_PER_CELL):
        rows += run_bandit(world, seed)
    return rows


def example_log() -> pd.DataFrame:
    """Return the available decisions of a trial of 40 people, with the replayed effects, for the notebook."""
    world = load_pool()
    trial = draw_trial(world, part_seed(0, EXAMPLE), np.arange(POOL))
    rows = with_features(trial.replay(trial.run()))
    names = ["person", "day", "number", "time", "shown", "dose", "home", "available"]
    names += ["probability", "action", "outcome", "rest", "effect", "effect_rest"]
    integers = ["shown", "home", "action", "outcome", "rest", "effect", "effect_rest"]
    rows = rows[names].astype(dict.fromkeys(integers, int))
    return rows.round({"time": 1, "dose": 3, "probability": DIGITS})


def make_cells(trials: int, bandit_trials: int, repetitions: int) -> dict[str, list]:
    """Return the cells of each part of the study."""
    replays = [
        Cell({"first": first, "repetition": number}, replay_users, (first, number))
        for number, first in product(range(repetitions), range(0, POOL, USERS_PER_CELL))
    ]
    return {
        "truth": replays,
        "trials": [
            Cell({"first": first}, run_trials, (first,))
            for first in range(0, trials, TRIALS_PER_CELL)
        ],
        "bandit": [
            Cell({"first": first}, run_bandits, (first,))
            for first in range(0, bandit_trials, TRIALS_PER_CELL)
        ],
    }


def main(
    out: Annotated[Path, typer.Option(help="CSV file; the other tables go beside it.")],
    trials: Annotated[int, typer.Option(help="Trials, in steps of 25.")] = TRIALS,
    bandit_trials: Annotated[
        int, typer.Option(help="Trials from which a policy is learned.")
    ] = BANDIT_TRIALS,
    repetitions: Annotated[int, typer.Option(help="Replays of the pool.")] = 2,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its tables."""
    write_pool()
    rows = {}
    for name, cells in make_cells(trials, bandit_trials, repetitions).items():
        [rows[name]] = run_cells(cells, workers=workers, name=f"trial_{name}").values()
    truth = true_effects(rows["truth"])
    coverage = coverage_table(rows["trials"], truth)
    largest = rows["trials"].query(f"people == {SIZES[-1]} and effect == 'mean'")
    estimates = largest[["trial", "estimator", "estimate", "low", "high"]]
    tables = {
        "": coverage,
        "_truth": truth_table(rows["truth"]),
        "_estimates": estimates.round(DIGITS),
        "_bandit": rows["bandit"].drop(columns="first").round(DIGITS),
        "_log": example_log(),
    }
    for suffix, table in tables.items():
        file = out.with_stem(f"{out.stem}{suffix}")
        table.to_csv(file, index=False, lineterminator="\n")
    columns = [
        "people",
        "effect",
        "moderator",
        "estimator",
        "bias",
        "coverage",
        "power",
    ]
    print(coverage[columns].to_string(index=False))
    print(rows["bandit"].groupby("policy")[["pushes", "outcome", "day"]].mean())


if __name__ == "__main__":
    typer.run(main)
