"""Checks of notebook 12: recognising the user, elastic weights, replay, and an agent."""

import numpy as np

from checks import Checks, require, returned
from pushlab.agents.lifelong import log_likelihood
from pushlab.challenges.leaderboard import reward_and_forgetting
from pushlab.lifetimes.runner import run_syllabus

check = Checks("12 · A lifelong notification agent")


def expected_user(recent, known, surprise=5.0):
    """Return the number of the likeliest user, and whether the decision is too close to judge."""
    likelihoods = [log_likelihood(recent, counts) for counts in known]
    new = log_likelihood(recent, (0, 0))
    margin = new - max(likelihoods) - surprise
    user = len(known) if new > max(likelihoods) + surprise else np.argmax(likelihoods)
    return int(user), abs(margin) < 1e-6


@check(1, points=2)
def recognise_the_user(recognise):
    mira = (640, 360)
    theo = (100, 900)
    for opened, user in ((20, 0), (3, 1)):
        recent = (opened, 30 - opened)
        answer = returned(recognise(recent, [mira, theo], 5.0))
        require(
            answer == expected_user(recent, [mira, theo])[0],
            f"{opened} of 30 opened, known users (640, 360) and (100, 900): it returns {answer}",
            f"{opened} opens are likeliest from user {user}; return the position in the list",
        )
    answer = returned(recognise((30, 0), [mira, theo], 5.0))
    require(
        answer == 2,
        f"30 of 30 opened is unlike both, and it returns {answer}",
        "Compare with a new user, who has (0, 0) known answers; then return len(known)",
    )
    answer = returned(recognise((11, 19), [mira], 5.0))
    require(
        answer == 0,
        f"11 of 30 opened, and Mira opens 64 %: it returns {answer}",
        "A new user has to be likelier by more than `surprise`, not only a little",
        earned=1,
    )
    answer = returned(recognise((16, 14), [mira, (1, 1)], 5.0))
    require(
        answer == 0,
        f"16 of 30 opened, known users (640, 360) and (1, 1), who has two answers: it returns {answer}",
        "A share of few answers is uncertain: compare likelihoods, not shares",
        earned=1,
    )
    rng = np.random.default_rng(12)
    for _ in range(200):
        known = [
            tuple(map(int, rng.integers(0, 60, 2))) for _ in range(rng.integers(1, 4))
        ]
        recent = tuple(map(int, rng.integers(0, 15, 2)))
        surprise = float(rng.choice([0, 2, 5]))
        answer = returned(recognise(recent, known, surprise))
        expected, is_close = expected_user(recent, known, surprise)
        require(
            answer == expected or is_close,
            f"recent {recent}, known {known}, surprise {surprise:g}: {answer}, not {expected}",
            "Do you use the argument `surprise`? Do you use the known answers as counts?",
            earned=1,
        )
    return "The likeliest known user, or a new user if the answers require it."


@check(2, points=3)
def elastic_weights(fisher, penalty_gradient):
    rng = np.random.default_rng(2)
    features = rng.normal(2, 1, (50, 4)) * [1, 0.1, 3, 0]
    answer = np.asarray(returned(fisher(features, 1.0)))
    expected = (features**2).mean(axis=0)
    require(
        answer.shape == (4,),
        "`fisher` does not return one number per weight",
        "Return the mean of each column of x²",
    )
    require(
        np.allclose(answer, expected),
        f"`fisher` gives {answer.round(2)} for columns whose mean squares are "
        f"{expected.round(2)}",
        "Take the mean of x² over the rows, not the variance of x and not a sum",
    )
    require(
        np.allclose(fisher(features, 4.0), expected / 4),
        "With a noise variance of 4, `fisher` is not a fourth of its value with 1",
        "Noisy answers carry less information about a weight: divide by the noise variance",
    )
    weights, anchor, importance = rng.normal(size=(3, 5))
    importance = importance**2

    def penalty(weights, strength):
        return strength / 2 * (importance * (weights - anchor) ** 2).sum()

    gradient = penalty_gradient(anchor, anchor, importance, 3.0)
    require(
        np.allclose(returned(gradient), 0),
        "At the anchor the gradient is not 0",
        "The penalty pulls to the old weights w*, not to 0",
        earned=1,
    )
    steps = 1e-5 * np.eye(5)
    for strength in (1.0, 7.0):
        differences = [
            penalty(weights + step, strength) - penalty(weights - step, strength)
            for step in steps
        ]
        slope = np.array(differences) / 2e-5
        gradient = penalty_gradient(weights, anchor, importance, strength)
        require(
            np.shape(gradient) == (5,),
            "`penalty_gradient` does not return one number per weight",
            "A derivative has no sum over the weights",
            earned=1,
        )
        require(
            not np.allclose(gradient, -slope, rtol=1e-4),
            "The gradient has the wrong sign",
            "It points uphill, away from w*; the learner then subtracts it",
            earned=2,
        )
        require(
            np.allclose(gradient, slope, rtol=1e-4, atol=1e-6),
            f"With strength {strength:g} the first entry is "
            f"{gradient[0]:.3f}; the slope of the penalty there is {slope[0]:.3f}",
            "Take the derivative of strength / 2 · F · (w − w*)² with respect to one w; which factors remain?",
            earned=2,
        )
    return "The slope of the penalty, weight by weight."


@check(3, points=3)
def a_reservoir(Reservoir):
    def filled(size, count, seed):
        reservoir = Reservoir(size, np.random.default_rng(seed))
        for item in range(count):
            reservoir.add(item)
        return list(reservoir.items)

    items = filled(10, 7, 0)
    require(
        sorted(items) == list(range(7)),
        f"After 7 items a reservoir of 10 holds {sorted(items)}",
        "Keep everything as long as there is room",
    )
    runs = [filled(10, 100, seed) for seed in range(300)]
    sizes = {len(items) for items in runs}
    require(
        sizes == {10},
        f"After 100 items a reservoir of 10 holds {min(sizes)} to {max(sizes)}",
        "Never more than `size`, and never fewer once it is full",
    )
    require(
        all(len(set(items)) == 10 for items in runs),
        "It holds an item twice",
        "Put a new item in the place of an old one",
    )
    require(
        len(set(map(tuple, runs))) > 1,
        "It holds the same items under every seed",
        "Draw from self.rng: a new item enters with some probability, and then takes a random place",
    )

    def stored_share(low, high):
        counts = [sum(low <= item < high for item in items) for items in runs]
        return np.mean(counts) / (high - low)

    first_share = stored_share(0, 10)
    last_share = stored_share(90, 100)
    shares = f"Of the first ten items {first_share:.0%} are stored, of the last ten {last_share:.0%}; 10 % is fair"
    require(
        last_share < 0.125,
        shares,
        "Too many new ones: with which probability may the 100th item enter, if all 100 are to be equally likely?",
        earned=1,
    )
    require(
        first_share < 0.125 and last_share > 0.075,
        shares,
        "Too many old ones: a new item must enter with probability size / count",
        earned=1,
    )
    middle_share = stored_share(10, 90)
    require(
        abs(middle_share - 0.1) < 0.01,
        f"{shares}, and {middle_share:.0%} of those between",
        "Whose place does it take? Each stored item must be equally likely to leave",
        earned=2,
    )
    second_share = np.mean([filled(1, 2, seed) == [1] for seed in range(300)])
    require(
        0.4 < second_share < 0.6,
        f"A reservoir of one place keeps the second of two items in {second_share:.0%} of 300 runs",
        "Half would be fair. What is `count` when the second one comes: 1, 2 or 3?",
        earned=2,
    )
    return f"Every item is equally likely to be stored: {shares.split(';')[0]}."


@check(4, points=3)
def an_agent_of_your_own(Mine, LinearArrivalQ, short, usual_life, SEED):
    my_life = run_syllabus(short, Mine(LinearArrivalQ), SEED, progress=False)
    reward, forgotten = reward_and_forgetting(my_life)
    usual_reward, usual_forgotten = reward_and_forgetting(usual_life)
    tests = my_life.loc[my_life["block_type"] == "test"]
    means = tests.groupby(["phase", "task"])["reward"].mean().unstack("task")
    require(
        means.round(6).nunique().max() > 1,
        "Its tests never change: it has learned nothing",
        "An agent that learns nothing forgets nothing; let the learner learn",
    )
    require(
        forgotten < usual_forgotten - 5,
        f"It forgets {forgotten:.1f} per day of Mira, one model {usual_forgotten:.1f}",
        "What does `begin_task` do with Mira's learner while Theo has the phone?",
    )
    gain = reward - usual_reward
    require(
        gain > 3,
        f"It forgets {usual_forgotten - forgotten:.1f} less, and earns {gain:.1f} per day more; "
        "it must earn 3 more",
        "Look at Theo's tests, too: some learner has to learn him",
        earned=1,
    )
    return (
        f"It earns {reward:.1f} per day, one model {usual_reward:.1f}; "
        f"it forgets {forgotten:.1f}, one model {usual_forgotten:.1f}."
    )
