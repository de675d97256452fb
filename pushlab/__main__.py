"""The command line: `pushlab --help`, or `python -m pushlab`.

Exit status: 0 done, 1 the data are at fault (every fault on standard error), 2 the command was not understood.
`pushlab score` keeps 1 for a faulty submission (or any faulty one of a folder, whose others are scored); whatever else
stands in the way, such as a user who is not there or a folder that cannot be written to, is 2.
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
from pushlab.ground.commands import ended_by, say
from pushlab.ground.store import no_cache
from pushlab.lifetimes.command import experts_app, lifelong

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Personalised notifications and sequential decisions: environments, data, metrics.",
)
data = typer.Typer(no_args_is_help=True, help="Look at data sets before using them.")
app.add_typer(data, name="data")
app.add_typer(experts_app, name="experts")
app.command()(lifelong)
app.command("sweep")(sweep_command)
app.command()(bench)


def _version(asked: bool):
    if asked:
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
            help="Say which version this is, and leave.",
        ),
    ] = False,
):
    """Personalised notifications and sequential decisions: environments, data, metrics."""


Users = Annotated[str | None, typer.Option(help="A folder or wheel of users.")]
Stretch = Annotated[str, typer.Option(help="test, or another period of the user.")]
Replace = Annotated[
    bool, typer.Option("--replace", help="Write in the place of a file that is there.")
]


@app.command()
def envs():
    """List the environments."""
    from pushlab.envs import REMOTE, TABLE

    wide = max(len(name) for name, *_ in TABLE)
    for name, _, about in (*TABLE, REMOTE):
        typer.echo(f"{name:{wide}}  {about}")


@app.command()
def warm(
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="Processes; one a core by default."),
    ] = None,
):
    """Compile the loops of all worlds ahead, so that nobody waits for them later. What is compiled stays on disk."""
    from pushlab.experiments.command import warm

    try:
        warm(workers)
    except KeyboardInterrupt:
        typer.echo(
            "interrupted; what is compiled by now stays, and the next run goes on from there",
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
        typer.Option(help="A schema's name or file; else the one that fits."),
    ] = None,
):
    """Read a data set as the environments do: print its load report, or every fault."""
    from pushlab.datasets.reading import list_users, load_user
    from pushlab.ground.faults import BadData, Fault, refuse

    faults: list = []
    with ended_by(1):
        users = (
            [user]
            if user
            else (list_users(path) if Path(path).exists() else []) or [None]
        )
        for name in users:
            try:
                typer.echo(load_user(path, user=name, schema=schema).report())
            except BadData as error:
                faults += error.faults
            except (
                Exception
            ) as error:  # whatever is wrong with one user, the others are read
                if len(users) == 1:
                    raise
                faults.append(
                    Fault(
                        str(name),
                        right=f"this user cannot be read ({type(error).__name__}: {error})",
                    )
                )
        refuse(faults)


@data.command()
def collect(
    source: Annotated[
        str,
        typer.Argument(help="ConceptNet's assertions or edges as a file, or `web`."),
    ],
    out: Annotated[
        Path, typer.Option(help="A new CSV file: head, relation, tail, weight.")
    ],
    heads: Annotated[
        Path | None,
        typer.Option(help="A file with an object a line; else MS-COCO's 80."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(help="At most so many places an object, the strongest.", min=1),
    ] = 20,
    replace: Replace = False,
):
    """Make a table of where things usually are, for the room, from ConceptNet's facts."""
    from pushlab.datasets.commonsense import (
        all_places,
        fetch_facts,
        read_facts,
        strongest,
        usual_places,
        write_facts,
    )
    from pushlab.ground.files import read_text

    with ended_by(1):
        if not replace and os.path.lexists(out):
            raise FileExistsError(
                f"{out} is there already; collect writes new files only, or with --replace"
            )
        wanted = (
            list(usual_places(read_facts("commonsense")))
            if heads is None
            else read_text(heads).split("\n")
        )
        wanted = [head.strip().lower() for head in wanted if head.strip()]
        found = (
            fetch_facts(wanted, limit)
            if source == "web"
            else read_facts(source, wanted)
        )
        facts = strongest(found, limit, wanted)
        if not facts:
            raise ValueError(
                f"{source} knows no place of any of the {len(wanted)} objects"
            )
        write_facts(facts, out, replace)
    typer.echo(
        f"{out}: {len(facts)} facts, {len(usual_places(facts))} objects, {len(all_places(facts))} places; "
        f"{len(wanted) - len(usual_places(facts))} of the objects asked for have none"
    )


@app.command("make-user")
def make_user(
    out: Annotated[
        Path,
        typer.Option(
            help="A folder of users; this one gets a folder of its name there."
        ),
    ],
    name: Annotated[str, typer.Option(help="The user's name.")] = "private",
    seed: Annotated[
        int | None,
        typer.Option(
            help="To make the same user again; who knows or guesses it can "
            "too. By default 128 random bits."
        ),
    ] = None,
    open_rate: Annotated[
        float | None, typer.Option(help="Mean probability, 0.02 to 0.98.")
    ] = None,
    per_quarter: Annotated[
        int | None, typer.Option(help="About so many a quarter.")
    ] = None,
):
    """Make a private user, for a class challenge whose answers cannot be read in this repository."""
    import secrets

    from pushlab.users.synthesis import HANDOUT, make_user, write_private_user

    with ended_by(1):
        drawn = secrets.randbits(128) if seed is None else seed
        write_private_user(
            make_user(drawn, name, open_rate=open_rate, per_quarter=per_quarter), out
        )
    if seed is not None and seed < 2**64:
        typer.echo(
            "so short a seed can be found by trying; without --seed it has 128 random bits",
            err=True,
        )
    typer.echo(
        f"hand out  {out / HANDOUT}: the history of {name}, and the contexts that wait for notifications\n"
        f"keep      {out / name}, which holds the answers\n"
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
    data: Users = None,
    period: Stretch = "test",
    replace: Replace = False,
):
    """Write a challenge's contexts to CSV: `id`, which a submission may give back, and the features."""
    from pushlab.challenges.challenge import Challenge
    from pushlab.ground.files import write_text

    with ended_by(1):
        table = Challenge.load(user, data=data, period=period).contexts
        write_text(out, table.to_csv(index=False, lineterminator="\n"), replace)
    typer.echo(f"{len(table):,} contexts of {user} were written to {out}")


@app.command()
@no_cache()  # whoever is scored may have put a judge there
def score(
    submission: Annotated[
        Path, typer.Argument(exists=True, help="A CSV file, or a folder of them.")
    ],
    user: Annotated[
        str, typer.Option(help="A shipped name, a user's folder, or a user of --data.")
    ],
    data: Users = None,
    period: Stretch = "test",
    challenge: Annotated[
        int, typer.Option(min=1, max=2, help="1: notifications. 2: a cold start's log.")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="By default scores/ and its name."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="1: of the answers, 0 by default. 2: the log's own, or "
            "the one that it must have been made with.",
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
            help="Draw each submission, or nothing; by default one file's "
            "scorecard, or a folder's leaderboard."
        ),
    ] = None,
):
    """Score a submission, or every one of a folder: write the scorecard as JSON, CSV and PNG, and print it."""
    from pushlab.challenges.challenge import Challenge

    with ended_by(2):
        task = Challenge.load(
            user, data=data, period=period, judge=judge, opening=opening
        )
        _ = (
            task.panel,
            task.world if challenge == 1 else task.cold_world,
        )  # no hand-out, which nobody can score by
    folder = out or Path("scores") / submission.stem
    if submission.is_dir() and os.path.realpath(folder) == os.path.realpath(submission):
        raise typer.BadParameter(
            "--out is the folder of submissions, where the next run would score a leaderboard"
        )
    if judge not in (None, "truth") and data is not None:
        typer.echo(
            f"whoever has the history can fit the judge {judge} again, and ask it: such scores are for practice",
            err=True,
        )
    score_all = _score_each if submission.is_dir() else _score_one
    score_all(submission, (task, challenge, seed), folder, pictures)


def _score_one(path, how, folder, pictures):
    """Print and save the scorecard of one submission."""
    from pushlab.challenges.submissions import score_file

    with ended_by(1):
        card = score_file(path, *how)
    say(card.report())
    _finish(lambda: card.save(folder, pictures is not False), folder)


def _score_each(submissions, how, folder, pictures):
    """Print and save the leaderboard of a folder of submissions."""
    from pushlab.challenges.scorecard import leaderboard
    from pushlab.challenges.submissions import save_scores, score_folder
    from pushlab.ground.faults import BadData

    watched = bool(sys.stderr and sys.stderr.isatty())
    with ended_by(2):
        cards, faulty, passed_over = score_folder(submissions, *how, progress=watched)
    if not cards and not faulty:
        raise typer.BadParameter(f"there is no CSV file in {submissions}")
    say(
        leaderboard(cards).to_string(index=False, float_format="%.3f")
        if cards
        else "none could be scored"
    )
    for name, why in passed_over.items():
        say(f"{name} was passed over: {why}", err=True)
    if faulty:
        faults = [fault for error in faulty.values() for fault in error.faults]
        say(
            f"{len(faulty)} of {len(cards) + len(faulty)} submissions could not be scored\n{BadData(faults)}",
            err=True,
        )
    _finish(
        lambda: save_scores(cards, faulty, folder, pictures), folder, 1 if faulty else 0
    )


def _finish(save, folder, status=0):
    """Save the result, say where it is, and exit with its status, or with 2 if it could not be written."""
    try:
        save()
    except OSError as error:
        say(f"the result could not be written to {folder}: {error}", err=True)
        raise typer.Exit(2) from None
    say(f"written to {folder}")
    raise typer.Exit(status)


# Packages beside this one add their commands: pushlab_classroom has `class`, `serve` and `hand-in`.
for plugin in entry_points(group="pushlab.commands"):
    try:
        plugin.load()(app)
    except ImportError as error:
        say(
            f"the commands of {plugin.name} are missing ({error}); pip install 'pushlab[serve]'",
            err=True,
        )


def main():
    """Entry point of the `pushlab` command."""
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # for the processes that it starts
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(
            errors="backslashreplace"
        )  # a terminal that lacks a letter shows its number
    try:
        # As an error ends it, so that whatever is unfinished is removed.
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
        app()
    except OSError as error:  # where standard output goes, such as a disk that is full
        say(f"pushlab could not go on: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
