"""Settings of a lifelong report: smoothing, clamping, normalisation, and the choice of definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from pushlab.utils.arguments import (
    is_number,
    require,
    suggestion,
    validate_bool,
    validate_choice,
    validate_integer,
    validate_number,
)

# The value of `reference` that computes every number as l2metrics 3.1 does.
L2METRICS_REFERENCE = "l2metrics-3.1"
# Structures of a syllabus: continual learning, and two ways of adapting to new tasks.
SYLLABUS_TYPES = ("CL", "ANT_A", "ANT_B")
CHOICES = {
    "smoothing": ("flat", "hanning", "hamming", "bartlett", "blackman", "none"),
    "normalization": ("task", "run", "none"),
    "maintenance": ("mrlep", "mrtlp", "both"),
    "transfer": ("ratio", "contrast", "both"),
    "aggregation": ("mean", "median"),
    "expert_averaging": ("metrics", "time"),
    "variant_mode": ("aware", "agnostic"),
    "reference": (None, L2METRICS_REFERENCE),
}
# {name in a settings file of l2metrics: our name}, and its entries that don't affect metrics.
L2METRICS_KEYS = {
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
IGNORED_KEYS = (
    "log_dir perf_measure unit command_line_options versions recursive plot_types do_plot "
    "do_save do_save_settings output_dir output ste_store_mode show_eval_lines load_settings"
).split()


@dataclass(frozen=True)
class Settings:
    """Preparation of curves and choice of definitions.

    Args:
        smoothing: Shape of the window that smooths training curves: "flat", "hanning", "hamming", "bartlett" or
            "blackman"; "none" for raw curves.
        window: Length of the window: experiences, or a share of the block (0.1). None is a fifth of the block, at most
            100.
        smooth_tests: Whether tests are smoothed, too.
        clamp: Whether values are clipped to the 10th and 90th percentile of a task (or to its `data_range`).
        normalization: Scale each "task", or the whole "run", to 0 (worst observed) … 100 (best observed); "none"
            doesn't scale.
        data_range: Worst and best possible values instead of the observed ones: (low, high), or {task: (low, high)}.
        saturation_share: The s of the saturation value: the share of a block that its rolling mean spans.
        maintenance: Level with which tests are compared: "mrlep", the first test after the task's last training;
            "mrtlp", the end of that training; or "both".
        transfer: "ratio", "contrast" or "both".
        aggregation: From tasks to the lifetime: "mean" or "median".
        expert_averaging: For several experts of a task: average the "metrics", or first the curves over "time".
        variant_mode: "aware" uses full task names and distinguishes the parameters with which a task is learned;
            "agnostic" uses names up to the first "_" and ignores parameters.
        reference: "l2metrics-3.1" computes every number as l2metrics 3.1 does, with its errors.

    Raises:
        ValueError: A setting is invalid.

    >>> Settings(window=0.1).to_dict()["window"]
    0.1
    >>> Settings.from_dict({"smoothing_method": "hanning", "window_length": 50})      # names of l2metrics
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
            validate_choice(name, getattr(self, name), choices)
        validate_bool("clamp", self.clamp)
        validate_bool("smooth_tests", self.smooth_tests)
        validate_number("saturation_share", self.saturation_share, above=0, maximum=1)
        if self.window is not None:
            window = validate_number("window", self.window, above=0)
            window = int(window) if window % 1 == 0 else window
            if self.reference or window > 1:
                validate_integer("window", window, 1)
            object.__setattr__(self, "window", window)
        if self.data_range is not None:
            object.__setattr__(self, "data_range", _pairs(self.data_range))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], file: str = "settings") -> Settings:
        """Return the settings of a dict, from `to_dict` or a settings file of l2metrics; `file` is for errors."""
        require(isinstance(values, dict), f"{file}: settings must be a JSON object")
        names = [field.name for field in fields(cls)]
        settings = {}
        for key, value in values.items():
            name = L2METRICS_KEYS.get(key, key)
            if name in names:
                settings[name] = value
            elif key not in IGNORED_KEYS and value not in (None, [0, 0]):
                raise ValueError(
                    f"{file}: there is no setting {key!r}; settings are {', '.join(names)}{suggestion(key, names)}"
                )
        try:
            return cls(**settings)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as values for JSON."""
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
            f"data_range must be two numbers, the lower first; got {ranges!r}"
        )
    return float(ends[0]), float(ends[1])
