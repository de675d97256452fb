"""Text and JSON files of users, with messages that name the file and the line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pushlab.ground.faults import BadData, Fault


def read_text(path: Path | str, name: str | None = None) -> str:
    """Return the text of a UTF-8 file. Raises BadData if it is missing, can't be read or isn't UTF-8.

    Args:
        path: A path, or a member of an archive (`zipfile.Path`).
        name: Name of the file for messages.
    """
    path = Path(path) if isinstance(path, str) else path
    name = name or path.name
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        right = f"the text is not UTF-8 (byte {data[error.start]:#04x})"
        raise BadData(Fault(name, line, right=right, unit="line")) from None
    except FileNotFoundError:
        raise BadData(Fault(name, right="the file is missing")) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadData(Fault(name, right=f"the file can't be read: {why}")) from None


def read_json(path: Path | str, name: str | None = None) -> dict[str, Any]:
    """Return the object in a JSON file. Raises BadData for anything else."""
    name = name or Path(str(path)).name
    try:
        content = json.loads(read_text(path, name))
    except json.JSONDecodeError as error:
        right = f"this is not JSON: {error.msg.lower()}"
        raise BadData(Fault(name, error.lineno, right=right, unit="line")) from None
    if not isinstance(content, dict):
        right = f"it should be an object, {{…}}; it is {content!r:.60}"
        raise BadData(Fault(name, right=right))
    return content
