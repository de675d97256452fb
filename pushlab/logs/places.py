"""Logs below a folder."""

from __future__ import annotations

from pathlib import Path

from pushlab.logs.tables import TABLE
from pushlab.logs.typed_csv import types_file


def find_logs(folder: Path | str) -> list[Path]:
    """Return the paths of all logs in a folder and below it, sorted: CSV files of `write_log` and L2Logger folders.

    Hidden files and folders are left out. Raises FileNotFoundError if there is no log.
    """
    folder = Path(folder)
    found = {path.parents[2] for path in folder.rglob(f"*/*/{TABLE}")}
    found |= {path for path in folder.rglob("*.csv") if types_file(path).exists()}
    logs = [path for path in found if not _is_hidden(path.relative_to(folder))]
    if not logs:
        raise FileNotFoundError(
            f"there is no log in {str(folder)!r} or below it: no CSV file of write_log, and no "
            f"<worker>/<block>-<train or test>/{TABLE}"
        )
    return sorted(logs)


def _is_hidden(path):
    return any(part.startswith(".") for part in path.parts)
