"""Other people's libraries: brought in when something of theirs is asked for, or what to install is said."""

from importlib import import_module
from typing import Any


def bring(name: str, for_what: str, extra: str = "rl") -> Any:
    """A module, or "module:thing" of one, of the libraries of an extra.

    Raises ImportError that says what to install, where it is not there.

    >>> bring("json:loads", "reading")("3")
    3
    """
    module, _, thing = name.partition(":")
    try:
        there = import_module(module)
        return getattr(there, thing) if thing else there
    except ImportError as error:
        raise ImportError(
            f"{for_what} needs {module} ({error}); get it by pip install 'pushlab[{extra}]'"
        ) from error
