#!/usr/bin/env python3
"""Check that a tag can be released: it agrees with all files that have the version, and the changelog has its section.

python .ci/release.py v0.9.0                     list all disagreements (exit code 1), or confirm that there are none
python .ci/release.py v0.9.0 --notes notes.md    and write the section, with links to the tag
"""

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def versions(root):
    """Return {file: version, or None if it has none}. The version of the changelog is that of its first section."""

    def find(name, pattern):
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.M)
        return match[1] if match else None

    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    zenodo = json.loads((root / ".zenodo.json").read_text(encoding="utf-8"))
    return {
        "pyproject.toml": pyproject["project"]["version"],
        "pushlab/__init__.py": find(
            "pushlab/__init__.py", r'^__version__ = "([^"]+)"$'
        ),
        "CITATION.cff": find("CITATION.cff", r"^version: \"?([^\"\n]+?)\"?$"),
        "CHANGELOG.md": find("CHANGELOG.md", r"^## \[(\d[^\]]*)\]"),
        ".zenodo.json": zenodo["version"],
    }


def section(root, version):
    """Return (date, text) of a version's section of the changelog, or (None, "") without one."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    match = re.search(
        rf"^## \[{re.escape(version)}\] - (\S+)\n(.*?)(?=^## |^\[[^\]]+\]: |\Z)",
        changelog,
        re.M | re.S,
    )
    return (match[1], match[2].strip()) if match else (None, "")


def problems(root, tag):
    """Return a list of messages about everything that disagrees with the tag."""
    version = tag.removeprefix("v")
    if tag != f"v{version}" or not re.fullmatch(
        r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version
    ):
        return [f"{tag} is not the tag of a release, such as v0.9.0"]
    messages = [
        f"{file} has version {actual}, the tag {version}"
        for file, actual in versions(root).items()
        if actual != version
    ]
    date, text = section(root, version)
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    match = re.search(r"^date-released: \"?([\d-]+)", citation, re.M)
    cited_date = match and match[1]
    if not text:
        messages.append(f"CHANGELOG.md has no text below ## [{version}] - DATE")
    elif cited_date != date:
        messages.append(
            f"CHANGELOG.md has the date {date} for {version}, CITATION.cff {cited_date}"
        )
    return messages


def notes(root, tag):
    """Return the changelog's section with links to the files of the repository at the tag."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    repository = pyproject["project"]["urls"]["Repository"].rstrip("/")
    _, text = section(root, tag.removeprefix("v"))
    return re.sub(r"\]\((?!https?:|#)", f"]({repository}/blob/{tag}/", text) + "\n"


def main(arguments=None, root=ROOT):
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(description="Check that a tag can be released.")
    parser.add_argument("tag", help="such as v0.9.0")
    parser.add_argument("--notes", type=Path, help="file for the changelog's section")
    options = parser.parse_args(arguments)
    if messages := problems(root, options.tag):
        print("\n".join(messages), file=sys.stderr)
        return 1
    if options.notes:
        options.notes.parent.mkdir(parents=True, exist_ok=True)
        options.notes.write_text(notes(root, options.tag), encoding="utf-8")
    print(f"{options.tag}: all files agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
