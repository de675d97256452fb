"""Checks of notebook 3: how to try things out, what to remember of an answer, and what a study shows."""

from functools import cache

import numpy as np
import pandas as pd

from checks import Checks, demand
from pushlab.metrics import estimate

check = Checks("3 · Challenge 2")


def shares(choose, epsilon, values, times=4000, seed=31):
    """How often each candidate is chosen."""
    chance = np.random.default_rng(seed)
    rows = [choose(values.copy(), epsilon, chance) for _ in range(times)]
    demand(
        all(
            np.ndim(row) == 0 and 0 <= row < len(values) and row == int(row)
            for row in rows[:50]
        ),
        f"`choose` returned {rows[0]!r:.40}",
        "return the number of one candidate, from 0 on",
    )
    return np.bincount(np.array(rows, int), minlength=len(values)) / times


@check(1, points=2)
def epsilon_greedy(choose):
    values = np.array([0.2, 0.1, 0.7, 0.4, 0.3])
    never, always, some = (
        shares(choose, epsilon, values) for epsilon in (0.0, 1.0, 0.3)
    )
    turned, again = shares(choose, 1.0, np.roll(values, 1)), shares(choose, 0.3, values)
    demand(
        not (always[2] > 0.99 and turned[3] > 0.99 and some[2] > 0.99),
        "It always sends what looks best: it never explores",
        "with probability `epsilon`, ask `chance.integers` for any candidate",
    )
    demand(
        not (never[2] < 0.5 and always[2] > 0.99),
        "It explores with probability 1 − ε",
        "`chance.random() < epsilon` is true with probability ε",
    )
    demand(
        never[2] > 0.99,
        f"With ε = 0 the best is sent {never[2]:.0%} of the time",
        "then it should never explore",
    )
    demand(
        (some == again).all(),
        "The same generator gives other choices the second time",
        "take all chance from `chance`, and not from `np.random`",
    )
    demand(
        always.max() < 0.9,
        "Every call makes the same choice",
        "use the generator `chance` that is handed over",
    )
    demand(
        abs(always - 0.2).max() < 0.04,
        "With ε = 1 the five candidates are sent with the shares "
        f"{', '.join(f'{one:.2f}' for one in always)}",
        "exploring means any candidate, all equally likely, and also the best one",
        earned=1,
    )
    demand(
        abs(some - [0.06, 0.06, 0.76, 0.06, 0.06]).max() < 0.03,
        f"With ε = 0.3 the best is sent {some[2]:.0%} of the time; it should be 76 %",
        "the best is sent when not exploring, and sometimes when exploring",
        earned=1,
    )
    return "It sends the best, and with probability ε any candidate."


def bounds_are_right(upper_bounds, A, b):
    """Estimate plus width times standard deviation."""
    rows = np.random.default_rng(37).normal(size=(6, 4))
    centre, variance = (
        rows @ np.linalg.solve(A, b),
        np.einsum("ki,ij,kj->k", rows, np.linalg.inv(A), rows),
    )
    found = {
        width: np.asarray(upper_bounds(A, b, rows, width)) for width in (0.0, 1.0, 2.0)
    }
    demand(
        found[1.0].shape == (6,),
        f"For six rows `upper_bounds` gives the shape {found[1.0].shape}",
        "one number a row: of X A⁻¹ Xᵀ only the diagonal is wanted, `((X @ inverse) * X).sum(axis=1)`",
        earned=1,
    )
    demand(
        found[0.0].shape == (6,) and np.allclose(found[0.0], centre),
        "With width 0 you do not get the estimates",
        "the estimate of a row x is x · θ, and θ is the solution of A θ = b",
        earned=1,
    )
    demand(
        not np.allclose(found[1.0], centre),
        "The width changes nothing",
        "add width times the standard deviation",
        earned=2,
    )
    demand(
        not np.allclose(found[1.0], centre + variance),
        "You added the variance",
        "the standard deviation is its square root",
        earned=2,
    )
    demand(
        all(np.allclose(found[w], centre + w * np.sqrt(variance)) for w in (1.0, 2.0)),
        "The bounds are not estimate plus width times standard deviation",
        "the variance of a row x is xᵀ A⁻¹ x, one number a row",
        earned=2,
    )


@check(2, points=3)
def update_of_linucb(update, upper_bounds):
    chance = np.random.default_rng(32)
    X, rewards = chance.normal(size=(30, 4)), (chance.random(30) < 0.4).astype(float)
    A, b = 2 * np.eye(4), np.zeros(4)
    one = update(A.copy(), b.copy(), X[0], 0.0)
    demand(
        isinstance(one, tuple | list) and len(one) == 2,
        f"`update` returned {one!r:.40}",
        "return A and b, both",
    )
    one = [np.array(part) for part in one]
    demand(
        one[0].shape == (4, 4) and one[1].shape == (4,),
        "A or b has changed its shape",
        "`np.outer(x, x)` is a table as large as A",
    )
    demand(
        abs(one[0] - A).max() > 1e-9,
        "After a dismissal A is what it was",
        "a dismissal is an answer, too: whatever the reward, one more x was seen",
    )
    off = one[0] - A - np.diag(np.diag(one[0] - A))
    demand(
        abs(off).max() > 1e-9,
        "Only the diagonal of A has changed",
        "x is a column and xᵀ a row: their product is a whole table, `np.outer(x, x)`",
    )
    demand(
        not np.allclose(one[0] - A, X[0] * X[0])
        and not np.allclose(one[0] - A, X[0] @ X[0]),
        "What is added to A is not the table x xᵀ",
        "`x * x` is a list and `x @ x` a number, and NumPy adds both to "
        "every row: `np.outer(x, x)` is the table",
    )
    demand(
        abs(one[1]).max() < 1e-9,
        "A dismissal has changed b",
        "b adds up reward times x",
        earned=1,
    )
    for x, reward in zip(X, rewards):
        A, b = update(A.copy(), b.copy(), x, reward)
    exact, sums = 2 * np.eye(4) + X.T @ X, X.T @ rewards
    demand(
        np.allclose(A, exact) and np.allclose(b, sums),
        "After 30 answers A or b is not the sum of all of them",
        "nothing is forgotten: add to the A and b that you are given",
        earned=1,
    )
    bounds_are_right(upper_bounds, exact, sums)
    return "A counts what was seen, b what was opened; the bound is high where little was seen."


def spread_is_right(drawn, A):
    """Draws with width 0.5 have the covariance 0.25 A⁻¹."""
    found, right = np.cov(drawn.T), 0.25 * np.linalg.inv(A)
    spread = np.sqrt(np.diag(found) / np.diag(right))
    demand(
        not np.allclose(found, 0.5 * np.linalg.inv(A), atol=0.06),
        "The draws spread too far: the *variance* was multiplied by the width",
        "twice the width is twice the standard deviation: four times the variance",
        earned=1,
    )
    demand(
        not np.allclose(found, 0.25 * A, atol=0.2),
        "The draws spread most where most was seen",
        "A grows with what was seen, and the covariance is its inverse",
        earned=1,
    )
    demand(
        abs(spread - 1).max() < 0.15,
        "The standard deviations of the draws are "
        f"{', '.join(f'{one:.2f}' for one in spread)} times what they should be",
        "width² A⁻¹ is the covariance",
        earned=1,
    )
    demand(
        abs(found - right).max() < 0.04,
        "The weights are drawn one by one, as if they had nothing to do with "
        "each other",
        "A⁻¹ is a whole table: `chance.multivariate_normal` takes it",
        earned=2,
    )


@check(3, points=3)
def thompsons_draw(draw):
    A, b = (
        np.array([[4.0, 1.8, 0.0], [1.8, 2.0, 0.3], [0.0, 0.3, 1.0]]),
        np.array([1.0, -0.5, 0.4]),
    )
    centre, chance = np.linalg.solve(A, b), np.random.default_rng(33)
    still = np.asarray(draw(A, b, 0.0, chance))
    demand(
        still.shape == (3,),
        f"`draw` returned the shape {still.shape}",
        "one weight for each entry of b",
    )
    demand(
        np.allclose(still, centre, atol=1e-4),
        "With width 0 the draw is not the estimate",
        "draw around the solution of A θ = b",
    )
    drawn = np.array([draw(A, b, 0.5, chance) for _ in range(2500)])
    twice = [np.asarray(draw(A, b, 0.5, np.random.default_rng(35))) for _ in range(2)]
    demand(
        drawn.std(axis=0).max() > 1e-9,
        "Every draw is the same",
        "draw with the generator `chance` that is handed over, around the estimate",
    )
    demand(
        np.allclose(*twice),
        "The same generator gives another draw the second time",
        "take all chance from `chance`, and not from `np.random`",
        earned=1,
    )
    demand(
        abs(drawn.mean(axis=0) - centre).max() < 0.08,
        "On average the draws are not the estimate",
        "the mean of the normal distribution is the estimate",
        earned=1,
    )
    spread_is_right(drawn, A)
    return (
        "Wide where little was seen, and weights that were seen together move together."
    )


@check(4, points=2)
def regret_of_a_log(late_regret):
    chance = np.random.default_rng(34)
    best = chance.uniform(0.5, 0.9, 402)
    probability = best * np.linspace(0.2, 0.95, 402) * chance.uniform(0.8, 1.0, 402)
    log = pd.DataFrame(
        {
            "step": np.arange(402),
            "info.best": best,
            "info.probability": probability,
            "info.opened": chance.random(402) < probability,
        },
        index=np.arange(402) + 1000,
    )
    mine, gap = late_regret(log.copy()), best - probability
    last = {many: gap[-many:].mean() for many in (100, 101)}
    demand(
        np.ndim(mine) == 0,
        "It is no single number",
        "the mean over the last quarter of the steps",
    )
    demand(
        abs(mine - gap.mean()) > 1e-3,
        "This is the regret of the whole log",
        "take the last quarter of the steps",
    )
    demand(
        abs(mine - gap[:101].mean()) > 0.02,
        "This is the first quarter",
        "`.iloc[-n:]` takes the last n rows",
    )
    demand(
        abs(mine + last[100]) > 0.01,
        "The sign is wrong",
        "what the best notification has more than the sent one",
    )
    demand(
        min(abs(mine - gap[-n:].sum()) for n in last) > 0.5,
        "This is a sum",
        "take the mean over the steps",
    )
    seen = [(best - log["info.opened"].to_numpy())[-n:].mean() for n in last]
    demand(
        min(abs(mine - one) for one in seen) > 1e-9,
        "You used what was opened",
        "an answer is also luck; "
        "`info.probability` is what could be expected of the notification that was sent",
        earned=1,
    )
    demand(
        min(abs(mine - one) for one in last.values()) < 1e-6,
        f"For a log of 402 steps you get {mine:.3f}, and the "
        f"regret of its last quarter is {last[100]:.3f}",
        "best less sent, for each step; then the mean",
    )
    return "What the best notification would have had more, on average, over the last quarter."


@check(5, points=3)
def what_a_study_shows(verdicts, runs):
    seeds = np.arange(20)
    luck, wave = (
        0.1 * np.sin(1.0 + seeds),
        0.02 * (-1.0) ** seeds,
    )  # luck is the same for both agents
    theirs = {
        "ann": 0.3 + luck,
        "bea": 0.3 + luck,
        "cem": 0.3 + luck,
        "dan": 0.3 + luck,
    }
    ours = {
        "ann": theirs["ann"] - 0.03 + wave,
        "bea": theirs["bea"] + 0.03 + wave,
        "cem": theirs["cem"] - 0.05 + 10 * wave,
        "dan": theirs["dan"] - 0.0104 + wave,
    }
    said = verdicts(ours, theirs)
    demand(
        isinstance(said, dict)
        and set(said) == set(ours)
        and set(said.values()) <= {"less", "more", "unsure"},
        f"`verdicts` returned {said!r:.60}",
        'a dict with "less", "more" or "unsure" for each user',
    )
    demand(
        (said["ann"], said["bea"]) != ("more", "less"),
        "More and less have changed places",
        "below zero, ours gives away less than theirs",
    )
    demand(
        said["cem"] == "unsure",
        "The interval of the difference −0.05 includes zero, and you do not say unsure",
        "ask where the ends of the interval are, and not where its middle is",
    )
    demand(
        (said["ann"], said["bea"]) == ("less", "more"),
        "A difference of 0.03 in nearly every seed is not found",
        "compare seed by seed: luck that both agents share cancels in the difference",
        earned=1,
    )
    alone = estimate.paired_interval(ours["dan"], theirs["dan"])
    demand(
        said["dan"] == "unsure",
        f"dan: {alone} by itself, but four differences are asked about at once",
        "widen the intervals so that all hold together: `estimate.simultaneous` of the differences",
        earned=2,
    )
    table = runs.pivot(index="seed", columns=["user", "agent"], values="regret_last")
    sides = [
        {user: table[user][agent].to_numpy() for user in sorted(set(runs["user"]))}
        for agent in ("Thompson", "most opened")
    ]
    demand(
        set(verdicts(*sides).values()) == {"less"},
        "Thompson against most opened is not sure for all five users",
        "the dictionaries may have any number of users, in any order",
        earned=2,
    )
    linucb = {user: table[user]["LinUCB"].to_numpy() for user in sides[0]}
    found, gaps = (
        verdicts(sides[0], linucb),
        estimate.simultaneous({u: sides[0][u] - linucb[u] for u in linucb}),
    )
    for user, gap in gaps.items():
        right = "less" if gap.high < 0 else "more" if gap.low > 0 else "unsure"
        demand(
            found[user] == right,
            f"Thompson against LinUCB, {user}: {gap}, all intervals together, and you say "
            f"{found[user]}",
            "only the interval decides, and not how large the difference is",
            earned=2,
        )
    return (
        "Thompson against LinUCB: "
        + ", ".join(f"{user} {word}" for user, word in found.items())
        + "."
    )


USERS, STEPS = 400, 1000


def regrets(epsilons):
    """Mean regret of ε-greedy with each of 400 small users of eight notifications, (users,)."""
    chance, rows = np.random.default_rng(36), np.arange(USERS)
    p = chance.beta(2, 4, (USERS, 8))
    sent, opened, lost = (
        np.full((USERS, 8), 1e-3),
        np.full((USERS, 8), 5e-4),
        np.zeros(USERS),
    )
    for epsilon in epsilons:
        dice, answer, any_one = (
            chance.random(USERS),
            chance.random(USERS),
            chance.integers(8, size=USERS),
        )
        row = np.where(dice < epsilon, any_one, (opened / sent).argmax(axis=1))
        sent[rows, row] += 1
        opened[rows, row] += answer < p[rows, row]
        lost += p.max(axis=1) - p[rows, row]
    return lost / STEPS


@cache
def fixed(epsilon):
    return regrets(np.full(STEPS, epsilon))


@check(6, points=3)
def a_schedule_of_your_own(epsilon_at):
    try:
        epsilons = np.array([epsilon_at(step) for step in range(STEPS)], float)
    except ZeroDivisionError:
        demand(
            False,
            "It divides by zero",
            "the first step is 0: what stands below the line must not be 0 there",
        )
    demand(
        np.isfinite(epsilons).all() and epsilons.min() >= 0 and epsilons.max() <= 1,
        f"ε goes from {epsilons.min():.2f} to {epsilons.max():.2f}",
        "it is a probability at every step",
    )
    demand(
        np.ptp(epsilons) > 1e-9,
        f"ε is {epsilons[0]:g} at every step",
        "let it depend on `step`",
    )
    demand(
        epsilons[:200].mean() > epsilons[-200:].mean(),
        "ε rises",
        "when is an answer worth most: when many steps "
        "are still to come, or when few are?",
    )
    mine = regrets(epsilons)
    gains = {
        value: estimate.paired_interval(fixed(value), mine) for value in (0.2, 0.0)
    }
    demand(
        gains[0.2].low > 0,
        f"Regret {mine.mean():.3f}; ε = 0.2 has {fixed(0.2).mean():.3f}: less by {gains[0.2]}",
        "it should fall sooner: of what use is a try near the end?",
        earned=1,
    )
    demand(
        gains[0.0].low > 0,
        f"Regret {mine.mean():.3f}; ε = 0 has {fixed(0.0).mean():.3f}: less by {gains[0.0]}",
        "try more at the beginning",
        earned=1,
    )
    rival = estimate.paired_interval(fixed(0.05), mine)
    tries = epsilons[: STEPS // 2].sum()
    demand(
        rival.low > 0,
        f"It beats 0.2 and 0, but not a small constant: less than with ε = 0.05 by {rival}",
        f"it explores only about {tries:.0f} times in the first half: explore more there"
        if tries < 45
        else "try a lot at first, and hardly at all in the second half",
        earned=2,
    )
    return f"Regret {mine.mean():.3f}; with ε = 0.2 it is {fixed(0.2).mean():.3f}, with ε = 0 {fixed(0.0).mean():.3f}."
