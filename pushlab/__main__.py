"""The command line: `pushlab -h`, or `python -m pushlab`.

Exit status: 0 for success, 2 for an invalid command line, 130 after Ctrl-C, 1 for any other error. Errors are on
standard error, with a line that says what to do. A faulty submission or lifetime doesn't stop the others of its folder.
"""

import inspect
import os
import signal
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from pushlab.experiments.bench.command import bench
from pushlab.experiments.command import sweep_command, warm
from pushlab.lifetimes.command import experts_app, lifelong
from pushlab.users import MODELS, OPENINGS
from pushlab.utils.cache import no_cache
from pushlab.utils.commands import Commands, echo, one_of

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
app = typer.Typer(cls=Commands, rich_markup_mode=None, context_settings=SETTINGS)
data = typer.Typer(cls=Commands, help="Check data sets, and collect facts.")


def _version(is_requested: bool):
    if is_requested:
        from pushlab import __version__

        typer.echo(f"pushlab {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
):
    """Personalised notifications and sequential decisions: environments, data, metrics.

    Example: `pushlab contexts mira --out contexts.csv`

    More: https://pushlab.github.io/pushlab/docs/index.html
    """


UsersOption = Annotated[
    str | None, typer.Option(metavar="PATH", help="A folder or wheel of users.")
]
PeriodOption = Annotated[
    str,
    typer.Option(metavar="NAME", help="test, or another period of the user."),
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Replace an existing file.")
]


def _require_new(path: Path, replace: bool):
    """Raise FileExistsError if a file exists and isn't to be replaced."""
    if not replace and os.path.lexists(path):
        raise FileExistsError(
            f"{path} exists already\nreplace it with --replace, or choose another --out"
        )


@data.command()
def check(
    path: Annotated[
        str,
        typer.Argument(
            help="A user's folder, a folder or wheel of users, or a shipped name."
        ),
    ],
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="One user of a folder; by default all."),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(help="A schema's name or file; by default the matching one."),
    ] = None,
):
    """Read a data set as the environments do, and print its load report or every issue.

    Example: `pushlab data check mira`

    Or: `pushlab data check myusers/`

    More: https://pushlab.github.io/pushlab/docs/your_data.html
    """
    from pushlab.datasets.reading import list_users, load_user
    from pushlab.utils.issues import BadData, DataIssue, raise_issues

    issues: list = []
    users: list[str | None] = [user or None]
    if not user and Path(path).exists():
        users = [*list_users(path)] or [None]
    for name in users:
        try:
            typer.echo(load_user(path, user=name, schema=schema).report())
        except BadData as error:
            issues += error.issues
        except Exception as error:  # so that the other users are read too
            if len(users) == 1:
                raise
            valid_values = f"this user can't be read ({type(error).__name__}: {error})"
            issues.append(DataIssue(str(name), valid_values=valid_values))
    raise_issues(issues)


@data.command()
def collect(
    source: Annotated[
        str,
        typer.Argument(help="A file of ConceptNet assertions or edges, or `web`."),
    ],
    out: Annotated[
        Path, typer.Option(help="A new CSV file: head, relation, tail, weight.")
    ],
    heads: Annotated[
        Path | None,
        typer.Option(help="A file with one object per line; by default MS-COCO's 80."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(help="Maximum number of places per object.", min=1),
    ] = 20,
    replace: ReplaceOption = False,
):
    """Write a table of the usual places of objects, for the room, from ConceptNet's facts.

    Example: `pushlab data collect web --out places.csv`

    More: https://pushlab.github.io/pushlab/data/room/README.html
    """
    from pushlab.datasets.commonsense import (
        all_places,
        fetch_facts,
        read_facts,
        strongest_facts,
        usual_places,
        write_facts,
    )
    from pushlab.utils.files import read_text

    _require_new(out, replace)
    if heads is None:
        objects = list(usual_places(read_facts("commonsense")))
    else:
        objects = read_text(heads).split("\n")
    objects = [head.strip().lower() for head in objects if head.strip()]
    if source == "web":
        all_facts = fetch_facts(objects, limit)
    else:
        all_facts = read_facts(source, objects)
    facts = strongest_facts(all_facts, limit, objects)
    if not facts:
        raise ValueError(
            f"{source} has no places for any of the {len(objects)} objects"
        )
    write_facts(facts, out, replace)
    n_objects = len(usual_places(facts))
    typer.echo(
        f"{out}: {len(facts)} facts, {n_objects} objects, {len(all_places(facts))} places; "
        f"no places for {len(objects) - n_objects} objects"
    )


@app.command(rich_help_panel="Play")
def contexts(
    user: Annotated[
        str,
        typer.Argument(help="A shipped name, a user's folder, or a user of --data."),
    ],
    out: Annotated[Path, typer.Option(dir_okay=False, help="The CSV file to write.")],
    data: UsersOption = None,
    period: PeriodOption = "test",
    replace: ReplaceOption = False,
):
    """Write the contexts of a challenge, to be answered, as CSV.

    Example: `pushlab contexts mira --out contexts.csv`

    More: https://pushlab.github.io/pushlab/docs/first_submission.html
    """
    from pushlab.challenges.challenge import Challenge
    from pushlab.utils.files import write_text

    _require_new(out, replace)
    table = Challenge.load(user, data=data, period=period).contexts
    write_text(out, table.to_csv(index=False, lineterminator="\n"), replace)
    typer.echo(f"{len(table):,} contexts of {user} were written to {out}")


@app.command(rich_help_panel="Play")
@no_cache()  # a scored agent could have stored a judge in the cache
def score(
    submission: Annotated[
        Path, typer.Argument(exists=True, help="A CSV file, or a folder of them.")
    ],
    user: Annotated[
        str, typer.Option(help="A shipped name, a user's folder, or a user of --data.")
    ],
    data: UsersOption = None,
    period: PeriodOption = "test",
    challenge: Annotated[
        int,
        typer.Option(
            min=1,
            max=2,
            metavar="1|2",
            help="1: notifications. 2: a cold start's log.",
        ),
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="By default scores/NAME."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="1: seed of the user's answers, by default 0. 2: the seed "
            "that the log must have, by default any.",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="By default the truth, if it is known, else logistic.",
            **one_of(("truth", *MODELS)),
        ),
    ] = None,
    opening: Annotated[
        str,
        typer.Option(
            help="Whether the user opens at random, above 0.5, or as often as in the history.",
            **one_of(OPENINGS),
        ),
    ] = "sampled",
    pictures: Annotated[
        bool | None,
        typer.Option(
            help="Draw every submission, or none; by default the scorecard "
            "of a file, or the leaderboard of a folder."
        ),
    ] = None,
):
    """Score answers to a challenge, one file or a folder of files.

    The scorecard, or the leaderboard of a folder, is printed and written as JSON, CSV and PNG.

    Example: `pushlab score answers.csv --user mira`

    Or: `pushlab score log.csv --user mira --challenge 2`

    Or: `pushlab score submissions/ --user kim --data users`

    More: https://pushlab.github.io/pushlab/docs/first_submission.html
    """
    from pushlab.challenges.challenge import Challenge

    task = Challenge.load(user, data=data, period=period, judge=judge, opening=opening)
    if _is_terminal():
        echo(f"fitting the judges to the history of {user}", err=True)
    # Fails for a hand-out, which has no answers.
    _ = task.panel
    _ = task.world if challenge == 1 else task.cold_start_world
    folder = out or Path("scores") / submission.stem
    if judge not in (None, "truth") and data is not None:
        typer.echo(
            f"these scores are for practice only: the judge {judge} can be fitted by anyone with the history",
            err=True,
        )
    score_all = _score_each if submission.is_dir() else _score_one
    score_all(submission, (task, challenge, seed), folder, pictures)


def _is_terminal():
    return bool(sys.stderr and sys.stderr.isatty())


def _score_one(path, arguments, folder, pictures):
    """Print and save the scorecard of one submission."""
    from pushlab.challenges.submissions import score_file

    card = score_file(path, *arguments)
    echo(card.report())
    card.save(folder, pictures is not False)
    echo(f"written to {folder}")


def _score_each(submissions, arguments, folder, pictures):
    """Print and save the leaderboard of a folder of submissions."""
    from pushlab.challenges.scorecard import leaderboard
    from pushlab.challenges.submissions import save_scores, score_folder
    from pushlab.utils.issues import BadData

    cards, faulty, skipped = score_folder(
        submissions, *arguments, progress=_is_terminal()
    )
    for name, reason in skipped.items():
        echo(f"{name} was skipped: {reason}", err=True)
    if not cards and not faulty:
        raise FileNotFoundError(f"there is no CSV file in {submissions}")
    table = "no submission could be scored"
    if cards:
        table = leaderboard(cards).to_string(index=False, float_format="%.3f")
    echo(table)
    for card in cards:
        for note in card.notes:
            echo(f"{card.agent}: {note}", err=True)
    save_scores(cards, faulty, folder, pictures)
    echo(f"written to {folder}")
    if faulty:
        count = len(cards) + len(faulty)
        echo(f"{len(faulty)} of {count} submissions could not be scored", err=True)
        raise BadData(sum((error.issues for error in faulty.values()), ()))


app.command("sweep", rich_help_panel="Research")(sweep_command)
app.command(rich_help_panel="Research")(bench)
app.command(rich_help_panel="Research")(lifelong)
app.add_typer(experts_app, name="experts", rich_help_panel="Research")
app.add_typer(data, name="data", rich_help_panel="Research")


@app.command("make-user", rich_help_panel="Teach")
def make_user(
    out: Annotated[
        Path,
        typer.Option(help="A folder of users; the new user gets a folder in it."),
    ],
    name: Annotated[str, typer.Option(help="The user's name.")] = "private",
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of the user, by default 128 random bits. One below 2**64 "
            "can be guessed, and with it the user."
        ),
    ] = None,
    open_rate: Annotated[
        float | None,
        typer.Option(help="Mean probability of an open, 0.02 to 0.98."),
    ] = None,
    per_quarter: Annotated[
        int | None,
        typer.Option(help="Approximate number of notifications per quarter."),
    ] = None,
):
    """Make a private user, whose answers aren't public.

    Example: `pushlab make-user --out users --name kim`

    More: https://pushlab.github.io/pushlab/docs/your_data.html
    """
    import secrets

    from pushlab.users.synthesis import HANDOUT, make_user, write_private_user

    user_seed = secrets.randbits(128) if seed is None else seed
    user = make_user(user_seed, name, open_rate=open_rate, per_quarter=per_quarter)
    write_private_user(user, out)
    typer.echo(
        f"hand out  {out / HANDOUT}: the history of {name}, and the contexts to answer\n"
        f"keep      {out / name}, which has the answers\n"
        "score answers to Challenge 1 with\n"
        f"  pushlab score ANSWERS.csv --user {name} --data {out}"
    )


@app.command("list", rich_help_panel="More")
def list_names(
    kind: Annotated[
        str, typer.Argument(help="What to list.", **one_of(("users", "agents", "envs")))
    ],
):
    """List the users, agents or environments of pushlab.

    Example: `pushlab list users`

    More: https://pushlab.github.io/pushlab/docs/index.html
    """
    from pushlab import agents
    from pushlab.datasets.reading import list_users, load_user
    from pushlab.envs import ENVIRONMENTS, REMOTE_ENVIRONMENT

    if kind == "users":
        rows = {name: load_user(name).truth["about"] for name in list_users()}
    elif kind == "agents":
        rows = {}
        for name in dir(agents):
            agent = getattr(agents, name)
            if hasattr(agent, "act"):
                rows[name] = inspect.getdoc(agent).split("\n\n")[0]
    else:
        rows = {name: text for name, _, text in (*ENVIRONMENTS, REMOTE_ENVIRONMENT)}
    width = max(map(len, rows))
    for name, description in rows.items():
        typer.echo(f"{name:{width}}  {description}".replace("\n", " "))


app.command(rich_help_panel="More")(warm)


# Other packages add their commands: pushlab_classroom has `class`, `serve` and `hand-in`.
for plugin in entry_points(group="pushlab.commands"):
    try:
        plugin.load()(app)
    except ImportError as error:
        echo(
            f"the commands of {plugin.name} can't be loaded ({error}); pip install 'pushlab[serve]'",
            err=True,
        )


def main():
    """Entry point of the `pushlab` command."""
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # for child processes
    for stream in filter(None, (sys.stdout, sys.stderr)):
        # So that a terminal without a character shows its code.
        stream.reconfigure(errors="backslashreplace")
    # Exit by an exception, so that unfinished files are removed.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    app()


if __name__ == "__main__":
    main()
