"""The metrics by name: a function of a Lifetime, registered with the syllabus types it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pushlab.ground.arguments import one_of
from pushlab.metrics.settings import Settings

# Structures of a syllabus that a metric may be for: continual learning, and adapting to new tasks in two ways.
SYLLABUS_TYPES = ("CL", "ANT_A", "ANT_B")
# All metrics by their names, in the order in which reports list them.
METRICS: dict[str, Metric] = {}


@dataclass(frozen=True)
class Metric:
    """A registered metric.

    name      its name in reports, tables and on the command line
    function  takes a Lifetime; returns a number, a Series (task to value), or a DataFrame of pairs with the columns
              learned, tested and value (and block)
    syllabus  the syllabus types it is computed for
    unit      of its values: "points" on the scale of the settings, "episodes", "ratio", …
    better    "higher", "lower", or None if neither is
    chosen    {setting: values} that it belongs to: it is left out of reports with another value there
    """

    name: str
    function: Callable
    syllabus: tuple[str, ...] = SYLLABUS_TYPES
    unit: str = ""
    better: str | None = None
    chosen: Mapping | None = None

    @property
    def about(self) -> str:
        """The first sentence of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")

    def suits(
        self, syllabus_type: str | None, settings: Settings | None = None
    ) -> bool:
        """Whether a report on such a syllabus under such settings has it."""
        wanted = syllabus_type is None or syllabus_type in self.syllabus
        return wanted and (
            settings is None
            or all(
                getattr(settings, key) in values
                for key, values in (self.chosen or {}).items()
            )
        )


def metric(
    name: str,
    syllabus: str | Iterable[str] = SYLLABUS_TYPES,
    unit: str = "",
    better: str | None = None,
    chosen: Mapping | None = None,
) -> Callable[[Callable], Callable]:
    """Registers a function of a Lifetime as a metric; it then is in every report, table and on the command line.

    name, syllabus, unit, better, chosen   see Metric; a name that is taken is replaced, so that a cell may run twice

    The function returns a number, a Series by task (the report then takes the mean over tasks, or the median), or a
    DataFrame of pairs of tasks. If it lacks what it needs it raises `Missing` with the reason.

    >>> @metric("best_test", unit="points", better="higher")
    ... def best_test(life):
    ...     '''The best test of all.'''
    ...     return life.regimes.loc[life.regimes["block_type"] == "test", "mean"].max()
    >>> METRICS["best_test"].about, "best_test" in metrics_for("CL")
    ('The best test of all.', True)
    >>> unregister("best_test")
    """
    syllabus = (syllabus,) if isinstance(syllabus, str) else tuple(syllabus)
    unknown = [kind for kind in syllabus if kind not in SYLLABUS_TYPES]
    if unknown or not syllabus:
        raise ValueError(
            f"a metric serves one or more of {', '.join(SYLLABUS_TYPES)}; got {', '.join(unknown)}"
        )
    if not isinstance(name, str) or not name:
        raise ValueError(
            f'a metric\'s name is a text; got {name!r}: write @metric("my_metric")'
        )
    if better not in ("higher", "lower", None):
        raise ValueError(f'better is "higher", "lower" or None; got {better!r}')

    def register(function):
        METRICS[name] = Metric(name, function, syllabus, unit, better, chosen)
        return function

    return register


def unregister(name: str) -> None:
    """Takes a metric out of the registry."""
    METRICS.pop(name, None)


def metrics_for(
    syllabus_type: str | None = None, settings: Settings | None = None
) -> dict[str, Metric]:
    """{name: Metric} of those that serve a syllabus type (None: any), and that the settings ask for, in their order."""
    if syllabus_type is not None:
        one_of("a syllabus type", syllabus_type, SYLLABUS_TYPES)
    return {
        name: found
        for name, found in METRICS.items()
        if found.suits(syllabus_type, settings)
    }
