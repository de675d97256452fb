"""Write the shipped users, with their catalogue, schema and checksums.

    python studies/shipped_users.py --out data/push

The files are the same, byte for byte, on every machine.
"""

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from pushlab.users.phone import PEOPLE
from pushlab.users.synthesis import build_user, write_catalogue, write_user
from pushlab.utils.files import write_text


def main(out: Annotated[Path, typer.Option(help="Folder of the users.")]) -> None:
    """Write the users into a folder."""
    paths = write_catalogue(out)
    for name, person in PEOPLE.items():
        paths += write_user(build_user(name, person), out / name, overwrite=True)
    lines = []
    for path in paths:
        checksum = hashlib.sha256(path.read_bytes()).hexdigest()
        lines.append((path.relative_to(out).as_posix(), checksum))
    text = "".join(f"{checksum}  {name}\n" for name, checksum in sorted(lines))
    write_text(out / "SHA256SUMS", text)


if __name__ == "__main__":
    typer.run(main)
