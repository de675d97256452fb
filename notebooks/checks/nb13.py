"""Notebook 13: what is asked of a grid, of statistics, of a bootstrap, and of plans."""

import numpy as np

from checks.frame import Checks, demand
from pushlab.metrics import estimate

check = Checks("13 · From one laptop to a cluster")


@check(1, points=2)
def a_grid_that_survives_a_failure(run_all):
    ran, down = [], {2, 5}

    def run(cell):
        ran.append(cell)
        if cell in down:
            raise ConnectionError("the server does not answer")
        return 10 * cell

    finished = {0: 0, 4: "kept"}
    try:
        failed = run_all(list(range(7)), run, finished)
    except ConnectionError:
        demand(
            False,
            "The error of one cell stopped the whole grid",
            "Try each cell, and go on when one raises",
        )
    demand(
        not {0, 4} & set(ran),
        "Cells that were finished already ran again",
        "Look into `finished` first",
    )
    demand(
        6 in ran,
        "After the first failure nothing more ran",
        "Go on with the next cell",
        earned=1,
    )
    demand(
        not down & set(finished),
        "A failed cell is kept as finished: the next call would not try it again",
        "Write into `finished` only what `run` returned",
        earned=1,
    )
    demand(
        finished == {0: 0, 4: "kept", 1: 10, 3: 30, 6: 60},
        f"`finished` is {finished}",
        "It should hold {cell: what run(cell) returned}",
        earned=1,
    )
    demand(
        sorted(failed or []) == [2, 5],
        f"{failed} was returned",
        "Return the cells that failed, a list",
        earned=1,
    )
    down.clear()
    ran.clear()
    demand(
        not run_all(list(range(7)), run, finished) and sorted(ran) == [2, 5],
        f"With the server back a second call ran {ran}",
        "Only the two that failed were missing",
        earned=1,
    )

    def interrupted(cell):
        raise KeyboardInterrupt

    try:
        run_all([8], interrupted, {})
    except KeyboardInterrupt:
        return "What failed is tried again, what is finished is not, and Ctrl-C still works."
    demand(
        False,
        "Ctrl-C was taken for a cell that failed",
        "KeyboardInterrupt is not an Exception: which do you catch?",
        earned=1,
    )


@check(2)
def the_interquartile_mean(middle_half):
    for shape in ((20, 5), (7, 3), (3, 2), (4, 1)):
        scores = np.random.default_rng(sum(shape)).lognormal(size=shape)
        before, got = scores.copy(), middle_half(scores)
        values, cut = np.sort(scores.ravel()), scores.size // 4
        demand(
            np.array_equal(scores, before),
            "The table of scores was changed by your function",
            "`.sort()` sorts in place; np.sort gives a copy",
        )
        demand(
            np.ndim(got) == 0,
            f"Your answer has shape {np.shape(got)}",
            "One number: all seeds and users together",
        )
        low, high = values[cut], values[-cut - 1]
        for wrong, reason, hint in (
            (
                scores.mean(),
                "This is the mean of all scores",
                "Sort them, and leave out a quarter at either end",
            ),
            (
                np.median(scores),
                "This is the median",
                "It leaves out nearly all; a quarter at either end is asked",
            ),
            (
                scores.ravel()[cut : scores.size - cut].mean(),
                "The scores were not sorted",
                "They are in any order",
            ),
            (
                np.clip(scores, low, high).mean(),
                "Low and high scores were clipped, not left out",
                "Drop them",
            ),
            (
                values[cut:].mean(),
                "Only the lowest quarter is left out",
                "And the highest",
            ),
            (
                values[: len(values) - cut].mean(),
                "Only the highest quarter is left out",
                "And the lowest",
            ),
        ):
            right = values[cut : len(values) - cut].mean()
            demand(not np.isclose(got, wrong) or np.isclose(wrong, right), reason, hint)
        demand(
            np.isclose(got, right),
            f"Of {scores.size} scores yours is {got:.3f}; it should be {right:.3f}",
            f"All users together: {cut} scores go at either end (a quarter, rounded down)",
        )
    return "The mean of the middle half, for any number of scores."


@check(3, points=3)
def the_bootstrap_by_hand(bootstrap_interval):
    seeds, users = 6, 4
    scores, draws = (
        np.arange(seeds * users, dtype=float).reshape(users, seeds).T ** 1.5,
        [],
    )

    def mean(table):
        draws.append(np.array(table, float))
        return float(np.mean(table))

    ends = bootstrap_interval(scores, mean, np.random.default_rng(1), resamples=300)
    drawn = [one for one in draws if one.shape == (seeds, users)]
    demand(
        len(drawn) >= 300,
        f"The statistic got {len(drawn)} tables of shape {(seeds, users)}, not 300",
        "Draw one table for each of the `resamples`, as large as the first",
    )
    drawn = drawn[-300:]
    demand(
        not all(np.array_equal(one, drawn[0]) for one in drawn),
        "Nothing is drawn",
        "rng.integers draws seeds",
    )
    kept = all(
        np.isin(one[:, at], scores[:, at]).all() for one in drawn for at in range(users)
    )
    demand(
        kept,
        "Scores of one user stand in the column of another",
        "Users stay; draw seeds within each",
        earned=1,
    )
    mixed = any(len(set(one[:, 0])) < seeds for one in drawn)
    demand(
        mixed,
        "Each seed is there exactly once in each draw",
        "Draw with replacement",
        earned=1,
    )
    rows = [
        np.stack(
            [np.searchsorted(scores[:, at], one[:, at]) for at in range(users)], axis=1
        )
        for one in drawn
    ]
    demand(
        not all((one == one[:, :1]).all() for one in rows),
        "All users get the same seeds in a draw",
        "That is a bootstrap of whole rows; stratified: each user separately",
        earned=1,
    )
    means = [one.mean() for one in drawn]
    for levels, reason in (
        ([0.05, 0.95], "This is 90 %"),
        ([0, 1], "These are all draws"),
    ):
        demand(
            not np.allclose(ends, np.quantile(means, levels)),
            reason,
            "Which have 95 % between them?",
            earned=2,
        )
    demand(
        np.shape(ends) == (2,)
        and np.allclose(ends, np.quantile(means, [0.025, 0.975])),
        "The ends are not the 2.5 % and 97.5 % quantiles of the results",
        "np.quantile(results, …)",
        earned=2,
    )
    again = bootstrap_interval(scores, mean, np.random.default_rng(1), resamples=300)
    demand(
        np.allclose(ends, again),
        "The same rng gave another interval",
        "Use `rng`, and no other chance",
        earned=2,
    )
    return "Each user's seeds drawn anew, with replacement: an interval over new seeds."


@check(4, points=3)
def power_by_simulation(simulated_power):
    def at(difference, seeds, spread=1.0):
        return float(
            simulated_power(
                difference, spread, seeds, np.random.default_rng(11), studies=6000
            )
        )

    nothing = at(0.0, 4)
    demand(
        nothing < 0.4,
        f"Where there is no difference, your studies find one in {nothing:.0%} of all cases",
        "Is the mean farther from 0 than the interval reaches?",
    )
    demand(
        nothing > 0.001,
        "Where there is no difference, your studies never find one",
        "It should be 5 % of all cases; look at the half width, and at the spread that it gets",
    )
    demand(
        nothing > 0.035,
        f"Where there is no difference, they find one in {nothing:.1%} of all cases and not in 5 %",
        "An interval that is below 0 excludes it, too",
        earned=1,
    )
    demand(
        nothing < 0.065,
        f"Where there is no difference, they find one in {nothing:.0%} of all cases, not in 5 %",
        "Does each study use the spread of its own numbers, ddof=1, and t instead of 1.96 (half_width)?",
        earned=1,
    )
    for difference, seeds, spread in ((1.0, 5, 1.0), (0.5, 30, 1.0), (-2.0, 8, 3.0)):
        truth, got = (
            estimate.power(difference, spread, seeds),
            at(difference, seeds, spread),
        )
        demand(
            abs(got - truth) < 0.03,
            f"For a difference of {difference:g}, a spread of {spread:g} and {seeds} seeds "
            f"the power is {truth:.2f}; yours is {got:.2f}",
            "Draw around the difference",
            earned=1,
        )
    return "As the formula says, within the noise of a simulation; 5 % where there is nothing to find."


@check(5, points=2)
def how_many_users(users_needed):
    rng = np.random.default_rng(13)
    for size in (0.03, 0.1):
        pilot = rng.normal(0, 0.06, size=6)
        got, margin, seen = (
            users_needed(size, pilot),
            estimate.pilot_spread(pilot),
            float(pilot.std(ddof=1)),
        )
        needed = estimate.runs_needed(size, margin)
        demand(
            np.ndim(got) == 0 and got == int(got),
            f"{got!r:.40} is no number of users",
            "Return a whole number",
        )
        for wrong, reason, hint in (
            (
                estimate.runs_needed(size, seen, wanted=0.5),
                "The spread is as it was seen, and the power is 0.5",
                "What did the text call a margin? And which power is asked?",
            ),
            (
                estimate.runs_needed(size, seen),
                "The spread is as it was seen, without a margin",
                "`pilot_spread`",
            ),
            (
                estimate.runs_needed(size, margin, wanted=0.5),
                "The power is 0.5",
                "A power of 0.8 is asked",
            ),
            (
                estimate.runs_needed(size, margin, paired=False),
                "That is for two groups of other users",
                "Every user meets both agents: the differences are paired",
            ),
        ):
            demand(got != wrong or wrong == needed, reason, hint, earned=0)
        demand(
            got == needed,
            f"For a difference of {size} you say {got}, which has a power of "
            f"{estimate.power(size, margin, max(int(got), 2)):.2f}",
            "Find the least number with 0.8",
            earned=1,
        )
    return "The least number of users, with a margin for the pilot."


@check(6, points=3)
def another_scale(reachable, survives, runs, chance):
    ends = {"floor_last": 1.0, "chance": 0.0}
    random = runs["user"].map(chance)
    for name, value in ends.items():
        made = runs.assign(
            regret_last=runs["floor_last"] if name == "floor_last" else random
        )
        found = np.asarray(reachable(made), float)
        who = (
            "always sends the best candidate"
            if value
            else "gives away as much as the random agent"
        )
        demand(
            np.allclose(found, value),
            f"Who {who} scores {found.min():.2f} to {found.max():.2f}",
            "A scale has two ends: subtract the one, divide by the way between them",
            earned=int(not value),
        )
    half = np.asarray(
        reachable(runs.assign(regret_last=(runs["floor_last"] + random) / 2)), float
    )
    demand(
        np.allclose(half, 0.5),
        "Half of the way does not score 0.5",
        "Between its ends a scale is a line",
        earned=1,
    )
    other = estimate.score_matrices(runs.assign(score=reachable(runs)), task="user")
    wanted = ["Thompson minus LinUCB", "Thompson minus eps-greedy"]
    demand(
        isinstance(survives, dict) and sorted(survives) == wanted,
        f"`survives` is {survives!r:.60}",
        "It says True or False of both leads: leave its two keys as they are",
        earned=2,
    )
    leads = {
        pair: other["Thompson"] - other[pair.split(" minus ")[1]] for pair in survives
    }
    for pair, interval in estimate.simultaneous(
        leads, interval=estimate.crossed_interval
    ).items():
        demand(
            survives[pair] in (True, False),
            f"{pair}: you did not say",
            "True or False",
            earned=2,
        )
        demand(
            survives[pair] == (interval.low > 0),
            f"{pair}: that is not what the interval says",
            "Over new users, both leads at once: does it include 0?",
            earned=2,
        )
    return "Both ends of the scale are fixed, and you have said which lead survives."
