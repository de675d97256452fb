"""`pushlab class …` and `pushlab serve`: a class on the command line.

Exit status: 0 done, 1 what was given is at fault (every fault on standard error), 2 the command was not understood.
"""

import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pushlab.classroom.limits import Limits
from pushlab.ground.commands import ended_by, with_options

class_app = typer.Typer(
    no_args_is_help=True,
    help="A class that plays the challenges against its lecturer's server.",
)
Class = Annotated[
    Path, typer.Argument(metavar="CLASS", help="The folder of the class.")
]


def read_teams(path: Path) -> list[str]:
    """The names of a CSV file's column `team`, cleaned; BadData with every row whose name is empty or there twice."""
    from pushlab.classroom.folder import named
    from pushlab.ground.tables import read_table, word

    names = read_table(path, {"team": word()})["team"]
    return named(names, path.name, range(2, len(names) + 2))


@class_app.command()
def new(
    folder: Class,
    teams: Annotated[
        Path, typer.Option(help="A CSV file with a column `team`, a row a team.")
    ],
    seed: Annotated[
        str | None,
        typer.Option(
            help="For rehearsals: who guesses it knows all. By default 256 random bits."
        ),
    ] = None,
    episodes: Annotated[
        int, typer.Option(help="Scored episodes a team and game; 20 for forty teams.")
    ] = 10,
    per_quarter: Annotated[
        int, typer.Option(help="Contexts of an episode of Challenge 2, about.")
    ] = 1000,
    days: Annotated[int, typer.Option(help="Days of an episode of push-v0.")] = 7,
    name: Annotated[
        str | None, typer.Option(help="What the board is headed by; the folder's name.")
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(help="A new CSV file for the tokens, instead of here."),
    ] = None,
) -> None:
    """Make a class: its private users, its hand-out, and a token a team, which is shown this once."""
    from pushlab.classroom.folder import new_class
    from pushlab.ground.files import csv_text, write_text

    with ended_by(1):
        if tokens is not None and os.path.lexists(tokens):
            raise FileExistsError(
                f"{tokens} is already there; give the name of a new file"
            )
        given = new_class(
            folder,
            read_teams(teams),
            seed,
            episodes,
            per_quarter,
            days,
            name or folder.name,
        )
    if seed is not None:
        typer.echo(
            "--seed is for rehearsals: whoever guesses it knows all users; leave it out for a class that counts",
            err=True,
        )
    text = csv_text([["team", "token"], *map(list, given.items())])
    if tokens is not None:
        try:
            write_text(tokens, text, replace=False, mode=0o600)
            text = ""
        except OSError as error:  # such as a full disk: nobody tells them again
            typer.echo(f"{error}; so they are told here", err=True)
    typer.echo(text, nl=False)
    typer.echo(
        f"{folder} is a class of {len(given)} teams. Hand out {folder / 'handout'}, and to each team its token, "
        f"which is kept nowhere else.\nStart it with  pushlab serve {folder}",
        err=True,
    )


@class_app.command()
def token(
    folder: Class, team: Annotated[str, typer.Argument(help="Its name.")]
) -> None:
    """Give a team a new token, shown this once; its old one is void from now on."""
    from pushlab.classroom.folder import new_token

    with ended_by(1):
        typer.echo(new_token(folder, team))


@class_app.command()
def close(folder: Class) -> None:
    """End the class for good: nothing that counts is played or handed in any more, private halves are scored."""
    from pushlab.classroom.folder import close_class

    with ended_by(1):
        close_class(folder)
    typer.echo(
        f"{folder} is closed for good. How it ended:  pushlab class board {folder}"
    )


@class_app.command("export")
def export_class(
    folder: Class, out: Annotated[Path, typer.Argument(help="A new folder.")]
) -> None:
    """Write the standings, and every episode as logs that the metrics and notebooks read."""
    from pushlab.classroom.export import export

    with ended_by(1):
        export(folder, out)
    typer.echo(f"written to {out}")


@class_app.command("replay")
def replay_episode(
    folder: Class,
    episode: Annotated[
        int, typer.Argument(help="Its id in the export's episodes.csv.")
    ],
) -> None:
    """Play an episode again from the secret and the logged actions, and say where it differs: status 1 if it does."""
    from pushlab.classroom.export import replay

    with ended_by(1):
        same, differences = replay(folder, episode)
    typer.echo(
        f"episode {episode} is the same to the digit"
        if same
        else differences.to_string()
    )
    raise typer.Exit(0 if same else 1)


@class_app.command()
def board(folder: Class) -> None:
    """Print the standings as they are now."""
    from pushlab.classroom.book import Book
    from pushlab.classroom.standings import standings

    with ended_by(1):
        typer.echo(standings(Book(folder)).to_string(index=False, float_format="%.3f"))


@with_options(Limits)
def serve(
    folder: Class,
    host: Annotated[
        str,
        typer.Option(
            help="127.0.0.1: this machine alone; 0.0.0.0: whoever reaches it."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="0: one that is free.")
    ] = 8000,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="A proxy on this machine tells who asks "
            "(X-Forwarded-For); data/class/nginx.conf is one.",
        ),
    ] = False,
    while_open: Annotated[bool, typer.Option("--while-open", hidden=True)] = False,
    **options: Any,
) -> None:
    """Play a class over HTTP until Ctrl+C or SIGTERM."""
    from pushlab.classroom.serving import serve as run

    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    with ended_by(1):
        limits = Limits(
            **{name: value for name, value in options.items() if value is not None}
        )
        run(folder, host, port, limits, behind_proxy, while_open, typer.echo)
