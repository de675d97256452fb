"""Settings of a lifelong report: smoothing, clamping, normalisation, and which of several definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from pushlab.ground.arguments import is_number
from pushlab.ground.faults import BadData, Fault, refuse

# The value of `reference` that computes every number as this release does.
RELEASE = "l2metrics-3.1"
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
# Names in a settings file of l2metrics, and its entries that are no settings of metrics.
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
RELEASE_EXTRAS = (
    "log_dir perf_measure unit command_line_options versions recursive plot_types do_plot "
    "do_save do_save_settings output_dir ste_store_mode show_eval_lines"
).split()


@dataclass(frozen=True)
class Settings:
    """How curves are prepared and which definitions are used.

    Args:
        smoothing: Shape of the window that smooths training curves: "flat", "hanning", "hamming", "bartlett" or
            "blackman"; "none" leaves them raw.
        window: Its length: experiences, or a share of the block (0.1). None takes a fifth of it, at most 100.
        smooth_tests: Whether tests are smoothed as well.
        clamp: Clip values to the 10th and 90th percentile of a task (or to its `data_range`).
        normalization: Scale each "task", or the whole "run", to 0 (worst seen) … 100 (best seen); "none" doesn't.
        data_range: Worst and best possible instead of seen: (low, high), or {task: (low, high)}.
        saturation_share: The s of the saturation value: the share of a block that its rolling mean spans.
        maintenance: Tests are compared with "mrlep", the first test after the task was last learned, "mrtlp", the end
            of that learning, or "both".
        transfer: "ratio", "contrast" or "both".
        aggregation: From tasks to the lifetime: "mean" or "median".
        expert_averaging: For several experts of a task: average the "metrics", or the curves over "time" first.
        variant_mode: "aware" takes names of tasks whole and distinguishes the parameters a task is learned under;
            "agnostic" reads names up to the first "_" and ignores parameters.
        reference: "l2metrics-3.1" computes every number as that release does, faults included.

    Raises:
        BadData: Lists every invalid setting.

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
        valid = {
            name: f"one of {', '.join(map(str, choices))}"
            for name, choices in CHOICES.items()
            if getattr(self, name) not in choices
        }
        for name in SWITCHES:
            if not isinstance(getattr(self, name), bool):
                valid[name] = "true or false"
        if not _is_window(self.window, self.reference):
            share = "" if self.reference else " or a share of the block below 1"
            valid["window"] = f"a whole number from 1{share}, or nothing"
        share = self.saturation_share
        if not is_number(share) or not 0 < share <= 1:
            valid["saturation_share"] = "a share of the block above 0 and up to 1"
        faults = [
            _fault(name, getattr(self, name), text) for name, text in valid.items()
        ]
        refuse(faults + self._read_range())
        if self.window is not None:
            window = int(self.window) if self.window >= 1 else float(self.window)
            object.__setattr__(self, "window", window)

    def _read_range(self):
        """Convert `data_range` to pairs of floats. Return the faults of what isn't a range."""
        ranges = self.data_range
        if ranges is None:
            return []
        is_one = not isinstance(ranges, dict) or ranges.keys() <= {"min", "max"}
        if is_one:
            ranges = {"": ranges}
        pairs = {str(task): _ends(ends) for task, ends in ranges.items()}
        object.__setattr__(self, "data_range", pairs[""] if is_one else pairs)
        return [
            _fault(f"data_range {task}".strip(), ends, "two numbers, the lower first")
            for (task, pair), ends in zip(pairs.items(), ranges.values())
            if pair is None
        ]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], file: str = "settings") -> Settings:
        """Return the settings of a dict, of `to_dict` or of a settings file of l2metrics; `file` is for errors."""
        if not isinstance(values, dict):
            kind = type(values).__name__
            raise BadData(Fault(file, None, None, kind, "an object of settings"))
        names = [field.name for field in fields(cls)]
        known = {}
        faults = []
        for key, value in values.items():
            name = RELEASE_KEYS.get(key, key)
            if name in names:
                known[name] = value
            elif key not in RELEASE_EXTRAS:
                text = f"no such setting; there are {', '.join(names)}"
                faults.append(Fault(file, None, str(key), None, text, "item"))
        try:
            settings = cls(**known)
        except BadData as error:
            faults += [fault._replace(file=file) for fault in error.faults]
        refuse(faults)
        return settings

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain values that JSON can hold."""
        return asdict(self)

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"Settings({', '.join(changed)})"


def _fault(name, value, valid):
    text = value if isinstance(value, str) else repr(value)
    return Fault("settings", None, name, text, valid, "item")


def _is_window(window, reference):
    if window is None or not is_number(window):
        return window is None
    return (window >= 1 and window == int(window)) or (
        0 < window < 1 and reference is None
    )


def _ends(ends):
    """Return (low, high) of a pair, or of l2metrics' {"min": low, "max": high}; None for anything else."""
    if isinstance(ends, dict):
        ends = (ends.get("min"), ends.get("max"))
    is_pair = isinstance(ends, list | tuple) and len(ends) == 2
    if not is_pair or not all(map(is_number, ends)) or ends[0] >= ends[1]:
        return None
    return float(ends[0]), float(ends[1])
