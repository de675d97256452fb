"""The commands `pushlab class …`, `pushlab serve` and `pushlab hand-in`.

Exit status: 0 success, 1 wrong input (every fault on standard error), 2 a command that was not understood.
"""

import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pushlab.ground.commands import ended_by, say, with_options
from pushlab_classroom.server import Limits

class_app = typer.Typer(
    no_args_is_help=True,
    help="A class that plays the challenges against its lecturer's server.",
)
Class = Annotated[
    Path, typer.Argument(metavar="CLASS", help="The folder of the class.")
]
Seed = Annotated[
    str | None,
    typer.Option(
        help="For rehearsals: anyone who guesses it knows all users. By default 256 random bits."
    ),
]
Teams = Annotated[
    Path, typer.Option(help="A CSV file with a column `team`, one row per team.")
]
Tokens = Annotated[
    Path | None, typer.Option(help="A new CSV file for the tokens, instead of here.")
]


def register(app):
    """Add the commands of this package to those of `pushlab`."""
    app.add_typer(class_app, name="class")
    app.command()(serve)
    app.command("hand-in")(hand_in)


@class_app.command()
def new(
    folder: Class,
    teams: Teams,
    seed: Seed = None,
    episodes: Annotated[
        int, typer.Option(help="Scored episodes per team and game; 20 for forty teams.")
    ] = 10,
    per_quarter: Annotated[
        int, typer.Option(help="Approximate contexts of an episode of Challenge 2.")
    ] = 1000,
    days: Annotated[int, typer.Option(help="Days of an episode of push-v0.")] = 7,
    tokens: Tokens = None,
) -> None:
    """Make a class: private users, a hand-out, and a token per team, which is shown only once."""
    from pushlab.ground.files import csv_text, write_text
    from pushlab.ground.tables import read_table, word
    from pushlab_classroom.folder import clean_names, new_class

    with ended_by(1):
        if tokens is not None and os.path.lexists(tokens):
            raise FileExistsError(f"{tokens} is already there; name a new file")
        names = read_table(teams, {"team": word()})["team"]
        names = clean_names(names, teams.name, first_row=2)
        token_of = new_class(
            folder, names, seed, episodes, per_quarter, days, name=folder.name
        )
        text = csv_text([["team", "token"], *map(list, token_of.items())])
        if tokens is None:
            typer.echo(text, nl=False)
        else:
            write_text(tokens, text, replace=False, mode=0o600)
    say(
        f"{folder} is a class of {len(token_of)} teams. Hand out {folder / 'handout'}, and to each team its token, "
        f"which is stored nowhere else.\nStart it with  pushlab serve {folder}",
        err=True,
    )


@class_app.command()
def token(
    folder: Class, team: Annotated[str, typer.Argument(help="Its name.")]
) -> None:
    """Give a team a new token, shown only once. The old one is void from now on."""
    from pushlab_classroom.folder import new_token

    with ended_by(1):
        typer.echo(new_token(folder, team))


@class_app.command()
def close(folder: Class) -> None:
    """End the class for good: scored episodes and uploads stop, and private halves are scored."""
    from pushlab_classroom.folder import close_class

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
    from pushlab_classroom.export import export

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
    """Replay an episode from the secret and the stored actions; print where it differs, with status 1."""
    from pushlab_classroom.export import replay

    with ended_by(1):
        is_same, differences = replay(folder, episode)
    if not is_same:
        typer.echo(differences.to_string())
        raise typer.Exit(1)
    typer.echo(f"episode {episode} is the same to the digit")


@class_app.command()
def board(folder: Class) -> None:
    """Print the standings as they are now."""
    from pushlab_classroom.database import ClassDatabase
    from pushlab_classroom.standings import standings

    with ended_by(1):
        table = standings(ClassDatabase(folder))
        typer.echo(table.to_string(index=False, float_format="%.3f"))


@with_options(Limits)
def serve(
    folder: Class,
    host: Annotated[
        str,
        typer.Option(
            help="127.0.0.1: this machine only; 0.0.0.0: all that can reach it."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="0: one that is free.")
    ] = 8000,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="A proxy on this machine names the client (X-Forwarded-For), such as data/class/nginx.conf.",
        ),
    ] = False,
    **options: Any,
) -> None:
    """Serve a class over HTTP until Ctrl+C or SIGTERM."""
    from pushlab_classroom.server import serve

    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    chosen = {name: value for name, value in options.items() if value is not None}
    with ended_by(1):
        serve(folder, host, port, Limits(**chosen), behind_proxy)


def hand_in(
    answers: Annotated[Path, typer.Argument(help="A CSV file.")],
    url: Annotated[
        str, typer.Option(envvar="PUSHLAB_URL", help="Address of the class.")
    ],
) -> None:
    """Hand in answers to Challenge 1 at a class's server. The token is $PUSHLAB_TOKEN, or is asked for."""
    from pushlab_classroom.client import hand_in

    token = os.environ.get("PUSHLAB_TOKEN") or typer.prompt("token", hide_input=True)
    with ended_by(1):
        result = hand_in(answers, url, token)
    for note in result["notes"]:
        say(f"note: {note}")
    say(
        f"{result['public']:.3f} of what the catalogue's best would earn, on the public half (interval "
        f"{result['low']:.3f} to {result['high']:.3f}); {result['left']} uploads left"
    )
