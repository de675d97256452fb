"""Checks of notebook 9: the parts of a difference, blocked paths, three estimators, and weights over time."""

import itertools

import numpy as np

from checks import Checks, is_close, reject_mistakes, require, returned

check = Checks("9 · Why not? From logs to causes")


@check(1, points=2)
def parts_of_the_difference(split):
    rng = np.random.default_rng(11)
    treated = rng.random(60) < 0.4
    y0 = rng.normal(50, 10, 60) + 8 * treated
    y1 = y0 - rng.uniform(1, 9, 60) - 5 * treated
    answer = returned(split(y0, y1, treated))
    require(
        np.shape(answer) == (2,),
        "`split` does not return two numbers",
        "Return effect_on_treated, selection_bias",
    )
    effect, bias = answer
    require(
        not is_close(effect, (y1 - y0).mean()),
        "The first number is the mean effect on all units",
        "Take the mean over the treated alone: an array of True and False selects among the units",
    )
    require(
        is_close(effect, (y1 - y0)[treated].mean()),
        f"The first number is {effect:.2f}, not the effect on the treated",
        "It is the mean of Y(1) - Y(0) over the treated",
    )
    expected = y0[treated].mean() - y0[~treated].mean()
    require(
        not is_close(bias, -expected),
        "The selection bias has the wrong sign",
        "Subtract the others from the treated",
        earned=1,
    )
    require(
        not is_close(bias, y1[treated].mean() - y1[~treated].mean()),
        "This compares the two groups *with* treatment",
        "Selection bias is the difference that would exist anyway, without treatment",
        earned=1,
    )
    require(
        is_close(bias, expected),
        f"The second number is {bias:.2f}, and the two do not add up to the log's difference",
        "Compare Y(0) of the treated with Y(0) of the others",
        earned=1,
    )
    return "The two parts add up to the difference in the log, for other units, too."


@check(2, points=3)
def is_the_path_blocked(is_blocked):
    chain = [("a", "b"), ("b", "c")]
    fork = [("b", "a"), ("b", "c")]
    collider = [("a", "b"), ("c", "b")]
    path = ("a", "b", "c")
    for arrows, drawing in ((chain, "a → b → c"), (fork, "a ← b → c")):
        require(
            not is_blocked(path, set(), arrows),
            f"Your answer for {drawing} is blocked, without adjusting",
            "If we adjust for nothing, only a collider blocks",
        )
        require(
            returned(is_blocked(path, {"b"}, arrows)),
            f"Your answer for {drawing} is open, although we adjust for b",
            "A middle that is not a collider blocks if we adjust for it",
        )
    require(
        is_blocked(path, set(), collider),
        "Your answer for a → b ← c is open, without adjusting",
        "Look at the arrows on both sides: a collider blocks",
    )
    require(
        not is_blocked(path, {"b"}, collider),
        "Your answer for a → b ← c is blocked, although we adjust for b",
        "Adjusting for a collider opens the path",
        earned=1,
    )
    require(
        not is_blocked(path, {"d"}, [*collider, ("b", "d")]),
        "a → b ← c stays blocked, although we adjust for d, an effect of b",
        "A descendant carries information about the collider: use `descendants`",
        earned=2,
    )
    require(
        not is_blocked(path, {"e"}, [*collider, ("b", "d"), ("d", "e")]),
        "a → b ← c stays blocked, although we adjust for e, and b → d → e",
        "Not only what b affects directly counts: use `descendants`",
        earned=2,
    )
    long_path = [("a", "b"), ("c", "b"), ("c", "d")]
    require(
        is_blocked(("a", "b", "c", "d"), {"b", "c"}, long_path),
        "Your answer for a → b ← c → d is open, although we adjust for c",
        "One blocking middle is enough, wherever it is: check the path to its end",
        earned=1,
    )
    case, expected = _find_mistake(is_blocked)
    require(
        not case,
        f"The answer should be {expected} for path, given, arrows = {case}",
        "Try this one by hand, three neighbours at a time",
        earned=2,
    )
    return "Chains, forks and colliders, and many paths of other graphs."


def _find_mistake(is_blocked):
    """Return a random case with a wrong answer, as text, and the right answer.

    The text is empty if no answer is wrong.
    """
    rng = np.random.default_rng(5)
    names = "pqrstu"
    for _ in range(200):
        path = tuple(names[index] for index in rng.permutation(6)[:4])
        steps = [
            pair if names.index(pair[0]) < names.index(pair[1]) else pair[::-1]
            for pair in zip(path, path[1:])
        ]
        more = [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.3]
        arrows = list(dict.fromkeys([*steps, *more]))
        inner = [name for name in names if name not in (path[0], path[-1])]
        given = {name for name in inner if rng.random() < 0.3}
        answer = bool(returned(is_blocked(path, set(given), list(arrows))))
        expected = _expected_blocked(path, given, arrows)
        if answer != expected:
            return f"{path}, set({sorted(given)}), {arrows}", expected
    return "", None


def _expected_blocked(path, given, arrows):
    """Return whether a path is blocked when we adjust for `given`."""
    opening = set(given)  # the adjusted names and all their causes open colliders
    for _ in arrows:
        opening |= {cause for cause, effect in arrows if effect in opening}
    for left, middle, right in zip(path, path[1:], path[2:]):
        is_collider = (left, middle) in arrows and (right, middle) in arrows
        is_open = middle in opening if is_collider else middle not in given
        if not is_open:
            return True
    return False


def _linear_units(seed, n=400, shift=0.0):
    """Return units with linear outcomes, whose mean effect is -5 and grows with x.

    Units with high x are treated more often. A positive `shift` makes treatment rare.

    Returns:
        x, propensities, treated, outcomes without and with treatment, and noisy outcomes.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) + 1
    chance = 1 / (1 + np.exp(shift - 1.2 * (x[:, 0] - 1)))
    treated = rng.random(n) < chance
    m0 = 20 + 6 * x[:, 0] - x[:, 1]
    m1 = m0 - 5 + 4 * (x[:, 0] - 1)
    outcome = np.where(treated, m1, m0) + rng.normal(0, 0.5, n)
    return x, chance, treated, m0, m1, outcome


def _regression_effects(x, treated, outcome, intercept=True):
    """Return the effect on each unit by a linear regression for each group."""
    design = np.column_stack([np.ones(len(x)), x])[:, 0 if intercept else 1 :]
    weights = [
        np.linalg.lstsq(design[arm], outcome[arm], rcond=None)[0]
        for arm in (treated, ~treated)
    ]
    return design @ weights[0] - design @ weights[1]


@check(3, points=3)
def the_effect_by_regression(regression_effect):
    x, _, treated, _, _, outcome = _linear_units(2, shift=2.0)
    answer = returned(regression_effect(x, treated, outcome))
    effects = _regression_effects(x, treated, outcome)
    require(
        np.ndim(answer) == 0,
        "`regression_effect` does not return one number",
        "Take the mean over all towns",
    )
    design = np.column_stack([np.ones(len(x)), treated, x])
    pooled = np.linalg.lstsq(design, outcome, rcond=None)[0]
    require(
        not is_close(answer, pooled[1]),
        f"One line for all gives {pooled[1]:.1f} on simulated units, where two lines give {effects.mean():.1f}",
        "The coefficient of the treatment isn't the average effect if effects differ. "
        "Fit one line to the treated and one to the others",
    )
    require(
        not is_close(answer, -effects.mean()),
        "The sign is wrong",
        "Subtract untreated from treated",
        earned=1,
    )
    require(
        not is_close(answer, outcome[treated].mean() - outcome[~treated].mean()),
        "This is again the difference in means",
        "Predict *every* unit by both lines, not each unit by the line of its own group",
    )
    for arm, group in ((treated, "treated"), (~treated, "others")):
        require(
            not is_close(answer, effects[arm].mean()),
            f"The mean is over the {group} only",
            "The average effect is over all units",
            earned=2,
        )
    require(
        not is_close(
            answer, _regression_effects(x, treated, outcome, intercept=False).mean()
        ),
        "The lines have no intercept",
        "A column of ones in the design gives each line an intercept",
        earned=1,
    )
    require(
        is_close(answer, effects.mean()),
        f"On simulated units it gives {answer:.2f}; two lines give {effects.mean():.2f}",
        "Fit two lines, predict all units by each, and take the mean difference",
    )
    return "Two lines, and the mean over all units."


@check(4, points=3)
def the_effect_by_inverse_weighting(weighted_effect):
    _, chance, treated, _, _, outcome = _linear_units(4)
    chance.setflags(write=False)  # an answer that clips in place fails here
    answer = returned(weighted_effect(chance, treated, outcome, clip=1e-9))

    def stabilised(weight):
        treated_mean = np.average(outcome[treated], weights=weight[treated])
        return treated_mean - np.average(outcome[~treated], weights=weight[~treated])

    require(
        not is_close(answer, stabilised(np.ones(len(chance)))),
        "All units still have the same weight",
        "The weight is 1 / (chance of the treatment that the unit got)",
    )
    require(
        not is_close(answer, stabilised(np.where(treated, chance, 1 - chance))),
        "The weights are the chances themselves",
        "The *less* likely the treatment that a unit got, the more the unit counts",
    )
    require(
        not is_close(answer, stabilised(1 / chance)),
        "The untreated are weighted by 1 / e as well",
        "The chance of no treatment is 1 - e",
        earned=1,
    )
    shifted = weighted_effect(chance, treated, outcome + 1000, clip=1e-9)
    require(
        is_close(shifted, answer, 1e-4),
        "With 1,000 added to every outcome the effect changes",
        "Divide by the sum of the weights of each arm, not by n",
        earned=1,
    )
    e = np.clip(chance, 0.02, 0.98)
    expected = stabilised(np.where(treated, 1 / chance, 1 / (1 - chance)))
    require(
        is_close(answer, expected)
        or not is_close(answer, stabilised(np.where(treated, 1 / e, 1 / (1 - e)))),
        "With clip=1e-9 it clips at 0.02",
        "Clip at the argument `clip`; 0.02 is only its default",
        earned=2,
    )
    require(
        is_close(answer, expected),
        f"With clip=1e-9 it gives {answer:.2f} on simulated units; the weighted difference is {expected:.2f}",
        "1 / e for the treated, 1 / (1 - e) for the others; subtract the others from the treated",
        earned=1,
    )
    clipped = weighted_effect(chance, treated, outcome, clip=0.2)
    require(
        not is_close(clipped, answer),
        "`clip` has no effect",
        "Clip the chances before you take 1 / e",
        earned=2,
    )
    e = np.clip(chance, 0.2, 0.8)
    require(
        is_close(clipped, stabilised(np.where(treated, 1 / e, 1 / (1 - e)))),
        "With clip=0.2 the weights are wrong",
        "np.clip(chance, clip, 1 - clip): no chance below 0.2, and none above 0.8",
        earned=2,
    )
    return "Inverse chances of the actual treatment, clipped at both ends."


@check(5, points=3)
def doubly_robust_with_an_interval(doubly_robust):
    n = 20_000
    _, chance, treated, m0, m1, outcome = _linear_units(6, n)
    truth = (m1 - m0).mean()
    flat = np.full(n, 20.0)
    both = returned(doubly_robust(m0, m1, chance, treated, outcome))
    weights_only = doubly_robust(flat, flat, chance, treated, outcome)
    predictions_only = doubly_robust(m0, m1, np.full(n, 0.5), treated, outcome)
    require(
        all(
            np.shape(answer) == (3,)
            for answer in (both, weights_only, predictions_only)
        ),
        "It does not return three numbers",
        "Return estimate, low, high",
    )
    error = abs(predictions_only[0] - truth)
    require(
        error < 0.1,
        f"With right predictions and wrong chances the error is {error:.1f}",
        "A residual is the outcome minus the prediction for the *observed* arm",
    )
    require(
        not is_close(weights_only[0], 0, 1e-9),
        "With useless predictions it gives 0: nothing corrects them",
        "Add the weighted residuals to the scores",
    )
    error = abs(weights_only[0] - truth)
    require(
        error < 0.6,
        f"With useless predictions and right chances the error is {error:.1f}",
        "Treated: + residual / e. Others: - residual / (1 - e). A residual is observed minus predicted",
        earned=1,
    )
    # The scores are a signed weight times the residual, because both predictions are equal.
    weight = np.where(treated, 1 / chance, -1 / (1 - chance))
    standard_error = np.std(weight * (outcome - 20), ddof=1) / np.sqrt(n)
    estimate, low, high = weights_only
    require(
        low < estimate < high,
        "The estimate is not inside the interval",
        "estimate ± 1.96 standard errors",
        earned=2,
    )
    require(
        abs((low + high) / 2 - estimate) < 0.05 * (high - low),
        "The estimate is not in the middle of the interval",
        "Both ends are equally far: estimate - 1.96 standard errors, estimate + 1.96 standard errors",
        earned=2,
    )
    width_ratio = (high - low) / (2 * 1.96 * standard_error)
    require(
        0.9 < width_ratio < 1.1,
        f"The interval is {width_ratio:.3g} times as wide as it should be",
        "The standard error is the standard deviation *of the scores*, divided by the root of n",
        earned=2,
    )
    return "Right if either model is, and the interval has the right width."


@check(6, points=3)
def a_weight_over_time(stabilised_weights):
    rng = np.random.default_rng(8)
    patients, visits = 40, 3
    given_all = rng.uniform(0.1, 0.9, (patients, visits))
    given_drugs = rng.uniform(0.3, 0.7, (patients, visits))
    treated = (rng.random((patients, visits)) < given_all).astype(int)
    got = np.where(treated, given_all, 1 - given_all)
    usual = np.where(treated, given_drugs, 1 - given_drugs)
    answer = np.asarray(
        returned(
            stabilised_weights(treated.copy(), given_all.copy(), given_drugs.copy())
        ),
        float,
    )
    factors = usual / got
    expected = factors.prod(axis=1)
    treatment_chance = "without the drug it is 1 - e"
    multiply = "Multiply the factors of all visits, axis=1"
    require(
        not np.allclose(answer, 1),
        "Every patient still has the weight 1",
        "Each visit gives a factor: one chance of the actual treatment, divided by another",
    )
    mistakes = [
        (
            factors,
            "There is a weight for each visit, and not for each patient",
            multiply,
        ),
        (factors.prod(axis=0), "This multiplies over the patients", multiply),
        (factors.prod(), "This is one product over all patients", multiply),
        (factors.sum(axis=1), "The factors are added", multiply),
        (factors.mean(axis=1), "This is the mean of the factors", multiply),
        (factors[:, 0], "Only the first visit counts", multiply),
        (factors[:, -1], "Only the last visit counts", multiply),
        (
            (given_drugs / given_all).prod(axis=1),
            "An untreated week has the chance of a treated one",
            f"Both arrays hold chances of *treatment*: {treatment_chance}",
        ),
        (
            1 / expected,
            "The fraction is upside down",
            "The *less* likely the actual treatment was, given the counts, the more the patient counts",
        ),
    ]
    reject_mistakes(answer, mistakes, earned=1)
    mistakes = [
        (
            (given_drugs / got).prod(axis=1),
            "In the numerator an untreated week has the chance of a treated one",
            f"The numerator, too, is a chance of the actual treatment: {treatment_chance}",
        ),
        (
            (usual / given_all).prod(axis=1),
            "In the denominator an untreated week has the chance of a treated one",
            f"The denominator, too, is a chance of the actual treatment: {treatment_chance}",
        ),
        (
            (1 / got).prod(axis=1),
            "The weights are not stabilised: the numerator is missing",
            "The numerator is the chance of the actual treatment, given earlier drugs only",
        ),
        (factors[:, :2].prod(axis=1), "Only the first two visits count", multiply),
        (expected[:, None], "The weights are a column", "Return shape (patients,)"),
    ]
    reject_mistakes(answer, mistakes, earned=2)
    require(
        answer.shape == expected.shape,
        f"The shape of the weights is {answer.shape}, not {expected.shape}",
        "A number for each patient",
    )
    require(
        np.allclose(answer, expected),
        f"The first patient has the weight {answer[0]:.3f}; by hand it is {expected[0]:.3f}",
        f"She was treated {treated[0].tolist()}; the factors are {factors[0].round(3).tolist()}",
    )
    return "A product over the visits of the chances of the actual treatments."
