"""Writes synthetic users, the catalogue, the schema and the checksums as files."""

import hashlib
import json
from pathlib import Path

from pushlab.ground.files import data_dir, json_text, write_text
from pushlab.users.synthesis.catalogue import CATALOGUE
from pushlab.users.synthesis.user import SCHEMA

SCHEMA_NAME = "pushlab-users"
OPEN_FEATURES = ("postingApp", "category", "subject")
CHECKSUMS = "SHA256SUMS"


def write_user(user, folder, overwrite=False):
    """Writes a SyntheticUser into a folder: train/, test/ and truth.json; returns the paths.

    Raises FileExistsError if the folder holds anything, unless `overwrite` is true. Every file is complete or not
    there: it is written under another name first.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; give the name of a folder that is new or empty")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty; give another folder, or overwrite=True to replace what is in it")
    texts = {name: table.to_csv(lineterminator="\n") for name, table in user.tables.items()}
    texts["truth.json"] = json_text(user.truth)
    return [write_text(folder / name, text) for name, text in texts.items()]


def write_private_user(user, folder):
    """Writes a SyntheticUser into a folder of users: its own folder, and catalogue and schema beside it.

    Returns the paths. Raises FileExistsError, and writes nothing, if the user's folder holds anything, or if the folder
    holds another catalogue or schema; those of users made before are the same and stay.
    """
    folder = Path(folder)
    for name, text in _shared_texts().items():
        path = folder / name
        if path.exists() and (not path.is_file() or path.read_bytes() != text.encode("utf-8")):
            raise FileExistsError(f"{path} is there already and is not what would be written; give another folder")
    return [*write_user(user, folder / user.name), *write_catalogue(folder)]


def write_catalogue(folder):
    """Writes catalogue.csv and schema.json (the challenge's, with the catalogue's values); returns the paths."""
    return [write_text(Path(folder) / name, text) for name, text in _shared_texts().items()]


def _shared_texts():
    """{file name: text} of what all synthetic users have in common."""
    base = json.loads((data_dir() / "schemas" / f"{SCHEMA}.json").read_text(encoding="utf-8"))
    rows = "".join(",".join(row) + "\n" for row in (OPEN_FEATURES, *CATALOGUE))
    return {"catalogue.csv": rows, "schema.json": json_text(fill_schema(base))}


def fill_schema(base):
    """The schema dict with `values` for its open features, all of the catalogue's, sorted."""
    values = {name: sorted({row[place] for row in CATALOGUE}) for place, name in enumerate(OPEN_FEATURES)}
    notification = [entry | {"values": values[entry["name"]]} if entry["name"] in values else entry
                    for entry in base["notification"]]
    about = "The synthetic users of pushlab in the layout of EvalUMAP 2019, with the values of their catalogue."
    return base | {"name": SCHEMA_NAME, "about": about, "notification": notification}


def write_checksums(folder, paths):
    """Writes SHA256SUMS over these files, in the form that `sha256sum -c` reads, sorted by name; returns its path."""
    names = sorted(Path(path).relative_to(folder).as_posix() for path in paths)
    lines = (f"{hashlib.sha256((Path(folder) / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    return write_text(Path(folder) / CHECKSUMS, "".join(lines))
