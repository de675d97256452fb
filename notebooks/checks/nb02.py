"""Checks of notebook 2: how far to trust a judge, candidates, a rule, and what holds under every judge."""

import numpy as np
import pandas as pd

from checks import Checks, demand
from pushlab.metrics import estimate
from pushlab.users.candidates import catalogue_candidates

check = Checks("2 · Challenge 1")


def loss(p, opened):
    """Mean log-loss in nats, with probabilities kept off 0 and 1."""
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-np.log(np.where(opened, p, 1 - p)).mean())


def near(one, other, within=1e-6):
    return np.ndim(one) == 0 and np.isfinite(one) and abs(one - other) < within


@check(1, points=2)
def log_loss_of_a_judge(log_loss):
    chance = np.random.default_rng(21)
    p, opened = chance.uniform(0.02, 0.98, 400), chance.random(400) < 0.4
    with np.errstate(all="ignore"):
        mine, sure = (
            log_loss(p, opened),
            log_loss(np.array([1.0, 0.3]), np.array([False, True])),
        )
    right, halves = (
        loss(p, opened),
        [loss(p[some], opened[some]) for some in (opened, ~opened)],
    )
    half_sums = [half * some.mean() for half, some in zip(halves, (opened, ~opened))]
    demand(
        np.ndim(mine) == 0,
        "It is no single number",
        "the result is one number: the mean over all notifications",
    )
    demand(
        not near(mine, -right),
        "The sign is wrong: a loss is above 0, and smaller is better",
        "the logarithm of a probability is below 0",
    )
    demand(
        not near(mine, 400 * right),
        "This is the sum over the notifications",
        "take the mean, so that judges of long and short periods can be compared",
    )
    demand(
        not near(mine, loss(p, ~opened)),
        "Opened and dismissed have changed places",
        "a judge who gave 0.9 to an opened notification should lose little",
    )
    demand(
        not any(near(mine, one) for one in halves + half_sums),
        "Only one kind of answer is counted",
        "a dismissed notification counts with the probability that the judge gave to *dismissed*",
    )
    demand(
        not near(mine * np.log(2), right),
        "This is in bits",
        "take the natural logarithm, as the table above does",
    )
    demand(
        near(mine, right),
        f"For 400 notifications you get {mine:.3f}, and the log-loss is {right:.3f}",
        "for each notification: the probability that the judge gave to what then happened; its logarithm",
    )
    demand(
        np.isfinite(sure) and sure > 5,
        f"A judge who said 1 and was wrong loses {2 * sure - loss(0.3, True):.1f}",
        "not infinity, but a lot: let np.clip keep probabilities 1e-15 away from 0 and 1",
        earned=1,
    )
    return "Small is good, and being sure and wrong costs most."


@check(2, points=3)
def a_judge_that_means_what_it_says(recalibrated):
    chance = np.random.default_rng(22)
    share, later = (
        chance.beta(1.0, 1.6, 4000),
        chance.beta(1.6, 1.6, 1500),
    )  # the later period has more opens

    def said(true):
        return 0.3 + 0.25 * true**1.5

    opened = chance.random(4000) < share
    try:
        found = np.asarray(recalibrated(said(share), opened, said(later)), float)
    except IndexError as error:
        demand(
            False,
            f"A probability belongs to a group that is not there ({error})",
            "ten groups have nine borders between them: leave out the lowest and the highest quantile",
        )
    demand(
        found.shape == later.shape,
        f"The result has the shape {found.shape}",
        "one probability for each of `p_new`",
    )
    demand(
        np.isfinite(found).all() and found.min() >= 0 and found.max() <= 1,
        "Not all results lie between 0 and 1",
        "is a group empty? A share of opened notifications cannot be outside",
    )
    demand(
        np.ptp(found) > 1e-9,
        "All notifications get the same probability",
        "that is calibrated and of no use: what was rated higher should stay higher",
    )
    low, high = later < np.quantile(later, 0.3), later > np.quantile(later, 0.7)
    gap = found[high].mean() - found[low].mean()
    demand(gap > 0, "What was rated higher is now lower", "the order should stay")
    off, before = (float(abs(one - later).mean()) for one in (found, said(later)))
    demand(
        off < before,
        f"The probabilities are off by {off:.2f} on average; before, they were off by {before:.2f}",
        "which share was opened, of those that the judge rated like this one?",
    )
    different = len(np.unique(found.round(6)))
    demand(
        different > 5,
        f"The notifications get {different} different probabilities in all",
        "the judge's "
        "probabilities lie close together: make groups of equal *size*, by quantiles",
        earned=1,
    )
    demand(
        gap > 0.3,
        f"On average they are off by {off:.2f}: too little lies "
        "between the lowest and the highest",
        "did the groups get equal numbers of notifications? The judge's "
        "probabilities lie close together",
        earned=1,
    )
    demand(
        off < 0.06,
        f"In a later period, with more opens, they are off by {off:.2f} on average",
        "groups and shares come from the past; a new notification goes into the group of the past that has its "
        "probability",
        earned=1,
    )
    return f"In a later period the probabilities are off by {off:.2f} on average; before, by {before:.2f}."


@check(3, points=2)
def candidates_without_nonsense(candidates_from):
    history = pd.DataFrame(
        [("clock", "alarm", "unknown")] * 4
        + [("mail", "email", "sport")] * 2
        + [("mail", "email", "food"), ("chat", "msg", "food"), ("chat", "msg", "sport")]
        + [("chat", "msg", "unknown")] * 3,
        columns=["app", "kind", "about"],
    )
    found = candidates_from(history.sample(frac=1, random_state=3))
    demand(
        isinstance(found, pd.DataFrame)
        and list(found.columns) == list(history.columns),
        "The result is no table with the history's columns",
        "return a DataFrame, a row a candidate",
    )
    rows, seen = [tuple(row) for row in found.to_numpy()], history.value_counts()
    new = [row for row in rows if row not in seen.index]
    demand(
        not new,
        f"{' + '.join(new[0]) if new else ''} was never sent: a new combination of known values",
        "count whole rows, and not each column by itself",
    )
    demand(
        len(set(rows)) == len(rows),
        "Some candidates are there twice",
        "each combination once",
    )
    rare = [row for row in rows if seen[row] < 2]
    demand(
        not rare,
        f"{' + '.join(rare[0]) if rare else ''} was seen once only: it may be a mistake in the diary",
        "keep a combination if the whole of it was seen at least `least` times",
        earned=1,
    )
    missing = [row for row in seen.index if seen[row] >= 2 and row not in rows]
    demand(
        not missing,
        f"{' + '.join(missing[0]) if missing else ''} was seen more than once, and is not there",
        "every combination seen at least `least` times is a candidate, rare app or not",
    )
    demand(
        len(candidates_from(history, least=4)) == 1,
        "`least=4` changes nothing",
        "use the argument",
        earned=1,
    )
    return "Only what was really sent, each once."


def sent_by(rule, user):
    """The notifications of a rule for every context of the test, codes (contexts, components)."""
    return np.array([rule(context) for context in user.test.context_codes])


def like_the_truth(sent, truth, user):
    """The share of contexts, of every eighth one, in which the truth's own favourite was sent."""
    candidates, contexts, sent = (
        catalogue_candidates(user),
        user.test.context_codes[::8],
        sent[::8],
    )
    likes = [
        truth.probability(contexts, np.tile(one, (len(contexts), 1)))
        for one in candidates
    ]
    return float((sent == candidates[np.argmax(likes, axis=0)]).all(axis=1).mean())


@check(4, points=3)
def a_rule_of_your_own(my_rule, challenge, judges, codes):
    user = challenge.user
    mine, contexts = sent_by(my_rule, user), user.test.context_codes
    words = user.schema.notification.decode(mine)[
        list(user.catalogue)
    ].drop_duplicates()
    exist = set(map(tuple, user.catalogue.to_numpy()))
    nonsense = [" + ".join(row) for row in words.to_numpy() if tuple(row) not in exist]
    demand(
        not nonsense,
        f"The catalogue has no {nonsense[0] if nonsense else ''}: nobody can send it",
        "take app, category and subject from one row of `noor.catalogue`",
    )
    demand(
        len(words) > 1,
        "Your rule sends the same notification in every context",
        "let it look at `context`",
    )
    gaps = {
        name: judge.probability(contexts, mine)
        - judge.probability(contexts, codes["most opened"])
        for name, judge in judges.items()
    }
    gains = {
        name: estimate.mean_interval([week.mean() for week in np.array_split(gap, 12)])
        for name, gap in gaps.items()
    }
    gain, same = gains.pop("truth"), like_the_truth(mine, judges["truth"], user)
    demand(
        same < 0.9,
        f"In {same:.0%} of the contexts you send what the truth likes best: this rule asks the truth",
        "use the history; with a real user there is no truth to ask",
    )
    demand(
        abs(gain.mean) > 1e-9,
        'It sends what "most opened" sends',
        "add what you know of Noor's days and places",
    )
    demand(
        gain.mean > 0,
        f'It is behind "most opened" by {-gain.mean:.3f} opens a notification',
        "in which time of day does Noor open what? Look at her history by subject and time",
    )
    demand(
        gain.low > 0,
        f"It is ahead by {gain}: over twelve weeks the interval includes zero",
        "that may be luck with these contexts; improve the rule at another time of day",
        earned=1,
    )
    behind = [name for name, one in gains.items() if one.high < 0]
    demand(
        not behind,
        f"Noor opens more, but {' and '.join(behind)} say surely less: would you have found this rule "
        "in the history?",
        "choose by the history alone; with a real user there is no truth to look at",
        earned=2,
    )
    return f'Ahead of "most opened" by {gain} opens a notification, and no judge says it is surely behind.'


def surely(weekly):
    """The pairs (better, worse) of which every judge is sure."""
    first, *others = (
        {
            (one, other)
            for one in rates
            for other in rates
            if one != other
            and estimate.paired_interval(rates[one], rates[other]).low > 0
        }
        for rates in weekly.values()
    )
    return first.intersection(*others)


@check(5, points=3)
def what_every_judge_agrees_on(agreed, weekly):
    chance, weeks = np.random.default_rng(25), np.arange(12)
    busy, wobble = 0.2 * np.sin(weeks), 0.002 * (-1.0) ** weeks
    base = 0.4 + busy
    one = {
        "a": base + 0.05 + wobble,
        "b": base,
        "c": base + 0.01 + 0.06 * chance.standard_normal(12),
    }
    pair, noise = (
        {"a": base + 0.02 + wobble, "b": base},
        {"a": base + 0.03 + 0.15 * (-1.0) ** weeks, "b": base},
    )
    swapped = {"a": base, "b": base + 0.02 + wobble}
    demand(
        set(agreed({"one": pair, "two": swapped})) == set(),
        "Two judges say the opposite of each other, and you report an order",
        "every judge has to agree",
    )
    demand(
        ("b", "a") in agreed({"one": swapped}) and ("a", "b") in agreed({"one": pair}),
        "A difference that is the same every week is not found",
        "compare week by week: what one week does to both "
        "agents cancels in the difference (`estimate.paired_interval`)",
    )
    demand(
        set(agreed({"one": noise})) == set(),
        "A mean difference of 0.03 whose interval includes zero is reported",
        "ask for an interval that lies above zero, and not for a mean",
        earned=1,
    )
    demand(
        set(agreed({"one": pair, "two": noise})) == set(),
        "One judge is sure, the other's interval includes zero, "
        "and you report an order",
        "all judges have to be sure",
        earned=1,
    )
    demand(
        ("a", "b") in agreed({"one": one, "two": one})
        and ("b", "a") not in agreed({"one": one, "two": one}),
        "Of three agents a sure pair is lost or turned round",
        "(better, worse), for every pair of agents",
        earned=1,
    )
    demand(
        set(agreed(weekly)) == surely(weekly),
        "With Noor's five judges a pair is missing or too many",
        "print agreed(weekly), and look for a pair whose interval includes zero for one judge",
        earned=2,
    )
    return "With Noor, all judges agree on: " + ", ".join(
        " > ".join(pair) for pair in sorted(agreed(weekly))
    )
