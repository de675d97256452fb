"""Optional libraries, imported when they are needed; an error says how to install a missing one."""

from importlib import import_module
from typing import Any


def bring(name: str, for_what: str, extra: str = "rl") -> Any:
    """Import and return a module, or "module:thing" from one, of the libraries of an extra.

    Raises ImportError with the command that installs a missing library.

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
