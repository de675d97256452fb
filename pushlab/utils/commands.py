"""Helpers of all commands: exit status, printing, options from a dataclass."""

import inspect
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Annotated, Any

import typer

from pushlab.utils.issues import printable


@contextmanager
def exit_on_error(status: int) -> Iterator[None]:
    """Context manager that turns errors of input into a message, without a traceback, and this exit status."""
    try:
        yield
    except (ValueError, OSError, KeyError, ImportError, sqlite3.Error) as error:
        echo(error.args[0] if isinstance(error, KeyError) else error, err=True)
        raise typer.Exit(status) from error


def echo(text: Any, err: bool = False) -> None:
    """Print a text, with a square for each control character."""
    typer.echo("\n".join(map(printable, str(text).split("\n"))), err=err)


def dataclass_options(
    settings: type, **extra_help: str
) -> Callable[[Callable], Callable]:
    """Return a decorator that replaces a command's **options by an option for each field of a dataclass.

    The dataclass's docstring has the help of each option.

    Args:
        extra_help: Additions to the help, by the field's name.
    """
    entries = re.findall(
        r"^ {4}(\w+): (.*(?:\n {8,}.*)*)",
        inspect.cleandoc(settings.__doc__ or ""),
        re.MULTILINE,
    )
    help_texts = {
        name: " ".join(text.split()).rstrip(".") + extra_help.get(name, "")
        for name, text in entries
    }

    def add_options(command: Callable) -> Callable:
        parameters = [
            parameter
            for parameter in inspect.signature(command).parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        for field in fields(settings):
            kind: Any = str if field.default is None else type(field.default)
            if field.name == "window":  # a number, although its default is None
                kind = float
            default = False if field.default is None else str(field.default)
            option = typer.Option(help=help_texts[field.name], show_default=default)
            parameters.append(
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=None,
                    annotation=Annotated[kind | None, option],
                )
            )
        signature = inspect.Signature(parameters)
        setattr(command, "__signature__", signature)  # noqa: B010 (mypy: none of a Callable)
        return command

    return add_options
