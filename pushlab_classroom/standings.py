"""Scores and ranks of a class.

A team's score is the mean over all counted episodes, never the best one. While the class is open, the finished scored
episodes count, because the expected points of an unfinished episode would reveal hidden information to its player.
After the class is closed, all scored episodes of a game count if a team began any of them. Contexts without an answer
earn nothing in Challenge 2; the rest of an episode of push gets the return of a phone without an agent. Challenge 1
shows the public half of its contexts while the class is open, and the private half afterwards.
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
STATES = {
    "open": "open",
    "closing": "closing, not final until `pushlab class close` has finished",
    "closed": "closed, final",
}
EMPTY = (
    "No scores yet. After the first scored episode or upload, this board shows each team's score with its 95 % "
    "interval, and its rank, game by game."
)
MIN_PAIRS = 3  # two differences can be equal by chance
DIGITS = 3  # of scores in Challenge 1
EPSILON = 64 * np.finfo(float).eps


def share_of(expected, best):
    """Return expected points divided by the best expected points, with a 95 % interval: [share, low, high].

    The values have three decimals. With other contexts both sums would change together, so the interval is that of a
    ratio (delta method).

    >>> import numpy as np
    >>> share_of(np.array([0.5, 1.5, 1.0]), np.array([1.0, 3.0, 2.0]))  # half in each context
    [0.5, 0.5, 0.5]
    """
    return [round(value, DIGITS) for value in mean_interval(shares_of(expected, best))]


def shares_of(expected, best):
    """Return a value per context, float64 (contexts,), with the mean and spread of the ratio of the sums.

    Source:
        Cochran (1977), Sampling techniques, 3rd ed., section 6.3: residuals of a ratio, divided by the mean.

    >>> import numpy as np
    >>> shares_of(np.array([0.0, 2.0]), np.array([1.0, 1.0])), shares_of(np.array([1.0, 3.0]), np.array([1.0, 3.0]))
    (array([0., 2.]), array([1., 1.]))
    """
    expected = np.asarray(expected)
    best = np.asarray(best)
    share = np.sum(expected) / np.sum(best)
    return share + (expected - share * best) / best.mean()


def ranks(values):
    """Return the first and last possible rank of each team, a DataFrame with columns first and last.

    Two teams have different ranks only if their paired difference is significant (Student's t, Holm's correction): the
    risk that any pair of teams is separated wrongly is 5 %. The first possible rank of a team is one more than the
    number of teams significantly ahead of it. The last one leaves out the teams significantly behind it. Fewer than
    three pairs are never significant.

    Args:
        values: DataFrame (teams, users or contexts), NaN without a value. A team without values has no rank (NaN).

    Source:
        Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6(2), 65-70.

    >>> shares = [[0.61, 0.52, 0.70, 0.66], [0.60, 0.54, 0.69, 0.66], [0.31, 0.21, 0.40, 0.35]]
    >>> ranks(pd.DataFrame(shares, ["ada", "bob", "cy"])).astype(int).T
           ada  bob  cy
    first    1    1   3
    last     2    2   3
    """
    from scipy.stats import t

    observed = values.dropna(how="all")
    array = observed.to_numpy(float)
    largest = observed.abs().max(axis=1).clip(lower=1).to_numpy()
    pairs = [np.empty((3, 0))]
    for team in range(len(observed)):  # all pairs at once can need gigabytes
        differences = pd.DataFrame(array[team] - array[team + 1 :])
        rounding = EPSILON * np.maximum(largest[team], largest[team + 1 :])
        # Values are discrete: their resolution adds to the standard error.
        steps = np.diff(np.sort(differences.abs().fillna(0)), prepend=0)
        steps[steps <= rounding[:, None]] = np.inf
        resolution = steps.min(axis=1, initial=np.inf)
        resolution = np.where(np.isfinite(resolution), resolution, rounding)
        count = differences.count(axis=1)
        mean = differences.mean(axis=1)
        error = np.sqrt((differences.var(axis=1) + resolution**2 / 6) / count)
        distance = mean.abs().where(mean.abs() > rounding, 0)
        pairs.append(np.array([count, mean, distance / error]))
    count, mean, statistic = np.concatenate(pairs, axis=1)
    p_values = np.where(count < MIN_PAIRS, 1, 2 * t.sf(statistic, count - 1))
    is_significant = holm(p_values) < 0.05
    first, second = np.triu_indices(len(observed), 1)
    losers = np.where(mean > 0, second, first)[is_significant]
    winners = np.where(mean > 0, first, second)[is_significant]
    n_ahead = np.bincount(losers, minlength=len(observed))
    n_behind = np.bincount(winners, minlength=len(observed))
    table = {"first": 1.0 + n_ahead, "last": len(observed) - n_behind}
    return pd.DataFrame(table, observed.index).reindex(values.index)


def standing(values):
    """Return score, low, high (mean and 95 % t interval), first and last of each team.

    Teams are sorted by last possible rank, then by first, then by score, so a lucky episode makes no team first. Teams
    without values come last. A single value has no interval.

    The interval of a team is for the mean over very many users (or contexts). Users are drawn evenly from hard to easy,
    so means vary less between classes than with random users, and the intervals are two to five times too wide. Ranks
    are based on differences between users with the same number, which are equally hard. So teams with overlapping
    intervals aren't necessarily tied.

    Args:
        values: As in `ranks`.
    """
    count = values.count(axis=1)
    score = values.mean(axis=1)
    half = half_width(values.std(axis=1), count.clip(lower=1))
    table = pd.DataFrame({"score": score, "low": score - half, "high": score + half})
    table = table.join(ranks(values))
    names = table.index.astype(str).str
    names = names.replace(r"\d+", lambda number: number[0].zfill(9), regex=True)
    order = table.assign(score=-score, team=names)  # team 9 before team 10
    return table.loc[order.sort_values(["last", "first", "score", "team"]).index]


def team_earnings(database: ClassDatabase, game: str) -> pd.DataFrame:
    """Return the scores of each team, a DataFrame (teams, users), or (teams, contexts) in Challenge 1.

    Missing values are NaN. The mean of a row is the team's score: in push the return per day, otherwise expected points
    divided by those of the catalogue's best notifications. Notifications that no app sends can earn more, so the score
    can exceed 1: the best of them would earn 1.08 on average over sixty users, and 1.4 with one of them.
    """
    teams = database.teams()["name"]
    settings = database.settings
    is_closed = settings["state"] == "closed"
    if game == "evalumap1":
        half = "private" if is_closed else "public"
        shares = {}
        for team in teams:
            answers = database.answers(team)
            if answers is not None:
                counted = answers[answers["half"] == half]
                shares[team] = shares_of(counted["expected"], counted["best"])
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

    The columns are those of `standing` and

    - game, team
    - done, of: number of finished scored episodes, and of all; in Challenge 1 the number of uploads and its limit
    - playing: number of steps in unfinished scored episodes; NA if there are none, or if the class isn't open

    Scores in Challenge 1 have three decimals, like the answers to uploads.
    """
    tables = []
    settings = database.settings
    for game in GAMES:
        table = standing(team_earnings(database, game)).reset_index(names="team")
        scored = database.episodes(game).query("scored")
        is_open = scored["finished"].isna()
        done = scored[~is_open]
        table["of"] = settings["episodes"]
        if game == "evalumap1":
            done = database.uploads()
            table["of"] = MAX_UPLOADS
            table = table.round(dict.fromkeys(["score", "low", "high"], DIGITS))
        playing = scored[is_open & (settings["state"] == "open")]
        counts = done["team"].value_counts()
        table["game"] = game
        table["done"] = table["team"].map(counts).fillna(0).astype(int)
        table["playing"] = table["team"].map(playing.groupby("team")["steps"].sum())
        tables.append(table)
    columns = "game first last team score low high done of playing".split()
    dtypes = dict.fromkeys(["first", "last", "playing"], "Int64")
    return pd.concat(tables, ignore_index=True)[columns].astype(dtypes)
