"""What to cite: docs/references.bib as lines of a page, and as BibTeX that can be copied."""

import re
import unicodedata
from functools import cache

from extensions.docstrings import ROOT

BIBLIOGRAPHY = ROOT / "docs" / "references.bib"
ACCENTS = {
    '"': "\N{COMBINING DIAERESIS}",
    "'": "\N{COMBINING ACUTE ACCENT}",
    "`": "\N{COMBINING GRAVE ACCENT}",
    "c ": "\N{COMBINING CEDILLA}",
}


@cache
def references():
    """The entries of the bibliography: {key: its fields, "type", "text" (BibTeX) and "for" (pages)}.

    The pages on which an entry is cited are its keywords, which are ours: the BibTeX is without them.
    """
    found = {}
    for entry in re.findall(
        r"^@\w+\{.*?^\}", BIBLIOGRAPHY.read_text("utf-8"), re.MULTILINE | re.DOTALL
    ):
        kind, key = re.match(r"@(\w+)\{([^,]+),", entry).groups()
        fields = {
            name.lower(): " ".join(value.split())
            for name, value in re.findall(
                r"^ {2}(\w+) *= *\{(.*?)\},?$(?=\n {2}\w|\n\})",
                entry,
                re.MULTILINE | re.DOTALL,
            )
        }
        text = re.sub(r",?\n {2}keywords *= *\{[^}]*\}", "", entry)
        found[key] = {
            **fields,
            "type": kind,
            "text": text,
            "for": fields.pop("keywords", "").split(", "),
        }
    return found


def plain(value):
    """A field without LaTeX: letters with their accents, no brackets, dashes between numbers."""
    value = re.sub(
        r"\{\\([\"'`]|c )(\w)\}",
        lambda accent: unicodedata.normalize("NFC", accent[2] + ACCENTS[accent[1]]),
        value,
    )
    return re.sub(r"[{}]", "", value).replace("--", "\N{EN DASH}")


def cited(entry):
    """A reference in a line of Markdown: who, when, what, where."""
    told = {
        name: plain(value)
        for name, value in entry.items()
        if isinstance(value, str) and name != "text"
    }
    people = [
        " ".join(reversed(one.split(", "))) for one in told["author"].split(" and ")
    ]
    if len(people) > 4:
        people = [*people[:3], "others"]
    who = (
        people[0] if len(people) == 1 else ", ".join(people[:-1]) + " and " + people[-1]
    )
    where = next(
        (
            told[name]
            for name in ("journal", "booktitle", "publisher", "howpublished")
            if name in told
        ),
        "",
    )
    number = told.get("volume", "") + (
        f"({told['number']})" if "number" in told else ""
    )
    where = ", ".join(filter(None, [f"{where} {number}".strip(), told.get("pages")]))
    link = (
        f"[doi:{told['doi']}](https://doi.org/{told['doi']})"
        if "doi" in told
        else f"[arXiv:{told['eprint']}](https://arxiv.org/abs/{told['eprint']})"
        if "eprint" in told
        else f"<{told['url']}>"
        if "url" in told
        else ""
    )
    parts = (
        f"{who} ({told['year']})",
        f"*{told['title']}*",
        where,
        link,
        told.get("note"),
    )
    return ". ".join(filter(None, parts)) + "."


def to_cite(page, what):
    """The part of a page that says what to cite, with the BibTeX of each entry; nothing where there is nothing."""
    entries = [entry for entry in references().values() if page in entry["for"]]
    if not entries:
        return []
    lines = [
        "## To cite",
        "",
        f"{what}: [pushlab](../citing.md), with the version you used. What it is taken from:",
        "",
        *(f"- {cited(entry)}" for entry in entries),
    ]
    return [
        *lines,
        "",
        "```bibtex",
        "\n\n".join(entry["text"] for entry in entries),
        "```",
        "",
    ]
