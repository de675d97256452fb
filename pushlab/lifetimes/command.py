"""`pushlab lifelong` and `pushlab experts`: the lifelong metrics on the command line.

Exit status: 0 done, 1 a log, an expert or a file of settings is at fault (every fault on standard error; lifetimes that
are not at fault are reported all the same), 2 the command was not understood, or the result could not be written.
"""

import json
import os
import runpy
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from pushlab.ground._old_folders import demand_own, whole_folder
from pushlab.ground._old_reading import opened, read_json
from pushlab.ground.arguments import one_of
from pushlab.ground.commands import ended_by, say, with_options
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import write_text
from pushlab.metrics.settings import Settings

experts_app = typer.Typer(
    no_args_is_help=True,
    help="Single-task experts that lifetimes are measured against.",
)
Store = Annotated[
    Path | None,
    typer.Option(
        "--experts", help="Folder of single-task experts; else $L2DATA/taskinfo."
    ),
]
Measure = Annotated[
    str | None,
    typer.Option(help="Column to measure by; else what the log names, else reward."),
]
LARGEST_CODE = 2**20  # bytes of a file with metrics
RANGE = 'two numbers such as 0,100, or a JSON file such as {"task": [0, 100]}'


@with_options(Settings, data_range=f"; here {RANGE}")
def lifelong(
    logdir: Annotated[
        Path,
        typer.Argument(
            help="An L2Logger folder, TSV, CSV or Parquet file; -R: a folder."
        ),
    ],
    measure: Measure = None,
    syllabus_type: Annotated[
        str | None,
        typer.Option(
            help="CL, ANT_A or ANT_B, which chooses the metrics; else "
            "what the log says, or looks like."
        ),
    ] = None,
    experts: Store = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Only this metric; may be repeated.")
    ] = None,
    metrics_from: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="A Python file that registers metrics of your own. It is run.",
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="A JSON file of settings, ours "
            "or one of l2metrics; the options go before it.",
        ),
    ] = None,
    save_settings: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the settings here.")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Also over a file of settings that is there."),
    ] = False,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-R", help="All lifetimes below the folder.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            file_okay=False,
            help="Folder for JSON, TSV and "
            "PNG, new or empty or one of ours; without it the table is only printed.",
        ),
    ] = None,
    plot: Annotated[bool, typer.Option(help="Draw the pictures.")] = True,
    **options: Any,
) -> None:
    """The lifelong metrics of a learning log: a table here, JSON, TSV and PNG in --output."""
    import matplotlib

    matplotlib.use("Agg")  # no display is needed, whatever the environment says
    from pushlab.lifetimes.reporting import (
        WRITTEN,
        lifetimes_in_words,
        names_of,
        over_lifetimes,
    )
    from pushlab.logs.places import look_through
    from pushlab.metrics.lifelong import METRICS, SYLLABUS_TYPES

    kind = syllabus_type and syllabus_type.upper().replace("-", "_")
    with ended_by(2):
        one_of(
            "--syllabus-type",
            "CL" if kind in (None, *SYLLABUS_TYPES) else syllabus_type,
            SYLLABUS_TYPES,
        )
        for file in metrics_from or ():
            _run_file(file)
        for name in metric or ():
            one_of("--metric", name, METRICS)
    with ended_by(1):
        chosen = _read_settings(
            settings,
            {name: value for name, value in options.items() if value is not None},
        )
        store = _open_store(experts)
        found, wrong, others = look_through(logdir) if recursive else ([logdir], {}, [])
        logs = names_of(sorted({*found, *wrong}), logdir)
        if not logs:
            raise FileNotFoundError(f"there is no log in {str(logdir)!r} or below it")
    with ended_by(2):
        if out is not None:
            demand_own(out, WRITTEN)
        if save_settings is not None:
            write_text(
                save_settings, json.dumps(chosen.to_dict(), indent=2) + "\n", replace
            )
    how = (
        (store, measure, kind, metric, chosen),
        experts is not None,
        out,
        plot,
        recursive,
    )
    lifetimes, faults, unwritten = _report_each(logs, wrong, *how)
    if len(lifetimes) > 1:
        say(lifetimes_in_words(over_lifetimes(lifetimes, faults)))
    if out is not None:
        say(unwritten or f"written to {out}", err=unwritten is not None)
    partly = len(set(faults) & set(lifetimes))
    if partly:
        say(
            f"{partly} of {len(logs)} lifetimes are reported without what is at fault",
            err=True,
        )
    if partly < len(faults):
        say(
            f"{len(faults) - partly} of {len(logs)} lifetimes could not be reported",
            err=True,
        )
    if others:
        more = f" and {len(others) - 10:,} more" if len(others) > 10 else ""
        say(
            f"passed over, as there is no log in it: {', '.join(others[:10])}{more}",
            err=True,
        )
    if faults or unwritten:
        raise typer.Exit(2 if unwritten and (lifetimes or not faults) else 1)


def _read_settings(file, options):
    """Settings of a file, if there is one, with the options in their place; BadData listing every fault."""
    told = {}
    if file is not None:
        told = Settings.from_dict(read_json(file, links=True), file.name).to_dict()
    if "data_range" in options:
        text = options["data_range"]
        try:
            options["data_range"] = (
                read_json(text, links=True)
                if Path(text).suffix == ".json"
                else list(map(float, text.partition(",")[::2]))
            )
        except (OSError, ValueError) as error:
            why = f" ({error})" if Path(text).suffix == ".json" else ""
            raise BadData(
                [Fault("--data-range", None, None, text, RANGE + why)]
            ) from error
    return Settings.from_dict({**told, **options}, "options")


def _open_store(folder):
    """The store of experts that was named, or the one of $L2DATA if it is there; else None."""
    if folder is not None and not folder.exists():
        raise FileNotFoundError(
            f"there is no store of experts at {str(folder)!r}; pushlab experts add makes one"
        )
    if folder is None and not (os.environ.get("L2DATA") and _experts().folder.is_dir()):
        return None
    return _experts(folder)


def _experts(folder=None):
    from pushlab.lifetimes.experts import Experts  # which loads pandas

    return Experts(folder)


def _run_file(file):
    """Runs a Python file of the user's own that registers metrics; whatever it raises names the file."""
    with opened(
        file, LARGEST_CODE, links=True
    ):  # nothing else is waited for, nor read to the end
        pass
    try:
        runpy.run_path(str(file))
    except Exception as error:
        raise ValueError(
            f"{file} could not be run: {type(error).__name__}: {error}"
        ) from error


def _report_each(logs, wrong, how, complete, out, plot, recursive):
    """{name: metrics} of the lifetimes that could be reported, {name: how many faults} of those that have some, and
    whether everything was written; printed when it is saved.

    logs    {name: path}; wrong: {path: BadData} of what could not even be looked into
    """
    from pushlab.lifetimes.reporting import (
        WRITTEN,
        Told,
        over_lifetimes,
        report_one,
        tsv_text,
    )

    told: dict[str, Told] = {}
    unwritten = None
    try:
        with (
            whole_folder(out, keep=not recursive)
            if out is not None
            else nullcontext() as folder
        ):
            for name, path in _watched(logs.items()):
                told[name] = report_one(
                    name, path, how, complete, folder, plot, wrong.get(path)
                )
                if folder is None:
                    _tell(told[name])
            if out is not None:
                lifetimes, faults = _parted(told)
                if not lifetimes:
                    raise _Nothing
                if recursive:
                    table = over_lifetimes(lifetimes, faults).reset_index()
                    write_text(folder / "lifetimes.tsv", tsv_text(table))
                write_text(
                    folder / WRITTEN,
                    f"Written by `pushlab lifelong`, with the settings\n{how[-1]}\n",
                )
    except _Nothing:
        unwritten = f"nothing was written to {out}"
    except OSError as error:
        unwritten = f"the result could not be written to {out}: {error}"
    for one in told.values() if out is not None else ():
        _tell(one)
    if (
        unwritten is None
        and out is not None
        and not all(one.written for one in told.values())
    ):
        unwritten = f"not all could be written to {out}"
    return *_parted(told), unwritten


class _Nothing(Exception):
    """There is nothing to write."""


def _parted(told):
    """{name: metrics} of what could be reported, {name: how many faults} of what has some."""
    return (
        {name: one.lifetime for name, one in told.items() if one.lifetime is not None},
        {name: one.faults for name, one in told.items() if one.faults},
    )


def _tell(told):
    if told.words:
        say(told.words + "\n")
    if told.faulty:
        say(told.faulty, err=True)


def _watched(logs):
    """The logs with a bar, if there are many and somebody watches."""
    from tqdm.auto import tqdm

    watched = len(logs) > 1 and sys.stderr is not None and sys.stderr.isatty()
    return tqdm(logs, desc="reporting", unit="lifetime", disable=not watched)


# ---------------------------------------------------------------- experts


@experts_app.command("add")
def add_expert(
    logdir: Annotated[
        Path,
        typer.Argument(help="A run that learned one task: L2Logger folder or file."),
    ],
    experts: Store = None,
    measure: Measure = None,
    replace: Annotated[
        bool, typer.Option(help="In place of all runs that the task has.")
    ] = False,
) -> None:
    """Add a run to the experts of its task."""
    from pushlab.logs.folders import read_log

    with ended_by(1):
        log = read_log(logdir, measure)
        tasks = sorted(set(log["task"]))
        if len(tasks) > 1:
            raise ValueError(
                f"{logdir} is no expert of one task; it learns {', '.join(tasks)}"
            )
        store = _experts(experts)
        (store.write if replace else store.add)(tasks[0], log)
    say(
        f"{tasks[0]}: {len(store.logs(tasks[0]))} runs, saturation {store.saturation(tasks[0]):.6g}"
    )


@experts_app.command("list")
def list_experts(experts: Store = None) -> None:
    """List the experts: task, runs, experiences, saturation value."""
    with ended_by(1):
        table = _experts(experts).list()
    say(table.to_string(index=False) if len(table) else "there are none yet")


@experts_app.command("clear")
def clear_experts(
    task: Annotated[
        str | None, typer.Argument(help="The task; without it, all of them.")
    ] = None,
    experts: Store = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before all are removed.")
    ] = False,
) -> None:
    """Remove the experts of a task, or all."""
    with ended_by(1):
        store = _experts(experts)
        if task is None and store.tasks and not yes:
            typer.confirm(
                f"remove the experts of {', '.join(store.tasks)}?", abort=True
            )
        store.clear(task)
    say(f"removed: {task or 'all'}")
