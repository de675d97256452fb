"""Scorecards: a submission's metrics as a table in a notebook, as files, and as a row of a leaderboard.

Response times depend on the machine, so they are saved in a separate file, and in no other table or JSON file.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from pushlab.metrics.push import ResponseTime
from pushlab.utils.files import csv_text, json_text, write_bytes, write_text
from pushlab.utils.issues import listed

# The meaning of each metric, in the order of the tables; `pushlab.metrics.push` defines them.
MEANING = {
    "performance": "points: +1 opened again, 0 dismissed again, +2 now opened, -1 now dismissed",
    "performance_share": "of the best possible performance",
    "expected_performance": "expected points over the user's random answers",
    "regret": "mean loss of open probability against the best choice",
    "click_through_rate": "fraction opened by the user",
    "panel_click_through_rate": "expected fraction of opens, mean over the judges",
    "coverage": "distinct values among the opened, over those of the history",
    "evenness": "normalised entropy of the opened",
    "plausibility": "fraction of combinations in the history or catalogue",
    "enticement": "0 all low, 1 all high",
    "learning_slope": "increase of points per step, with each step",
    "settled_step": "step after which performance stays near its final value",
}
FORMATS = {
    "performance": ",.1f",
    "expected_performance": ",.1f",
    "learning_slope": ".2e",
    "settled_step": ",.0f",
}
DIGITS = 6  # of saved numbers, since the last digits of sums differ between machines
LEADING = (
    "performance",
    "performance_share",
    "click_through_rate",
    "panel_click_through_rate",
    "coverage",
    "evenness",
    "plausibility",
)
RATES = ("expected", "sampled", "low", "high", "threshold")


@dataclass(frozen=True)
class Scorecard:
    """Metrics of an agent's notifications. A notebook displays them as tables.

    Args:
        agent: Name of the agent.
        challenge: Number of the challenge, 1 or 2.
        user, period: Names of the user and the period.
        judge, opening: The judge that determined the opens, and its opening rule.
        count: Number of notifications in all episodes.
        seeds: Seeds of the episodes.
        metrics: Values by metric, in the order of `MEANING`. Performance is the mean over episodes.
        judges: Click-through rates by judge: "expected"; "sampled" with the ends "low" and "high" of its 95 %
            interval; "threshold", if all notifications with a probability of at least 0.5 are opened.
        response: ResponseTime in seconds as reported by the participant, or None.
        notes: Remarks for the reader.
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
        """Challenge, user, judge and seeds in one line."""
        return (
            f"challenge {self.challenge}, user {self.user}, {self.period} period, {self.count:,} notifications, "
            f"answers by {self.judge} ({self.opening}), "
            f"seed{'s' if len(self.seeds) > 1 else ''} {listed(self.seeds, 1)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all fields except the response times as JSON values, which are the same on every machine."""
        names = ("agent", "challenge", "user", "period", "judge", "opening")
        judges = {name: _rounded(rates) for name, rates in self.judges.items()}
        return {
            **{name: getattr(self, name) for name in names},
            "notifications": self.count,
            "seeds": list(self.seeds),
            "metrics": _rounded(self.metrics),
            "judges": judges,
            "notes": list(self.notes),
        }

    def save(self, folder: Path | str, picture: bool = False) -> list[Path]:
        """Write scorecard.json, scorecard.csv and, if there are response times, response_times.json; return the paths.

        The files of an earlier scorecard are replaced or removed.

        Args:
            folder: The folder to write to.
            picture: Whether to write scorecard.png too, with the response times.
        """
        folder = Path(folder)
        content = self.to_dict()
        rows = [("name", "value")]
        for name in ("agent", "challenge", "user", "seeds"):
            rows.append((name, content[name]))
        rows += content["metrics"].items()
        for judge, rates in content["judges"].items():
            for kind, rate in rates.items():
                rows.append((f"click_through_rate.{judge}.{kind}", rate))
        texts = {
            "scorecard.json": json_text(content),
            "scorecard.csv": csv_text(rows),
        }
        if self.response is not None:
            times = {
                "agent": self.agent,
                "median_seconds": self.response.median,
                "p95_seconds": self.response.p95,
                "measured_by": "the participant",
            }
            texts["response_times.json"] = json_text(times)
        for name in ("response_times.json", "scorecard.png"):
            (folder / name).unlink(missing_ok=True)
        paths = [write_text(folder / name, text) for name, text in texts.items()]
        if picture:
            paths.append(write_picture(folder / "scorecard.png", [self]))
        return paths

    def report(self) -> str:
        """Return the scorecard as lines of text, with the response times."""
        lines = [f"{self.agent}: {self.about}"]
        for name, value, meaning in self._metric_cells():
            lines.append(f"  {name:26}{value:>10}  {meaning}")
        header = "opens of each judge"
        lines.append(f"  {header:30}expected  sampled [95 % interval]  at 0.5")
        for name, expected, sampled, low, high, threshold in self._judge_cells():
            lines.append(
                f"    {name:26}{expected:>10}    {sampled} [{low}, {high}]   {threshold}"
            )
        if self.response is not None:
            lines.append(
                f"  response time: median {self.response.median * 1e3:.3g} ms, 95th percentile "
                f"{self.response.p95 * 1e3:.3g} ms, as reported by the participant"
            )
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _metric_cells(self):
        cells = []
        for name, value in self.metrics.items():
            text = "unknown"
            if value is not None:
                text = format(value, FORMATS.get(name, ".3f"))
            cells.append((name, text, MEANING[name]))
        return cells

    def _judge_cells(self):
        cells = []
        for name, rates in self.judges.items():
            cells.append((name, *(f"{rates[kind]:.3f}" for kind in RATES)))
        return cells

    def _repr_html_(self):
        rows = []
        for name, expected, sampled, low, high, threshold in self._judge_cells():
            rows.append((name, expected, sampled, f"{low} to {high}", threshold))
        header = ("judge", "expected opens", "sampled opens", "95 % interval", "at 0.5")
        notes = [f"<p>Note: {escape(note)}</p>" for note in self.notes]
        return (
            f"<p><b>{escape(self.agent)}</b><br>{escape(self.about)}</p>"
            + "".join(notes)
            + html_table(("metric", "value", "meaning"), self._metric_cells())
            + html_table(header, rows)
        )


def leaderboard(cards: Iterable[Scorecard]) -> pd.DataFrame:
    """Return a table with a row for each scorecard, sorted by performance. Equal performances share a rank.

    Columns: rank, agent, performance, performance_share, click_through_rate, panel_click_through_rate, coverage,
    evenness, plausibility.
    """
    cards = ranked(cards)
    metrics = [card.metrics for card in cards]
    table = pd.DataFrame(metrics, columns=list(LEADING))
    table.insert(0, "agent", [card.agent for card in cards])
    ranks = table["performance"].rank(method="min", ascending=False)
    table.insert(0, "rank", ranks.astype(int))
    return table


def ranked(cards: Iterable[Scorecard]) -> list[Scorecard]:
    """Return scorecards sorted by performance, the best first, then by name."""
    return sorted(cards, key=lambda card: (-card.metrics["performance"], card.agent))


def write_picture(path: Path, cards: Sequence[Scorecard]) -> Path:
    """Write a picture of scorecards to a PNG file and return its path."""
    from pushlab.plots import png, scorecard

    return write_bytes(path, png(scorecard(cards)))


def html_table(header: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    """Return a plain HTML table with the cells as text."""
    lines = [_html_row("th", header)]
    lines += [_html_row("td", row) for row in rows]
    return f"<table>{''.join(lines)}</table>"


def _html_row(tag, cells):
    content = [f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells]
    return f"<tr>{''.join(content)}</tr>"


def _rounded(values):
    return {
        name: None if value is None else round(value, DIGITS)
        for name, value in values.items()
    }
