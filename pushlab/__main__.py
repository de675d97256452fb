"""The command line: `pushlab --help`, or `python -m pushlab`.

Exit status: 0 done, 1 the data are at fault (every fault on standard error), 2 the command was not understood.
"""

from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
                  help="Personalised notifications and sequential decisions: environments, data, metrics.")
data = typer.Typer(no_args_is_help=True, help="Look at data sets before using them.")
app.add_typer(data, name="data")


@contextmanager
def faults_on_stderr():
    """Bad input ends the command with status 1 and its message, without a traceback."""
    try:
        yield
    except (ValueError, OSError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


@app.command()
def envs():
    """List the environments."""
    from pushlab.envs import TABLE

    wide = max(len(name) for name, *_ in TABLE)
    for name, _, about in TABLE:
        typer.echo(f"{name:{wide}}  {about}")


@data.command()
def check(path: Annotated[str, typer.Argument(help="A user's folder, a folder or wheel of users, or a shipped name.")],
          user: Annotated[str | None, typer.Option(help="One user of a folder or wheel; by default all.")] = None,
          schema: Annotated[str | None, typer.Option(help="A schema's name or file; else the one that fits.")] = None):
    """Read a data set as the environments do: print its load report, or every fault."""
    from pushlab.datasets import list_users, load_user
    from pushlab.faults import BadData

    faults = []
    with faults_on_stderr():
        users = [user] if user else (list_users(path) if Path(path).exists() else []) or [None]
        for name in users:
            try:
                typer.echo(load_user(path, user=name, schema=schema).report())
            except BadData as error:
                faults += error.faults
        if faults:
            raise BadData(faults)


@app.command("make-user")
def make_user(seed: Annotated[int, typer.Option(help="Keep it secret: who knows it can make the same user.")],
              out: Annotated[Path, typer.Option(help="A new or empty folder for the user's tables.")],
              name: Annotated[str, typer.Option(help="The user's name.")] = "private",
              open_rate: Annotated[float | None, typer.Option(help="Mean probability, 0.02 to 0.98.")] = None,
              per_quarter: Annotated[int | None, typer.Option(help="About so many a quarter.")] = None):
    """Make a private user, for a class challenge whose answers cannot be read in this repository."""
    from pushlab import synthesis

    with faults_on_stderr():
        synthesis.write_user(synthesis.make_user(seed, name, open_rate=open_rate, per_quarter=per_quarter), out)
        synthesis.write_catalogue(out)
    typer.echo(f"{name} was written to {out}; truth.json there holds the answers, so hand out train/ and test/ only")


def main():
    """Entry point of the `pushlab` command."""
    app()


if __name__ == "__main__":
    main()
