"""What came of a submission: a table in a notebook, files in a folder, a row of a leaderboard.

A scorecard holds nothing that depends on the machine it was made on, except the response times, and those are kept
apart: they are in no table, picture or JSON file unless asked for, and are saved in a file of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from pushlab.ground.files import csv_text, json_text, write_bytes, write_text
from pushlab.metrics.push import ResponseTime

# What each metric says, in the order of the tables; `pushlab.metrics.push` defines them.
MEANING = {
    "performance": "points: +1 opened again, 0 dismissed again, +2 now opened, -1 now dismissed",
    "performance_share": "of the best possible performance",
    "expected_performance": "points in the mean over the user's chance",
    "regret": "mean probability of an open given away",
    "click_through_rate": "share the user opened",
    "panel_click_through_rate": "share expected to be opened, mean over the judges",
    "coverage": "distinct values among the opened, over those of the history",
    "evenness": "normalised entropy of the opened",
    "plausibility": "share of combinations that history or catalogue knows",
    "enticement": "0 all low, 1 all high",
    "learning_slope": "points a step more with each step",
    "settled_step": "step from which performance stays where it ends",
}
FORMATS = {
    "performance": ",.1f",
    "expected_performance": ",.1f",
    "learning_slope": ".2e",
    "settled_step": ",.0f",
}
DIGITS = 6  # of what is saved: sums differ in their last digits from machine to machine


@dataclass(frozen=True)
class Scorecard:
    """How well an agent's notifications did; shows itself as tables in a notebook.

    agent      whose notifications
    challenge  1 or 2
    user, period, judge, opening    on whom they were tried, and who answered, by which rule
    count      notifications, in all episodes together
    seeds      of the episodes' chance
    metrics    {metric: float}, in the order of `MEANING`; performance is that of one episode (a mean over several)
    judges     {judge: {"expected", "sampled", "low", "high", "threshold"}}: the click-through rate under each judge: in
               expectation; by chance with the ends of its 95 % interval; and opening all that has 0.5 or more
    response   ResponseTime in seconds, or None; `reported` tells whether the participant measured it
    notes      what a reader should know besides
    """

    agent: str
    challenge: int
    user: str
    period: str
    judge: str
    opening: str
    count: int
    seeds: tuple[int, ...]
    metrics: dict[str, Any]
    judges: dict[str, dict[str, float]]
    response: ResponseTime | None = field(default=None, compare=False)
    reported: bool = False
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        share = self.metrics.get("performance_share")
        best = "" if share is None else f", {share:.2f} of the best possible"
        notes = "".join(f"\n  note: {note}" for note in self.notes)
        return (
            f"Scorecard({self.agent!r}, user {self.user!r}, performance "
            f"{self.metrics['performance']:,.1f}{best}){notes}"
        )

    @property
    def about(self) -> str:
        """Where the numbers come from, in a line."""
        more = f" and {len(self.seeds) - 1} more" if len(self.seeds) > 1 else ""
        return (
            f"challenge {self.challenge}, user {self.user}, {self.period} period, {self.count:,} notifications, "
            f"answers by {self.judge} ({self.opening}), seed{'s' if more else ''} {self.seeds[0]}{more}"
        )

    @property
    def table(self) -> pd.DataFrame:
        """DataFrame: metric, value, meaning."""
        return pd.DataFrame(
            [(name, value, MEANING[name]) for name, value in self.metrics.items()],
            columns=["metric", "value", "meaning"],
        )

    @property
    def judge_table(self) -> pd.DataFrame:
        """DataFrame: judge, then the click-through rate as expected, as sampled with its interval, at a threshold."""
        return pd.DataFrame(
            [{"judge": name, **rates} for name, rates in self.judges.items()]
        )

    def to_dict(self) -> dict[str, Any]:
        """All but the response times, as plain values that are the same on every machine."""
        told = {
            name: getattr(self, name)
            for name in ("agent", "challenge", "user", "period", "judge", "opening")
        }
        judges = {name: _rounded(rates) for name, rates in self.judges.items()}
        return {
            **told,
            "notifications": self.count,
            "seeds": list(self.seeds),
            "metrics": _rounded(self.metrics),
            "judges": judges,
            "notes": list(self.notes),
        }

    def save(self, folder: Path | str, picture: bool = False) -> list[Path]:
        """Writes scorecard.json and scorecard.csv, and response_times.json if there are any; returns their paths.

        picture  write scorecard.png too, with the response times if there are any

        Each file is written whole under another name first. An older scorecard in the folder is replaced.
        """
        folder = Path(folder)
        texts = {
            "scorecard.json": json_text(self.to_dict()),
            "scorecard.csv": self._csv(),
        }
        if self.response is not None:
            texts["response_times.json"] = json_text(
                {
                    "agent": self.agent,
                    "median_seconds": self.response.median,
                    "p95_seconds": self.response.p95,
                    "measured_by": "the participant"
                    if self.reported
                    else "whoever made this scorecard",
                }
            )
        else:
            (folder / "response_times.json").unlink(
                missing_ok=True
            )  # an older run's is not this one's
        paths = [write_text(folder / name, text) for name, text in texts.items()]
        return (
            [*paths, write_picture(folder / "scorecard.png", [self])]
            if picture
            else paths
        )

    def report(self) -> str:
        """The scorecard as lines of text, response times and all."""
        lines = [f"{self.agent}: {self.about}"]
        lines += [
            f"  {name:26}{value:>10}  {meaning}"
            for name, value, meaning in self._metric_cells()
        ]
        lines += [
            "  would each judge open them?   expected  sampled [95 % interval]  at 0.5"
        ]
        lines += [
            f"    {name:26}{expected:>10}    {sampled} [{low}, {high}]   {threshold}"
            for name, expected, sampled, low, high, threshold in self._judge_cells()
        ]
        if self.response is not None:
            whose = ", as reported by the participant" if self.reported else ""
            lines.append(
                f"  response time: median {self.response.median * 1e3:.3g} ms, 95th percentile "
                f"{self.response.p95 * 1e3:.3g} ms{whose}"
            )
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _metric_cells(self):
        return [
            (
                name,
                "unknown" if value is None else format(value, FORMATS.get(name, ".3f")),
                MEANING[name],
            )
            for name, value in self.metrics.items()
        ]

    def _judge_cells(self):
        return [
            (
                name,
                *(
                    f"{rates[kind]:.3f}"
                    for kind in ("expected", "sampled", "low", "high", "threshold")
                ),
            )
            for name, rates in self.judges.items()
        ]

    def _csv(self):
        told = self.to_dict()
        rows = [
            ("name", "value"),
            *((name, told[name]) for name in ("agent", "challenge", "user", "seeds")),
        ]
        rows += told["metrics"].items()
        return csv_text(
            rows
            + [
                (f"click_through_rate.{judge}.{kind}", value)
                for judge, rates in told["judges"].items()
                for kind, value in rates.items()
            ]
        )

    def _repr_html_(self):
        judges = [
            (name, expected, sampled, f"{low} to {high}", threshold)
            for name, expected, sampled, low, high, threshold in self._judge_cells()
        ]
        notes = "".join(f"<p>Note: {escape(note)}</p>" for note in self.notes)
        return (
            f"<p><b>{escape(self.agent)}</b><br>{escape(self.about)}</p>"
            + notes
            + html_table(("metric", "value", "meaning"), self._metric_cells())
            + html_table(
                (
                    "judge",
                    "expected to open",
                    "opened by chance",
                    "95 % interval",
                    "at 0.5",
                ),
                judges,
            )
        )


def leaderboard(cards: Iterable[Scorecard]) -> pd.DataFrame:
    """DataFrame with a row a scorecard, best performance first; equal performance shares a rank.

    Columns: rank, agent, performance, performance_share, click_through_rate, panel_click_through_rate, coverage,
    evenness, plausibility, as far as the scorecards have them.
    """
    kept = (
        "performance",
        "performance_share",
        "click_through_rate",
        "panel_click_through_rate",
        "coverage",
        "evenness",
        "plausibility",
    )
    rows = [
        {
            "agent": card.agent,
            **{name: card.metrics[name] for name in kept if name in card.metrics},
        }
        for card in sorted(
            cards, key=lambda card: (-card.metrics["performance"], card.agent)
        )
    ]
    table = pd.DataFrame(rows, columns=None if rows else ["agent", *kept])
    table.insert(
        0,
        "rank",
        table["performance"].rank(method="min", ascending=False).astype(int)
        if rows
        else [],
    )
    return table


def write_picture(path: Path, cards: Sequence[Scorecard]) -> Path:
    """Writes the picture of scorecards, whole or not at all; returns its path."""
    from pushlab.plots import png, scorecard

    return write_bytes(path, png(scorecard(cards, times=True)))


def html_table(head: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    """A plain HTML table; every cell is text and nothing else."""
    lines = [
        f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in row)}</tr>"
        for tag, group in (("th", [head]), ("td", rows))
        for row in group
    ]
    return f"<table>{''.join(lines)}</table>"


def _rounded(values):
    return {
        name: None if value is None else round(value, DIGITS)
        for name, value in values.items()
    }
