"""Checks of notebook 2: trust in a judge, candidates, a rule, and results that hold under every judge."""

from itertools import permutations

import numpy as np
import pandas as pd

from checks import Checks, is_close, require, returned
from pushlab.metrics import estimate
from pushlab.users.candidates import catalogue_candidates

check = Checks("2 · Challenge 1")


def expected_loss(p, opened):
    """Return the mean log-loss in nats, with probabilities kept off 0 and 1."""
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-np.log(np.where(opened, p, 1 - p)).mean())


@check(1, points=2)
def the_log_loss_of_a_judge(log_loss):
    rng = np.random.default_rng(21)
    p = rng.uniform(0.02, 0.98, 400)
    opened = rng.random(400) < 0.4
    with np.errstate(all="ignore"):
        answer = returned(log_loss(p, opened))
        certain = log_loss(np.array([1.0, 0.3]), np.array([False, True]))
    expected = expected_loss(p, opened)
    partial = []
    for mask in (opened, ~opened):
        loss = expected_loss(p[mask], opened[mask])
        partial += [loss, loss * mask.mean()]
    require(
        np.ndim(answer) == 0,
        "The result is not a single number",
        "Return one number: the mean over all notifications",
    )
    require(
        not is_close(answer, -expected),
        "The sign is wrong: a loss is above 0, and smaller is better",
        "The logarithm of a probability is below 0",
    )
    require(
        not is_close(answer, 400 * expected),
        "This is the sum over the notifications",
        "Take the mean, so that judges of long and short periods can be compared",
    )
    require(
        not is_close(answer, expected_loss(p, ~opened)),
        "Opened and dismissed are swapped",
        "A judge that gave 0.9 to an opened notification should lose little",
    )
    require(
        not any(is_close(answer, loss) for loss in partial),
        "Only opened or only dismissed notifications are counted",
        "A dismissed notification counts with the judge's probability of *dismissed*",
    )
    require(
        not is_close(answer * np.log(2), expected),
        "This is in bits",
        "Use the natural logarithm, as the table above does",
    )
    require(
        is_close(answer, expected),
        f"For 400 notifications you get {answer:.3f}, but the log-loss is {expected:.3f}",
        "For each notification, take the logarithm of the probability that the judge gave to the actual outcome",
    )
    require(
        np.isfinite(certain) and certain > 5,
        f"A judge that gave probability 1 and was wrong loses {2 * certain - expected_loss(0.3, True):.1f}",
        "The loss must be large, but finite: keep probabilities 1e-15 away from 0 and 1 with np.clip",
        earned=1,
    )
    return "A small loss is good, and a confident wrong probability costs most."


@check(2, points=3)
def recalibration(recalibrated):
    rng = np.random.default_rng(22)
    past = rng.beta(1.0, 1.6, 4000)
    later = rng.beta(1.6, 1.6, 1500)  # the later period has more opens

    def judged(true):
        return 0.3 + 0.25 * true**1.5

    opened = rng.random(4000) < past
    try:
        answer = returned(recalibrated(judged(past), opened, judged(later)))
        answer = np.asarray(answer, float)
    except IndexError as error:
        require(
            False,
            f"A probability falls into a group that does not exist ({error})",
            "Ten groups have nine borders: leave out the lowest and the highest quantile",
        )
    require(
        answer.shape == later.shape,
        f"The result has shape {answer.shape}",
        "Return one probability for each of `p_new`",
    )
    require(
        np.isfinite(answer).all() and answer.min() >= 0 and answer.max() <= 1,
        "Not all results lie between 0 and 1",
        "Is a group empty? A share of opened notifications lies between 0 and 1",
    )
    require(
        np.ptp(answer) > 1e-9,
        "All notifications get the same probability",
        "This is calibrated, but useless: notifications that were rated higher should stay higher",
    )
    low = later < np.quantile(later, 0.3)
    high = later > np.quantile(later, 0.7)
    gap = answer[high].mean() - answer[low].mean()
    require(
        gap > 0,
        "Notifications that were rated higher are now lower",
        "Keep the order",
    )
    error = float(abs(answer - later).mean())
    error_before = float(abs(judged(later) - later).mean())
    require(
        error < error_before,
        f"The mean error of the probabilities is {error:.2f}; before, it was {error_before:.2f}",
        "Among notifications that the judge rated like this one, which share was opened?",
    )
    distinct_count = len(np.unique(answer.round(6)))
    require(
        distinct_count > 5,
        f"The notifications get only {distinct_count} different probabilities",
        "The judge's probabilities lie close together: make groups of equal *size*, by quantiles",
        earned=1,
    )
    require(
        gap > 0.3,
        f"The mean error is {error:.2f}: the lowest and the highest probabilities are too close",
        "Did the groups get equal numbers of notifications? The judge's probabilities lie close together",
        earned=1,
    )
    require(
        error < 0.06,
        f"In a later period with more opens the mean error is {error:.2f}",
        "Take groups and shares from the past. A new notification goes into the past group of its probability",
        earned=1,
    )
    return f"In a later period the mean error is {error:.2f}; before, it was {error_before:.2f}."


@check(3, points=2)
def candidates_without_nonsense(candidates_from):
    history = pd.DataFrame(
        [("clock", "alarm", "unknown")] * 4
        + [("mail", "email", "sport")] * 2
        + [("mail", "email", "food"), ("chat", "msg", "food"), ("chat", "msg", "sport")]
        + [("chat", "msg", "unknown")] * 3,
        columns=["app", "kind", "about"],
    )
    answer = returned(candidates_from(history.sample(frac=1, random_state=3)))
    require(
        isinstance(answer, pd.DataFrame)
        and list(answer.columns) == list(history.columns),
        "The result is not a table with the history's columns",
        "Return a DataFrame with one row per candidate",
    )
    rows = [tuple(row) for row in answer.to_numpy()]
    counts = history.value_counts()
    for row in rows:
        require(
            row in counts.index,
            f"{' + '.join(row)} was never sent: it is a new combination of known values",
            "Count whole rows, not each column by itself",
        )
    require(
        len(set(rows)) == len(rows),
        "Some candidates occur twice",
        "Return each combination once",
    )
    for row in rows:
        require(
            counts[row] >= 2,
            f"{' + '.join(row)} was sent only once: it may be a mistake in the diary",
            "Keep a combination if the whole row occurs at least `min_count` times",
            earned=1,
        )
    for row in counts.index:
        require(
            counts[row] < 2 or row in rows,
            f"{' + '.join(row)} was sent more than once, but is missing",
            "Every combination that occurs at least `min_count` times is a candidate, also from a rare app",
        )
    require(
        len(candidates_from(history, min_count=4)) == 1,
        "`min_count=4` changes nothing",
        "Use the argument",
        earned=1,
    )
    return "Only notifications that were really sent, each once."


def truth_share(sent, truth, user):
    """Return the share of contexts, of every eighth one, in which the truth's favourite was sent."""
    candidates = catalogue_candidates(user)
    contexts = user.test.context_codes[::8]
    probabilities = [
        truth.probability(contexts, np.tile(candidate, (len(contexts), 1)))
        for candidate in candidates
    ]
    favourites = candidates[np.argmax(probabilities, axis=0)]
    return float((sent[::8] == favourites).all(axis=1).mean())


@check(4, points=3)
def a_rule_of_your_own(my_rule, challenge, judges, codes):
    user = challenge.user
    contexts = user.test.context_codes
    sent = np.array([returned(my_rule(context)) for context in contexts])
    columns = list(user.catalogue)
    words = user.schema.notification.decode(sent)[columns].drop_duplicates()
    catalogue = set(map(tuple, user.catalogue.to_numpy()))
    for row in words.to_numpy():
        require(
            tuple(row) in catalogue,
            f"{' + '.join(row)} is not in the catalogue, so it cannot be sent",
            "Take app, category and subject from one row of `noor.catalogue`",
        )
    require(
        len(words) > 1,
        "Your rule sends the same notification in every context",
        "Use `context`",
    )
    gains = {}
    for name, judge in judges.items():
        popular = judge.probability(contexts, codes["most opened"])
        gap = judge.probability(contexts, sent) - popular
        gains[name] = estimate.mean_interval(
            [week.mean() for week in np.array_split(gap, 12)]
        )
    gain = gains.pop("truth")
    share = truth_share(sent, judges["truth"], user)
    require(
        share < 0.9,
        f"In {share:.0%} of the contexts you send the favourite of the truth: this rule uses the truth",
        "Use the history; for a real user there is no truth to query",
    )
    require(
        abs(gain.mean) > 1e-9,
        'It sends the same notifications as "most opened"',
        "Add your knowledge of Noor's days and places",
    )
    require(
        gain.mean > 0,
        f'It is behind "most opened" by {-gain.mean:.3f} opens per notification',
        "Which subjects does Noor open at which time of day? Look at her history by subject and time",
    )
    require(
        gain.low > 0,
        f"It is ahead by {gain}: over twelve weeks the interval includes zero",
        "This may be luck with these contexts. Improve the rule at another time of day",
        earned=1,
    )
    behind = [name for name, interval in gains.items() if interval.high < 0]
    require(
        not behind,
        f"Noor opens more, but under {' and '.join(behind)} the interval is below zero: would you have found "
        "this rule in the history?",
        "Choose by the history alone; for a real user there is no truth to look at",
        earned=2,
    )
    return f'Ahead of "most opened" by {gain} opens per notification; under no judge is the interval below zero.'


def expected_pairs(weekly):
    """Return the pairs (better, worse) whose interval is above zero under every judge."""
    sure = []
    for rates in weekly.values():
        pairs = set()
        for better, worse in permutations(rates, 2):
            if estimate.paired_interval(rates[better], rates[worse]).low > 0:
                pairs.add((better, worse))
        sure.append(pairs)
    return set.intersection(*sure)


@check(5, points=3)
def agreement_of_all_judges(agreed, weekly):
    rng = np.random.default_rng(25)
    weeks = np.arange(12)
    season = 0.2 * np.sin(weeks)
    wobble = 0.002 * (-1.0) ** weeks
    base = 0.4 + season
    three = {
        "a": base + 0.05 + wobble,
        "b": base,
        "c": base + 0.01 + 0.06 * rng.standard_normal(12),
    }
    steady = {"a": base + 0.02 + wobble, "b": base}
    noisy = {"a": base + 0.03 + 0.15 * (-1.0) ** weeks, "b": base}
    swapped = {"a": base, "b": base + 0.02 + wobble}
    require(
        set(returned(agreed({"one": steady, "two": swapped}))) == set(),
        "Two judges have opposite orders, and you report an order",
        "Every judge has to agree",
    )
    require(
        ("b", "a") in agreed({"one": swapped})
        and ("a", "b") in agreed({"one": steady}),
        "A difference that is the same every week is not found",
        "Compare week by week: the effect of a week on both agents cancels in the difference "
        "(`estimate.paired_interval`)",
    )
    require(
        set(agreed({"one": noisy})) == set(),
        "A mean difference of 0.03 is reported although its interval includes zero",
        "Require an interval above zero, not only a mean",
        earned=1,
    )
    require(
        set(agreed({"one": steady, "two": noisy})) == set(),
        "The interval of one judge is above zero, the other's includes zero, and you report an order",
        "The interval has to be above zero for every judge",
        earned=1,
    )
    pairs = agreed({"one": three, "two": three})
    require(
        ("a", "b") in pairs and ("b", "a") not in pairs,
        "With three agents, a sure pair is missing or reversed",
        "Return (better, worse), for every pair of agents",
        earned=1,
    )
    require(
        set(agreed(weekly)) == expected_pairs(weekly),
        "With Noor's five judges a pair is missing, or there is one too many",
        "Print agreed(weekly), and look for a pair whose interval includes zero under one judge",
        earned=2,
    )
    return "With Noor, all judges agree on: " + ", ".join(
        " > ".join(pair) for pair in sorted(agreed(weekly))
    )
