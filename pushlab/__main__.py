"""The command line: `pushlab --help`, or `python -m pushlab`.

Exit status: 0 for success, 1 for faulty data (every issue on standard error), 2 for an invalid command. `pushlab score`
exits with 1 only for a faulty submission; the others in its folder are still scored. For any other error, such as a
missing user or a folder that can't be written to, it exits with 2.
"""

import os
import signal
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from pushlab.experiments.bench.command import bench
from pushlab.experiments.command import sweep_command
from pushlab.lifetimes.command import experts_app, lifelong
from pushlab.utils.cache import no_cache
from pushlab.utils.commands import echo, exit_on_error

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Personalised notifications and sequential decisions: environments, data, metrics.",
)
data = typer.Typer(no_args_is_help=True, help="Check data sets and collect facts.")
app.add_typer(data, name="data")
app.add_typer(experts_app, name="experts")
app.command()(lifelong)
app.command("sweep")(sweep_command)
app.command()(bench)


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
    """Personalised notifications and sequential decisions: environments, data, metrics."""


UsersOption = Annotated[str | None, typer.Option(help="A folder or wheel of users.")]
PeriodOption = Annotated[str, typer.Option(help="test, or another period of the user.")]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Replace an existing file.")
]


@app.command()
def envs():
    """List the environments."""
    from pushlab.envs import ENVIRONMENTS, REMOTE_ENVIRONMENT

    width = max(len(name) for name, *_ in ENVIRONMENTS)
    for name, _, description in (*ENVIRONMENTS, REMOTE_ENVIRONMENT):
        typer.echo(f"{name:{width}}  {description}")


@app.command()
def warm(
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="Processes; by default one per core."),
    ] = None,
):
    """Compile the loops of all worlds in advance. The compiled code is stored on disk."""
    from pushlab.experiments.command import warm

    try:
        warm(workers)
    except KeyboardInterrupt:
        typer.echo(
            "interrupted; the code compiled so far is stored, and the next run continues from there",
            err=True,
        )
        raise typer.Exit(130) from None


@data.command()
def check(
    path: Annotated[
        str,
        typer.Argument(
            help="A user's folder, a folder or wheel of users, or a shipped name."
        ),
    ],
    user: Annotated[
        str | None, typer.Option(help="One user of a folder or wheel; by default all.")
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(help="A schema's name or file; by default the matching one."),
    ] = None,
):
    """Read a data set as the environments do, and print its load report or every issue."""
    from pushlab.datasets.reading import list_users, load_user
    from pushlab.utils.issues import BadData, DataIssue, raise_issues

    issues: list = []
    with exit_on_error(1):
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
                valid_values = (
                    f"this user can't be read ({type(error).__name__}: {error})"
                )
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
    """Write a table of the usual places of objects, for the room, from ConceptNet's facts."""
    from pushlab.datasets.commonsense import (
        all_places,
        fetch_facts,
        read_facts,
        strongest_facts,
        usual_places,
        write_facts,
    )
    from pushlab.utils.files import read_text

    with exit_on_error(1):
        if not replace and os.path.lexists(out):
            raise FileExistsError(f"{out} exists already; replace it with --replace")
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


@app.command("make-user")
def make_user(
    out: Annotated[
        Path,
        typer.Option(help="A folder of users; the new user gets a folder in it."),
    ],
    name: Annotated[str, typer.Option(help="The user's name.")] = "private",
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of the user, by default 128 random bits. Anyone who "
            "guesses it can make the same user."
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
    """Make a private user for a class challenge, so that the answers aren't public."""
    import secrets

    from pushlab.users.synthesis import HANDOUT, make_user, write_private_user

    with exit_on_error(1):
        user_seed = secrets.randbits(128) if seed is None else seed
        user = make_user(user_seed, name, open_rate=open_rate, per_quarter=per_quarter)
        write_private_user(user, out)
    if seed is not None and seed < 2**64:
        typer.echo(
            "a seed below 2**64 can be guessed; without --seed it has 128 random bits",
            err=True,
        )
    typer.echo(
        f"hand out  {out / HANDOUT}: the history of {name}, and the contexts to answer\n"
        f"keep      {out / name}, which has the answers\n"
        "score answers to Challenge 1 with\n"
        f"  pushlab score ANSWERS.csv --user {name} --data {out}"
    )


@app.command()
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
    """Write a challenge's contexts to CSV: `id`, which a submission can refer to, and the features."""
    from pushlab.challenges.challenge import Challenge
    from pushlab.utils.files import write_text

    with exit_on_error(1):
        table = Challenge.load(user, data=data, period=period).contexts
        write_text(out, table.to_csv(index=False, lineterminator="\n"), replace)
    typer.echo(f"{len(table):,} contexts of {user} were written to {out}")


@app.command()
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
        int, typer.Option(min=1, max=2, help="1: notifications. 2: a cold start's log.")
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
        typer.Option(help="truth, logistic, plain, adaboost, tree or bayes."),
    ] = None,
    opening: Annotated[
        str, typer.Option(help="sampled, threshold or matched.")
    ] = "sampled",
    pictures: Annotated[
        bool | None,
        typer.Option(
            help="Draw every submission, or none; by default the scorecard "
            "of a file, or the leaderboard of a folder."
        ),
    ] = None,
):
    """Score a submission, or all in a folder; print the scorecard and write it as JSON, CSV and PNG."""
    from pushlab.challenges.challenge import Challenge

    with exit_on_error(2):
        task = Challenge.load(
            user, data=data, period=period, judge=judge, opening=opening
        )
        # Fails for a hand-out, which has no answers.
        _ = task.panel
        _ = task.world if challenge == 1 else task.cold_start_world
    folder = out or Path("scores") / submission.stem
    if submission.is_dir() and os.path.realpath(folder) == os.path.realpath(submission):
        raise typer.BadParameter(
            "--out must not be the folder of submissions, since the next run would score the leaderboard"
        )
    if judge not in (None, "truth") and data is not None:
        typer.echo(
            f"these scores are for practice only: the judge {judge} can be fitted by anyone with the history",
            err=True,
        )
    score_all = _score_each if submission.is_dir() else _score_one
    score_all(submission, (task, challenge, seed), folder, pictures)


def _score_one(path, arguments, folder, pictures):
    """Print and save the scorecard of one submission."""
    from pushlab.challenges.submissions import score_file

    with exit_on_error(1):
        card = score_file(path, *arguments)
    echo(card.report())
    _finish(lambda: card.save(folder, pictures is not False), folder)


def _score_each(submissions, arguments, folder, pictures):
    """Print and save the leaderboard of a folder of submissions."""
    from pushlab.challenges.scorecard import leaderboard
    from pushlab.challenges.submissions import save_scores, score_folder
    from pushlab.utils.issues import BadData

    is_terminal = bool(sys.stderr and sys.stderr.isatty())
    with exit_on_error(2):
        cards, faulty, skipped = score_folder(
            submissions, *arguments, progress=is_terminal
        )
    if not cards and not faulty:
        raise typer.BadParameter(f"there is no CSV file in {submissions}")
    table = "no submission could be scored"
    if cards:
        table = leaderboard(cards).to_string(index=False, float_format="%.3f")
    echo(table)
    for name, reason in skipped.items():
        echo(f"{name} was skipped: {reason}", err=True)
    if faulty:
        issues = []
        for error in faulty.values():
            issues += error.issues
        count = len(cards) + len(faulty)
        echo(
            f"{len(faulty)} of {count} submissions could not be scored\n{BadData(issues)}",
            err=True,
        )
    status = 1 if faulty else 0
    _finish(lambda: save_scores(cards, faulty, folder, pictures), folder, status)


def _finish(save, folder, status=0):
    """Save the result, print its folder, and exit with `status`, or with 2 if the result can't be written."""
    try:
        save()
    except OSError as error:
        echo(f"the result can't be written to {folder}: {error}", err=True)
        raise typer.Exit(2) from None
    echo(f"written to {folder}")
    raise typer.Exit(status)


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
    try:
        # Exit by an exception, so that unfinished files are removed.
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
        app()
    except OSError as error:  # for example, standard output on a full disk
        echo(f"pushlab stopped: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
