"""Checks of notebook 1: a rate and its interval, two users, a confounder, a file, a split by time."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from checks import Checks, require, returned
from pushlab import BadData, load_user, load_users
from pushlab.metrics.estimate import proportion_interval

check = Checks("1 · The data")

# ---------------------------------------------------------------- 1 · a rate with its interval


@check(1, points=2)
def a_rate_with_its_interval(opening_rate):
    for k, n in ((30, 40), (3, 5), (10, 10), (0, 8)):
        answer = returned(opening_rate(np.arange(n) < k))
        require(
            np.shape(answer) == (3,),
            f"It returned {answer!r:.60}",
            "Return three numbers: share, low, high",
        )
        share, low, high = answer
        expected = proportion_interval(k, n)
        interval = f"{k} of {n} opened: [{low:.3f}, {high:.3f}]"
        require(
            abs(share - k / n) < 1e-9,
            f"{k} of {n} opened is a share of {k / n:.2f}, not {share:.3g}",
            "The share is the mean of the values True and False",
            0,
        )
        require(
            high > low,
            f"{interval} has no width",
            "The ends lie on both sides of the centre, equally far",
        )
        wald = 1.96 * (share * (1 - share) / n) ** 0.5
        require(
            not np.allclose([low, high], [share - wald, share + wald]),
            f"{interval} is share ± 1.96 standard errors",
            "This simple interval has no width with 10 of 10 opened. Wilson's has z² in several places",
        )
        require(
            abs((low + high) / 2 - share) > 1e-9,
            f"{interval} has the share itself as its centre",
            "The centre of Wilson's interval is pulled towards one half",
            earned=1,
        )
        require(
            -1e-9 < low and high < 1 + 1e-9,
            f"{interval} is not within 0 to 1",
            "Compare both ends with the formula, term by term: 2n and 4n² stand below z², 1 + z²/n below everything",
            earned=1,
        )
        require(
            abs(low - expected.low) < 2e-4 and abs(high - expected.high) < 2e-4,
            f"{interval}, but Wilson's is [{expected.low:.3f}, {expected.high:.3f}]",
            "Compare the centre and the width with the formula",
            earned=1,
        )
    return "It agrees with `proportion_interval`, also for 10 of 10 and 0 of 8."


# ---------------------------------------------------------------- 2 · two users

QUESTIONS = (
    ("mira", "ines", "evening"),
    ("mira", "noor", "morning"),
    ("ines", "theo", "afternoon"),
    ("noor", "omar", "evening"),
)


def _disputed(
    users, first, second, time, slot=True, relative=True, least=15, size=np.abs
):
    """Return the subject with the widest gap between two users in a time slot.

    Args:
        users: {name: User}.
        first: Name of a user.
        second: Name of another user.
        time: The time slot.
        slot: Use the rows of the slot only.
        relative: Subtract each user's own mean.
        least: Least number of notifications of a subject.
        size: Function of the gaps; its maximum is the answer.
    """
    rates = []
    for name in (first, second):
        diary = users[name].history.engagements
        if slot:
            diary = diary[diary["time"] == time]
        opened = diary["action"].eq("opened")
        table = opened.groupby(diary["subject"]).agg(["mean", "size"])
        own_mean = opened.mean() if relative else 0
        rates.append(table.loc[table["size"] >= least, "mean"] - own_mean)
    return size(rates[0] - rates[1]).idxmax()


@check(2, points=2)
def two_users_who_look_alike(most_disputed):
    users = load_users()
    answers = [returned(most_disputed(*question)) for question in QUESTIONS]
    expected = [_disputed(users, *question) for question in QUESTIONS]
    subjects = set(users["mira"].history.engagements["subject"])
    unknown = [
        answer
        for answer in answers
        if not isinstance(answer, str) or answer not in subjects
    ]
    require(
        not unknown,
        f"It returned {unknown[:1]!r:.60}, which is not a subject",
        "Return one subject, a string",
    )
    mistakes = (
        (
            dict(slot=False),
            "It uses the whole day",
            "Select the rows of the time slot first",
        ),
        (
            dict(relative=False),
            "It compares raw shares",
            "Subtract each user's own mean in that slot",
        ),
        (
            dict(least=1),
            "It includes subjects with very few notifications",
            "Leave out those with fewer than 15 notifications",
        ),
        (
            dict(size=lambda gap: gap),
            "It finds only subjects that the first user opens more",
            "Take the gap without its sign",
        ),
        (
            dict(size=lambda gap: -np.abs(gap)),
            "It finds the subject on which they agree most",
            "Find the widest gap",
        ),
    )
    for flags, reason, hint in mistakes:
        mistaken = [_disputed(users, *question, **flags) for question in QUESTIONS]
        require(answers != mistaken or answers == expected, reason, hint, earned=1)
    for question, answer, subject in zip(QUESTIONS, answers, expected):
        require(
            answer == subject,
            f"For {' and '.join(question[:2])} another subject has a wider gap",
            "Print both tables side by side: share, own mean, number of notifications",
        )
    return f"Mira and Ines: {answers[0]}. Three other pairs are right as well."


# ---------------------------------------------------------------- 3 · a confounder


def _simulated_diary(seed, effect, missing=False):
    """Return a diary in which `noise` changes opening by `effect` and the place changes both.

    Args:
        seed: Seed of the diary.
        effect: Change of the opening rate in high noise.
        missing: Add a place without low noise.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for place, loud, rate, count in (
        ("home", 0.1, 0.8, 400),
        ("café", 0.7, 0.4, 150),
        ("train", 0.5, 0.6, 50),
    ):
        noise = rng.random(count) < loud
        opened = rng.random(count) < rate + effect * noise
        rows += [
            (place, "high" if is_loud else "low", "opened" if is_open else "dismissed")
            for is_loud, is_open in zip(noise, opened)
        ]
        rows += [(place, "medium", "opened")] * int(60 * loud)
    if missing:
        rows += [("gym", "high", "dismissed")] * 90
    diary = pd.DataFrame(rows, columns=["place", "noise", "action"])
    return diary.sample(frac=1, random_state=seed)


def _strata(diary):
    """Return a table by place with the gap of the opening rates and the sizes low, high, both."""
    diary = diary[diary["noise"] != "medium"]
    opened = diary["action"].eq("opened")
    cells = opened.groupby([diary["place"], diary["noise"]]).agg(["mean", "size"])
    table = cells.unstack("noise").dropna()
    low = table["size"]["low"]
    high = table["size"]["high"]
    gap = table["mean"]["high"] - table["mean"]["low"]
    return pd.DataFrame({"gap": gap, "low": low, "high": high, "both": low + high})


@check(3, points=3)
def compare_within(within):
    for seed, effect, missing in ((1, 0.1, False), (2, -0.1, False), (3, 0.0, True)):
        diary = _simulated_diary(seed, effect, missing)
        strata = _strata(diary)
        opened = diary["action"].eq("opened")
        answer = returned(within(diary, "noise", "low", "high", "place"))
        require(
            np.ndim(answer) == 0 and isinstance(float(answer), float),
            f"It returned {answer!r:.60}",
            "Return one number",
        )
        require(
            np.isfinite(answer),
            "It returned nan for a diary with a place that is always loud",
            "Leave out places in which one of the two values never occurs",
            earned=2,
        )
        loud_rate = opened[diary["noise"] == "high"].mean()
        quiet_rate = opened[diary["noise"] == "low"].mean()
        require(
            abs(answer - (loud_rate - quiet_rate)) > 1e-9,
            f"In a simulated diary {answer:.3f} is the raw difference over all places",
            "Compare loud with quiet within each place, then average over the places",
        )
        expected = np.average(strata["gap"], weights=strata["both"])
        require(
            abs(answer + expected) > 1e-9,
            f"In a simulated diary {answer:.3f} has the wrong sign",
            "Subtract `baseline` from `value`, so quiet from loud",
        )
        require(
            abs(answer - strata["gap"].mean()) > 1e-9,
            "A place with 50 notifications counts as much as one with 400",
            "Weight the places: `np.average(gaps, weights=...)`",
            earned=2,
        )
        for part in ("low", "high"):
            require(
                abs(answer - np.average(strata["gap"], weights=strata[part])) > 1e-9,
                f"The weights count only notifications in {part} noise",
                "Count both values of a place",
                earned=2,
            )
        place_sizes = diary["place"].value_counts()[strata.index]
        require(
            abs(answer - np.average(strata["gap"], weights=place_sizes)) > 1e-9,
            "The weights include notifications in medium noise",
            "Count only the two values that are compared",
            earned=2,
        )
        require(
            abs(answer - expected) < 1e-9,
            f"The result is {answer:.4f} for a diary in which {expected:.4f} is right",
            "Print the gap and the number of notifications of each place",
            earned=1,
        )
        renamed = diary.rename(columns={"noise": "bell", "place": "room"}).replace(
            {"low": "off", "high": "on"}
        )
        try:
            same = within(renamed, "bell", "off", "on", "room") == answer
        except KeyError:
            same = False
        require(
            same,
            "It does not work with other names of columns and values",
            "Use the arguments `feature`, `baseline`, `value` and `by`",
            earned=2,
        )
    return (
        "Right for three simulated diaries with an effect of 0.1, of -0.1 and of none."
    )


# ---------------------------------------------------------------- 4 · a file

HOURS = (0, 5, 6, 11, 12, 16, 17, 20, 21, 23)  # the first and the last of each slot
HIDDEN_EXPORT = {
    "autumn.csv": "program,hour,answer\n"
    + "".join(f"bank,{hour},tapped\n" for hour in HOURS),
    "winter.csv": "program,hour,answer\ngames,2,swiped\nchat,7,tapped\n",
}


@check(4, points=3)
def a_file_of_your_own(schema, export):
    require(
        isinstance(schema, dict),
        f"`schema` is a {type(schema).__name__}",
        "It must be a dict, as in the text above",
    )
    loaded = []
    for tables in (export, HIDDEN_EXPORT):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder, "me")
            home.mkdir()
            Path(folder, "schema.json").write_text(json.dumps(schema), encoding="utf-8")
            for name, text in tables.items():
                (home / name).write_text(text, encoding="utf-8")
            try:
                loaded.append(load_user(home))
            except (BadData, ValueError) as error:
                message = str(error).split("\n")[-1].strip()
                earned = int(bool(loaded))
                require(
                    "is not one of" not in message or "program" not in message,
                    "A new app was refused",
                    'An open feature takes its values from the data: `"kind": "open"`',
                    earned,
                )
                require(
                    False,
                    f"It cannot be read: {message}",
                    "Compare it, word by word, with the first lines of the file",
                    earned,
                )
    user, other_user = loaded
    require(
        [len(user.history), len(user.test)] == [4, 2],
        f"The history has {len(user.history)} rows",
        "Learn from autumn.csv (`history`), evaluate on winter.csv (`test`)",
    )
    require(
        user.history.opened.tolist() != [False, False, True, True],
        "Tapped is read as dismissed, and swiped as opened",
        "A tap opens the notification",
        earned=1,
    )
    require(
        "hour" in user.schema.context.names,
        "The context has no `hour`",
        "The hour is part of the context",
        1,
    )
    hour_column = user.schema.context.components.index("hour")
    codes = other_user.history.context_codes[:, hour_column]
    bins = dict(zip(HOURS, codes.tolist()))
    for before, first in ((5, 6), (11, 12), (16, 17), (20, 21)):
        require(
            bins[before] != bins[first],
            f"{before} and {first} o'clock are in the same bin",
            "Slots begin at 6, 12, 17 and 21: each of these is an edge",
            earned=2,
        )
    for first, last in zip(HOURS[::2], HOURS[1::2]):
        require(
            bins[first] == bins[last],
            f"{first} and {last} o'clock are in different bins",
            "An integer with four edges has five bins, one per slot",
            earned=2,
        )
    return "Both your export and another phone's are read."


# ---------------------------------------------------------------- 5 · a split by time


@check(5, points=2)
def split_by_time(split, diary):
    shuffled = diary.sample(frac=1, random_state=5)
    for share in (0.5, 0.8):
        earlier, later = returned(split(shuffled.copy(), share))
        require(
            len(earlier) + len(later) == len(diary),
            f"{len(diary):,} rows became {len(earlier):,} and {len(later):,}",
            "Every row belongs to exactly one part",
        )
        shared = earlier.index.intersection(later.index)
        require(
            not len(shared),
            f"{len(shared):,} rows are in both parts",
            "`later` holds the rows that are not in `earlier`",
        )
        require(
            not earlier["posted"].min() > later["posted"].max(),
            "The parts are swapped",
            "Return the earlier part first",
        )
        leaked = (earlier["posted"] > later["posted"].min()).sum()
        require(
            not leaked,
            f"{leaked:,} rows of the earlier part came after the first row of the later part",
            "Order the rows by `posted`, then cut: the table may come in any order",
        )
        require(
            abs(len(earlier) - share * len(diary)) <= 1,
            f"The earlier part has {len(earlier):,} of {len(diary):,} rows; {share:.0%} is "
            f"{share * len(diary):,.0f}",
            "`share` is a share of the notifications, not of the days",
            earned=1,
        )
    return "All rows for learning come before all rows for evaluation."
