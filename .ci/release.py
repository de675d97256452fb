#!/usr/bin/env python3
"""Whether a tag may become a release: it and all places that name the version agree, and the changelog has its section.

python .ci/release.py v0.8.0                      says what does not agree (exit code 1), or that all does
python .ci/release.py v0.8.0 --notes notes.md     and writes the section, with links that lead to the tag
"""

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def versions(root):
    """{place: its version, or None where it has none}; the changelog's is that of its first section."""

    def found(name, pattern):
        hit = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.M)
        return hit[1] if hit else None

    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return {
        "pyproject.toml": pyproject["project"]["version"],
        "pushlab/__init__.py": found(
            "pushlab/__init__.py", r'^__version__ = "([^"]+)"$'
        ),
        "CITATION.cff": found("CITATION.cff", r"^version: \"?([^\"\n]+?)\"?$"),
        "CHANGELOG.md": found("CHANGELOG.md", r"^## \[(\d[^\]]*)\]"),
        ".zenodo.json": json.loads((root / ".zenodo.json").read_text(encoding="utf-8"))[
            "version"
        ],
    }


def section(root, version):
    """(date, text) of a version's section of the changelog; (None, "") if there is none."""
    told = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    hit = re.search(
        rf"^## \[{re.escape(version)}\] - (\S+)\n(.*?)(?=^## |^\[[^\]]+\]: |\Z)",
        told,
        re.M | re.S,
    )
    return (hit[1], hit[2].strip()) if hit else (None, "")


def wrong(root, tag):
    """What keeps a tag from becoming a release, in words; nothing if all agree."""
    version = tag.removeprefix("v")
    if tag != f"v{version}" or not re.fullmatch(
        r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version
    ):
        return [f"{tag} is no tag of a release; one looks like v0.8.0"]
    told = [
        f"{place} says {there}, the tag {version}"
        for place, there in versions(root).items()
        if there != version
    ]
    date, text = section(root, version)
    cited = re.search(
        r"^date-released: \"?([\d-]+)",
        (root / "CITATION.cff").read_text(encoding="utf-8"),
        re.M,
    )
    if not text:
        told.append(f"CHANGELOG.md says nothing below ## [{version}] - DATE")
    elif not cited or cited[1] != date:
        told.append(
            f"CHANGELOG.md dates {version} {date}, CITATION.cff {cited[1] if cited else 'not at all'}"
        )
    return told


def notes(root, tag):
    """The changelog's section for people who read it elsewhere: links to files lead to the repository at the tag."""
    urls = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]["urls"]
    there = f"{urls['Repository'].rstrip('/')}/blob/{tag}/"
    return (
        re.sub(
            r"\]\((?!https?:|#)", f"]({there}", section(root, tag.removeprefix("v"))[1]
        )
        + "\n"
    )


def main(arguments=None, root=ROOT):
    parser = argparse.ArgumentParser(description="Whether a tag may become a release.")
    parser.add_argument("tag", help="such as v0.8.0")
    parser.add_argument("--notes", type=Path, help="file for the changelog's section")
    asked = parser.parse_args(arguments)
    if told := wrong(root, asked.tag):
        print("\n".join(told), file=sys.stderr)
        return 1
    if asked.notes:
        asked.notes.parent.mkdir(parents=True, exist_ok=True)
        asked.notes.write_text(notes(root, asked.tag), encoding="utf-8")
    print(f"{asked.tag}: all agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
