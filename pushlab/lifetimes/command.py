"""The commands `pushlab lifelong` and `pushlab experts`, for lifelong metrics."""

import os
import runpy
from pathlib import Path
from typing import Annotated, Any

import typer

from pushlab.metrics.lifelong.settings import CHOICES, SYLLABUS_TYPES, Settings
from pushlab.utils.commands import (
    Commands,
    dataclass_options,
    echo,
    one_of,
    print_error,
)
from pushlab.utils.files import json_text, read_json, write_text
from pushlab.utils.issues import BadData, DataIssue

experts_app = typer.Typer(
    cls=Commands,
    help="Manage single-task experts, to compare lifetimes with.",
)
Store = Annotated[
    Path | None,
    typer.Option(
        "--experts", help="Folder of single-task experts. By default $L2DATA/taskinfo."
    ),
]
Measure = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Measured column. By default the one named in the log, or reward.",
    ),
]
RANGE = 'two numbers such as 0,100, or a JSON file such as {"task": [0, 100]}'


@dataclass_options(Settings, CHOICES, data_range=f"; here {RANGE}")
def lifelong(
    logdir: Annotated[
        Path,
        typer.Argument(
            help="A folder of run_syllabus or L2Logger, or a CSV or TSV file. With -R, a folder of these."
        ),
    ],
    measure: Measure = None,
    syllabus_type: Annotated[
        str | None,
        typer.Option(
            help="It selects the metrics. By default it is read from the log.",
            **one_of(SYLLABUS_TYPES),
        ),
    ] = None,
    experts: Store = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only this metric. Repeat the option for several."
        ),
    ] = None,
    metrics_from: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="Python file that registers your own metrics. It is executed.",
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="JSON file of settings, of pushlab or l2metrics. Options override it.",
        ),
    ] = None,
    save_settings: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write the settings to this file."),
    ] = None,
    recursive: Annotated[
        bool,
        typer.Option(
            "--recursive",
            "-R",
            help="Read all lifetimes in the folder and its subfolders.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            file_okay=False,
            help="Folder for JSON, TSV and PNG files. By default the table is only printed.",
        ),
    ] = None,
    plot: Annotated[bool, typer.Option(help="Draw the plots.")] = True,
    **options: Any,
) -> None:
    """Compute the lifelong metrics of a log.

    They are printed as a table. --output writes JSON, TSV and PNG files.

    A CSV or TSV file has a row for each experience, in order of time, and the columns block_type (train or test), task
    (or task_name) and reward (or return, or the one that --measure names). It can have block (block_num), episode
    (exp_num), params (task_params), block_subtype, worker (worker_id), status (exp_status) and timestamp.

    Example: `pushlab lifelong lifetime/ --output report`

    Or: `pushlab lifelong life.csv --measure score`

    More: https://pushlab.github.io/pushlab/docs/lifelong_metrics.html
    """
    import matplotlib

    matplotlib.use("Agg")  # needs no display
    from pushlab.lifetimes import reporting
    from pushlab.logs.files import read_log
    from pushlab.metrics.lifelong import lifelong_report

    for file in metrics_from or ():
        _run_file(file)
    final_settings = _read_settings(settings, options)
    if measure is None and settings is not None:
        measure = read_json(settings).get("perf_measure")
    has_store = experts or os.environ.get("L2DATA")
    store = _expert_store(experts) if has_store else None
    if experts and not store.tasks:
        raise FileNotFoundError(f"there are no experts in {experts}")
    paths = _lifetime_paths(logdir, recursive)
    if save_settings is not None:
        write_text(save_settings, json_text(final_settings.to_dict()))
    lifetimes = {}
    for name, path in paths.items():
        try:
            log = read_log(path, measure)
            report = lifelong_report(
                log, store, measure, syllabus_type, metric, final_settings
            )
        except Exception as error:  # such as an error in a user's own metric
            is_plain = isinstance(error, ValueError | OSError)
            if is_plain and len(paths) == 1:
                raise
            message = error if is_plain else repr(error)
            notes = getattr(error, "__notes__", [])
            text = "; ".join([f"{name}: {message}", *notes])
            print_error(text, "pushlab lifelong")
            continue
        lifetimes[name] = report.lifetime
        echo(reporting.report_text(report, name) + "\n")
        if out is not None:
            for failure in reporting.save_report(report, out / name, plot):
                echo(failure, err=True)
    if len(lifetimes) > 1:
        table = reporting.lifetimes_table(lifetimes)
        echo(reporting.lifetimes_text(table))
        if out is not None:
            reporting.write_tsv(table.reset_index(), out / "lifetimes.tsv")
    if out is not None and lifetimes:
        echo(f"written to {out}")
    failed = len(paths) - len(lifetimes)
    if failed:
        echo(f"{failed} of {len(paths)} lifetimes could not be reported", err=True)
        raise typer.Exit(1)


def _lifetime_paths(logdir, recursive):
    """Return {name: path} of the lifetimes in a file or a folder."""
    from pushlab.lifetimes.runner import LOG_FILE
    from pushlab.logs.files import find_logs

    if not logdir.is_dir():
        return {logdir.stem: logdir}
    lifetimes = {}
    for path in find_logs(logdir):
        named_path = path.parent if path.name == LOG_FILE else path
        name = named_path.relative_to(logdir).as_posix().removesuffix(".csv")
        if name == ".":
            name = logdir.resolve().name
        lifetimes[name] = path
    if len(lifetimes) > 1 and not recursive:
        raise ValueError(
            f"{logdir} holds {len(lifetimes)} lifetimes\npass one of them, or --recursive for all"
        )
    return lifetimes


def _read_settings(path, options):
    """Return the settings of a file, or the defaults, overridden by the command's options."""
    content = {}
    if path is not None:
        content = Settings.from_dict(read_json(path), path.name).to_dict()
    content |= {key: value for key, value in options.items() if value is not None}
    text = options["data_range"]
    if text is not None and text.endswith(".json"):
        content["data_range"] = read_json(text)
    elif text is not None:
        try:
            content["data_range"] = [float(part) for part in text.split(",", 1)]
        except ValueError:
            issue = DataIssue("--data-range", None, None, text, RANGE)
            raise BadData(issue) from None
    return Settings.from_dict(content, "options")


def _run_file(path):
    """Run a Python file that registers metrics. Raises ValueError with the file's name."""
    try:
        runpy.run_path(str(path))
    except Exception as error:
        raise ValueError(f"{path} could not be run: {error!r}") from error


# ---------------------------------------------------------------- experts


def _expert_store(folder):
    from pushlab.lifetimes.experts import Experts  # loads pandas

    return Experts(folder)


@experts_app.command("add")
def add_expert(
    logdir: Annotated[
        Path,
        typer.Argument(help="Log of a run on a single task, a folder or a file."),
    ],
    experts: Store = None,
    measure: Measure = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace all runs of the task.")
    ] = False,
) -> None:
    """Add a run to the experts of its task.

    Example: `pushlab experts add runs/shelf --experts experts`

    More: https://pushlab.github.io/pushlab/docs/lifelong_metrics.html
    """
    from pushlab.logs.files import read_log

    [path] = _lifetime_paths(logdir, False).values()
    log = read_log(path, measure)
    task = log["task"].iat[0]
    store = _expert_store(experts)
    store.add(task, log, replace=replace)
    runs = len(store.logs(task))
    echo(f"{task}: {runs} runs, saturation {store.saturation(task):.6g}")


@experts_app.command("list")
def list_experts(experts: Store = None) -> None:
    """List the experts: task, number of runs, experiences, saturation value.

    Example: `pushlab experts list --experts experts`

    More: https://pushlab.github.io/pushlab/docs/lifelong_metrics.html
    """
    table = _expert_store(experts).list()
    echo(table.to_string(index=False) if len(table) else "there are no experts yet")


@experts_app.command("clear")
def clear_experts(
    task: Annotated[
        str | None, typer.Argument(help="Name of the task. By default all tasks.")
    ] = None,
    experts: Store = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Remove all experts without confirmation."),
    ] = False,
) -> None:
    """Remove the experts of a task, or all experts.

    Example: `pushlab experts clear shelf --experts experts`

    More: https://pushlab.github.io/pushlab/docs/lifelong_metrics.html
    """
    store = _expert_store(experts)
    if task is None and store.tasks and not yes:
        names = ", ".join(store.tasks)
        typer.confirm(f"remove the experts of {names}?", abort=True)
    store.clear(task)
    echo(f"removed: {task or 'all'}")
