"""Notebook 9, from logs to causes: both parts of a difference, blocked paths, three estimators, and a bound."""

import itertools

import numpy as np

from checks import Checks, demand

check = Checks("9 · Why not? From logs to causes")


def near(found, right, slack=1e-6):
    """Whether a number is what it should be, but for rounding; False where it is no number."""
    return np.ndim(found) == 0 and bool(
        abs(float(found) - right) < slack * (1 + abs(right))
    )


@check(1, points=2)
def where_the_difference_comes_from(split):
    rng = np.random.default_rng(11)
    treated = rng.random(60) < 0.4
    y0 = rng.normal(50, 10, 60) + 8 * treated
    y1 = y0 - rng.uniform(1, 9, 60) - 5 * treated
    found = split(y0, y1, treated)
    demand(
        np.shape(found) == (2,),
        "`split` does not return two numbers",
        "return effect_on_treated, selection_bias",
    )
    effect, bias = found
    demand(
        not near(effect, (y1 - y0).mean()),
        "The first number is the mean effect on all units",
        "Take the mean over the treated alone: an array of True and False chooses among the units",
    )
    demand(
        near(effect, (y1 - y0)[treated].mean()),
        f"The first number is {effect:.2f}, not the effect on the treated",
        "It is the mean of Y(1) - Y(0) over the treated",
    )
    right = y0[treated].mean() - y0[~treated].mean()
    demand(
        not near(bias, -right),
        "The selection bias has the wrong sign",
        "Treated less others",
        earned=1,
    )
    demand(
        not near(bias, y1[treated].mean() - y1[~treated].mean()),
        "That compares the two groups *with* treatment",
        "Selection bias is the difference that would be there anyway, without treatment",
        earned=1,
    )
    demand(
        near(bias, right),
        f"The second number is {bias:.2f}, and the two do not add up to the log's difference",
        "Compare Y(0) of the treated with Y(0) of the others",
        earned=1,
    )
    return "The two parts add up to the difference in the log, for other units too."


@check(2, points=3)
def is_the_path_blocked(is_blocked):
    chain, fork, collider = (
        [("a", "b"), ("b", "c")],
        [("b", "a"), ("b", "c")],
        [("a", "b"), ("c", "b")],
    )
    path = ("a", "b", "c")
    for arrows, kind in ((chain, "a → b → c"), (fork, "a ← b → c")):
        demand(
            not is_blocked(path, set(), arrows),
            f"{kind} is said to be blocked without adjusting",
            "Only a collider blocks when nothing is adjusted for",
        )
        demand(
            is_blocked(path, {"b"}, arrows),
            f"{kind} is said to be open although we adjust for b",
            "A middle that is no collider blocks when we adjust for it",
        )
    demand(
        is_blocked(path, set(), collider),
        "a → b ← c is said to be open without adjusting",
        "Look at the arrows on both sides: a collider blocks",
    )
    demand(
        not is_blocked(path, {"b"}, collider),
        "a → b ← c is said to be blocked although we adjust for b",
        "Adjusting for a collider opens the path",
        earned=1,
    )
    demand(
        not is_blocked(path, {"d"}, [*collider, ("b", "d")]),
        "a → b ← c stays blocked, but d, moved by b, is given",
        "A descendant tells of the collider: use `descendants`",
        earned=2,
    )
    long = [("a", "b"), ("c", "b"), ("c", "d")]
    demand(
        is_blocked(("a", "b", "c", "d"), {"b", "c"}, long),
        "a → b ← c → d is said to be open, and we adjust for c",
        "One middle that blocks is enough, wherever it stands: go on to the end of the path",
        earned=1,
    )
    wrong = _different_from_the_rule(is_blocked)
    demand(
        wrong is None,
        f"The answer is wrong for path, given, arrows = {wrong}",
        "Try this one by hand, three neighbours at a time",
        earned=2,
    )
    return "Chains, forks and colliders, and 200 paths of other graphs."


def _different_from_the_rule(is_blocked):
    """Path, given and arrows of a random graph where the answer is not the rule's, or None."""
    rng, names = np.random.default_rng(5), "pqrstu"
    for _ in range(200):
        path = tuple(names[at] for at in rng.permutation(6)[:4])
        steps = [
            pair if names.index(pair[0]) < names.index(pair[1]) else pair[::-1]
            for pair in zip(path, path[1:])
        ]
        more = [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.3]
        arrows = list(dict.fromkeys([*steps, *more]))
        given = {
            name
            for name in names
            if name not in (path[0], path[-1]) and rng.random() < 0.3
        }
        if bool(is_blocked(path, set(given), list(arrows))) != _blocked(
            path, given, arrows
        ):
            return path, sorted(given), arrows
    return None


def _blocked(path, given, arrows):
    known = set(given)
    for _ in arrows:  # whatever leads to what is given tells as much as it
        known |= {cause for cause, effect in arrows if effect in known}
    middles = [
        ((left, at) in arrows and (right, at) in arrows, at)
        for left, at, right in zip(path, path[1:], path[2:])
    ]
    return any(at not in known if collides else at in given for collides, at in middles)


def _units(seed, n=400):
    """Units whose effect is -5 on average, grows with x, and who are treated where x is high; straight lines."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) + 1
    chance = 1 / (1 + np.exp(-1.2 * (x[:, 0] - 1)))
    treated = rng.random(n) < chance
    m0 = 20 + 6 * x[:, 0] - x[:, 1]
    m1 = m0 - 5 + 4 * (x[:, 0] - 1)
    return x, chance, treated, m0, m1, np.where(treated, m1, m0) + rng.normal(0, 0.5, n)


def _lines(x, treated, outcome, intercept=True):
    design = np.column_stack([np.ones(len(x)), x])[:, 0 if intercept else 1 :]
    weights = [
        np.linalg.lstsq(design[arm], outcome[arm], rcond=None)[0]
        for arm in (treated, ~treated)
    ]
    return design @ weights[0] - design @ weights[1]


@check(3, points=3)
def the_effect_by_regression(regression_effect):
    x, _, treated, _, _, outcome = _units(2)
    found, each = regression_effect(x, treated, outcome), _lines(x, treated, outcome)
    demand(
        np.ndim(found) == 0,
        "`regression_effect` does not return one number",
        "Take the mean over all towns",
    )
    together = np.linalg.lstsq(
        np.column_stack([np.ones(len(x)), treated, x]), outcome, rcond=None
    )[0]
    demand(
        not near(found, together[1]),
        "It is one line for all, so every unit gets the same effect",
        "Fit a line to the treated, and another one to the others",
    )
    demand(
        not near(found, -each.mean()),
        "The sign is wrong",
        "Treated less untreated",
        earned=1,
    )
    demand(
        not near(found, outcome[treated].mean() - outcome[~treated].mean()),
        "It is the difference in means again",
        "Predict *every* unit by both lines, not each unit by the line of its own group",
    )
    for arm, who in ((treated, "treated"), (~treated, "others")):
        demand(
            not near(found, each[arm].mean()),
            f"The mean is over the {who} only",
            "The average effect is that of all units",
            earned=2,
        )
    demand(
        not near(found, _lines(x, treated, outcome, False).mean()),
        "The lines have no intercept",
        "A column of ones in the design lets a line begin anywhere",
        earned=1,
    )
    demand(
        near(found, each.mean()),
        f"On made-up units it gives {found:.2f}; two lines give {each.mean():.2f}",
        "Two fits, four hundred predictions by each of them, and the mean difference",
    )
    return "Two lines, and the mean over all units."


@check(4, points=3)
def the_effect_by_inverse_weighting(weighted_effect):
    _, chance, treated, _, _, outcome = _units(4)
    found = weighted_effect(chance, treated, outcome, clip=0.0)

    def stabilised(weight):
        return np.average(outcome[treated], weights=weight[treated]) - np.average(
            outcome[~treated], weights=weight[~treated]
        )

    demand(
        not near(found, stabilised(np.ones(len(chance)))),
        "All units still have the same weight",
        "The weight is 1 / (chance of what was done)",
    )
    demand(
        not near(found, stabilised(np.where(treated, chance, 1 - chance))),
        "The weights are the chances themselves",
        "The *less* likely a unit was to be treated as it was, the more it counts",
    )
    demand(
        not near(found, stabilised(1 / chance)),
        "The untreated are weighted by 1 / e as well",
        "An untreated unit was left untreated with the chance 1 - e",
        earned=1,
    )
    moved = weighted_effect(chance, treated, outcome + 1000, clip=0.0)
    demand(
        near(moved, found, 1e-4),
        "With 1,000 added to every outcome the effect changes",
        "Divide by the sum of the weights of each arm, not by n",
        earned=1,
    )
    demand(
        near(found, stabilised(np.where(treated, 1 / chance, 1 / (1 - chance)))),
        f"Without clipping it gives {found:.2f} on made-up units, which is not the weighted difference",
        "1 / e for the treated, 1 / (1 - e) for the others",
        earned=1,
    )
    clipped = weighted_effect(chance, treated, outcome, clip=0.2)
    demand(
        not near(clipped, found),
        "`clip` changes nothing",
        "Clip the chances before you take 1 / e",
        earned=2,
    )
    e = np.clip(chance, 0.2, 0.8)
    demand(
        near(clipped, stabilised(np.where(treated, 1 / e, 1 / (1 - e)))),
        "With clip=0.2 the weights are not right",
        "np.clip(chance, clip, 1 - clip): no chance below 0.2, and none above 0.8",
        earned=2,
    )
    return "Inverse chances of what was done, stabilised, clipped at both ends."


@check(5, points=3)
def doubly_robust_with_an_interval(doubly_robust):
    _, chance, treated, m0, m1, outcome = _units(6, 20_000)
    truth, flat = (m1 - m0).mean(), np.full(20_000, 20.0)
    found = [
        doubly_robust(*models, chance_, treated, outcome)
        for models, chance_ in (
            ((m0, m1), chance),
            ((flat, flat), chance),
            ((m0, m1), np.full(20_000, 0.5)),
        )
    ]
    demand(
        all(np.shape(one) == (3,) for one in found),
        "It does not return three numbers",
        "return estimate, low, high",
    )
    both, weights_only, predictions_only = found
    demand(
        abs(predictions_only[0] - truth) < 0.1,
        f"With right predictions and wrong chances it is off by {abs(predictions_only[0] - truth):.1f}",
        "A residual is the outcome less the prediction for the arm that was *observed*",
    )
    demand(
        not near(weights_only[0], 0, 1e-9),
        "With useless predictions it says 0: nothing corrects them",
        "Add the weighted residuals to the scores",
    )
    demand(
        abs(weights_only[0] - truth) < 0.6,
        f"With useless predictions and right chances it is off by {abs(weights_only[0] - truth):.1f}",
        "Treated: + residual / e. Others: - residual / (1 - e)",
        earned=1,
    )
    # The deviation of the scores, from the formula in other words: a weight with a sign times the residual.
    sign = np.where(treated, 1 / chance, -1 / (1 - chance))
    error = np.std(sign * (outcome - 20), ddof=1) / np.sqrt(20_000)
    estimate, low, high = weights_only
    demand(
        low < estimate < high,
        "The interval does not lie around the estimate",
        "estimate ± 1.96 standard errors",
        earned=2,
    )
    demand(
        abs((low + high) / 2 - estimate) < 0.05 * (high - low),
        "The estimate is not in the middle of the interval",
        "As far down as up: estimate - 1.96 standard errors, estimate + 1.96 standard errors",
        earned=2,
    )
    demand(
        0.9 < (high - low) / (2 * 1.96 * error) < 1.1,
        f"The interval is {(high - low) / (2 * 1.96 * error):.2g} times as wide as it should be",
        "The standard error is the standard deviation *of the scores*, divided by the root of n",
        earned=2,
    )
    return "Right when either model is, and the interval has the right width."


@check(6, points=3)
def the_highest_mean(highest_mean):
    rng = np.random.default_rng(8)
    three = highest_mean(np.array([100.0, 150.0, 200.0]), np.ones(3), 2)
    demand(
        not near(three, 150),
        "The three towns of the text still have equal weights",
        "Each weight may be small or large: 1 + odds / factor, or 1 + odds * factor",
    )
    demand(
        not near(three, 137.5),
        "That is the lowest mean",
        "Large weights for *high* outcomes",
        earned=1,
    )
    demand(
        not near(three, 160),
        "160 is the mean with large weights for 150 and 200; one less is better",
        "Try every place to stop, and take the best",
        earned=1,
    )
    demand(
        near(three, 162.5),
        f"For the three towns it is {three:.2f}, by hand 162.5",
        "Look at the two lines by hand",
    )
    for _ in range(20):
        n, factor = int(rng.integers(1, 8)), rng.uniform(1, 6)
        y, odds = rng.normal(100, 40, n), rng.uniform(0.2, 5, n)
        corners = 1 + odds * np.array(
            list(itertools.product((1 / factor, factor), repeat=n))
        )
        right = (corners @ y / corners.sum(axis=1)).max()
        found = highest_mean(y.copy(), odds.copy(), factor)
        demand(
            found < right + 1e-6,
            f"{found:.2f} for {n} towns is higher than any weights allow",
            "Sort the odds together with the outcomes; divide by the sum of the weights",
            earned=1,
        )
        demand(
            near(found, right),
            f"{found:.2f} for {n} towns, but some weights give {right:.2f}",
            "Sort by the outcome, and try all n + 1 places to stop; each town keeps its own odds",
            earned=1,
        )
    _demand_of_many(highest_mean, rng)
    return (
        "As high as the best of all corners, for twenty small arms, and for 500 towns."
    )


def _demand_of_many(highest_mean, rng):
    """Demands the highest mean of 500 outcomes below zero, found the other way round: by the share it must balance."""
    y, odds = rng.normal(-100, 40, 500), rng.uniform(0.2, 5, 500)
    low, high = y.min(), y.max()
    for _ in range(
        60
    ):  # the mean m at which the best weights leave y - m without a surplus
        mean = (low + high) / 2
        weights = np.where(y > mean, 1 + 3 * odds, 1 + odds / 3)
        low, high = (mean, high) if weights @ (y - mean) > 0 else (low, mean)
    found = highest_mean(y.copy(), odds.copy(), 3)
    demand(
        not near(found, 0),
        "For outcomes below zero it gives 0, which is higher than all of them",
        "Begin with the first mean that you compute, and not with 0",
        earned=1,
    )
    demand(
        near(found, mean),
        f"For 500 outcomes below zero it gives {found:.3f}, but {mean:.3f} is the highest",
        "Sort by the outcome, and try all n + 1 places to stop",
        earned=1,
    )
