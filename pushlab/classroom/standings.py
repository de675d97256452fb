"""Who is ahead, and how surely: the standings of a class, from what its book holds.

A team's score is the mean over all that counts, never its best. While the class is open the finished scored episodes
count: what an episode that is being played has earned by the truth's probabilities would tell its player, step by
step, what nobody may know. Once the class is closed all scored episodes of a team that began any count: what was never
answered, or never begun, earns nothing in Challenge 2, and in push what a phone left alone earns. The first challenge
shows the public half of its contexts while the class is open, the private half afterwards.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pushlab.classroom.uploads import DIGITS, shares_of
from pushlab.classroom.uploads import MOST as MOST_UPLOADS
from pushlab.metrics.estimate import holm
from pushlab.metrics.estimate.intervals import half_width

if TYPE_CHECKING:
    from pushlab.classroom.book import Book

GAMES = {
    "evalumap1": "Challenge 1: learn from history",
    "evalumap2": "Challenge 2: the cold start",
    "push": "Managing arrivals",
}
LEAST_PAIRS = 3  # two differences may agree by chance, to the digit
POINTS = 40  # of a learning curve


def ranks(values: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Ranks as intervals, a DataFrame with the columns first, last and the index of `values`.

    A team is behind another one only if the interval of their paired difference lies below zero, at a level at which
    with 5 % risk one of all pairs of teams is told apart wrongly (Student's t, p values after Holm). A team's first
    possible rank is one more than the teams that are surely ahead of it; its last one leaves room for those that are
    surely behind. Teams that cannot be told apart share ranks. Fewer than three pairs say nothing.

    values  (teams, numbers of users, or contexts), what was earned where; NaN where a team earned nothing yet. A team
            that earned nothing anywhere has no rank (NaN)

    Source  Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6(2), 65-70

    >>> shares = [[0.61, 0.52, 0.70, 0.66], [0.60, 0.54, 0.69, 0.66], [0.31, 0.21, 0.40, 0.35]]
    >>> ranks(pd.DataFrame(shares, ["ada", "bob", "cy"])).astype(int).T
           ada  bob  cy
    first    1    1   3
    last     2    2   3
    """
    from scipy.stats import t

    known = values.dropna(how="all")
    numbers, largest = (
        known.to_numpy(float),
        known.abs().max(axis=1).clip(lower=1).to_numpy(),
    )
    pairs = [np.empty((3, 0))]
    for one in range(
        len(known)
    ):  # with those after it: all pairs in all contexts at once can be gigabytes
        gaps = pd.DataFrame(numbers[one] - numbers[one + 1 :])
        count, gap = gaps.count(axis=1), gaps.mean(axis=1)
        rounding = (
            64 * np.finfo(float).eps * np.maximum(largest[one], largest[one + 1 :])
        )
        steps = np.diff(np.sort(gaps.abs().fillna(0)), prepend=0)
        grain = np.where(steps > rounding[:, None], steps, np.inf).min(
            axis=1, initial=np.inf
        )
        grain = np.where(
            np.isfinite(grain), grain, rounding
        )  # the least by which two differences differ
        error = np.sqrt((gaps.var(axis=1) + grain**2 / 6) / count)
        pairs.append(
            np.array([count, gap, gap.abs().where(gap.abs() > rounding, 0) / error])
        )
    count, gap, size = np.concatenate(pairs, axis=1)
    ones, others = np.triu_indices(len(known), 1)
    p_values = np.where(count < LEAST_PAIRS, 1, 2 * t.sf(size, count - 1))
    sure = holm(p_values) < 1 - level
    ahead, behind = (
        np.bincount(np.where(gap > 0, one, other)[sure], minlength=len(known))
        for one, other in ((others, ones), (ones, others))
    )
    return pd.DataFrame(
        {"first": 1.0 + ahead, "last": len(known) - behind}, known.index
    ).reindex(values.index)


def standing(values: pd.DataFrame) -> pd.DataFrame:
    """Score, interval and ranks of each team; index and `values` as in `ranks`.

    Columns: score, low, high (mean and 95 % t interval over what counts; one value has no interval), first, last.
    The order is that of the last possible rank, then of the first, then of the score: who is surely ahead of anyone
    stands above all who are not, so nobody is first for one lucky episode. Teams that have nothing yet come last.

    An interval is a team's alone: where its mean would lie over very many users (or contexts). Users are drawn evenly
    from hard to easy, so that means differ less from class to class than users drawn at random would let them: the
    interval is too wide, some two to five times. Ranks are of differences between users of one number, which are as
    hard, and differ less than users do: intervals that overlap do not say that teams are tied.
    """
    count = values.notna().sum(axis=1)
    score = values.mean(axis=1)
    half = half_width(values.std(axis=1), count.clip(lower=1))  # NaN where there is one
    table = pd.DataFrame(
        {"score": score, "low": score - half, "high": score + half}
    ).join(ranks(values))
    order = table.assign(score=-score, team=table.index.astype(str)).sort_values(
        ["last", "first", "score", "team"]
    )
    return table.loc[order.index]


# ---------------------------------------------------------------- from the book


def earned(book: "Book", game: str) -> pd.DataFrame:
    """What each team earned where: (teams, users), or (teams, contexts) of the first challenge; NaN where nothing is.

    The mean of a row is the team's score: the return of a day, or the share of what the catalogue's best would earn in
    expected points. Combinations which no app sends may earn more, so 1 is no ceiling: the best of them would earn 1.08
    on average of sixty people, and 1.4 with one.
    """
    teams, settings = book.teams()["name"], book.settings
    if game == "evalumap1":
        half = "private" if settings["closed"] else "public"
        answers = {
            team: answer[answer["half"] == half]
            for team in teams
            if (answer := book.answers(team)) is not None
        }
        shares = {
            team: shares_of(part["expected"], part["best"])
            for team, part in answers.items()
        }
        return (
            pd.DataFrame.from_dict(shares, orient="index").reindex(teams).astype(float)
        )
    episodes = book.episodes(game)
    counted = episodes[
        episodes["scored"] & (episodes["finished"].notna() | bool(settings["closed"]))
    ]
    points = (
        counted["return"] / settings["days"]
        if game == "push"
        else counted["expected"] / counted["best"]
    )
    points = points.where(counted["steps"] > 0, 0.0) if game == "evalumap2" else points
    return (
        counted.assign(value=points)
        .pivot(index="team", columns="user", values="value")
        .reindex(teams)
    )


def standings(book: "Book") -> pd.DataFrame:
    """The standings of all games, a row a game and team: the columns of `standing` and

    game, team; done, of (scored episodes that are finished, and that there are; the first challenge: uploads);
    playing (steps made in scored episodes that are not finished; NA where none is, and once the class is closed)

    While the class is open a score is of the finished episodes alone, and `of - done` are still to be played; once it
    is closed, of all `of` (see this module), so that stopping early wins nothing. Scores of the first challenge have
    three decimals, as uploads are answered.
    """
    tables = []
    for game in GAMES:
        table, first = (
            standing(earned(book, game)).rename_axis("team").reset_index(),
            game == "evalumap1",
        )
        scored = book.episodes(game).query("scored")
        ended = scored["finished"].notna()
        done = (book.uploads() if first else scored[ended])["team"].value_counts()
        playing = (
            scored[~ended & (book.settings["closed"] is None)]
            .groupby("team")["steps"]
            .sum()
        )
        table = (
            table.round(dict.fromkeys(["score", "low", "high"], DIGITS))
            if first
            else table
        )
        tables.append(
            table.assign(
                game=game,
                done=table["team"].map(done).fillna(0).astype(int),
                of=MOST_UPLOADS if first else book.settings["episodes"],
                playing=table["team"].map(playing).astype("Int64"),
            )
        )
    columns = [
        "game",
        "first",
        "last",
        "team",
        "score",
        "low",
        "high",
        "done",
        "of",
        "playing",
    ]
    return pd.concat(tables, ignore_index=True)[columns].astype(
        {"first": "Int64", "last": "Int64"}
    )


def curve(steps: pd.DataFrame) -> np.ndarray:
    """Learning curve of one episode: the share of what the catalogue's best had earned by then.

    At POINTS places from its start to its end, float64 (POINTS,).

    steps  a row a step, in order: expected, best

    >>> curve(pd.DataFrame({"expected": [0.0, 1.0], "best": [1.0, 1.0]}))[[0, -1]].tolist()
    [0.0, 0.5]
    """
    at = np.ceil(np.linspace(1 / POINTS, 1, POINTS) * len(steps)).astype(int) - 1
    return (steps["expected"].cumsum() / steps["best"].cumsum()).to_numpy(float)[at]
