"""What `pushlab lifelong` shows and writes of its reports: words, tables and pictures."""

import json

MOST_COLUMNS = 5            # lifetimes side by side on a terminal


def in_words(report, name):
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


def over_lifetimes(reports, faults=None):
    """A DataFrame, a row a lifetime and a column a metric, with how many faults its log has; the means come last."""
    import pandas as pd

    from pushlab.metrics.lifelong import METRICS

    table = pd.DataFrame({name: report.lifetime for name, report in reports.items()}).T
    table = table[[name for name in METRICS if name in table]]
    table.loc["mean"] = table.mean()
    table.insert(0, "faults", [(faults or {}).get(name, 0) for name in reports] + [sum((faults or {}).values())])
    return table.rename_axis("lifetime")


def lifetimes_in_words(table):
    """What `over_lifetimes` gave as a terminal shows it: a row a metric; of many lifetimes mean, lowest and highest."""
    lifetimes = table.drop(index="mean")
    if len(lifetimes) > MOST_COLUMNS:
        shown = lifetimes.agg(["mean", "min", "max"]).T.drop(index="faults")
        shown = shown.rename_axis(f"{len(lifetimes)} lifetimes", axis=1)
    else:
        shown = table.T.drop(index="faults").rename_axis(None, axis=1)
    return shown.to_string(float_format="%.4g", na_rep="")


def save_report(report, stem, plot=True):
    """Writes a report: `<stem>.json`, tables `<stem>_<what>.tsv` and pictures `<stem>.png`, `<stem>_<what>.png`.

    Tables: metrics of the lifetime, tasks, pairs, regimes, and experts if there are any. Pictures: the lifetime with
    its metrics, its tests, a curve raw and smoothed, and each task against its expert.
    """
    from pushlab.ground.files import write_bytes, write_text

    def beside(ending):
        return stem.with_name(f"{stem.name}{ending}")

    write_text(beside(".json"), json.dumps(report.to_dict(), indent=2) + "\n")
    tables = {"metrics": report.table().reset_index(), "tasks": report.tasks.reset_index(), "pairs": report.pairs,
              "regimes": report.regimes, "experts": report.against_experts}
    for name, table in tables.items():
        if len(table) or name in ("metrics", "regimes"):
            write_text(beside(f"_{name}.tsv"), table.to_csv(sep="\t", index=False, lineterminator="\n"))
    for ending, picture in draw_report(report) if plot else ():
        write_bytes(beside(f"{ending}.png"), picture)


def draw_report(report):
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
