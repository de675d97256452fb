"""pushlab: personalised notifications and sequential decisions, as environments, metrics and notebooks.

Importing it registers the environments and little else; what is heavy is loaded where it is first used.

>>> import pushlab
>>> pushlab.__version__
'0.2.0.dev0'
"""

from importlib import import_module

from pushlab.envs import register_all

__version__ = "0.2.0.dev0"

# What a notebook asks for by a short name, and the room it lives in.
_ROOMS = {
    "load_user": "pushlab.datasets.reading",
    "load_users": "pushlab.datasets.reading",
    "SimulatedUser": "pushlab.users.simulated",
    "Challenge": "pushlab.challenges.challenge",
}

__all__ = ["__version__", *_ROOMS]


def __getattr__(name):
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'pushlab' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_ROOMS])


register_all()
