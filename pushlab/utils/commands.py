"""Helpers of all commands: panels, errors, choices, and options from a dataclass.

Every error is one line "error: …" and a second one that says what to do, on standard error.
"""

import inspect
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pushlab.utils.arguments import suggestion
from pushlab.utils.issues import BadData, printable

Workers = Annotated[
    int | None,
    typer.Option(min=1, max=1024, help="Processes. By default one per core."),
]
UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    """Group of commands with panels in its help and errors of two lines, without a traceback.

    The exit status is 2 for an invalid command line, 130 after Ctrl-C, and 1 for any other error.
    """

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command line and exit with its status."""
        extra["standalone_mode"] = False
        try:
            sys.exit(super().main(*args, **extra))
        except typer.Abort:
            sys.exit("aborted")
        except UsageError as error:
            message = error.format_message().removeprefix("Invalid value: ")
            print_error(message[0].lower() + message[1:], error.ctx.command_path)
            sys.exit(2)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; without any, show the help."""
        return super().parse_args(ctx, args or ["--help"])

    def invoke(self, ctx: Any) -> Any:
        """Run a command; turn errors of input into a message."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (ValueError, OSError, KeyError, ImportError, sqlite3.Error) as error:
            print_error(error, f"{ctx.command_path} {ctx.invoked_subcommand}")
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            echo("interrupted; run the same command again to continue", err=True)
            raise typer.Exit(130) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each panel."""
        panels = defaultdict(list)
        for name, command in self.commands.items():
            panel = getattr(command, "rich_help_panel", None) or "Commands"
            panels[panel].append((name, command.get_short_help_str(100)))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


def print_error(error: Any, command: str) -> None:
    """Print an error, and the command's help as the remedy unless a second line of the message has one."""
    text = f"error: {error.args[0] if isinstance(error, KeyError) else error}"
    if "\n" not in text or isinstance(error, BadData):
        text += f"\n`{command} -h` shows an example and all options"
    echo(text, err=True)


def one_of(choices: Sequence[str]) -> dict[str, Any]:
    """Return arguments of `typer.Option` for a choice, which the shell completes."""

    def validate(value):
        if value is not None and value not in choices:
            raise typer.BadParameter(
                f"{value!r} is not one of {', '.join(choices)}{suggestion(value, choices)}"
            )
        return value

    return {
        "metavar": "|".join(choices),
        "autocompletion": lambda: choices,
        "callback": validate,
    }


def echo(text: Any, err: bool = False) -> None:
    """Print a text, with a square for each control character."""
    typer.echo("\n".join(map(printable, str(text).split("\n"))), err=err)


def dataclass_options(
    settings: type, choices: dict, **extra_help: str
) -> Callable[[Callable], Callable]:
    """Return a decorator that replaces a command's **options by an option for each field of a dataclass.

    The dataclass's docstring has the help of each option.

    Args:
        choices: Valid values of fields, by the field's name.
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

    def add_options(command: Any) -> Callable:
        *parameters, _ = inspect.signature(command).parameters.values()
        for field in fields(settings):
            values = [value for value in choices.get(field.name, ()) if value]
            option = typer.Option(
                help=help_texts[field.name],
                show_default=False if field.default is None else str(field.default),
                **(one_of(values) if values else {}),
            )
            kind: Any = str if field.default is None else type(field.default)
            if field.name == "window":  # a number, although its default is None
                kind = float
            parameter = inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[kind | None, option],
            )
            parameters.append(parameter)
        command.__signature__ = inspect.Signature(parameters)
        return command

    return add_options
