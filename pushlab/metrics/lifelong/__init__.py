"""Lifelong learning: does an agent that learns one task after the other keep its knowledge, and
use it?

- `report = lifelong_report(log, experts)`: all metrics of a lifetime log, with what is missing and
  why
- `Settings(window=0.1, clamp=True)`: how curves are prepared, and which definitions are used
- `@metric("mine", syllabus=("CL",))`: a metric of your own, from then on in every report
- `compare_references(log, experts)`: our definitions beside those of l2metrics 3.1.0

The metrics are in `metrics`. Each says where it comes from and shows a case that can be worked out
by hand. `release` holds the rules of the release where they differ.

Adding a constant to every measurement changes no time and no difference, nor any level once
normalised. It does change ratios and contrasts, which depend on the distance from zero: give
`data_range` if zero is not the worst value.

Source:
    L2Metrics v0.1, Overview of metrics calculation for lifelong learning (JHU/APL, 2020); New, Baker, Nguyen &
    Vallabha (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach for
    characterization of lifelong learning systems, Neural Networks 160, 274-296; l2metrics 3.1.0.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
