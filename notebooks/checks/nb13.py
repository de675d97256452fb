"""Checks of notebook 13: a grid, statistics, a bootstrap, and plans of studies."""

import numpy as np

from checks import Checks, require, returned
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
        "It does not return the cells that failed",
        "End it with return failed, a list",
        earned=1,
    )
    failing.clear()
    ran.clear()
    again = run_all(list(range(7)), run, finished)
    require(
        not again and sorted(ran) == [2, 5],
        f"With the server back a second call ran {ran} and returned {again}",
        "Only the two failed cells were missing, and now none fails",
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


@check(2, points=3)
def the_bootstrap_by_hand(bootstrap_interval):
    seeds = 9
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

    columns = [np.digitize(table, scores[0]) - 1 for table in draws]
    require(
        (np.array(columns) == range(users)).all(),
        "Scores of one user are in the column of another",
        "Leave the columns as they are, and draw rows",
    )
    require(
        any(len(set(table[:, 0])) < seeds for table in draws),
        "Each draw contains each seed exactly once",
        "Draw with replacement",
        earned=1,
    )
    sums = np.array([table.sum(axis=1) for table in draws])
    require(
        np.isin(sums, scores.sum(axis=1)).all(),
        "The users of one row have different seeds",
        "A seed is one row of the table: draw it with the runs of all users",
        earned=1,
    )
    means = np.array([table.mean() for table in draws])
    tails = [(means < np.min(returned(ends))).mean(), (means > np.max(ends)).mean()]
    require(
        np.shape(ends) == (2,) and np.allclose(tails, 0.025, atol=0.006),
        f"{tails[0]:.1%} of the results are below your interval and {tails[1]:.1%} above it",
        "Return two ends, with 2.5 % of the results beyond either",
        earned=2,
    )
    repeated = bootstrap_interval(scores, mean, np.random.default_rng(1), resamples=300)
    require(
        np.allclose(ends, repeated),
        "The same rng gave another interval",
        "Use `rng`, and no other random numbers",
        earned=2,
    )
    return "Seeds are drawn with replacement, each with all its runs: an interval over new seeds."


# {verdict: comment or hint} in the order of `shares_found`.
POWER_VERDICTS = {
    "Right": "It agrees with the formula, within the noise of a simulation; 5 % without a difference.",
    "Intervals below 0 are not counted": "An interval can exclude 0 on either side",
    "All studies have one half width, as if they knew the true spread": "Take the spread that each study sees (axis=1)",
    "The spread of a study is divided by the number of its seeds": "Divide by one less: ddof=1",
    "The interval reaches 1.96 standard errors, too little for few seeds": "`estimate.half_width` takes Student's t",
    "A true difference is found as rarely as one that does not exist": (
        "Draw around `difference`, and see whether the interval excludes 0"
    ),
    "All studies have a spread of 1": "Draw with the `spread` of the call",
}


def shares_found(difference, spread, seeds):
    """Return the share of studies that find a difference: the right one, and one for each mistake."""
    values = np.random.default_rng(12).normal(size=(20_000, seeds))
    mean = difference + spread * values.mean(axis=1)
    deviation = spread * values.std(axis=1, ddof=1)
    half = estimate.half_width(deviation, seeds)
    is_found = [
        abs(mean) > half,
        mean > half,
        abs(mean) > estimate.half_width(spread, seeds),
        abs(mean) > half * (1 - 1 / seeds) ** 0.5,
        abs(mean) > 1.96 * deviation / seeds**0.5,
        abs(mean - difference) > half,
        abs(mean + difference * (spread - 1)) > half,  # all divided by the spread
    ]
    return np.mean(is_found, axis=1)


@check(3, points=3)
def power_by_simulation(simulated_power):
    answers = []
    expected = []
    for case in ((0.0, 1.0, 4), (1.0, 1.0, 5), (0.5, 1.0, 30), (-2.0, 3.0, 8)):
        rng = np.random.default_rng(11)
        answers.append(returned(simulated_power(*case, rng, studies=6000)))
        expected.append(shares_found(*case))
    require(
        0 <= min(answers) and max(answers) <= 1,
        "Your answer is not a share of the studies",
        "How many of them find it, divided by their number?",
    )
    errors = abs(np.transpose(expected) - answers).max(axis=1)
    closest = errors.argmin()
    require(
        errors[closest] < 0.03,
        f"Your studies find a difference of 0 in {answers[0]:.0%} of all cases, and one of 1 in {answers[1]:.0%}",
        "5 % and 40 % would be right: compare each study's mean with its own half width",
    )
    verdict, comment = list(POWER_VERDICTS.items())[closest]
    require(closest == 0, verdict, comment, earned=1)
    return comment


@check(4, points=2)
def how_many_users(users_needed):
    rng = np.random.default_rng(13)
    for size in (0.03, 0.1):
        pilot = rng.normal(0, 0.06, size=6)
        answer = returned(users_needed(size, pilot))
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
            require(answer != mistaken or mistaken == expected, reason, hint)
        power = estimate.power(size, cautious, max(int(answer), 2))
        require(
            answer == expected,
            f"For a difference of {size} your number is {answer}, which has a power of "
            f"{power:.2f}",
            "Find the smallest number with 0.8 for the spread of `pilot_spread`",
            earned=1,
        )
    return "The smallest number of users, with a margin for the pilot."


@check(5, points=3)
def another_scale(reachable, sure, runs, chance):
    random_regret = runs["user"].map(chance)
    best_regret = runs["floor_last"]
    for regret, value, agent in (
        (best_regret, 1.0, "An agent that always sends the best candidate"),
        (random_regret, 0.0, "An agent with the regret of the random agent"),
    ):
        answer = returned(reachable(runs.assign(regret_last=regret)))
        scores = np.asarray(answer, float)
        require(
            np.allclose(scores, value),
            f"{agent} scores {scores.min():.2f} to {scores.max():.2f}",
            "A scale has two ends: subtract one, divide by the distance between them",
            earned=int(not value),
        )
    middle = runs.assign(regret_last=(best_regret + random_regret) / 2)
    require(
        np.allclose(reachable(middle), 0.5),
        "A regret in the middle does not score 0.5",
        "Between its ends a scale is a straight line",
        earned=1,
    )
    tables = estimate.score_matrices(runs.assign(score=reachable(runs)), task="user")
    pairs = [
        ("LinUCB", "Thompson"),
        ("LinUCB", "eps-greedy"),
        ("Thompson", "eps-greedy"),
    ]
    leads = {
        f"{better} minus {baseline}": tables[better] - tables[baseline]
        for better, baseline in pairs
    }
    require(
        isinstance(sure, dict) and set(sure) == set(leads),
        f"`sure` is {sure!r:.60}",
        "Keep its keys, and write True or False for all three leads",
        earned=2,
    )
    intervals = estimate.simultaneous_intervals(
        leads, interval=estimate.crossed_interval
    )
    for pair, interval in intervals.items():
        require(
            sure[pair] in (True, False),
            f"{pair}: the answer is missing",
            "True or False",
            earned=2,
        )
        require(
            sure[pair] == (interval.low > 0),
            f"{pair}: your answer disagrees with the interval",
            "Over new users, with all three leads at once: is the interval above 0?",
            earned=2,
        )
    return "Both ends of the scale are fixed, and your answers on the leads are right."
