"""Scores and ranks of a class.

A team's score is the mean over everything that counts, never the best. While the class is open these are the finished
scored episodes: the expected points of an episode under way would show its player what nobody can know.
Once the class is closed, all scored episodes of a team that began any count: what was never answered, or never begun,
earns nothing in Challenge 2, and in push what a phone earns that is left alone. Challenge 1 shows the public half of
its contexts while the class is open, and the private half afterwards.
"""

import numpy as np
import pandas as pd

from pushlab.metrics.estimate import holm, mean_interval
from pushlab.metrics.estimate.intervals import half_width
from pushlab_classroom.database import MAX_UPLOADS, ClassDatabase

GAMES = {
    "evalumap1": "Challenge 1: learn from history",
    "evalumap2": "Challenge 2: the cold start",
    "push": "Managing arrivals",
}
MIN_PAIRS = 3  # two differences can agree by chance, to the digit
DIGITS = 3  # of shares in Challenge 1
EPSILON = 64 * np.finfo(float).eps


def share_of(expected, best):
    """Return the share of what the catalogue's best earns, and the ends of its 95 % interval, in three decimals.

    With other contexts both sums would change together, so the interval is that of their ratio (delta method).

    >>> import numpy as np
    >>> share_of(np.array([0.5, 1.5, 1.0]), np.array([1.0, 3.0, 2.0]))      # half of it everywhere
    [0.5, 0.5, 0.5]
    """
    return [round(value, DIGITS) for value in mean_interval(shares_of(expected, best))]


def shares_of(expected, best):
    """Return values per context, float64 (contexts,), with the mean and the spread of the ratio of the sums.

    Source:
        Cochran (1977), Sampling techniques, 3rd ed., section 6.3: the residuals of a ratio, over the mean.

    >>> import numpy as np
    >>> shares_of(np.array([0.0, 2.0]), np.array([1.0, 1.0])), shares_of(np.array([1.0, 3.0]), np.array([1.0, 3.0]))
    (array([0., 2.]), array([1., 1.]))
    """
    expected = np.asarray(expected)
    best = np.asarray(best)
    share = np.sum(expected) / np.sum(best)
    return share + (expected - share * best) / best.mean()


def ranks(values):
    """Return ranks as intervals, a DataFrame with the columns first and last and the index of `values`.

    A team is behind another one only if the interval of their paired difference lies below zero, at a level at which
    the risk is 5 % that any pair of teams is separated wrongly (Student's t, p values after Holm). A team's first
    possible rank is one more than the number of teams that are surely ahead of it; its last one leaves room for those
    that are surely behind. Other teams share ranks. Fewer than three pairs say nothing.

    Args:
        values: Earnings, (teams, numbers of users, or contexts); NaN where a team has none yet. A team without any
            has no rank (NaN).

    Source:
        Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6(2), 65-70.

    >>> shares = [[0.61, 0.52, 0.70, 0.66], [0.60, 0.54, 0.69, 0.66], [0.31, 0.21, 0.40, 0.35]]
    >>> ranks(pd.DataFrame(shares, ["ada", "bob", "cy"])).astype(int).T
           ada  bob  cy
    first    1    1   3
    last     2    2   3
    """
    from scipy.stats import t

    known = values.dropna(how="all")
    numbers = known.to_numpy(float)
    largest = known.abs().max(axis=1).clip(lower=1).to_numpy()
    pairs = [np.empty((3, 0))]
    for team in range(len(known)):  # all pairs at once can be gigabytes
        gaps = pd.DataFrame(numbers[team] - numbers[team + 1 :])
        rounding = EPSILON * np.maximum(largest[team], largest[team + 1 :])
        # Values are discrete: their smallest step adds to the standard error.
        steps = np.diff(np.sort(gaps.abs().fillna(0)), prepend=0)
        steps[steps <= rounding[:, None]] = np.inf
        grain = steps.min(axis=1, initial=np.inf)
        grain = np.where(np.isfinite(grain), grain, rounding)
        count = gaps.count(axis=1)
        gap = gaps.mean(axis=1)
        error = np.sqrt((gaps.var(axis=1) + grain**2 / 6) / count)
        distance = gap.abs().where(gap.abs() > rounding, 0)
        pairs.append(np.array([count, gap, distance / error]))
    count, gap, size = np.concatenate(pairs, axis=1)
    p_values = np.where(count < MIN_PAIRS, 1, 2 * t.sf(size, count - 1))
    is_sure = holm(p_values) < 0.05
    one, other = np.triu_indices(len(known), 1)
    losers = np.where(gap > 0, other, one)[is_sure]
    winners = np.where(gap > 0, one, other)[is_sure]
    ahead = np.bincount(losers, minlength=len(known))
    behind = np.bincount(winners, minlength=len(known))
    table = {"first": 1.0 + ahead, "last": len(known) - behind}
    return pd.DataFrame(table, known.index).reindex(values.index)


def standing(values):
    """Return score, low, high (mean and 95 % t interval), first and last of each team; see `ranks` for `values`.

    Teams are sorted by their last possible rank, then by the first, then by score: a lucky episode makes no one first.
    Teams that have earned nothing yet come last. A single value has no interval.

    An interval belongs to one team: it covers the mean over very many users (or contexts). Users are drawn evenly from
    hard to easy, so means differ less between classes than with users drawn at random: the interval is too wide, two to
    five times. Ranks come from differences between users of one number, which are equally hard, so teams with
    overlapping intervals are not necessarily tied.
    """
    count = values.notna().sum(axis=1)
    score = values.mean(axis=1)
    half = half_width(values.std(axis=1), count.clip(lower=1))
    table = pd.DataFrame({"score": score, "low": score - half, "high": score + half})
    table = table.join(ranks(values))
    order = table.assign(score=-score, team=table.index.astype(str))
    return table.loc[order.sort_values(["last", "first", "score", "team"]).index]


def earned(database: ClassDatabase, game: str) -> pd.DataFrame:
    """Return what each team earned, (teams, users), or (teams, contexts) in Challenge 1; NaN where it has nothing.

    The mean of a row is the team's score: the return per day in push, otherwise the share of what the catalogue's best
    would earn in expected points. Combinations that no app sends can earn more, so 1 is no ceiling: the best of them
    would earn 1.08 on average over sixty users, and 1.4 with one.
    """
    teams = database.teams()["name"]
    settings = database.settings
    is_closed = settings["closed"] is not None
    if game == "evalumap1":
        half = "private" if is_closed else "public"
        shares = {}
        for team in teams:
            answers = database.answers(team)
            if answers is not None:
                part = answers[answers["half"] == half]
                shares[team] = shares_of(part["expected"], part["best"])
        return pd.DataFrame(shares).T.reindex(teams).astype(float)
    episodes = database.episodes(game).query("scored")
    if not is_closed:
        episodes = episodes[episodes["finished"].notna()]
    if game == "push":
        value = episodes["return"] / settings["days"]
    else:
        share = episodes["expected"] / episodes["best"]
        value = share.where(episodes["steps"] > 0, 0.0)
    table = episodes.assign(value=value)
    return table.pivot(index="team", columns="user", values="value").reindex(teams)


def standings(database: ClassDatabase) -> pd.DataFrame:
    """Return the standings of all games, one row per game and team.

    The columns are those of `standing` and game, team; done and of (finished scored episodes and their number; uploads
    in Challenge 1); playing (steps in unfinished scored episodes; NA if there are none, or if the class is closed).
    While the class is open, `of - done` episodes are still to be played. Scores in Challenge 1 have three decimals, as
    the answers to uploads.
    """
    tables = []
    settings = database.settings
    for game in GAMES:
        table = standing(earned(database, game)).rename_axis("team").reset_index()
        scored = database.episodes(game).query("scored")
        is_open = scored["finished"].isna()
        done = scored[~is_open]
        table["of"] = settings["episodes"]
        if game == "evalumap1":
            done = database.uploads()
            table["of"] = MAX_UPLOADS
            table = table.round(dict.fromkeys(["score", "low", "high"], DIGITS))
        playing = scored[is_open & (settings["closed"] is None)]
        counts = done["team"].value_counts()
        table["game"] = game
        table["done"] = table["team"].map(counts).fillna(0).astype(int)
        table["playing"] = table["team"].map(playing.groupby("team")["steps"].sum())
        tables.append(table)
    columns = "game first last team score low high done of playing".split()
    whole = dict.fromkeys(["first", "last", "playing"], "Int64")
    return pd.concat(tables, ignore_index=True)[columns].astype(whole)
