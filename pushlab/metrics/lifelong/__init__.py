"""Lifelong learning: does an agent that meets one task after the other keep what it learned, and use it?

    report = lifelong_report(log, experts)      all metrics of a lifetime log, with what is missing and why
    Settings(window=0.1, clamp=True)            how curves are prepared, and which definitions are used
    @metric("mine", syllabus=("CL",))           one's own metric, from then on in every report
    compare_references(log, experts)            our definitions beside those of l2metrics 3.1.0

`learning` holds the metrics of levels and times, `maintenance` those of keeping, `transfer` those of carrying over and
`versus` those against single-task experts; each says where it comes from and shows a case one can do by hand. What the
release computes otherwise is in `release` alone.

Adding a constant to every measurement changes no time and no difference, nor any level once normalised. It does change
ratios and contrasts, which ask how far a value is from zero: give `data_range` where zero is not the worst possible.

Sources  L2Metrics v0.1, Overview of metrics calculation for lifelong learning (JHU/APL, 2020); New, Baker, Nguyen &
         Vallabha (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach
         for characterization of lifelong learning systems, Neural Networks 160, 274-296; l2metrics 3.1.0.
"""

from pushlab.metrics.lifelong.lifetime import Lifetime, Missing
from pushlab.metrics.lifelong.registry import (
    METRICS,
    SYLLABUS_TYPES,
    Metric,
    metric,
    metrics_for,
    unregister,
)
from pushlab.metrics.lifelong.report import Report, by_hand, lifelong_report, log_of
from pushlab.metrics.settings import CHOICES, RELEASE, Settings

# Reports list metrics in the order in which these are imported.
from pushlab.metrics.lifelong import learning, maintenance, transfer, versus  # noqa: F401  isort: skip
from pushlab.metrics.lifelong.release import RELEASE_NAMES, compare_references  # isort: skip

__all__ = [
    "CHOICES",
    "METRICS",
    "RELEASE",
    "RELEASE_NAMES",
    "SYLLABUS_TYPES",
    "Lifetime",
    "Metric",
    "Missing",
    "Report",
    "Settings",
    "by_hand",
    "compare_references",
    "lifelong_report",
    "log_of",
    "metric",
    "metrics_for",
    "unregister",
]
