"""Checks of notebook 12: whom an agent takes its user for, replay, elastic weights, and an agent of one's own."""

import numpy as np

from checks import Checks, demand
from pushlab.agents.lifelong import log_likelihood
from pushlab.challenges.board import kept_and_forgotten
from pushlab.lifetimes.live import run_syllabus
from pushlab.metrics.estimate import paired_interval

check = Checks("12 · A lifelong notification agent")


@check(1, points=2)
def whose_answers_these_are(recognise):
    def says(recent, known, surprise=5.0):
        likely = [log_likelihood(recent, one) for one in known]
        right, new = int(np.argmax(likely)), log_likelihood(recent, (0, 0))
        close = abs(new - max(likely) - surprise) < 1e-6
        return (
            recognise(recent, known, surprise),
            (len(known) if new > max(likely) + surprise else right),
            close,
        )

    mira, theo = (640, 360), (100, 900)
    for opened, who in ((20, 0), (3, 1)):
        mine, right, _ = says((opened, 30 - opened), [mira, theo])
        demand(
            mine == right,
            f"{opened} of 30 opened, by one of (640, 360) and (100, 900): it says {mine}",
            f"{opened} opens are likeliest of number {who}; return the number in the list",
        )
    mine, _, _ = says((30, 0), [mira, theo])
    demand(
        mine == 2,
        f"30 of 30 opened is unlike both, and it says {mine}",
        "compare with somebody new, who is known by (0, 0) answers; then return len(known)",
    )
    mine, _, _ = says((11, 19), [mira])
    demand(
        mine == 0,
        f"11 of 30 opened, and Mira opens 64 %: it says {mine}",
        "somebody new has to be likelier by more than `surprise`, not only a little",
        earned=1,
    )
    mine, _, _ = says((16, 14), [mira, (1, 1)])
    demand(
        mine == 0,
        f"16 of 30, by (640, 360) or by one of whom two answers are known, (1, 1): it says {mine}",
        "a share of few answers is hardly known: compare likelihoods and not shares",
        earned=1,
    )
    rng = np.random.default_rng(12)
    for _ in range(200):
        known = [
            tuple(map(int, rng.integers(0, 60, 2))) for _ in range(rng.integers(1, 4))
        ]
        recent, surprise = (
            tuple(map(int, rng.integers(0, 15, 2))),
            float(rng.choice([0, 2, 5])),
        )
        mine, right, close = says(recent, known, surprise)
        demand(
            mine == right or close,
            f"recent {recent}, known {known}, surprise {surprise:g}: {mine}, not {right}",
            "is `surprise` used as it is given? Are the known answers used as counts?",
            earned=1,
        )
    return "The likeliest of those it knows, or somebody new if the answers ask for it."


@check(2, points=3)
def elastic_weights(fisher, penalty_gradient):
    rng = np.random.default_rng(2)
    features = rng.normal(2, 1, (50, 4)) * [1, 0.1, 3, 0]
    mine, right = np.asarray(fisher(features, 1.0)), (features**2).mean(axis=0)
    demand(
        mine.shape == (4,),
        f"`fisher` of features (50, 4) has the shape {mine.shape}",
        "one number a weight: (4,)",
    )
    demand(
        np.allclose(mine, right),
        f"`fisher` gives {mine.round(2)} for columns whose mean squares are "
        f"{right.round(2)}",
        "the mean over the rows of x², not the variance of x and not a sum",
    )
    demand(
        np.allclose(fisher(features, 4.0), right / 4),
        "with a noise variance of 4 `fisher` is not a fourth",
        "noisy answers say less of a weight: divide by the noise variance",
    )
    weights, anchor, importance = rng.normal(size=(3, 5))
    importance = importance**2

    def penalty(at, strength):
        return strength / 2 * (importance * (at - anchor) ** 2).sum()

    still = np.asarray(penalty_gradient(anchor, anchor, importance, 3.0))
    demand(
        np.allclose(still, 0),
        "at the anchor the gradient is not 0",
        "the penalty pulls to the old weights w*, not to 0",
        earned=1,
    )
    steps = 1e-5 * np.eye(5)
    for strength in (1.0, 7.0):
        slope = [
            (penalty(weights + step, strength) - penalty(weights - step, strength))
            / 2e-5
            for step in steps
        ]
        mine = np.asarray(penalty_gradient(weights, anchor, importance, strength))
        demand(
            mine.shape == (5,),
            f"the gradient of five weights has the shape {mine.shape}",
            "one number a weight: no sum over the weights is left in a derivative",
            earned=1,
        )
        demand(
            not np.allclose(mine, -np.array(slope), rtol=1e-4),
            "the gradient has the wrong sign",
            "it points uphill, away from w*; the learner then subtracts it",
            earned=2,
        )
        demand(
            np.allclose(mine, slope, rtol=1e-4, atol=1e-6),
            f"with strength {strength:g} the first entry is "
            f"{mine[0]:.3f}; the penalty's slope there is {slope[0]:.3f}",
            "take the derivative of strength / 2 · F · (w − w*)² by one w; which factors stay?",
            earned=2,
        )
    return "The slope of the penalty, weight by weight."


@check(3, points=3)
def a_reservoir(Reservoir):
    def filled(size, count, seed):
        one = Reservoir(size, np.random.default_rng(seed))
        for item in range(count):
            one.add(item)
        return list(one.items)

    some = filled(10, 7, 0)
    demand(
        sorted(some) == list(range(7)),
        f"after 7 items a reservoir of 10 holds {sorted(some)}",
        "keep everything as long as there is room",
    )
    kept = [filled(10, 100, seed) for seed in range(300)]
    demand(
        all(len(one) == 10 for one in kept),
        f"after 100 items a reservoir of 10 holds {len(kept[0])}",
        "never more than `size`, and never fewer once it is full",
    )
    demand(
        all(len(set(one)) == 10 for one in kept),
        "an item is in it twice",
        "put a new item in an old one's place",
    )
    demand(
        len(set(map(tuple, kept))) > 1,
        "it holds the same items whatever chance says",
        "draw from self.rng: a new "
        "item comes in with some chance, and then takes a random place",
    )
    early, late = (
        np.mean([sum(low <= item < low + 10 for item in one) for one in kept]) / 10
        for low in (0, 90)
    )
    counts = f"of the first ten items {early:.0%} are kept, of the last ten {late:.0%}; 10 % of each would be fair"
    demand(
        late < 0.125,
        counts,
        "too many new ones: with what chance may the 100th item come in, if all 100 are to "
        "have the same chance to be there?",
        earned=1,
    )
    demand(
        early < 0.125 and late > 0.075,
        counts,
        "too many old ones: a new item has to get in with chance size / met",
        earned=1,
    )
    middle = np.mean([sum(10 <= item < 90 for item in one) for one in kept]) / 80
    demand(
        abs(middle - 0.1) < 0.01,
        f"{counts}, and {middle:.0%} of those between",
        "whose place does it take? Each "
        "of the kept ones has to be equally likely to go",
        earned=2,
    )
    second = np.mean([filled(1, 2, seed) == [1] for seed in range(300)])
    demand(
        0.4 < second < 0.6,
        f"of two items one place keeps the second in {second:.0%} of 300 runs",
        "half would be fair. What is `met` when the second one comes: 1, 2 or 3?",
        earned=2,
    )
    return (
        f"Everything it ever met is equally likely to be there: {counts.split(';')[0]}."
    )


@check(4, points=3)
def an_agent_of_your_own(Mine, LinearArrivalQ, short, usual_life, SEED):
    my_life = run_syllabus(short, Mine(LinearArrivalQ), SEED, progress=False)
    (reward, forgotten), (usual, usually) = (
        kept_and_forgotten(my_life),
        kept_and_forgotten(usual_life),
    )
    idle = (
        my_life.loc[my_life["block_type"] == "test"]
        .groupby(["phase", "task"])["reward"]
        .mean()
        .unstack("task")
    )
    demand(
        idle.round(6).nunique().max() > 1,
        "its tests never change: it has learned nothing",
        "who learns nothing forgets nothing; let the learner learn",
    )
    demand(
        forgotten < usually - 5,
        f"it forgets {forgotten:.1f} a day of Mira, one model {usually:.1f}",
        "what does `begin_task` do with Mira's learner while Theo has the phone?",
    )
    demand(
        reward > usual + 3,
        f"it forgets {usually - forgotten:.1f} less, and earns {reward - usual:.1f} a day more; "
        "3 are asked for",
        "look at Theo's tests, too: he has to be learned, and learned by somebody",
        earned=1,
    )
    return f"It earns {reward:.1f} a day, one model {usual:.1f}; it forgets {forgotten:.1f}, one model {usually:.1f}."


@check(5, points=2)
def keep_or_begin_anew(verdict):
    rng = np.random.default_rng(5)
    shared = rng.normal(0, 20, 8)
    small = 1 + rng.normal(0, 0.2, 8)
    mine = verdict(shared + small, shared)
    demand(
        mine == "keeps",
        f"`keeps` earns 0.7 to 1.3 more under each of eight seeds, and it says {mine!r}",
        "lifetimes differ a lot, and both agents live the same ones: look at the differences",
    )
    mine = verdict(shared, shared + small)
    demand(
        mine == "anew",
        f"with the two exchanged it says {mine!r}",
        "which sign has keeps − anew?",
    )
    mine = verdict(shared + rng.normal(0, 1, 8), shared)
    demand(
        mine == "unsure",
        f"differences scattered around 0 give {mine!r}",
        "a mean above 0 is no verdict: where does its interval end?",
    )
    for _ in range(100):
        keeps, anew = rng.normal(rng.normal(0, 1), 1, 4), rng.normal(0, 1, 4)
        gap = paired_interval(keeps, anew)
        right = "keeps" if gap.low > 0 else "anew" if gap.high < 0 else "unsure"
        near = min(abs(gap.low), abs(gap.high)) < 1e-3
        demand(
            near or verdict(keeps, anew) == right,
            f"four seeds with the difference {gap} give {verdict(keeps, anew)!r}",
            "with four seeds 1.96 standard errors are too few; look at what "
            "`estimate.paired_interval` returns",
            earned=1,
        )
    return "A verdict only where the interval of the difference leaves out 0."
