"""Notebook 1: a rate and its interval, two users, a confounder, a file of one's own, a split by time."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from checks import Checks, demand
from pushlab import BadData, load_user, load_users
from pushlab.metrics.estimate import share_interval

check = Checks("1 · The data")

# ---------------------------------------------------------------- 1 · a rate with its interval


@check(1, points=2)
def an_opening_rate(opening_rate):
    for k, n in ((30, 40), (3, 5), (10, 10), (0, 8)):
        got = opening_rate(np.arange(n) < k)
        demand(
            np.shape(got) == (3,),
            f"It returned {got!r:.60}",
            "Return three numbers: share, low, high",
        )
        share, low, high = got
        right, said = (
            share_interval(k, n),
            f"{k} of {n} opened: [{low:.3f}, {high:.3f}]",
        )
        demand(
            abs(share - k / n) < 1e-9,
            f"{k} of {n} opened is a share of {k / n:.2f}, not {share:.3g}",
            "The share is the mean of the True and False",
            0,
        )
        demand(
            high > low, f"{said} has no width", "Go from the centre as far down as up"
        )
        wald = 1.96 * (share * (1 - share) / n) ** 0.5
        demand(
            not np.allclose([low, high], [share - wald, share + wald]),
            f"{said} is share ± 1.96 standard errors",
            "That is the plain interval: with 10 of 10 opened it has no width. Wilson's has z² in several places",
        )
        demand(
            abs((low + high) / 2 - share) > 1e-9,
            f"{said} lies around the share itself",
            "Wilson's centre is pulled towards one half",
            earned=1,
        )
        demand(
            -1e-9 < low and high < 1 + 1e-9,
            f"{said} leaves 0 to 1",
            "Compare both, term by term, with the formula: 2n and 4n² stand below z², 1 + z²/n below all",
            earned=1,
        )
        demand(
            abs(low - right.low) < 2e-4 and abs(high - right.high) < 2e-4,
            f"{said}, and Wilson's is [{right.low:.3f}, {right.high:.3f}]",
            "Compare the centre and the width with the formula",
            earned=1,
        )
    return "It agrees with `share_interval`, for 10 of 10 and 0 of 8 as well."


# ---------------------------------------------------------------- 2 · two users

ASKED = (
    ("mira", "ines", "evening"),
    ("mira", "noor", "morning"),
    ("ines", "theo", "afternoon"),
    ("noor", "omar", "evening"),
)


def _disputed(users, one, other, time, slot=True, relative=True, least=15, size=np.abs):
    """The subject on which two users disagree most in a time slot; the flags leave out a part of the question."""
    rates = []
    for name in (one, other):
        diary = users[name].history.engagements
        diary = diary[diary["time"] == time] if slot else diary
        opened = diary["action"].eq("opened")
        table = opened.groupby(diary["subject"]).agg(["mean", "size"])
        rates.append(
            table.loc[table["size"] >= least, "mean"]
            - (opened.mean() if relative else 0)
        )
    return size(rates[0] - rates[1]).idxmax()


@check(2, points=2)
def two_users_who_look_alike(most_disputed):
    users = load_users()
    got = [most_disputed(*asked) for asked in ASKED]
    right = [_disputed(users, *asked) for asked in ASKED]
    subjects = set(users["mira"].history.engagements["subject"])
    strange = [one for one in got if not isinstance(one, str) or one not in subjects]
    demand(
        not strange,
        f"It returned {strange[:1]!r:.60}, which is no subject",
        "Return one subject, a text",
    )
    slips = (
        (
            dict(slot=False),
            "It looks at the whole day",
            "Keep the rows of the time slot first",
        ),
        (
            dict(relative=False),
            "It compares raw shares",
            "Subtract each user's own mean in that slot",
        ),
        (
            dict(least=1),
            "It takes subjects that hardly came",
            "Leave out those with fewer than 15 notifications",
        ),
        (
            dict(size=lambda gap: gap),
            "It finds only what the first opens more",
            "Take the gap without its sign",
        ),
        (
            dict(size=lambda gap: -np.abs(gap)),
            "It finds where they agree most",
            "The widest gap is asked for",
        ),
    )
    for flags, reason, hint in slips:
        demand(
            got != [_disputed(users, *asked, **flags) for asked in ASKED]
            or got == right,
            reason,
            hint,
            earned=1,
        )
    wrong = [asked for asked, mine, truth in zip(ASKED, got, right) if mine != truth]
    demand(
        not wrong,
        f"For {' and '.join(wrong[0][:2]) if wrong else ''} another subject has a wider gap",
        "Print both tables side by side: share, own mean, number of notifications",
    )
    return f"Mira and Ines: {got[0]}. Three other pairs are right as well."


# ---------------------------------------------------------------- 3 · a confounder


def _made_up(seed, effect, missing=False):
    """A diary in which `noise` changes opening by `effect`, and the place changes both; (diary, weighted mean)."""
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
            (place, "high" if one else "low", "opened" if two else "dismissed")
            for one, two in zip(noise, opened)
        ]
        rows += [(place, "medium", "opened")] * int(60 * loud)
    if missing:
        rows += [("gym", "high", "dismissed")] * 90
    return pd.DataFrame(rows, columns=["place", "noise", "action"]).sample(
        frac=1, random_state=seed
    )


def _strata(diary):
    """Gap and sizes by place: DataFrame with gap, low, high, and both."""
    diary = diary[diary["noise"] != "medium"]
    opened = diary["action"].eq("opened")
    table = (
        opened.groupby([diary["place"], diary["noise"]])
        .agg(["mean", "size"])
        .unstack("noise")
        .dropna()
    )
    low, high = table["size"]["low"], table["size"]["high"]
    gap = table["mean"]["high"] - table["mean"]["low"]
    return pd.DataFrame({"gap": gap, "low": low, "high": high, "both": low + high})


@check(3, points=3)
def is_it_the_noise(within):
    for seed, effect, missing in ((1, 0.1, False), (2, -0.1, False), (3, 0.0, True)):
        diary = _made_up(seed, effect, missing)
        strata, opened = _strata(diary), diary["action"].eq("opened")
        got = within(diary, "noise", "low", "high", "place")
        demand(
            np.ndim(got) == 0 and isinstance(float(got), float),
            f"It returned {got!r:.60}",
            "Return one number",
        )
        demand(
            np.isfinite(got),
            "It returned no number (nan) where one place is always loud",
            "Leave out strata in which one of the two values never occurs",
            earned=2,
        )
        raw = (
            opened[diary["noise"] == "high"].mean()
            - opened[diary["noise"] == "low"].mean()
        )
        demand(
            abs(got - raw) > 1e-9,
            f"In a made-up diary {got:.3f} is the raw difference, all places mixed",
            "Compare loud with quiet within each place, then average over the places",
        )
        right = np.average(strata["gap"], weights=strata["both"])
        demand(
            abs(got + right) > 1e-9,
            f"In a made-up diary {got:.3f} has the wrong sign",
            "`other` less `one`, so loud less quiet",
        )
        demand(
            abs(got - strata["gap"].mean()) > 1e-9,
            "A place with 50 notifications counts as much as one of 400",
            "Weight the places: `np.average(gaps, weights=...)`",
            earned=2,
        )
        for part in ("low", "high"):
            demand(
                abs(got - np.average(strata["gap"], weights=strata[part])) > 1e-9,
                f"The weights count only notifications in {part} noise",
                "Count both values of a place",
                earned=2,
            )
        everybody = diary["place"].value_counts()[strata.index]
        demand(
            abs(got - np.average(strata["gap"], weights=everybody)) > 1e-9,
            "Notifications in medium noise have a part in the weights",
            "Count those of the two values that are compared, and no others",
            earned=2,
        )
        demand(
            abs(got - right) < 1e-9,
            f"{got:.4f} for a diary where {right:.4f} is right",
            "Print the gap and the number of notifications of each place",
            earned=1,
        )
        other = diary.rename(columns={"noise": "bell", "place": "room"}).replace(
            {"low": "off", "high": "on"}
        )
        try:
            same = within(other, "bell", "off", "on", "room")
        except KeyError as missing:
            same, got = 0, f"it looked for {missing}"
        demand(
            same == got,
            "With other names of columns and values it does not work",
            "Use the arguments `feature`, `one`, `other` and `by`",
            earned=2,
        )
    return "Right for three diaries that were made up with an effect of 0.1, of -0.1 and of none."


# ---------------------------------------------------------------- 4 · a file of one's own

HOURS = (0, 5, 6, 11, 12, 16, 17, 20, 21, 23)  # the first and the last of each slot
HIDDEN = {
    "autumn.csv": "program,hour,answer\n"
    + "".join(f"bank,{hour},tapped\n" for hour in HOURS),
    "winter.csv": "program,hour,answer\ngames,2,swiped\nchat,7,tapped\n",
}


@check(4, points=3)
def a_file_of_your_own(schema, export):
    import json

    demand(
        isinstance(schema, dict),
        f"`schema` is a {type(schema).__name__}",
        "It is a dict, as in the text above",
    )
    read = []
    for tables in (export, HIDDEN):
        with tempfile.TemporaryDirectory() as folder:
            (home := Path(folder, "me")).mkdir()
            Path(folder, "schema.json").write_text(json.dumps(schema), encoding="utf-8")
            for name, text in tables.items():
                (home / name).write_text(text, encoding="utf-8")
            try:
                read.append(load_user(home))
            except (BadData, ValueError) as error:
                told = str(error).split("\n")[-1].strip()
                closed = "is not one of" in told and "program" in told
                demand(
                    False,
                    f"It cannot be read: {told}"
                    if not closed
                    else "An app that was new was refused",
                    "Compare it, word by word, with the first lines of the file"
                    if not closed
                    else 'An open feature takes its values from the data: `"kind": "open"`',
                    earned=int(bool(read)),
                )
    mine, other = read
    demand(
        [len(mine.history), len(mine.test)] == [4, 2],
        f"The history has {len(mine.history)} rows",
        "Learn from autumn.csv (`history`), judge by winter.csv (`test`)",
    )
    demand(
        mine.history.opened.tolist() != [False, False, True, True],
        "Tapped is read as dismissed, swiped as opened",
        "Somebody who taps opens",
        earned=1,
    )
    demand(
        "hour" in mine.schema.context.names,
        "The context has no `hour`",
        "The hour is part of the context",
        1,
    )
    codes = other.history.context_codes[:, mine.schema.context.components.index("hour")]
    bins = dict(zip(HOURS, codes.tolist()))
    for before, first in ((5, 6), (11, 12), (16, 17), (20, 21)):
        demand(
            bins[before] != bins[first],
            f"{before} and {first} o'clock fall into one bin",
            "A slot begins at 6, 12, 17 and 21: each of these is an edge",
            earned=2,
        )
    for first, last in zip(HOURS[::2], HOURS[1::2]):
        demand(
            bins[first] == bins[last],
            f"{first} and {last} o'clock fall into different bins",
            "An integer with four edges has five bins, a slot each",
            earned=2,
        )
    return "Both your export and another phone's are read."


# ---------------------------------------------------------------- 5 · a split by time


@check(5, points=2)
def learn_from_the_past(split, diary):
    mixed = diary.sample(frac=1, random_state=5)
    for share in (0.5, 0.8):
        earlier, later = split(mixed.copy(), share)
        demand(
            len(earlier) + len(later) == len(diary),
            f"{len(diary):,} rows became {len(earlier):,} and {len(later):,}",
            "Every row belongs to one side",
        )
        both = earlier.index.intersection(later.index)
        demand(
            not len(both),
            f"{len(both):,} rows are on both sides",
            "`later` is what is not in `earlier`",
        )
        demand(
            not earlier["posted"].min() > later["posted"].max(),
            "The sides have changed places",
            "Return the earlier part first",
        )
        mixed_up = (earlier["posted"] > later["posted"].min()).sum()
        demand(
            not mixed_up,
            f"{mixed_up:,} rows to learn from came after the first row to judge by",
            "Order the rows by `posted`, then cut: the table may come in any order",
        )
        demand(
            abs(len(earlier) - share * len(diary)) <= 1,
            f"The earlier part has {len(earlier):,} of {len(diary):,} rows; {share:.0%} is "
            f"{share * len(diary):,.0f}",
            "`share` is a share of the notifications, and not of the days",
            earned=1,
        )
    return "All that is learned from lies before all that is judged by."
