"""What says which version this is, and how to cite it, says the same everywhere."""

import re
import tomllib
from datetime import date
from itertools import pairwise
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = "https://github.com/pushlab/pushlab"
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def changes():
    """The changelog as {version or "Unreleased": (date or "", [kind, ...], [text of each kind, ...])}, as it stands."""
    found = {}
    for section in re.split(r"^## ", CHANGES, flags=re.M)[1:]:
        heading, _, text = section.partition("\n")
        version, day = re.fullmatch(r"\[([\w.]+)\](?: - (\S+))?", heading).groups(default="")
        assert version not in found, f"{version} stands there twice"
        before, *parts = re.split(r"^### (.+)\n", re.split(r"^\[[\w.]+\]: ", text, flags=re.M)[0], flags=re.M)
        assert before.strip() == "", f"{version}: what stands under no kind: {before}"
        found[version] = day, parts[::2], [part.strip() for part in parts[1::2]]
    return found


def test_the_changelog_keeps_the_form_of_keep_a_changelog():
    assert CHANGES.startswith("# Changelog\n") and "https://keepachangelog.com/en/1.1.0/" in CHANGES
    assert set(re.findall(r"^#+ ", CHANGES, flags=re.M)) == {"# ", "## ", "### "}
    for version, (_, kinds, texts) in changes().items():
        assert kinds and kinds == [kind for kind in KINDS if kind in kinds], f"{version}: {kinds}"
        assert all(text.startswith("- ") for text in texts), f"{version}: a kind without a thing"
        for line in "\n".join(texts).splitlines():
            assert line == "" or line.startswith(("- ", "  ")), f"{version}: {line}"


def test_versions_descend_to_the_one_that_this_is_and_their_dates_with_them():
    released = {version: day for version, (day, *_) in changes().items() if version != "Unreleased"}
    assert list(changes())[-len(released):] == list(released), "what is not released yet stands on top"
    assert list(released)[0] == PROJECT["version"]
    for newer, older in pairwise(released):
        assert Version(newer) > Version(older)
        assert date.fromisoformat(released[newer]) >= date.fromisoformat(released[older])


def test_each_version_is_a_link_to_what_changed_since_the_one_before():
    links = dict(re.findall(r"^\[([\w.]+)\]: (\S+)$", CHANGES, flags=re.M))
    versions = list(changes())
    expected = {versions[-1]: f"{REPOSITORY}/releases/tag/v{versions[-1]}"}
    for newer, older in pairwise(versions):
        end = "HEAD" if newer == "Unreleased" else f"v{newer}"
        expected[newer] = f"{REPOSITORY}/compare/v{older}...{end}"
    assert links == expected
