"""Personalised notifications and sequential decisions: environments, metrics and notebooks.

Importing pushlab registers the environments. Everything else is loaded at its first use. `__init__.pyi` lists the
public names.

>>> import pushlab
>>> pushlab.__version__, "rollout" in dir(pushlab)
('0.9.0', True)
"""

import os
import sys

# `python -m pushlab` imports from the current folder first, and would run any typer.py there.
if (
    sys.argv[:1] == ["-m"]
    and sys.orig_argv[-len(sys.argv)].removeprefix("-m").partition(".")[0] == __name__
    and not sys.flags.safe_path
    and sys.path[0] == os.getcwd() != os.path.dirname(os.path.dirname(__file__))
):
    del sys.path[0]

import lazy_loader

from pushlab.envs import register_all

__version__ = "0.9.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

register_all()
