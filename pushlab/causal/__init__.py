"""Correlation that is not effect: data sets drawn from the simulators, with the effect on every unit known.

    >>> from pushlab import causal
    >>> data = causal.confounded("hiv", n=1000, seed=7)     # the weakest are treated
    >>> causal.compare(data)[["estimator", "estimate", "truth", "covers"]].shape
    (4, 4)

`__init__.pyi` lists what there is, each loaded when it is first asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
