"""`pushlab lifelong` and `pushlab experts`: the lifelong metrics on the command line.

Exit status: 0 done, 1 a log, an expert or a file of settings is at fault (every fault on standard error; lifetimes that
are not at fault are reported all the same), 2 the command was not understood, or the result could not be written.
"""

import inspect
import json
import os
import re
import runpy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from pushlab.ground.arguments import one_of
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import write_bytes, write_text
from pushlab.metrics.settings import Settings

experts_app = typer.Typer(no_args_is_help=True, help="Single-task experts that lifetimes are measured against.")
Store = Annotated[Path | None, typer.Option("--experts", help="Folder of single-task experts; else $L2DATA/taskinfo.")]
Measure = Annotated[str | None, typer.Option(help="Column to measure by; else what the log names, else reward.")]
MOST_COLUMNS = 5            # lifetimes side by side on a terminal
RANGE = 'two numbers such as 0,100, or a JSON file such as {"task": [0, 100]}'


@contextmanager
def ended_by(status: int) -> Iterator[None]:
    """Bad input ends the command with a status and its message, without a traceback."""
    try:
        yield
    except (ValueError, OSError, KeyError, ImportError) as error:
        typer.echo(error.args[0] if isinstance(error, KeyError) else str(error), err=True)
        raise typer.Exit(status) from error


def with_options(settings: type, **more: str) -> Callable[[Callable], Callable]:
    """Gives a command an option for each field of a dataclass in place of **options; its docstring says what they are.

    more   what an option's help adds to the docstring, by the field's name
    """
    told = re.findall(r"^(\w+) {2,}(.*(?:\n {9,}.*)*)", inspect.cleandoc(settings.__doc__ or ""), re.MULTILINE)
    about = {name: " ".join(text.split()) + more.get(name, "") for name, text in told}

    def optional(command: Callable) -> Callable:
        given = inspect.signature(command).parameters.values()
        own = [one for one in given if one.kind is not one.VAR_KEYWORD]
        for field in fields(settings):
            kind: Any = float if field.name == "window" else str if field.default is None else type(field.default)
            default = False if field.default is None else str(field.default)
            option = Annotated[kind | None, typer.Option(help=about[field.name], show_default=default)]
            own.append(inspect.Parameter(field.name, own[0].KEYWORD_ONLY, default=None, annotation=option))
        setattr(command, "__signature__", inspect.Signature(own))    # noqa: B010 (mypy: none of a Callable)
        return command

    return optional


@with_options(Settings, data_range=f"; here {RANGE}")
def lifelong(
        logdir: Annotated[Path, typer.Argument(help="An L2Logger folder, TSV, CSV or Parquet file; -R: a folder.")],
        measure: Measure = None,
        syllabus_type: Annotated[str | None, typer.Option(help="CL, ANT_A or ANT_B, which chooses the metrics; else "
                                                               "what the log says, or looks like.")] = None,
        experts: Store = None,
        metric: Annotated[list[str] | None, typer.Option(help="Only this metric; may be repeated.")] = None,
        metrics_from: Annotated[list[Path] | None, typer.Option(exists=True, dir_okay=False, help="A Python file that "
                                "registers metrics of your own. It is run.")] = None,
        settings: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="A JSON file of settings, ours "
                            "or one of l2metrics; the options go before it.")] = None,
        save_settings: Annotated[Path | None, typer.Option(dir_okay=False, help="Write the settings here.")] = None,
        recursive: Annotated[bool, typer.Option("--recursive", "-R", help="All lifetimes below the folder.")] = False,
        out: Annotated[Path | None, typer.Option("--output", "-o", file_okay=False, help="Folder for JSON, TSV and "
                       "PNG; without it the table is only printed.")] = None,
        plot: Annotated[bool, typer.Option(help="Draw the pictures.")] = True,
        **options: Any) -> None:
    """The lifelong metrics of a learning log: a table here, JSON, TSV and PNG in --output."""
    import matplotlib

    matplotlib.use("Agg")           # no display is needed, whatever the environment says
    from pushlab.logs.folders import find_logs
    from pushlab.metrics.lifelong import METRICS, SYLLABUS_TYPES

    kind = syllabus_type and syllabus_type.upper().replace("-", "_")
    with ended_by(2):
        one_of("--syllabus-type", "CL" if kind in (None, *SYLLABUS_TYPES) else syllabus_type, SYLLABUS_TYPES)
        for file in metrics_from or ():
            _run_file(file)
        for name in metric or ():
            one_of("--metric", name, METRICS)
    with ended_by(1):
        chosen = _read_settings(settings, {name: value for name, value in options.items() if value is not None})
        store = _open_store(experts)
        logs = find_logs(logdir) if recursive else [logdir]
    if save_settings is not None:
        with ended_by(2):
            write_text(save_settings, json.dumps(chosen.to_dict(), indent=2) + "\n")
    reports, faults = _report_each(logs, logdir, experts is not None, (store, measure, kind, metric, chosen))
    if len(reports) > 1:
        typer.echo(_lifetimes_in_words(_over_lifetimes(reports, faults)))
    if out is not None:
        with ended_by(2):
            for name, report in reports.items():
                save_report(report, out / name, plot)
            if recursive and reports:
                write_text(out / "lifetimes.tsv",
                           _over_lifetimes(reports, faults).to_csv(sep="\t", lineterminator="\n"))
        typer.echo(f"{'' if reports else 'nothing was '}written to {out}", err=not reports)
    partly = len(set(faults) & set(reports))
    if partly:
        typer.echo(f"{partly} of {len(logs)} lifetimes are reported without what is at fault", err=True)
    if partly < len(faults):
        typer.echo(f"{len(faults) - partly} of {len(logs)} lifetimes could not be reported", err=True)
    if faults:
        raise typer.Exit(1)


def _read_settings(file, options):
    """Settings of a file, if there is one, with the options in their place; BadData listing every fault."""
    told = {}
    if file is not None:
        try:
            told = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise BadData([Fault(file.name, None, None, None, f"not JSON ({error})")]) from error
        told = Settings.from_dict(told, file.name).to_dict()
    if "data_range" in options:
        text = options["data_range"]
        try:
            options["data_range"] = (json.loads(Path(text).read_text(encoding="utf-8"))
                                     if Path(text).suffix == ".json" else list(map(float, text.partition(",")[::2])))
        except (OSError, ValueError) as error:
            why = f" ({error})" if Path(text).suffix == ".json" else ""
            raise BadData([Fault("--data-range", None, None, text, RANGE + why)]) from error
    return Settings.from_dict({**told, **options}, "options")


def _open_store(folder):
    """The store of experts that was named, or the one of $L2DATA if it is there; else None."""
    if folder is not None and not folder.exists():
        raise FileNotFoundError(f"there is no store of experts at {str(folder)!r}; pushlab experts add makes one")
    if folder is None and not (os.environ.get("L2DATA") and _experts().folder.is_dir()):
        return None
    return _experts(folder)


def _experts(folder=None):
    from pushlab.lifetimes.experts import Experts  # which loads pandas

    return Experts(folder)


def _run_file(file):
    """Runs a Python file of the user's own that registers metrics; whatever it raises names the file."""
    try:
        runpy.run_path(str(file))
    except Exception as error:
        raise ValueError(f"{file} could not be run: {type(error).__name__}: {error}") from error


def _report_each(logs, root, complete, how):
    """{name: Report} of the logs, each printed, and {name: how many faults} of those that have some, each said.

    complete  a task that was learned and has no expert is a fault, as it is where a store was asked for
    how       arguments of `lifelong_report` after the log: store, measure, and so on
    A log is reported without the rows that are at fault, if others are left.
    """
    from pushlab.logs.folders import read_log
    from pushlab.metrics.lifelong import lifelong_report

    reports, faults = {}, {}
    for path in logs:
        own = path.resolve().stem if path.is_file() else path.resolve().name
        name = own if path == root else path.relative_to(root).as_posix()
        try:
            log = read_log(path, how[1], strict=False)
            reports[name] = lifelong_report(log, *how)
        except (ValueError, OSError, ImportError) as error:
            typer.echo("; ".join([f"{name}: {error}", *getattr(error, "__notes__", ())]), err=True)
            faults[name] = len(getattr(error, "faults", [error]))
            continue
        typer.echo(_in_words(reports[name], name) + "\n")
        regimes = reports[name].regimes
        learned = set(regimes.loc[regimes["block_type"] == "train", "task"]) - set(reports[name].experts)
        alone = [task for task in reports[name].tasks.index if task in learned]
        found = [*log.attrs.get("faults", ()), *(how[0].lacking(alone) if complete else ())]
        if found:
            typer.echo(f"{name}: {BadData(found)}", err=True)
            faults[name] = len(found)
    return reports, faults


# ---------------------------------------------------------------- words, tables and pictures

def _in_words(report, name):
    """A report as the terminal shows it: the lifetime's metrics, those of the tasks, and what is missing."""
    table = report.table()
    known = table[table["value"].notna()][["value", "unit", "better"]]
    lines = [f"{name}: {len(report.curves):,} experiences of {len(report.tasks)} "
             f"task{'s' if len(report.tasks) > 1 else ''}, {report.syllabus_type}, measured by {report.measure}",
             known.to_string(float_format="%.4g", header=False, index_names=False)]
    if len(report.tasks) > 1 and len(report.tasks.columns):
        lines += ["", report.tasks.T.rename_axis(None).rename_axis(None, axis=1).to_string(float_format="%.4g",
                                                                                        na_rep="")]
    if report.missing:
        lines += ["", "not computed, or not for all tasks:", *(f"  {one}: {why}" for one, why in report.missing)]
    return "\n".join(lines)


def _over_lifetimes(reports, faults):
    """A DataFrame, a row a lifetime and a column a metric, with how many faults its log has; the means come last."""
    import pandas as pd

    from pushlab.metrics.lifelong import METRICS

    table = pd.DataFrame({name: report.lifetime for name, report in reports.items()}).T
    table = table[[name for name in METRICS if name in table]]
    table.loc["mean"] = table.mean()
    table.insert(0, "faults", [faults.get(name, 0) for name in reports] + [sum(faults.values())])
    return table.rename_axis("lifetime")


def _lifetimes_in_words(table):
    """What `_over_lifetimes` gave as a terminal shows it, a row a metric; of many lifetimes mean, lowest, highest."""
    lifetimes = table.drop(index="mean")
    many = len(lifetimes) > MOST_COLUMNS
    shown = (lifetimes.agg(["mean", "min", "max"]) if many else table).T.drop(index="faults")
    shown = shown.rename_axis(f"{len(lifetimes)} lifetimes" if many else None, axis=1)
    return shown.to_string(float_format="%.4g", na_rep="")


def save_report(report: Any, stem: Path, plot: bool = True) -> None:
    """Writes a report: `<stem>.json`, tables `<stem>_<what>.tsv` and pictures `<stem>.png`, `<stem>_<what>.png`.

    Tables: metrics of the lifetime, tasks, pairs, regimes, and experts if there are any. Pictures: the lifetime with
    its metrics, its tests, a curve raw and smoothed, and each task against its expert.
    """
    write_text(f"{stem}.json", json.dumps(report.to_dict(), indent=2) + "\n")
    tables = {"metrics": report.table().reset_index(), "tasks": report.tasks.reset_index(), "pairs": report.pairs,
              "regimes": report.regimes, "experts": report.against_experts}
    for name, table in tables.items():
        if len(table) or name in ("metrics", "regimes"):
            write_text(f"{stem}_{name}.tsv", table.to_csv(sep="\t", index=False, lineterminator="\n"))
    for ending, picture in _draw_report(report) if plot else ():
        write_bytes(f"{stem}{ending}.png", picture)


def _draw_report(report):
    """Yields the ending of a file's name and the PNG of each picture that a report allows."""
    from pushlab import plots

    plots.use_style()
    yield "", plots.png(plots.report_sheet(report))
    if (report.curves["block_type"] == "test").any():
        yield "_tests", plots.png(plots.evaluation_blocks(report))
    learned = dict.fromkeys(report.curves.loc[report.curves["block_type"] == "train", "task"])
    if learned:
        yield "_smoothed", plots.png(plots.smoothed_curves(report))
    for number, task in enumerate(learned):
        if len(report.experts.get(task, ())):
            yield f"_expert_{number}", plots.png(plots.against_expert(report, task))


# ---------------------------------------------------------------- experts

@experts_app.command("add")
def add_expert(logdir: Annotated[Path, typer.Argument(help="A run that learned one task: L2Logger folder or file.")],
               experts: Store = None, measure: Measure = None,
               replace: Annotated[bool, typer.Option(help="In place of all runs that the task has.")] = False) -> None:
    """Add a run to the experts of its task."""
    from pushlab.logs.folders import read_log

    with ended_by(1):
        log = read_log(logdir, measure)
        tasks = sorted(set(log["task"]))
        if len(tasks) > 1:
            raise ValueError(f"{logdir} is no expert of one task; it learns {', '.join(tasks)}")
        store = _experts(experts)
        (store.write if replace else store.add)(tasks[0], log)
    typer.echo(f"{tasks[0]}: {len(store.logs(tasks[0]))} runs, saturation {store.saturation(tasks[0]):.6g}")


@experts_app.command("list")
def list_experts(experts: Store = None) -> None:
    """List the experts: task, runs, experiences, saturation value."""
    with ended_by(1):
        table = _experts(experts).list()
    typer.echo(table.to_string(index=False) if len(table) else "there are none yet")


@experts_app.command("clear")
def clear_experts(task: Annotated[str | None, typer.Argument(help="The task; without it, all of them.")] = None,
                  experts: Store = None,
                  yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before all are removed.")] = False,
                  ) -> None:
    """Remove the experts of a task, or all."""
    with ended_by(1):
        store = _experts(experts)
        if task is None and store.tasks and not yes:
            typer.confirm(f"remove the experts of {', '.join(store.tasks)}?", abort=True)
        store.clear(task)
    typer.echo(f"removed: {task or 'all'}")
