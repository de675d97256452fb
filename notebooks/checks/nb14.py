"""Checks of notebook 14: the coin, the centred estimator, its interval, power, gains, and a cap on interruptions."""

import numpy as np

from checks import Checks, is_close, reject_mistakes, require, returned

check = Checks("14 · A trial on a phone")
SIZES = (8, 12, 20, 32)
PEOPLE_NEEDED = 20  # power 0.88, and 0.58 with 12 people (600 trials)


@check(1, points=1)
def the_coin_under_a_budget(push_probability):
    table = [(3, 10, 0.3), (6, 24, 0.25), (1, 4, 0.25), (2, 4, 0.5)]
    for left, expected, share in table:
        answer = returned(push_probability(left, expected))
        case = f"With left = {left} and expected = {expected}"
        require(
            np.ndim(answer) == 0,
            f"{case} the answer is not one number",
            "Return the probability itself",
        )
        require(
            not is_close(answer, 0.5) or is_close(share, 0.5),
            f"{case} the coin is still fair",
            "With probability q at each decision point, how many pushes are expected?",
        )
        require(
            not is_close(answer, np.clip(expected / left, 0.2, 0.8)),
            f"{case} the fraction is upside down, or min and max are swapped",
            "Few pushes for many decision points make a small probability",
        )
        require(
            is_close(answer, share),
            f"{case} the probability is {answer:.3g}, not {share}",
            "Expected pushes are probability times decision points; they should use up the budget",
        )
    for left, expected, end in [(1, 20, 0.2), (6, 5, 0.8), (5, 1, 0.8)]:
        answer = push_probability(left, expected)
        require(
            is_close(answer, end),
            f"With left = {left} and expected = {expected} the probability is {answer:.3g}, not {end}",
            "Keep it within 0.2 and 0.8, at both ends: np.clip",
        )
    return "The budget is spread over the decision points left, and no coin is certain."


def _decisions(seed, n=400):
    """Return decisions whose probability depends on a history x that also moves the outcome.

    The effect is 0.5 + 0.8 x. The outcome without a push is curved in x.

    Returns:
        outcome, action, probability, x.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    p = np.clip(0.35 + 0.25 * x, 0.1, 0.8)
    action = (rng.random(n) < p).astype(int)
    outcome = 2 * x + x**2 + action * (0.5 + 0.8 * x) + rng.normal(0, 0.5, n)
    return outcome, action, p, x


def _fit(outcome, X, weights):
    """Return the last two coefficients of weighted least squares."""
    root = np.sqrt(weights)
    beta = np.linalg.lstsq(root[:, None] * X, root * outcome, rcond=None)[0]
    return beta[-2:]


@check(2, points=3)
def weighted_centred_least_squares(excursion_effect):
    Y, A, p, x = _decisions(3)
    p_tilde = 0.4
    ones = np.ones(len(Y))
    f = np.column_stack([ones, x])
    g = np.column_stack([ones, x**3])  # without x, so that centring matters
    answer = returned(excursion_effect(Y, A, p, p_tilde, f, g))
    require(
        not isinstance(answer, tuple) or all(np.ndim(part) == 0 for part in answer),
        "It returns several arrays",
        "`np.linalg.lstsq` returns four results: the coefficients are the first, [0]",
    )
    answer = np.asarray(answer, float)
    require(
        answer.shape == (2,),
        f"For two moderators the answer has the shape {answer.shape}, not (2,)",
        "Return the coefficients of the moderators only: those after the controls",
    )
    W = np.where(A == 1, p_tilde / p, (1 - p_tilde) / (1 - p))
    plain = np.column_stack([g, A[:, None] * f])
    centred = np.column_stack([g, (A - p_tilde)[:, None] * f])
    by_p = np.column_stack([g, (A - p)[:, None] * f])
    inverse = np.where(A == 1, p / p_tilde, (1 - p) / (1 - p_tilde))
    plain_inverse = np.where(A == 1, 1 / p, 1 / (1 - p))
    mistakes = [
        (
            _fit(Y, plain, ones),
            "The action is not centred, and all rows weigh the same",
            "Two changes are missing: A - p_tilde in place of A, and the weights W",
            0,
        ),
        (
            _fit(Y, centred, ones),
            "All rows still weigh the same",
            "W is p_tilde / p for a push, (1 - p_tilde) / (1 - p) for silence",
            1,
        ),
        (
            _fit(Y, plain, W),
            "The action is not centred",
            "Multiply the moderators by A - p_tilde, not by A",
            1,
        ),
        (
            _fit(Y, by_p, W),
            "The action is centred at p, but the weights have already put p_tilde in its place",
            "After weighting a push has the probability p_tilde everywhere: centre there",
            1,
        ),
        (
            _fit(Y, by_p, ones),
            "The action is centred at p, and all rows weigh the same",
            "This is another estimator. Here: weight by W, and centre at p_tilde",
            1,
        ),
        (
            _fit(Y, centred, W**2),
            "The weights are squared",
            "Least squares squares each row: multiply rows by the *root* of W",
            2,
        ),
        (
            _fit(W * Y, centred, ones),
            "Only the outcomes are weighted",
            "Multiply the row of X as well as Y, both by the root of W",
            1,
        ),
        (
            _fit(Y / np.sqrt(W), centred, W),
            "Only X is weighted",
            "Multiply Y as well as the row of X, both by the root of W",
            1,
        ),
        (
            _fit(Y, centred, inverse),
            "The weights are upside down",
            "A push that was *unlikely* counts more: p is below the line",
            1,
        ),
        (
            _fit(Y, centred, np.where(A == 1, p_tilde / p, 1.0)),
            "Only pushes are weighted",
            "Silence has weights, too: (1 - p_tilde) / (1 - p)",
            1,
        ),
        (
            _fit(Y, centred, p_tilde / p),
            "Silence is weighted as if it were a push",
            "Its weight is (1 - p_tilde) / (1 - p)",
            1,
        ),
        (
            _fit(Y, centred, plain_inverse),
            "The weights have no p_tilde above the line",
            "p_tilde / p and (1 - p_tilde) / (1 - p)",
            2,
        ),
    ]
    for *mistake, earned in mistakes:
        reject_mistakes(answer, [mistake], earned=earned)
    expected = _fit(Y, centred, W)
    require(
        is_close(answer, expected, 1e-5),
        f"On 400 hidden decisions it gives {np.round(answer, 3)}, not {np.round(expected, 3)}",
        "Print W for one push and one silence, and compute both by hand",
    )
    _require_the_true_effects(excursion_effect)
    return "Within 0.1 of the true effects, with an outcome model that is badly wrong."


def _require_the_true_effects(excursion_effect):
    """Require the effects of many decisions, with a flat model of the outcome and another reference."""
    Y, A, p, x = _decisions(4, 40_000)
    ones = np.ones((len(Y), 1))
    f = np.column_stack([ones, x])
    for p_tilde in (0.35, 0.5):
        answer = np.asarray(excursion_effect(Y, A, p, p_tilde, f, ones), float)
        require(
            is_close(answer, [0.5, 0.8], 0.15),
            f"With p_tilde = {p_tilde} and one control it gives {np.round(answer, 2)}; the truth is 0.5 and 0.8",
            "Use the argument p_tilde and the columns of g, whatever their number",
            earned=2,
        )


@check(3, points=2)
def an_interval_over_people(standard_errors):
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(30), rng.integers(3, 12, 30))
    rng.shuffle(person)
    n = len(person)
    X = np.column_stack([np.ones(n), rng.normal(size=n)])
    W = rng.uniform(0.5, 2, n)
    residual = rng.normal(size=30)[person] + rng.normal(size=n)
    answer = np.asarray(returned(standard_errors(X, W, residual, person)), float)
    require(
        answer.shape == (2,),
        f"For two columns the answer has the shape {answer.shape}, not (2,)",
        "Return one number for each column of X: the root of the diagonal",
    )
    bread = np.linalg.inv(X.T @ (W[:, None] * X))
    rows = (W * residual)[:, None] * X
    unweighted = residual[:, None] * X

    def sums(scores):
        total = np.zeros((30, 2))
        np.add.at(total, person, scores)
        return total

    def errors(scores):
        return np.sqrt(np.diag(bread @ scores.T @ scores @ bread))

    counts = np.bincount(person)[:, None]
    expected = errors(sums(rows))
    reject_mistakes(
        answer,
        [
            (
                errors(rows),
                "Each decision counts as if it were another person",
                "Add the rows of one person before you square them",
            ),
            (
                errors(sums(rows) / counts),
                "The rows of a person are averaged, not added",
                "M of a person is a *sum* over decisions",
            ),
        ],
    )
    reject_mistakes(
        answer,
        [
            (
                errors(sums(unweighted)),
                "The rows have no weights",
                "M of a person adds W times residual times X",
            ),
            (
                expected**2,
                "These are variances",
                "A standard error is the root of the diagonal",
            ),
            (
                np.sqrt(np.diag(bread @ sums(rows).T @ sums(rows))),
                "B is on one side only",
                "The sandwich has bread on both sides",
            ),
        ],
        earned=1,
    )
    factors = (1.0, np.sqrt(30 / 29))  # without and with a small-sample factor
    require(
        any(is_close(answer, factor * expected, 1e-6) for factor in factors),
        f"On 30 hidden people it gives {np.round(answer, 4)}, not {np.round(expected, 4)}",
        "Compare B and M with the formula; the rows of a person need not be neighbours",
    )
    words = np.array([f"p{number}" for number in person])
    named = np.asarray(standard_errors(X, W, residual, words), float)
    require(
        is_close(named, answer, 1e-6),
        "With names in place of numbers for people the answer changes",
        "Group by the values of `person`",
        earned=1,
    )
    return "Thirty people, whose decisions come in any order."


@check(5, points=2)
def the_gain_curve(gain_curve):
    score = np.array([0.2, 0.9, 0.5, 0.1])
    effect = np.array([1.0, 2.0, -1.0, -2.0])
    given = effect.copy()
    answer = np.asarray(returned(gain_curve(score, given)), float)
    require(
        np.array_equal(given, effect),
        "It changes the array `effect`",
        "Give the sorted effects a name of their own",
    )
    require(
        answer.shape in ((5,), (4,)),
        f"For four moments the answer has the shape {answer.shape}, not (5,)",
        "One number for each number of pushes, from none to all",
    )
    require(
        answer.shape == (5,),
        "The curve does not begin with no push at all",
        "Put a 0 before the sums",
        earned=1,
    )
    by_score = np.array([0, 2, 1, 2, 0]) / 4
    reject_mistakes(
        answer,
        [
            (
                np.append(0, np.cumsum(effect)) / 4,
                "The moments are in the order of the log",
                "np.argsort gives the order; the highest score comes first",
            ),
            (
                np.append(0, np.cumsum(effect[[3, 0, 2, 1]])) / 4,
                "The lowest score comes first",
                "Reverse the order: np.argsort(-score)",
            ),
            (
                np.append(0, np.cumsum(np.sort(score)[::-1])) / 4,
                "This adds the scores",
                "Sort by the score, add the *effects*",
            ),
            (
                np.append(0, np.cumsum(np.sort(effect)[::-1])) / 4,
                "The effects are sorted by themselves",
                "The effects aren't known beforehand: sort by `score`",
            ),
        ],
    )
    reject_mistakes(
        answer,
        [
            (
                4 * by_score,
                "The sums are not divided",
                "Divide by the number of all moments",
            ),
            (
                np.append(0, np.cumsum([2, -1, 1, -2]) / np.arange(1, 5)),
                "Each sum is divided by the number of its pushes",
                "Divide by the number of *all* moments: a moment of silence gains 0",
            ),
        ],
        earned=1,
    )
    require(
        is_close(answer, by_score),
        f"For the scores {score} and effects {effect} it gives {np.round(answer, 3)}, not {by_score}",
        "By hand: the effect of 0.9 first, then of 0.5, 0.2, 0.1; add up and divide by four",
    )
    rng = np.random.default_rng(2)
    score = rng.normal(size=50)
    effect = rng.normal(size=50)
    expected = np.append(0, np.cumsum(effect[np.argsort(-score)])) / 50
    require(
        is_close(gain_curve(score.copy(), effect.copy()), expected),
        "For 50 other moments the curve is wrong",
        "Try it with three moments, and add up by hand",
        earned=1,
    )
    return "From no push to all of them, the most promising first."


@check(4, points=2)
def power_and_people(power, people_needed):
    # Three above 0, one below, and two that include it.
    ends = [(0.1, 0.5), (-0.2, 0.3), (-0.5, -0.1), (0.2, 0.9), (-0.1, 0.1), (0.3, 0.4)]
    calls = []

    def interval(people, rng):
        calls.append((people, rng))
        return ends[(len(calls) - 1) % len(ends)]

    rng = np.random.default_rng(0)
    answer = returned(power(interval, 12, 60, rng))
    require(
        len(calls) == 60,
        f"For 60 trials `interval` was called {len(calls)} times",
        "One trial is one call of interval(people, rng)",
    )
    require(
        all(people == 12 for people, _ in calls),
        "The simulated trials don't have `people` people",
        "Pass `people` on to `interval`",
    )
    widths = np.mean([high - low for low, high in ends])
    reject_mistakes(
        answer,
        [
            (
                widths,
                "This is the mean width of the intervals",
                "A trial finds an effect if its interval does not include 0",
            ),
            (
                3 / 6,
                "Intervals below 0 are not counted",
                "An effect in the other direction is a finding, too",
            ),
            (
                1 / 6,
                "Only intervals below 0 are counted",
                "An interval above 0 is a finding, too",
            ),
            (
                2 / 6,
                "This is the share of trials that find nothing",
                "Count the intervals that do *not* include 0",
            ),
            (40, "This is a number of trials", "Power is a share: divide by trials"),
        ],
    )
    require(
        is_close(answer, 4 / 6),
        f"With 4 of 6 intervals that exclude 0 the power is {answer:.3g}, not 0.667",
        "Count the intervals that are above 0 or below 0, and divide by their number",
    )
    require(
        people_needed in SIZES,
        f"`people_needed` is {people_needed}, which is none of {SIZES}",
        "Try these numbers, with 200 trials each",
        earned=1,
    )
    require(
        people_needed >= PEOPLE_NEEDED,
        f"With {people_needed} people the power is below 0.8",
        "Read the table from the top: which is the first power of 0.8 or more?",
        earned=1,
    )
    require(
        people_needed <= PEOPLE_NEEDED,
        f"{people_needed} people are enough, but so are fewer",
        "Take the *smallest* number with a power of at least 0.8",
        earned=1,
    )
    return f"{people_needed} people, if the next ones are like those of this trial."


@check(6, points=2)
def no_more_than_n_an_hour(may_push):
    doses = np.array([0.1, 0.5])
    require(
        np.shape(returned(may_push(doses, 1))) == (2,),
        "For two doses it does not give two answers",
        "A comparison of the array with one number is enough: no `if`",
    )
    for n in (1, 2, 3):
        ages = np.full(n, 59.0)
        dose = (2 ** (-ages / 240)).sum()
        require(
            not may_push(np.array([dose]), n)[0],
            f"With n = {n} and dose {dose:.2f}, left by {n} push{'es' * (n > 1)} 59 minutes ago, it allows "
            "another in this hour",
            "How much of a push is left after 60 minutes, at a half-life of 240?",
        )
        for dose in (0.0, 0.84 * n - 0.84, 0.83 * n):
            require(
                may_push(np.array([dose]), n)[0],
                f"For n = {n} it forbids a push at dose {dose:.2f}, although n in the last hour would leave more",
                "Each push of the last hour counts at least 2 ** (-60 / 240): the limit is n times that",
                earned=1,
            )
    return "Each push of the last hour still counts 0.84 or more."
