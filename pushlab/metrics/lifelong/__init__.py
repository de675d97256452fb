"""Metrics of lifelong learning: how an agent that learns several tasks in turn keeps and uses its knowledge.

- `report = lifelong_report(log, experts)`: all metrics of a lifetime log, and the reasons for missing ones
- `Settings(window=0.1, clamp=True)`: the preparation of curves, and the choice of definitions
- `@metric("mine", syllabus=("CL",))`: registers a metric of your own for all reports
- `compare_references(log, experts)`: our values beside those of l2metrics 3.1.0

The metrics are in `metrics`, each with its source and a small example. `l2metrics` has the rules of l2metrics 3.1.0
that differ from ours.

Adding a constant to all measurements does not change times and differences, and no level if values are normalised. It
does change ratios and contrasts, which depend on the distance from zero: set `data_range` if zero is not the worst
value.

Source:
    L2Metrics v0.1, Overview of metrics calculation for lifelong learning (JHU/APL, 2020); New, Baker, Nguyen &
    Vallabha (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach for
    characterization of lifelong learning systems, Neural Networks 160, 274-296; l2metrics 3.1.0.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
