"""The commands `pushlab class …`, `pushlab serve` and `pushlab hand-in`."""

import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pushlab.utils.commands import Commands, dataclass_options, echo
from pushlab_classroom.server import Limits

class_app = typer.Typer(
    cls=Commands,
    help="Manage a class whose teams play the challenges.",
)
Class = Annotated[Path, typer.Argument(metavar="CLASS", help="Folder of the class.")]
Seed = Annotated[
    str | None,
    typer.Option(
        help="Text from which all users are generated, for rehearsals: anyone who guesses it knows them. "
        "By default 256 random bits."
    ),
]
Teams = Annotated[
    Path, typer.Option(help="CSV file with a column `team`, one row per team.")
]
Tokens = Annotated[
    Path | None,
    typer.Option(help="New CSV file for the tokens. By default they are printed."),
]


def register(app):
    """Add the commands of this package to the command `pushlab`."""
    app.add_typer(class_app, name="class", rich_help_panel="Teach")
    app.command(rich_help_panel="Teach")(serve)
    app.command("hand-in", rich_help_panel="Play")(hand_in)


@class_app.command()
def new(
    folder: Class,
    teams: Teams,
    seed: Seed = None,
    episodes: Annotated[
        int,
        typer.Option(
            help="Scored episodes per team and game; 20 are better for forty teams."
        ),
    ] = 10,
    per_quarter: Annotated[
        int,
        typer.Option(
            help="Approximate number of contexts in an episode of Challenge 2."
        ),
    ] = 1000,
    days: Annotated[int, typer.Option(help="Days in an episode of push-v0.")] = 7,
    tokens: Tokens = None,
) -> None:
    """Create a class: private users, a hand-out, and a token for each team, which is shown only once.

    Example: `pushlab class new autumn --teams teams.csv`

    More: https://pushlab.github.io/pushlab/data/class/README.html
    """
    from pushlab.utils.files import csv_text, write_text
    from pushlab.utils.tables import read_table, text_rule
    from pushlab_classroom.administration import clean_names, new_class

    if tokens is not None and os.path.lexists(tokens):
        raise FileExistsError(f"{tokens} already exists\nchoose another --tokens")
    names = read_table(teams, {"team": text_rule()})["team"]
    names = clean_names(names, teams.name, first_row=2)
    tokens_by_team = new_class(
        folder, names, seed, episodes, per_quarter, days, name=folder.name
    )
    text = csv_text([["team", "token"], *map(list, tokens_by_team.items())])
    if tokens is None:
        typer.echo(text, nl=False)
    else:
        write_text(tokens, text, replace=False, mode=0o600)
    echo(
        f"{folder} is a class of {len(tokens_by_team)} teams. Give the teams {folder / 'handout'}, and each team its "
        f"token, which is stored nowhere else.\nStart the server with  pushlab serve {folder}",
        err=True,
    )


@class_app.command()
def token(
    folder: Class, team: Annotated[str, typer.Argument(help="Name of the team.")]
) -> None:
    """Create a new token for a team and print it. The old one becomes invalid.

    Example: `pushlab class token autumn 'team 9'`

    More: https://pushlab.github.io/pushlab/data/class/README.html
    """
    from pushlab_classroom.administration import new_token

    typer.echo(new_token(folder, team))


@class_app.command()
def close(folder: Class) -> None:
    """Close a class for good: it accepts no more scored episodes or uploads, and the private halves are scored.

    Example: `pushlab class close autumn`

    More: https://pushlab.github.io/pushlab/data/class/README.html
    """
    from pushlab_classroom.administration import close_class

    close_class(folder)
    typer.echo(
        f"{folder} is closed for good. For the final standings:  pushlab class board {folder}"
    )


@class_app.command("export")
def export_class(
    folder: Class,
    out: Annotated[Path, typer.Argument(help="New folder for the export.")],
) -> None:
    """Write the standings, and all episodes as logs for metrics and notebooks.

    Example: `pushlab class export autumn results`

    More: https://pushlab.github.io/pushlab/data/class/README.html
    """
    from pushlab_classroom.export import export

    export(folder, out)
    typer.echo(f"results written to {out}")


@class_app.command("replay")
def replay_episode(
    folder: Class,
    episode: Annotated[
        int, typer.Argument(help="Id of the episode in episodes.csv of the export.")
    ],
) -> None:
    """Replay an episode and compare it with the stored steps. Differences are printed, with exit status 1.

    Example: `pushlab class replay autumn 12`

    More: https://pushlab.github.io/pushlab/data/class/README.html
    """
    from pushlab_classroom.export import replay

    is_same, differences = replay(folder, episode)
    if not is_same:
        typer.echo(differences.to_string())
        raise typer.Exit(1)
    typer.echo(f"the replay of episode {episode} is identical")


@class_app.command()
def board(folder: Class) -> None:
    """Print the current standings.

    Example: `pushlab class board autumn`

    More: https://pushlab.github.io/pushlab/data/class/README.html
    """
    from pushlab_classroom.database import ClassDatabase
    from pushlab_classroom.standings import EMPTY, STATES, standings

    database = ClassDatabase(folder)
    table = standings(database)
    echo(f"{folder}: {STATES[database.settings['state']]}")
    if table["score"].isna().all():
        echo(EMPTY)
    typer.echo(table.to_string(index=False, float_format="%.3f"))


@dataclass_options(Limits, {})
def serve(
    folder: Class,
    host: Annotated[
        str,
        typer.Option(
            help="127.0.0.1 for this machine only, 0.0.0.0 for the whole network."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port. 0 uses a free one.")
    ] = 8000,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Read the client's address from a proxy on this machine (X-Forwarded-For), such as "
            "data/class/nginx.conf.",
        ),
    ] = False,
    **options: Any,
) -> None:
    """Serve a class over HTTP, with a leaderboard, until Ctrl-C.

    Example: `pushlab serve autumn --host 0.0.0.0`

    More: https://pushlab.github.io/pushlab/data/class/README.html
    """
    from pushlab_classroom.server import serve

    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    limits = {name: value for name, value in options.items() if value is not None}
    serve(folder, host, port, Limits(**limits), behind_proxy)


def hand_in(
    answers: Annotated[Path, typer.Argument(help="CSV file with the answers.")],
    url: Annotated[
        str, typer.Option(envvar="PUSHLAB_URL", help="Address of the class.")
    ],
) -> None:
    """Submit answers to the server of a class.

    They are answers to Challenge 1. The token is $PUSHLAB_TOKEN, or a prompt asks for it.

    Example: `pushlab hand-in answers.csv --url http://10.0.0.5:8000`

    More: https://pushlab.github.io/pushlab/data/class/README.html
    """
    from pushlab_classroom.client import hand_in

    token = os.environ.get("PUSHLAB_TOKEN") or typer.prompt("token", hide_input=True)
    result = hand_in(answers, url, token)
    for note in result["notes"]:
        echo(f"note: {note}")
    echo(
        f"score: {result['public']:.3f} of the catalogue's best on the public half (interval {result['low']:.3f} to "
        f"{result['high']:.3f}); {result['left']} uploads left"
    )
