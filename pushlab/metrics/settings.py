"""What a lifelong report is computed with: smoothing, clamping, normalisation, and which of several definitions.

It stands beside `pushlab.metrics.lifelong` and not in it, so that the command line can list the settings without
loading pandas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from pushlab.ground.arguments import is_number
from pushlab.ground.faults import BadData, Fault

# The value of `reference` with which every number is as that release computes it.
RELEASE = "l2metrics-3.1"
# What each setting that is a choice may be.
CHOICES = {
    "smoothing": ("flat", "hanning", "hamming", "bartlett", "blackman", "none"),
    "normalization": ("task", "run", "none"),
    "maintenance": ("mrlep", "mrtlp", "both"),
    "transfer": ("ratio", "contrast", "both"),
    "aggregation": ("mean", "median"),
    "expert_averaging": ("metrics", "time"),
    "variant_mode": ("aware", "agnostic"),
    "reference": (None, RELEASE),
}
SWITCHES = ("clamp", "smooth_tests")
# What a settings file of l2metrics calls the same things, and what it says besides that is no setting of a metric.
RELEASE_KEYS = {
    "smoothing_method": "smoothing",
    "window_length": "window",
    "clamp_outliers": "clamp",
    "normalization_method": "normalization",
    "maintenance_method": "maintenance",
    "transfer_method": "transfer",
    "aggregation_method": "aggregation",
    "ste_averaging_method": "expert_averaging",
    "do_smooth_eval_data": "smooth_tests",
}
RELEASE_EXTRAS = {
    "log_dir",
    "perf_measure",
    "unit",
    "command_line_options",
    "versions",
    "recursive",
    "plot_types",
    "do_plot",
    "do_save",
    "do_save_settings",
    "output_dir",
    "ste_store_mode",
    "show_eval_lines",
}


@dataclass(frozen=True)
class Settings:
    """How curves are prepared and which definitions are used.

    smoothing         shape of the window that training curves are smoothed with: "flat", "hanning", "hamming",
                      "bartlett", "blackman"; "none" leaves them as lived
    window            its length: experiences, or a share of the block (0.1); None takes a fifth of it, at most 100
    smooth_tests      whether tests are smoothed as well
    clamp             draw in what lies outside the 10th and 90th percentile of a task (or its `data_range`)
    normalization     bring each "task", or the whole "run", to 0 (worst seen) … 100 (best seen); "none" leaves it
    data_range        worst and best possible instead of seen: (low, high), or {task: (low, high)}
    saturation_share  the s of the saturation value: the share of a block that its rolling mean spans
    maintenance       what a test is held against: "mrlep", the first test after the task was last learned, "mrtlp",
                      the end of that learning, or "both"
    transfer          "ratio", "contrast" or "both"
    aggregation       from tasks to the lifetime: "mean" or "median"
    expert_averaging  several experts of a task: average the "metrics", or the curves over "time" first
    variant_mode      "aware": a task is what its whole name says, and one learned under several parameters is told
                      apart by them; "agnostic": names are read up to the first "_", parameters are ignored
    reference         "l2metrics-3.1" computes every number as that release does, faults included

    Raises BadData listing everything that is not among the choices.

    >>> Settings(window=0.1).to_dict()["window"]
    0.1
    >>> Settings.from_dict({"smoothing_method": "hanning", "window_length": 50})      # as l2metrics writes them
    Settings(smoothing='hanning', window=50)
    """

    smoothing: str = "flat"
    window: int | float | None = None
    smooth_tests: bool = False
    clamp: bool = False
    normalization: str = "task"
    data_range: tuple | dict | None = None
    saturation_share: float = 0.1
    maintenance: str = "both"
    transfer: str = "both"
    aggregation: str = "mean"
    expert_averaging: str = "metrics"
    variant_mode: str = "aware"
    reference: str | None = None

    def __post_init__(self) -> None:
        wrong = {
            key: f"one of {', '.join(map(str, choices))}"
            for key, choices in CHOICES.items()
            if not isinstance(getattr(self, key), str | None)
            or getattr(self, key) not in choices
        }
        wrong |= {
            key: "true or false"
            for key in SWITCHES
            if not isinstance(getattr(self, key), bool)
        }
        whole = self.reference == RELEASE
        if not _is_window(self.window, whole):
            shares = "" if whole else " or a share of the block above 0 and below 1"
            wrong["window"] = f"a whole number from 1{shares}, or nothing"
        if not is_number(self.saturation_share) or not 0 < self.saturation_share <= 1:
            wrong["saturation_share"] = "a share of the block above 0 and up to 1"
        faults = [
            _fault(key, getattr(self, key), right) for key, right in wrong.items()
        ]
        if self.data_range is not None:
            faults += self._read_range()
        if faults:
            raise BadData(faults)
        if self.window is not None:
            object.__setattr__(
                self,
                "window",
                int(self.window) if self.window >= 1 else float(self.window),
            )

    def _read_range(self):
        """Brings `data_range` to pairs of floats; the faults of what is no range."""
        given = self.data_range
        several = isinstance(given, dict) and not given.keys() <= {"min", "max"}
        read = (
            {task: _ends(ends) for task, ends in given.items()}
            if several
            else {"": _ends(given)}
        )
        plain = (
            {str(task): ends for task, ends in read.items()} if several else read[""]
        )
        object.__setattr__(self, "data_range", plain)
        return [
            _fault(
                f"data_range {task}".strip(),
                given[task] if several else given,
                "two numbers, the lower first",
            )
            for task, ends in read.items()
            if ends is None
        ]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], file: str = "settings") -> Settings:
        """Settings of a plain dict, as `to_dict` or a settings file of l2metrics gives it; `file` is for errors."""
        if not isinstance(values, dict):
            raise BadData(
                [
                    Fault(
                        file, None, None, type(values).__name__, "an object of settings"
                    )
                ]
            )
        told = {
            RELEASE_KEYS.get(key, key): value
            for key, value in values.items()
            if key not in RELEASE_EXTRAS
        }
        known = [field.name for field in fields(cls)]
        faults = [
            Fault(
                file,
                None,
                str(key),
                None,
                f"no such setting; there are {', '.join(known)}",
                "item",
            )
            for key in told
            if key not in known
        ]
        try:
            made = cls(**{key: value for key, value in told.items() if key in known})
        except BadData as error:
            faults += [fault._replace(file=file) for fault in error.faults]
        if faults:
            raise BadData(faults)
        return made

    def to_dict(self) -> dict[str, Any]:
        """All settings as plain values that JSON gives back as they are: ranges are lists."""
        given = self.data_range
        plain = (
            {task: [*ends] for task, ends in given.items()}
            if isinstance(given, dict)
            else given and [*given]
        )
        return {**asdict(self), "data_range": plain}

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"Settings({', '.join(changed)})"


def _fault(key, value, right):
    return Fault(
        "settings",
        None,
        key,
        value if isinstance(value, str) else repr(value),
        right,
        "item",
    )


def _is_window(window, whole):
    if window is None or not is_number(window):
        return window is None
    return window >= 1 and window == int(window) or 0 < window < 1 and not whole


def _ends(ends):
    """(low, high) of a pair, or of l2metrics' {"min": low, "max": high}; None for anything else."""
    if isinstance(ends, dict):
        ends = (ends.get("min"), ends.get("max"))
    if (
        not isinstance(ends, list | tuple)
        or len(ends) != 2
        or not all(map(is_number, ends))
        or ends[0] >= ends[1]
    ):
        return None
    return float(ends[0]), float(ends[1])
