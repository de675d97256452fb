"""What all commands have in common: how they are ended, what they print, options out of a dataclass."""

import _thread
import inspect
import os
import re
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Annotated, Any

import typer

from pushlab.ground.faults import Ended, printable

SIGNALS = {KeyboardInterrupt: signal.SIGINT, Ended: signal.SIGTERM}


def run(start: Callable, *arguments: Any) -> None:
    """Calls what a process is there for, so that SIGTERM and Ctrl-C end it as an error would: processes that it began
    end, and what is unfinished goes.
    """
    signal.signal(signal.SIGTERM, end)
    with heard():
        start(*arguments)


def end(number: int, frame: Any) -> None:
    """What `run` does at a signal."""
    raise Ended(128 + number)


@contextmanager
def heard() -> Iterator[None]:
    """In here no Ctrl-C is lost, nor SIGTERM. A compiler calls back from C, where Python can only say that an exception
    was ignored, and goes on; a moment later the signal comes again.
    """
    before = sys.unraisablehook

    def again(dropped: Any) -> None:
        if dropped.exc_type not in SIGNALS:
            before(dropped)
            return
        timer = threading.Timer(
            0.1, _thread.interrupt_main, [SIGNALS[dropped.exc_type]]
        )
        timer.daemon = True
        timer.start()

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def ended_by(status: int) -> Iterator[None]:
    """Bad input ends the command with a status and its message, without a traceback."""
    try:
        yield
    except (ValueError, OSError, KeyError, ImportError, sqlite3.Error) as error:
        say(error.args[0] if isinstance(error, KeyError) else error, err=True)
        raise typer.Exit(status) from error


def say(text: Any, err: bool = False) -> None:
    """Prints what is saved by now: a reader who has left (`| head -1`) or a full disk changes nothing about that.

    Control characters, which would steer the terminal, become squares.
    """
    try:
        typer.echo("\n".join(map(printable, str(text).split("\n"))), err=err)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(
            nowhere, (sys.stderr if err else sys.stdout).fileno()
        )  # where the rest goes


def with_options(settings: type, **more: str) -> Callable[[Callable], Callable]:
    """Gives a command an option for each field of a dataclass in place of **options; its docstring says what they are.

    more   what an option's help adds to the docstring, by the field's name
    """
    told = re.findall(
        r"^(\w+) {2,}(.*(?:\n {9,}.*)*)",
        inspect.cleandoc(settings.__doc__ or ""),
        re.MULTILINE,
    )
    about = {name: " ".join(text.split()) + more.get(name, "") for name, text in told}

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
