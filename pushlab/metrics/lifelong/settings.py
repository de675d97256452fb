"""Settings of a lifelong report: smoothing, clamping, normalisation, and which of several definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from pushlab.ground.arguments import demand, flag, is_number, number, one_of, whole

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
        ValueError: If a setting is invalid.

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
        for name, choices in CHOICES.items():
            one_of(name, getattr(self, name), choices)
        flag("clamp", self.clamp)
        flag("smooth_tests", self.smooth_tests)
        number("saturation_share", self.saturation_share, above=0, most=1)
        if self.window is not None:
            window = number("window", self.window, above=0)
            window = int(window) if window % 1 == 0 else window
            if self.reference or window > 1:
                whole("window", window, 1)
            object.__setattr__(self, "window", window)
        if self.data_range is not None:
            object.__setattr__(self, "data_range", _pairs(self.data_range))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], file: str = "settings") -> Settings:
        """Return the settings of a dict, of `to_dict` or of a settings file of l2metrics; `file` is for errors."""
        demand(isinstance(values, dict), f"{file}: settings are an object of JSON")
        names = [field.name for field in fields(cls)]
        known = {}
        for key, value in values.items():
            name = RELEASE_KEYS.get(key, key)
            if name in names:
                known[name] = value
            elif key not in RELEASE_EXTRAS:
                text = f"{file}: there is no setting {key!r}"
                raise ValueError(f"{text}; there are {', '.join(names)}")
        try:
            return cls(**known)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error

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


def _pairs(ranges):
    """Return (low, high), or {task: (low, high)}; l2metrics writes a pair as {"min": low, "max": high}."""
    ends = ranges
    if isinstance(ranges, dict):
        if not ranges.keys() <= {"min", "max"}:
            return {str(task): _pairs(ends) for task, ends in ranges.items()}
        ends = [ranges.get("min"), ranges.get("max")]
    is_pair = isinstance(ends, list | tuple) and len(ends) == 2
    if not is_pair or not all(map(is_number, ends)) or ends[0] >= ends[1]:
        raise ValueError(
            f"data_range is made of two numbers, the lower first; got {ranges!r}"
        )
    return float(ends[0]), float(ends[1])
