#!/usr/bin/env python3
"""Check that a tag can be released: it agrees with all files that have the version, and the changelog has its section.

python .ci/release.py v1.2.3                     list all disagreements (exit code 1), or confirm that there are none
python .ci/release.py v1.2.3 --set               before, write version and date into all files, and begin the section
python .ci/release.py v1.2.3 --notes notes.md    and write the section, with links to the tag
"""

import argparse
import json
import re
import sys
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TAG = re.compile(r"v\d+\.\d+\.\d+((a|b|rc)\d+)?")


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


def set_version(root, version, day):
    """Write a version and its date into all files that have them, and begin the changelog's section."""
    files = versions(root)
    old = files["pyproject.toml"]
    year, month = f"{day:%Y}", f"{day:%b}".lower()
    patterns = {
        rf"(?<![\d.]){re.escape(old)}(?!\.?\d)": version,
        r"(?<=^date-released: ).*": f"{day}",
        r'(?<="publication_date": ")[^"]*': f"{day}",
        r"(?<=^  year    = \{)\d+": year,
        r"(?<=^  month   = )\w+": month,
        r"(?<=last minor version \()[\d.]+": version.rpartition(".")[0],
    }
    pages = ["README.md", "SECURITY.md", "docs/binder.md", "docs/citing.md"]
    paths = [root / name for name in [*files, *pages]]
    for path in [*paths, *(root / "notebooks").glob("[0-9]*.ipynb")]:
        text = path.read_text(encoding="utf-8")
        if path.name == "CHANGELOG.md":
            heading = "## [Unreleased]\n"
            text = text.replace(heading, f"{heading}\n## [{version}] - {day}\n", 1)
            links = rf"[Unreleased]: \1v{version}...HEAD\n[{version}]: \1v{old}...v{version}"
            text = re.sub(r"^\[Unreleased\]: (.*/)v.*", links, text, flags=re.M)
        else:
            for pattern, value in patterns.items():
                text = re.sub(pattern, value, text, flags=re.M)
        path.write_text(text, encoding="utf-8", newline="\n")


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
    if not TAG.fullmatch(tag):
        return [f"{tag} is not the tag of a release, such as v1.2.3"]
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
    parser.add_argument("tag", help="such as v1.2.3")
    parser.add_argument("--set", action="store_true", help="write the version")
    parser.add_argument("--notes", type=Path, help="file for the changelog's section")
    options = parser.parse_args(arguments)
    version = options.tag.removeprefix("v")
    is_new = TAG.fullmatch(options.tag) and version not in versions(root).values()
    if options.set and is_new:
        set_version(root, version, date.today())
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
