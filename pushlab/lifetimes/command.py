"""`pushlab lifelong` and `pushlab experts`: the lifelong metrics on the command line.

Exit status: 0 done, 1 a log, an expert or a file of settings is at fault (every fault on standard error; lifetimes that
are not at fault are reported all the same), 2 the command was not understood, or the result could not be written.
"""

import json
import runpy
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

experts_app = typer.Typer(no_args_is_help=True, help="Single-task experts that lifetimes are measured against.")
Store = Annotated[Path | None, typer.Option("--experts", help="Folder of single-task experts; else $L2DATA/taskinfo.")]
Measure = Annotated[str | None, typer.Option(help="Column to measure by; else what the log names, else reward.")]


@contextmanager
def ended_by(status):
    """Bad input ends the command with a status and its message, without a traceback."""
    try:
        yield
    except (ValueError, OSError, KeyError) as error:
        message = error.args[0] if isinstance(error, KeyError) else str(error)
        typer.echo(message, err=True)
        raise typer.Exit(status) from error


def lifelong(
        logdir: Annotated[Path, typer.Argument(help="An L2Logger folder, a TSV or CSV file, or with --recursive a "
                                                    "folder of lifetimes.")],
        measure: Measure = None,
        syllabus_type: Annotated[str | None, typer.Option(help="CL, ANT_A or ANT_B, which chooses the metrics; else "
                                                               "what the log says, or looks like.")] = None,
        experts: Store = None,
        metric: Annotated[list[str] | None, typer.Option(help="Only this metric; may be repeated.")] = None,
        metrics_from: Annotated[list[Path] | None, typer.Option(exists=True, dir_okay=False, help="A Python file that "
                                "registers metrics of your own. It is run.")] = None,
        smoothing: Annotated[str | None, typer.Option(help="flat, hanning, hamming, bartlett, blackman, none.")] = None,
        window: Annotated[float | None, typer.Option(help="Its length: experiences, or a share of the block.")] = None,
        saturation_share: Annotated[float | None, typer.Option(help="The s of the saturation value; 0.1.")] = None,
        smooth_tests: Annotated[bool | None, typer.Option(help="Smooth tests as well.")] = None,
        clamp: Annotated[bool | None, typer.Option(help="Draw outliers in.")] = None,
        normalization: Annotated[str | None, typer.Option(help="task, run or none.")] = None,
        data_range: Annotated[str | None, typer.Option(help="Worst and best possible: `0,100`, or a JSON file with "
                                                            "{\"task\": [0, 100]}.")] = None,
        maintenance: Annotated[str | None, typer.Option(help="mrlep, mrtlp or both.")] = None,
        transfer: Annotated[str | None, typer.Option(help="ratio, contrast or both.")] = None,
        aggregation: Annotated[str | None, typer.Option(help="From tasks to the lifetime: mean or median.")] = None,
        expert_averaging: Annotated[str | None, typer.Option(help="Several experts: of metrics or over time.")] = None,
        variant_mode: Annotated[str | None, typer.Option(help="aware or agnostic of variants of a task.")] = None,
        reference: Annotated[str | None, typer.Option(help="l2metrics-3.1: as that release, faults included.")] = None,
        settings: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="A JSON file of settings, ours "
                            "or one of l2metrics; the options go before it.")] = None,
        save_settings: Annotated[Path | None, typer.Option(dir_okay=False, help="Write the settings here.")] = None,
        recursive: Annotated[bool, typer.Option("--recursive", "-R", help="Every lifetime in the folder and "
                             "below it.")] = False,
        out: Annotated[Path | None, typer.Option("--output", "-o", file_okay=False, help="Folder for JSON, TSV and "
                       "PNG; without it the table is only printed.")] = None,
        plot: Annotated[bool, typer.Option(help="Draw the pictures.")] = True):
    """The lifelong metrics of a learning log: a table here, JSON, TSV and PNG in --output."""
    import matplotlib

    matplotlib.use("Agg")           # no display is needed, whatever the environment says
    from pushlab.ground.files import write_text
    from pushlab.lifetimes.output import lifetimes_in_words, over_lifetimes, save_report
    from pushlab.logs.folders import find_logs
    from pushlab.metrics.lifelong import METRICS, SYLLABUS_TYPES

    kind = syllabus_type and syllabus_type.upper().replace("-", "_")
    if kind not in (None, *SYLLABUS_TYPES):
        raise typer.BadParameter(f"{syllabus_type} is none; there are {', '.join(SYLLABUS_TYPES)}",
                                 param_hint="--syllabus-type")
    with ended_by(2):
        for file in metrics_from or ():
            _run_file(file)
    options = {name: value for name, value in {
        "smoothing": smoothing, "window": window, "saturation_share": saturation_share, "smooth_tests": smooth_tests,
        "clamp": clamp, "normalization": normalization, "maintenance": maintenance, "transfer": transfer,
        "aggregation": aggregation, "expert_averaging": expert_averaging, "variant_mode": variant_mode,
        "reference": reference}.items() if value is not None}
    with ended_by(1):
        chosen = read_settings(settings, options, data_range)
        store = _open_store(experts)
        logs = find_logs(logdir) if recursive else [logdir]
    unknown = [name for name in metric or () if name not in METRICS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]} is no metric; there are {', '.join(METRICS)}", param_hint="--metric")
    if save_settings is not None:
        with ended_by(2):
            write_text(save_settings, json.dumps(chosen.to_dict(), indent=2) + "\n")
    told_store = None if experts is None else store       # one that was asked for has to have all the tasks
    reports, faults = _report_each(logs, logdir, measure, kind, metric, store, told_store, chosen)
    if len(reports) > 1:
        typer.echo(lifetimes_in_words(over_lifetimes(reports, faults)))
    if out is not None:
        with ended_by(2):
            for name, report in reports.items():
                save_report(report, out / name, plot)
            if recursive and reports:
                write_text(out / "lifetimes.tsv",
                           over_lifetimes(reports, faults).to_csv(sep="\t", lineterminator="\n"))
        typer.echo(f"written to {out}")
    if faults:
        partly = len(set(faults) & set(reports))
        if partly:
            typer.echo(f"{partly} of {len(logs)} lifetimes are reported without what is at fault", err=True)
        if partly < len(faults):
            typer.echo(f"{len(faults) - partly} of {len(logs)} lifetimes could not be reported", err=True)
        raise typer.Exit(1)


def read_settings(file, options, data_range=None):
    """Settings of a file, if there is one, with the options in their place; BadData listing every fault."""
    from pushlab.ground.faults import BadData, Fault
    from pushlab.metrics.lifelong import Settings

    told = {}
    if file is not None:
        try:
            told = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise BadData([Fault(file.name, None, None, None, f"not JSON ({error})")]) from error
        told = Settings.from_dict(told, file.name).to_dict()
    if data_range is not None:
        options = {**options, "data_range": _read_range(data_range)}
    return Settings.from_dict({**told, **options}, "options")


def _read_range(text):
    """(low, high) of "low,high", or what a JSON file says."""
    from pushlab.ground.faults import BadData, Fault

    right = 'two numbers such as 0,100, or a JSON file such as {"task": [0, 100]}'
    if Path(text).suffix == ".json":
        try:
            return json.loads(Path(text).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadData([Fault("--data-range", None, None, text, f"{right} ({error})")]) from error
    try:
        low, high = map(float, text.split(","))
    except ValueError as error:
        raise BadData([Fault("--data-range", None, None, text, right)]) from error
    return low, high


def _open_store(folder):
    """The store of experts that was named, or the one of $L2DATA if it is there; else None."""
    import os

    from pushlab.lifetimes.experts import VARIABLE, Experts

    if folder is not None and not folder.exists():
        raise FileNotFoundError(f"there is no store of experts at {str(folder)!r}; pushlab experts add makes one")
    if folder is None and not (os.environ.get(VARIABLE) and Experts().folder.is_dir()):
        return None
    return Experts(folder)


def _run_file(file):
    """Runs a Python file of the user's own that registers metrics; whatever it raises names the file."""
    try:
        runpy.run_path(str(file))
    except Exception as error:
        raise ValueError(f"{file} could not be run: {type(error).__name__}: {error}") from error


def _report_each(logs, root, measure, kind, metrics, store, told_store, settings):
    """{name: Report} of the logs, each printed, and {name: how many faults} of those that have some, each said.

    A log is reported without the rows that are at fault, if others are left.
    """
    from pushlab.ground.faults import BadData
    from pushlab.lifetimes.output import in_words
    from pushlab.logs.folders import read_log
    from pushlab.metrics.lifelong import lifelong_report

    reports, faults = {}, {}
    for path in logs:
        name = path.relative_to(root).as_posix() if path != root and path.is_relative_to(root) else name_of(path)
        try:
            log = read_log(path, measure, strict=False)
            reports[name] = lifelong_report(log, store, measure, kind, metrics, settings)
        except (ValueError, OSError) as error:
            typer.echo("; ".join([f"{name}: {error}", *getattr(error, "__notes__", ())]), err=True)
            faults[name] = len(getattr(error, "faults", [error]))
            continue
        typer.echo(in_words(reports[name], name) + "\n")
        found = [*log.attrs.get("faults", ()), *_lacking_experts(reports[name], told_store)]
        if found:
            typer.echo(f"{name}: {BadData(found)}", err=True)
            faults[name] = len(found)
    return reports, faults


def name_of(path):
    """What a lifetime is called: its folder, or its file without the ending."""
    return path.resolve().stem if path.is_file() else path.resolve().name


def _lacking_experts(report, store):
    """A fault for each task that was learned and has no expert in a store that was asked for."""
    if store is None:
        return []
    learned = set(report.regimes.loc[report.regimes["block_type"] == "train", "task"])
    return store.lacking([task for task in report.tasks.index if task in learned and task not in report.experts])


# ---------------------------------------------------------------- experts

@experts_app.command("add")
def add_expert(logdir: Annotated[Path, typer.Argument(help="A run that learned one task: L2Logger folder or file.")],
               experts: Store = None, measure: Measure = None,
               replace: Annotated[bool, typer.Option(help="In the place of all runs that the task has.")] = False):
    """Add a run to the experts of its task."""
    from pushlab.lifetimes.experts import Experts
    from pushlab.logs.folders import read_log

    with ended_by(1):
        log = read_log(logdir, measure)
        tasks = sorted(set(log["task"]))
        if len(tasks) > 1:
            raise ValueError(f"{logdir} is no expert of one task; it learns {', '.join(tasks)}")
        store = Experts(experts)
        (store.write if replace else store.add)(tasks[0], log)
    typer.echo(f"{tasks[0]}: {len(store.logs(tasks[0]))} runs, saturation {store.saturation(tasks[0]):.6g}")


@experts_app.command("list")
def list_experts(experts: Store = None):
    """List the experts: task, runs, experiences, saturation value."""
    from pushlab.lifetimes.experts import Experts

    with ended_by(1):
        table = Experts(experts).list()
    typer.echo(table.to_string(index=False) if len(table) else "there are none yet")


@experts_app.command("clear")
def clear_experts(task: Annotated[str | None, typer.Argument(help="The task; without it, all of them.")] = None,
                  experts: Store = None,
                  yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before all are removed.")] = False):
    """Remove the experts of a task, or all."""
    from pushlab.lifetimes.experts import Experts

    with ended_by(1):
        store = Experts(experts)
        if task is None and store.tasks and not yes:
            typer.confirm(f"remove the experts of {', '.join(store.tasks)}?", abort=True)
        store.clear(task)
    typer.echo(f"removed: {task or 'all'}")
