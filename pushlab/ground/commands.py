"""Parts that all commands share: exit status, printing, options made from a dataclass."""

import inspect
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Annotated, Any

import typer

from pushlab.ground.faults import printable


@contextmanager
def ended_by(status: int) -> Iterator[None]:
    """Context manager in which bad input ends the command with a status and its message, without a traceback."""
    try:
        yield
    except (ValueError, OSError, KeyError, ImportError, sqlite3.Error) as error:
        say(error.args[0] if isinstance(error, KeyError) else error, err=True)
        raise typer.Exit(status) from error


def say(text: Any, err: bool = False) -> None:
    """Print a text, with a square for each control character."""
    typer.echo("\n".join(map(printable, str(text).split("\n"))), err=err)


def with_options(settings: type, **more: str) -> Callable[[Callable], Callable]:
    """Decorator that gives a command an option for each field of a dataclass in place of **options.

    The dataclass's docstring is the help of its options.

    Args:
        more: Additions to the help, by the field's name.
    """
    entries = re.findall(
        r"^ {4}(\w+): (.*(?:\n {8,}.*)*)",
        inspect.cleandoc(settings.__doc__ or ""),
        re.MULTILINE,
    )
    about = {
        name: " ".join(text.split()).rstrip(".") + more.get(name, "")
        for name, text in entries
    }

    def optional(command: Callable) -> Callable:
        given = inspect.signature(command).parameters.values()
        own = [one for one in given if one.kind is not one.VAR_KEYWORD]
        for field in fields(settings):
            kind: Any = (
                float
                if field.name == "window"
                else str
                if field.default is None
                else type(field.default)
            )
            default = False if field.default is None else str(field.default)
            option = Annotated[
                kind | None, typer.Option(help=about[field.name], show_default=default)
            ]
            own.append(
                inspect.Parameter(
                    field.name, own[0].KEYWORD_ONLY, default=None, annotation=option
                )
            )
        setattr(command, "__signature__", inspect.Signature(own))  # noqa: B010 (mypy: none of a Callable)
        return command

    return optional
