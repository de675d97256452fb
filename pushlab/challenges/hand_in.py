"""Handing answers to Challenge 1 in at the server of a class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pushlab.envs.remote.link import Link, Refused
from pushlab.ground._old_reading import read_bytes
from pushlab.ground.arguments import in_short

if TYPE_CHECKING:
    import pandas as pd

LARGEST = 8 * 2**20  # bytes


def hand_in(
    answers: Path | str | pd.DataFrame, url: str | None = None, token: str | None = None
) -> dict:
    """Hands a CSV file or a table in, and tells its score on the public half: {"public", "low", "high", "left",
    "notes"}.

    url, token  of the class and the team; None takes $PUSHLAB_URL and $PUSHLAB_TOKEN

    public is the share of what the catalogue's best would earn in expected points, low and high the ends of its
    interval, left the uploads that the team has left, notes what the history does not know.
    The same answers again are told the same and count once. Raises TypeError for what is neither a file's name nor a
    table, BadData for a file that cannot be read, Refused with every fault that the server found, ConnectionError
    where it cannot be reached.
    """
    if not (hasattr(answers, "to_csv") or isinstance(answers, (str, Path))):
        raise TypeError(
            f"answers is a CSV file's name or a table of pandas; got {in_short(answers)}"
        )
    data = (
        answers.to_csv(index=False, lineterminator="\n").encode()
        if hasattr(answers, "to_csv")
        else read_bytes(answers, LARGEST)
    )
    link = Link(url, token)
    link.ask("GET", "/api/me")  # is anybody there? else it would be waited for long
    return link.ask("POST", "/api/answers", data, "text/csv")


def hand_in_command(
    answers: Annotated[Path, typer.Argument(help="A CSV file.")],
    url: Annotated[
        str, typer.Option(envvar="PUSHLAB_URL", help="Address of the class.")
    ],
) -> None:
    """Hand answers to Challenge 1 in at a class's server. The token is $PUSHLAB_TOKEN, or is asked for."""
    token = os.environ.get("PUSHLAB_TOKEN") or typer.prompt("token", hide_input=True)
    try:
        told = hand_in(answers, url, token)
    except (ValueError, OSError, Refused) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    for note in told["notes"]:
        typer.echo(f"note: {note}")
    typer.echo(
        f"{told['public']:.3f} of what the catalogue's best would earn, on the public half (interval "
        f"{told['low']:.3f} to {told['high']:.3f}); {told['left']} uploads left"
    )
