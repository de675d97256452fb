"""Checks of notebook 13: a grid, statistics, a bootstrap, and plans of studies."""

import numpy as np

from checks import Checks, require
from pushlab.metrics import estimate

check = Checks("13 · From one laptop to a cluster")


@check(1, points=2)
def a_grid_that_survives_a_failure(run_all):
    ran = []
    failing = {2, 5}

    def run(cell):
        ran.append(cell)
        if cell in failing:
            raise ConnectionError("the server does not answer")
        return 10 * cell

    finished = {0: 0, 4: "kept"}
    try:
        failed = run_all(list(range(7)), run, finished)
    except ConnectionError:
        require(
            False,
            "The error of one cell stopped the whole grid",
            "Try each cell, and continue if one raises",
        )
    require(
        not {0, 4} & set(ran),
        "Finished cells ran again",
        "Look into `finished` first",
    )
    require(
        6 in ran,
        "After the first failure no other cell ran",
        "Continue with the next cell",
        earned=1,
    )
    require(
        not failing & set(finished),
        "A failed cell is stored as finished: the next call would not try it again",
        "Write into `finished` only results that `run` returned",
        earned=1,
    )
    require(
        finished == {0: 0, 4: "kept", 1: 10, 3: 30, 6: 60},
        f"`finished` is {finished}",
        "It should hold {cell: result of run(cell)}",
        earned=1,
    )
    require(
        sorted(failed or []) == [2, 5],
        f"{failed} was returned",
        "Return the cells that failed, a list",
        earned=1,
    )
    failing.clear()
    ran.clear()
    require(
        not run_all(list(range(7)), run, finished) and sorted(ran) == [2, 5],
        f"With the server back a second call ran {ran}",
        "Only the two failed cells were missing",
        earned=1,
    )

    def interrupted(cell):
        raise KeyboardInterrupt

    try:
        run_all([8], interrupted, {})
    except KeyboardInterrupt:
        return (
            "It tries failed cells again, skips finished ones, and Ctrl-C still works."
        )
    require(
        False,
        "Ctrl-C was treated as a failed cell",
        "KeyboardInterrupt is not an Exception: which do you catch?",
        earned=1,
    )


@check(2)
def the_interquartile_mean(middle_half):
    for shape in ((20, 5), (7, 3), (3, 2), (4, 1)):
        scores = np.random.default_rng(sum(shape)).lognormal(size=shape)
        before = scores.copy()
        answer = middle_half(scores)
        values = np.sort(scores.ravel())
        cut = scores.size // 4
        require(
            np.array_equal(scores, before),
            "Your function changed the table of scores",
            "`.sort()` sorts in place; np.sort returns a copy",
        )
        require(
            np.ndim(answer) == 0,
            f"Your answer has shape {np.shape(answer)}",
            "Return one number: all seeds and users together",
        )
        expected = values[cut : len(values) - cut].mean()
        clipped = np.clip(scores, values[cut], values[-cut - 1])
        for mistaken, reason, hint in (
            (
                scores.mean(),
                "This is the mean of all scores",
                "Sort them, and leave out a quarter at either end",
            ),
            (
                np.median(scores),
                "This is the median",
                "It leaves out nearly everything; leave out a quarter at either end",
            ),
            (
                scores.ravel()[cut : scores.size - cut].mean(),
                "The scores were not sorted",
                "They come in any order",
            ),
            (
                clipped.mean(),
                "Low and high scores were clipped, not left out",
                "Drop them",
            ),
            (
                values[cut:].mean(),
                "Only the lowest quarter is left out",
                "Leave out the highest, too",
            ),
            (
                values[: len(values) - cut].mean(),
                "Only the highest quarter is left out",
                "Leave out the lowest, too",
            ),
        ):
            require(
                not np.isclose(answer, mistaken) or np.isclose(mistaken, expected),
                reason,
                hint,
            )
        require(
            np.isclose(answer, expected),
            f"For {scores.size} scores yours is {answer:.3f}; it should be {expected:.3f}",
            f"All users together: leave out {cut} scores at either end (a quarter, rounded down)",
        )
    return "The mean of the middle half, for any number of scores."


@check(3, points=3)
def the_bootstrap_by_hand(bootstrap_interval):
    seeds = 6
    users = 4
    scores = np.arange(seeds * users, dtype=float).reshape(users, seeds).T ** 1.5
    tables = []

    def mean(table):
        tables.append(np.array(table, float))
        return float(np.mean(table))

    ends = bootstrap_interval(scores, mean, np.random.default_rng(1), resamples=300)
    draws = [table for table in tables if table.shape == (seeds, users)]
    require(
        len(draws) >= 300,
        f"The statistic got {len(draws)} tables of shape {(seeds, users)}, not 300",
        "Draw one table for each of the `resamples`, as large as the original",
    )
    draws = draws[-300:]
    require(
        not all(np.array_equal(table, draws[0]) for table in draws),
        "Nothing is drawn",
        "rng.integers draws seeds",
    )

    def keeps_users(table):
        return all(
            np.isin(table[:, user], scores[:, user]).all() for user in range(users)
        )

    require(
        all(keeps_users(table) for table in draws),
        "Scores of one user are in the column of another",
        "Keep the users; draw seeds within each",
        earned=1,
    )
    require(
        any(len(set(table[:, 0])) < seeds for table in draws),
        "Each draw contains each seed exactly once",
        "Draw with replacement",
        earned=1,
    )

    def drawn_seeds(table):
        columns = [
            np.searchsorted(scores[:, user], table[:, user]) for user in range(users)
        ]
        return np.stack(columns, axis=1)

    rows = [drawn_seeds(table) for table in draws]
    require(
        not all((row == row[:, :1]).all() for row in rows),
        "All users get the same seeds in a draw",
        "This is a bootstrap of whole rows; stratified: draw for each user separately",
        earned=1,
    )
    means = [table.mean() for table in draws]
    for levels, reason in (
        ([0.05, 0.95], "These quantiles have 90 % between them"),
        ([0, 1], "These are the smallest and the largest draw"),
    ):
        require(
            not np.allclose(ends, np.quantile(means, levels)),
            reason,
            "Which have 95 % between them?",
            earned=2,
        )
    require(
        np.shape(ends) == (2,)
        and np.allclose(ends, np.quantile(means, [0.025, 0.975])),
        "The ends are not the 2.5 % and 97.5 % quantiles of the results",
        "np.quantile(results, …)",
        earned=2,
    )
    repeated = bootstrap_interval(scores, mean, np.random.default_rng(1), resamples=300)
    require(
        np.allclose(ends, repeated),
        "The same rng gave another interval",
        "Use `rng`, and no other random numbers",
        earned=2,
    )
    return "Each user's seeds are drawn with replacement: an interval over new seeds."


@check(4, points=3)
def power_by_simulation(simulated_power):
    def power(difference, seeds, spread=1.0):
        rng = np.random.default_rng(11)
        return float(simulated_power(difference, spread, seeds, rng, studies=6000))

    false_positives = power(0.0, 4)
    require(
        false_positives < 0.4,
        f"Without a difference, your studies find one in {false_positives:.0%} of all cases",
        "Is the mean farther from 0 than the interval reaches?",
    )
    require(
        false_positives > 0.001,
        "Without a difference, your studies never find one",
        "It should be 5 % of all cases; check the half width, and the spread that you pass to it",
    )
    require(
        false_positives > 0.035,
        f"Without a difference, they find one in {false_positives:.1%} of all cases, not in 5 %",
        "An interval below 0 excludes it, too",
        earned=1,
    )
    require(
        false_positives < 0.065,
        f"Without a difference, they find one in {false_positives:.0%} of all cases, not in 5 %",
        "Does each study use the spread of its own numbers, ddof=1, and t instead of 1.96 (half_width)?",
        earned=1,
    )
    for difference, seeds, spread in ((1.0, 5, 1.0), (0.5, 30, 1.0), (-2.0, 8, 3.0)):
        expected = estimate.power(difference, spread, seeds)
        answer = power(difference, seeds, spread)
        require(
            abs(answer - expected) < 0.03,
            f"For a difference of {difference:g}, a spread of {spread:g} and {seeds} seeds "
            f"the power is {expected:.2f}; yours is {answer:.2f}",
            "Draw around the difference",
            earned=1,
        )
    return "It agrees with the formula, within the noise of a simulation; 5 % without a difference."


@check(5, points=2)
def how_many_users(users_needed):
    rng = np.random.default_rng(13)
    for size in (0.03, 0.1):
        pilot = rng.normal(0, 0.06, size=6)
        answer = users_needed(size, pilot)
        cautious = estimate.pilot_spread(pilot)
        observed = float(pilot.std(ddof=1))
        expected = estimate.runs_needed(size, cautious)
        require(
            np.ndim(answer) == 0 and answer == int(answer),
            f"{answer!r:.40} is not a number of users",
            "Return an integer",
        )
        for mistaken, reason, hint in (
            (
                estimate.runs_needed(size, observed, target_power=0.5),
                "The spread is the observed one, and the power is 0.5",
                "Which quantity does the text call a margin, and which power is required?",
            ),
            (
                estimate.runs_needed(size, observed),
                "The spread is the observed one, without a margin",
                "`pilot_spread`",
            ),
            (
                estimate.runs_needed(size, cautious, target_power=0.5),
                "The power is 0.5",
                "It must be 0.8",
            ),
            (
                estimate.runs_needed(size, cautious, paired=False),
                "This is for two groups of different users",
                "Every user gets both agents: the differences are paired",
            ),
        ):
            require(answer != mistaken or mistaken == expected, reason, hint, earned=0)
        power = estimate.power(size, cautious, max(int(answer), 2))
        require(
            answer == expected,
            f"For a difference of {size} your number is {answer}, which has a power of "
            f"{power:.2f}",
            "Find the smallest number with 0.8",
            earned=1,
        )
    return "The smallest number of users, with a margin for the pilot."


@check(6, points=3)
def another_scale(reachable, survives, runs, chance):
    random_regret = runs["user"].map(chance)
    best_regret = runs["floor_last"]
    for regret, value, agent in (
        (best_regret, 1.0, "An agent that always sends the best candidate"),
        (random_regret, 0.0, "An agent with the regret of the random agent"),
    ):
        scores = np.asarray(reachable(runs.assign(regret_last=regret)), float)
        require(
            np.allclose(scores, value),
            f"{agent} scores {scores.min():.2f} to {scores.max():.2f}",
            "A scale has two ends: subtract one, divide by the distance between them",
            earned=int(not value),
        )
    middle = runs.assign(regret_last=(best_regret + random_regret) / 2)
    scores = np.asarray(reachable(middle), float)
    require(
        np.allclose(scores, 0.5),
        "A regret in the middle does not score 0.5",
        "Between its ends a scale is a straight line",
        earned=1,
    )
    tables = estimate.score_matrices(runs.assign(score=reachable(runs)), task="user")
    expected_keys = ["Thompson minus LinUCB", "Thompson minus eps-greedy"]
    require(
        isinstance(survives, dict) and sorted(survives) == expected_keys,
        f"`survives` is {survives!r:.60}",
        "Use True or False for both leads: leave its two keys as they are",
        earned=2,
    )
    leads = {
        pair: tables["Thompson"] - tables[pair.split(" minus ")[1]] for pair in survives
    }
    intervals = estimate.simultaneous_intervals(
        leads, interval=estimate.crossed_interval
    )
    for pair, interval in intervals.items():
        require(
            survives[pair] in (True, False),
            f"{pair}: the answer is missing",
            "True or False",
            earned=2,
        )
        require(
            survives[pair] == (interval.low > 0),
            f"{pair}: your answer disagrees with the interval",
            "Over new users, both leads at once: does it include 0?",
            earned=2,
        )
    return "Both ends of the scale are fixed, and your answers on both leads are right."
