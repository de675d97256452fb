"""Checks of notebook 3: exploration, learning from answers, and the results of a study."""

from functools import cache

import numpy as np
import pandas as pd

from checks import Checks, is_close, reject_mistakes, require, returned
from pushlab.metrics import estimate

check = Checks("3 · Challenge 2")


def choice_shares(choose, epsilon, values, times=4000, seed=31):
    """Return how often each candidate is chosen, as shares."""
    rng = np.random.default_rng(seed)
    rows = [returned(choose(values.copy(), epsilon, rng)) for _ in range(times)]
    require(
        all(
            np.ndim(row) == 0 and 0 <= row < len(values) and row == int(row)
            for row in rows[:50]
        ),
        f"`choose` returned {rows[0]!r:.40}",
        "Return the number of one candidate, counted from 0",
    )
    return np.bincount(np.array(rows, int), minlength=len(values)) / times


@check(1, points=2)
def epsilon_greedy(choose):
    values = np.array([0.2, 0.1, 0.7, 0.4, 0.3])
    greedy = choice_shares(choose, 0.0, values)
    uniform = choice_shares(choose, 1.0, values)
    mixed = choice_shares(choose, 0.3, values)
    rolled = choice_shares(choose, 1.0, np.roll(values, 1))
    repeated = choice_shares(choose, 0.3, values)
    require(
        not (uniform[2] > 0.99 and rolled[3] > 0.99 and mixed[2] > 0.99),
        "It always sends the candidate with the highest value: it never explores",
        "With probability `epsilon`, draw any candidate with `chance.integers`",
    )
    require(
        not (greedy[2] < 0.5 and uniform[2] > 0.99),
        "It explores with probability 1 − ε",
        "`chance.random() < epsilon` is true with probability ε",
    )
    require(
        greedy[2] > 0.99,
        f"With ε = 0 the best is sent {greedy[2]:.0%} of the time",
        "With ε = 0 it should never explore",
    )
    require(
        (mixed == repeated).all(),
        "The same generator gives other choices the second time",
        "Draw all random numbers from `chance`, not from `np.random`",
    )
    require(
        uniform.max() < 0.9,
        "Every call makes the same choice",
        "Use the generator `chance`, an argument of the function",
    )
    require(
        abs(uniform - 0.2).max() < 0.04,
        "With ε = 1 the five candidates are not sent equally often",
        "Exploration draws any candidate with equal probability, also the best one",
        earned=1,
    )
    require(
        abs(mixed - [0.06, 0.06, 0.76, 0.06, 0.06]).max() < 0.03,
        f"With ε = 0.3 the best is sent {mixed[2]:.0%} of the time; it should be 76 %",
        "The best is sent when not exploring, and sometimes when exploring",
        earned=1,
    )
    return "It sends the best, and with probability ε any candidate."


def _require_bounds(upper_bounds, A, b):
    """Require bounds that are estimate plus alpha times standard deviation."""
    rows = np.random.default_rng(37).normal(size=(4, 4))
    inverse = np.linalg.inv(A)
    centre = rows @ inverse @ b
    variance = np.einsum("ki,ij,kj->k", rows, inverse, rows)
    estimates, once, twice = (
        np.asarray(returned(upper_bounds(A, b, rows, alpha)))
        for alpha in (0.0, 1.0, 2.0)
    )
    require(
        twice.shape == (4,),
        f"For four rows `upper_bounds` gives the shape {twice.shape}",
        "Return one number per row: only the diagonal of X A⁻¹ Xᵀ, `((X @ inverse) * X).sum(axis=1)`",
        earned=1,
    )
    require(
        not np.allclose(once, twice),
        "Alpha has no effect",
        "Add alpha times the standard deviation",
        earned=1,
    )
    require(
        np.allclose(estimates, centre),
        "With alpha = 0 you do not get the estimates",
        "The estimate of a row x is x · θ, and θ is the solution of A θ = b",
        earned=1,
    )
    mistakes = [
        (
            centre + 2 * np.sqrt((rows @ inverse * rows).sum(axis=0)),
            "The sum goes over the rows",
            "The variance of a row is a sum over its weights: `axis=1`",
        ),
        (
            centre + 2 * variance,
            "You added the variance",
            "The standard deviation is its square root",
        ),
        (
            centre + np.sqrt(2 * variance),
            "Alpha is under the root",
            "Take the root of xᵀ A⁻¹ x first, then multiply by alpha",
        ),
        (
            centre + 2 * np.sqrt(rows**2 @ np.diag(inverse)),
            "Only the diagonal of A⁻¹ counts",
            "Weights that were seen together are uncertain together: xᵀ A⁻¹ x needs the whole table",
        ),
        (
            centre + 2 * np.sqrt(np.einsum("ki,ij,kj->k", rows, A, rows)),
            "The bound is highest for what was sent most",
            "A grows with the data: the variance needs its inverse",
        ),
    ]
    reject_mistakes(twice, mistakes, earned=2)
    require(
        np.allclose(twice, centre + 2 * np.sqrt(variance)),
        "The bounds are not estimate plus alpha times standard deviation",
        "The variance of a row x is xᵀ A⁻¹ x, one number per row",
        earned=2,
    )


@check(2, points=3)
def update_of_linucb(update, upper_bounds):
    rng = np.random.default_rng(32)
    X = rng.normal(size=(30, 4))
    rewards = (rng.random(30) < 0.4).astype(float)
    A = 2 * np.eye(4)
    b = np.zeros(4)
    answer = returned(update(A.copy(), b.copy(), X[0], 0.0))
    require(
        isinstance(answer, tuple | list) and len(answer) == 2,
        f"`update` returned {answer!r:.40}",
        "Return both A and b",
    )
    new_A, new_b = (np.array(part) for part in answer)
    require(
        (new_A.shape, new_b.shape) == ((4, 4), (4,)),
        "A or b has a new shape",
        "`np.outer(x, x)` is a table as large as A",
    )
    product = np.outer(X[0], X[0])
    mistakes = [
        (
            A,
            "A dismissal does not change A",
            "A dismissal is an answer, too: whatever the reward, one more x was observed",
        ),
        (
            product,
            "A has forgotten what it began with",
            "Add x xᵀ to the argument A, which holds λ I and the earlier answers",
        ),
        (
            A + product + np.eye(4),
            "The identity was added again",
            "λ I is in A from the beginning: add only x xᵀ",
        ),
    ]
    reject_mistakes(new_A, mistakes)
    require(
        np.allclose(new_A, A + product),
        "The table added to A is not x xᵀ",
        "`np.outer(x, x)` is a full table; `x * x` is a vector and `x @ x` a number",
    )
    require(
        abs(new_b).max() < 1e-9,
        "A dismissal has changed b",
        "b is the sum of reward times x",
        earned=1,
    )
    for x, reward in zip(X, rewards):
        A, b = update(A, b, x, reward)
    expected_A = 2 * np.eye(4) + X.T @ X
    expected_b = X.T @ rewards
    require(
        np.allclose(A, expected_A) and np.allclose(b, expected_b),
        "After 30 answers A or b is not the sum over all of them",
        "Nothing is forgotten: add to the arguments A and b",
        earned=1,
    )
    _require_bounds(upper_bounds, expected_A, expected_b)
    return "A counts the notifications sent, b the opened ones; the bound is high for rarely sent ones."


def _require_spread(draws, A):
    """Require draws of alpha 0.5 to have the covariance 0.25 A⁻¹."""
    covariance = np.cov(draws.T)
    inverse = np.linalg.inv(A)
    expected = 0.25 * inverse
    factor = np.linalg.cholesky(inverse)
    mistakes = [
        (
            0.5 * inverse,
            "The draws spread too far: the *variance* was multiplied by alpha",
            "Twice alpha is twice the standard deviation, so four times the variance",
        ),
        (
            0.25 * A,
            "The draws spread most where there is most data",
            "A grows with the data, and the covariance is its inverse",
        ),
        (
            inverse @ expected,
            "The covariance was used as if it were its root",
            "For standard normal numbers z, use `np.linalg.cholesky(inverse) @ z`",
        ),
        (
            0.25 * factor.T @ factor,
            "The factor of the covariance is transposed",
            "With L from `np.linalg.cholesky`, the covariance is L Lᵀ: use `L @ z`",
        ),
        (
            np.diag(np.diag(expected)),
            "The weights are drawn one by one, as if they were independent",
            "A⁻¹ is a full table: pass it to `chance.multivariate_normal`",
        ),
    ]
    distances = [abs(covariance - mistake).max() for mistake, *_ in mistakes]
    distance = abs(covariance - expected).max()
    if min(distances) < min(distance, 0.06):
        _, complaint, hint = mistakes[np.argmin(distances)]
        require(False, complaint, hint, earned=1)
    require(
        distance < 0.04,
        "The covariance of the draws is not alpha² A⁻¹",
        "Draw a number for each weight, with alpha² A⁻¹ as the covariance of all",
        earned=1,
    )


@check(3, points=3)
def thompsons_draw(draw):
    A = np.array([[4.0, 1.8, 0.0], [1.8, 2.0, 0.3], [0.0, 0.3, 1.0]])
    b = np.array([1.0, -0.5, 0.4])
    centre = np.linalg.solve(A, b)
    rng = np.random.default_rng(33)
    answer = np.asarray(returned(draw(A, b, 1e-12, rng)))
    require(
        answer.shape == (3,),
        f"`draw` returned the shape {answer.shape}",
        "Return one weight for each entry of b",
    )
    require(
        np.allclose(answer, centre, atol=1e-4),
        "With alpha near 0 the draw is not the estimate",
        "Draw around the solution of A θ = b",
    )
    draws = np.array([draw(A, b, 0.5, rng) for _ in range(2500)])
    repeated = [
        np.asarray(draw(A, b, 0.5, np.random.default_rng(35))) for _ in range(2)
    ]
    require(
        draws.std(axis=0).max() > 1e-9,
        "Every draw is the same",
        "Draw around the estimate with the generator `chance`, an argument of the function",
    )
    require(
        np.allclose(*repeated),
        "The same generator gives another draw the second time",
        "Draw all random numbers from `chance`, not from `np.random`",
        earned=1,
    )
    require(
        abs(draws.mean(axis=0) - centre).max() < 0.08,
        "The mean of the draws is not the estimate",
        "The mean of the normal distribution is the estimate",
        earned=1,
    )
    _require_spread(draws, A)
    return "The draws are wide where there are few data, and weights of common features vary together."


@check(4, points=2)
def the_regret_of_a_log(late_regret):
    rng = np.random.default_rng(34)
    best = rng.uniform(0.5, 0.9, 402)
    probability = best * np.linspace(0.2, 0.95, 402) * rng.uniform(0.8, 1.0, 402)
    log = pd.DataFrame(
        {
            "step": np.arange(402),
            "info.best": best,
            "info.probability": probability,
            "info.opened": rng.random(402) < probability,
        },
        index=np.arange(402) + 1000,
    )
    answer = returned(late_regret(log.copy()))
    regret = best - probability
    expected = {count: regret[-count:].mean() for count in (100, 101)}
    require(
        np.ndim(answer) == 0,
        "The result is not a single number",
        "Return the mean over the last quarter of the steps",
    )
    require(
        abs(answer - regret.mean()) > 1e-3,
        "This is the regret of the whole log",
        "Take the last quarter of the steps",
    )
    require(
        abs(answer - regret[:101].mean()) > 0.02,
        "This is the first quarter",
        "`.iloc[-n:]` takes the last n rows",
    )
    require(
        abs(answer + expected[100]) > 0.01,
        "The sign is wrong",
        "Regret is the lead of the best notification over the one that was sent",
    )
    require(
        min(abs(answer - regret[-count:].sum()) for count in expected) > 0.5,
        "This is a sum",
        "Take the mean over the steps",
    )
    opened = log["info.opened"].to_numpy()
    by_opens = [(best - opened)[-count:].mean() for count in expected]
    require(
        min(abs(answer - value) for value in by_opens) > 1e-9,
        "You used `info.opened`",
        "An answer includes luck; `info.probability` is the expected value of the notification that was sent",
        earned=1,
    )
    require(
        min(abs(answer - value) for value in expected.values()) < 1e-6,
        f"For a log of 402 steps you get {answer:.3f}, but the "
        f"regret of its last quarter is {expected[100]:.3f}",
        "Best minus sent, for each step; then the mean",
    )
    return (
        "The mean lead of the best notification over the sent one, in the last quarter."
    )


def expected_verdict(gap):
    """Return "less", "more" or "unsure" for the interval of a difference."""
    if gap.high < 0:
        return "less"
    return "more" if gap.low > 0 else "unsure"


@check(5, points=3)
def verdicts_of_a_study(verdicts, runs):
    seeds = np.arange(20)
    luck = 0.1 * np.sin(1.0 + seeds)  # luck is the same for both agents
    wave = 0.02 * (-1.0) ** seeds
    theirs = {name: 0.3 + luck for name in ("ann", "bea", "cem", "dan")}
    ours = {
        "ann": theirs["ann"] - 0.03 + wave,
        "bea": theirs["bea"] + 0.03 + wave,
        "cem": theirs["cem"] - 0.05 + 10 * wave,
        "dan": theirs["dan"] - 0.0104 + wave,
    }
    answer = returned(verdicts(ours, theirs))
    require(
        isinstance(answer, dict)
        and set(answer) == set(ours)
        and set(answer.values()) <= {"less", "more", "unsure"},
        f"`verdicts` returned {answer!r:.60}",
        'Return a dict with "less", "more" or "unsure" for each user',
    )
    require(
        (answer["ann"], answer["bea"]) != ("more", "less"),
        "More and less are swapped",
        "Below zero, our regret is less than theirs",
    )
    require(
        answer["cem"] == "unsure",
        "The interval of the difference −0.05 includes zero, but your verdict is not unsure",
        "Look at the ends of the interval, not at its middle",
    )
    require(
        (answer["ann"], answer["bea"]) == ("less", "more"),
        "A difference of 0.03 in nearly every seed is not found",
        "Compare seed by seed: luck that both agents share cancels in the difference",
        earned=1,
    )
    require(
        answer["dan"] == "unsure",
        "dan: the difference is sure by itself, but four differences are tested at once",
        "Widen the intervals so that all hold together: `estimate.simultaneous_intervals` of the differences",
        earned=2,
    )
    table = runs.pivot(index="seed", columns=["user", "agent"], values="regret_last")
    thompson, most_opened, linucb = (
        {user: table[user][agent].to_numpy() for user in sorted(set(runs["user"]))}
        for agent in ("Thompson", "most opened", "LinUCB")
    )
    for other, theirs in (("most opened", most_opened), ("LinUCB", linucb)):
        answer = verdicts(thompson, theirs)
        gaps = {user: thompson[user] - theirs[user] for user in theirs}
        for user, gap in estimate.simultaneous_intervals(gaps).items():
            require(
                answer[user] == expected_verdict(gap),
                f"Thompson against {other}, {user}: all intervals together, it is {gap}, and your verdict is "
                f"{answer[user]}",
                "Only the interval decides, not the size of the difference",
                earned=2,
            )
    return (
        "Thompson against LinUCB: "
        + ", ".join(f"{user} {word}" for user, word in answer.items())
        + "."
    )


def _wavy_loss(weights):
    return np.sin(weights).sum() * (weights**2).sum()


@check(6, points=2)
def slopes_of_a_loss(slopes):
    weights = np.array([[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]])
    original = weights.copy()
    step = 1e-3
    answer = np.asarray(returned(slopes(_wavy_loss, weights, step)))
    require(
        answer.shape == weights.shape,
        f"The result has the shape {answer.shape}, the weights {weights.shape}",
        "Return one slope for each weight",
    )
    require(
        answer.any(),
        "Every slope is 0",
        "Move one weight up in one copy of `weights`, and down in another",
    )
    require(
        is_close(weights, original),
        "The weights are not what they were before",
        "Move a weight in a copy, or put it back",
    )
    exact = np.cos(weights) * (weights**2).sum() + 2 * np.sin(weights).sum() * weights
    mistakes = [
        (2 * exact, "Twice too large", "The two losses are 2 step apart"),
        (-exact, "The sign is wrong", "The loss above minus the loss below"),
        (
            np.full(exact.shape, exact.sum()),
            "All weights were moved at once",
            "`weights[index]` is one weight: move only that one",
        ),
    ]
    reject_mistakes(answer, mistakes, tolerance=1e-4)
    require(
        is_close(answer, exact, 1e-4) or not is_close(answer, exact, 0.05),
        "The slopes are only roughly right",
        "Move each weight to both sides: the error is much smaller than with one side",
        earned=1,
    )
    require(
        is_close(answer, exact, 1e-4),
        f"The first slope is {answer[0, 0]:.3f}, not {exact[0, 0]:.3f}",
        "Two losses, a step above and a step below one weight; their difference over 2 step",
    )
    return "One weight at a time, to both sides."


USERS = 400
STEPS = 1000


def regrets(epsilons):
    """Return the mean regret of ε-greedy with 400 small users of eight notifications, (users,)."""
    rng = np.random.default_rng(36)
    users = np.arange(USERS)
    p = rng.beta(2, 4, (USERS, 8))
    sent = np.full((USERS, 8), 1e-3)
    opened = np.full((USERS, 8), 5e-4)
    regret = np.zeros(USERS)
    for epsilon in epsilons:
        explore = rng.random(USERS) < epsilon
        answer = rng.random(USERS)
        random_choice = rng.integers(8, size=USERS)
        choice = np.where(explore, random_choice, (opened / sent).argmax(axis=1))
        sent[users, choice] += 1
        opened[users, choice] += answer < p[users, choice]
        regret += p.max(axis=1) - p[users, choice]
    return regret / STEPS


@cache
def constant_regrets(epsilon):
    return regrets(np.full(STEPS, epsilon))


@check(7, points=3)
def a_schedule_of_your_own(epsilon_at):
    try:
        epsilons = np.array(
            [returned(epsilon_at(step)) for step in range(STEPS)], float
        )
    except ZeroDivisionError:
        require(
            False,
            "It divides by zero",
            "The first step is 0: the denominator must not be 0 there",
        )
    require(
        np.isfinite(epsilons).all() and epsilons.min() >= 0 and epsilons.max() <= 1,
        f"ε goes from {epsilons.min():.2f} to {epsilons.max():.2f}",
        "It must be a probability at every step",
    )
    require(
        np.ptp(epsilons) > 1e-9,
        f"ε is {epsilons[0]:g} at every step",
        "Let it depend on `step`",
    )
    require(
        epsilons[:200].mean() > epsilons[-200:].mean(),
        "ε rises",
        "When is an answer more useful: with many steps still to come, or with few?",
    )
    answer = regrets(epsilons)
    gains = {
        epsilon: estimate.paired_interval(constant_regrets(epsilon), answer)
        for epsilon in (0.2, 0.0)
    }
    early_tries = epsilons[: STEPS // 2].sum()
    try_more = f"It explores only about {early_tries:.0f} times in the first half: explore more there"
    require(
        gains[0.2].low > 0,
        f"The regret is {answer.mean():.3f}, with ε = 0.2 {constant_regrets(0.2).mean():.3f}: less by {gains[0.2]}",
        try_more
        if early_tries < 45
        else "ε should fall sooner: how useful is a try near the end?",
        earned=1,
    )
    require(
        gains[0.0].low > 0,
        f"The regret is {answer.mean():.3f}, with ε = 0 {constant_regrets(0.0).mean():.3f}: less by {gains[0.0]}",
        try_more,
        earned=1,
    )
    rival_gain = estimate.paired_interval(constant_regrets(0.05), answer)
    require(
        rival_gain.low > 0,
        f"It beats 0.2 and 0, but not a small constant: less than with ε = 0.05 by {rival_gain}",
        try_more
        if early_tries < 45
        else "Try a lot at first, and hardly at all in the second half",
        earned=2,
    )
    return (
        f"Regret {answer.mean():.3f}; with ε = 0.2 it is {constant_regrets(0.2).mean():.3f}, "
        f"with ε = 0 {constant_regrets(0.0).mean():.3f}."
    )
