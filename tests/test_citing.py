"""What says which version this is, and how to cite it, says the same everywhere."""

import json
import re
import tomllib
from datetime import date
from itertools import pairwise
from pathlib import Path

import check_jsonschema
import jsonschema
import nbformat
import pytest
import yaml
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
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


def plain(value):
    """YAML's dates as the texts that JSON would have there."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return str(value) if isinstance(value, date) else value


def test_the_citation_is_valid():
    """By the schema that check-jsonschema ships; `make clients` asks cffconvert itself."""
    schemas = Path(check_jsonschema.__file__).parent / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "citation-file-format.json").read_text(encoding="utf-8"))
    jsonschema.validate(plain(CITATION), schema, format_checker=jsonschema.FormatChecker())


def test_the_citation_says_what_the_project_says():
    assert CITATION["version"] == PROJECT["version"]
    assert str(CITATION["date-released"]) == changes()[PROJECT["version"]][0]
    assert CITATION["license"] == PROJECT["license"]
    assert [author["name"] for author in CITATION["authors"]] == [author["name"] for author in PROJECT["authors"]]
    assert (CITATION["repository-code"], CITATION["url"]) == (REPOSITORY, PROJECT["urls"]["Homepage"])


# Of https://developers.zenodo.org/#deposit-metadata what a piece of software can have.
FIELDS = {"upload_type", "title", "creators", "description", "version", "publication_date", "access_right", "license",
          "language", "keywords", "related_identifiers", "references", "contributors", "communities", "grants", "notes"}
RELATIONS = {"isDocumentedBy", "cites", "isSupplementTo", "isDerivedFrom", "references"}


def test_zenodo_is_told_the_same_as_the_citation_in_fields_that_it_knows():
    assert set(ZENODO) <= FIELDS and (ZENODO["upload_type"], ZENODO["access_right"]) == ("software", "open")
    assert ZENODO["title"] == CITATION["title"] and ZENODO["description"] == CITATION["abstract"]
    assert ZENODO["creators"] == [{"name": author["name"]} for author in CITATION["authors"]]
    assert ZENODO["license"] == CITATION["license"].lower()             # Zenodo writes its licences small
    assert ZENODO["keywords"] == CITATION["keywords"]
    assert (ZENODO["version"], ZENODO["publication_date"]) == (CITATION["version"], str(CITATION["date-released"]))
    related = {(one["relation"], one["scheme"], one["identifier"]) for one in ZENODO["related_identifiers"]}
    assert {relation for relation, *_ in related} <= RELATIONS
    assert related == {("isDocumentedBy", "url", CITATION["url"])} | {
        ("cites", *identifier(one)) for one in CITATION["references"]}


def identifier(reference):
    """(scheme, number) of a reference of CITATION.cff, as Zenodo writes them."""
    if "doi" in reference:
        return "doi", reference["doi"]
    arxiv = reference["url"].removeprefix("https://arxiv.org/abs/")
    return ("arxiv", f"arXiv:{arxiv}") if arxiv != reference["url"] else ("url", arxiv)


def test_references_are_works_of_the_bibliography():
    works = [fields for _, fields in entries((ROOT / "docs" / "references.bib").read_text(encoding="utf-8")).values()]
    known = {(work["title"], int(work["year"]), work.get("doi") or work.get("eprint") or work.get("url"))
             for work in works}
    for one in CITATION["references"]:
        assert (one["title"], one["year"], identifier(one)[1].removeprefix("arXiv:")) in known


def entries(text):
    """The entries of some BibTeX as {key: (type, {field: value})}; braces that keep capitals are gone."""
    found = {}
    for kind, key, fields in re.findall(r"^@(\w+)\{([^,\s]+),\n(.*?)\n\}$", text, flags=re.M | re.S):
        values = re.findall(r"^\s*(\w+)\s*=\s*(.+?),?$", re.sub(r"\n\s{12,}", " ", fields), flags=re.M)
        found[key] = kind, {name: re.sub(r"[{}]", "", value) for name, value in values}
    return found


@pytest.mark.parametrize("page", ["README.md", "docs/citing.md"])
def test_bibtex_says_what_the_citation_says(page):
    kind, fields = entries((ROOT / page).read_text(encoding="utf-8"))["pushlab"]
    released = CITATION["date-released"]
    assert kind == "software" and fields == {
        "author": CITATION["authors"][0]["name"], "title": CITATION["title"], "year": str(released.year),
        "month": released.strftime("%b").lower(), "version": CITATION["version"], "url": CITATION["repository-code"]}


def test_the_page_on_citing_cites_this_version_by_names_that_exist():
    page = (ROOT / "docs" / "citing.md").read_text(encoding="utf-8")
    quoted = " ".join(line.removeprefix("> ") for line in page.splitlines() if line.startswith("> "))
    assert f"{CITATION['title']} (version {CITATION['version']}). {REPOSITORY}" in quoted
    assert set(re.findall(r"\b\d+\.\d+\.\d+\b", page)) == {CITATION["version"]}
    number, title, file = re.search(r'Notebook (\d+), "(.+?)", .*/blob/v[\d.]+/(\S+\.ipynb)', quoted).groups()
    assert nbformat.read(ROOT / file, 4).cells[0].source.splitlines()[0] == f"# {number} · {title}"


def test_no_doi_of_pushlab_is_told_before_there_is_one():
    """The first release on Zenodo brings it; then it goes into all of these, and this test goes."""
    files = [ROOT / name for name in ("README.md", "CITATION.cff", ".zenodo.json", "docs/citing.md")]
    assert "doi" not in CITATION and "identifiers" not in CITATION and "doi" not in ZENODO
    assert not [path for path in files if "zenodo.org/badge" in path.read_text(encoding="utf-8")]
