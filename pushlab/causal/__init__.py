"""Causal inference on simulated data: data sets and trials in which the effect on every unit is known, and estimators.

    >>> from pushlab import causal
    >>> data = causal.confounded("hiv", n=1000, seed=7)     # the weakest are treated
    >>> causal.compare(data)[["estimator", "estimate", "truth", "covers"]].shape
    (4, 4)

`__init__.pyi` lists the names; each is loaded at its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
