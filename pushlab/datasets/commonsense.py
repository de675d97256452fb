"""Common sense as data: where things usually are, as a table of head, relation, tail and weight.

The tables that come with pushlab lie under data/room/. A table of one's own is a CSV file with the same four columns,
or is made from ConceptNet: from a piece of its assertions dump, or from answers of its web API.

>>> facts = read_facts("commonsense")
>>> facts[0]
Fact(head='laptop', relation='atlocation', tail='desk', weight=3.0)
>>> usual_places(facts)["teddy bear"]
'nursery'

Source  Speer, Chin & Havasi (2017), ConceptNet 5.5, AAAI, for the two forms in which its facts come.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pushlab.ground.faults import BadData, Fault, refuse
from pushlab.ground.files import data_dir, write_text
from pushlab.ground.reading import read_json

RELATION = "atlocation"
OWNS = "'s "  # joins a person and a thing: james's laptop
COLUMNS = ("head", "relation", "tail", "weight")
SHIPPED = ("commonsense", "elsewhere")
API = "https://api.conceptnet.io/query"


class Fact(NamedTuple):
    """A fact of common sense, such as: a laptop is at location desk. The weight is above 0."""

    head: str
    relation: str
    tail: str
    weight: float


# ---------------------------------------------------------------- places of a room


def usual_places(facts: Sequence[Fact]) -> dict[str, str]:
    """Return {head: tail} of the strongest fact of each head, in order of appearance; the first of equals wins.

    A tail that is itself a head is passed over, so that no word is an object and a place. A head without another tail
    is left out.

    >>> usual_places([Fact("cup", "atlocation", "sink", 9), Fact("cup", "atlocation", "table", 2),
    ...               Fact("sink", "atlocation", "kitchen", 1)])
    {'cup': 'table', 'sink': 'kitchen'}
    """
    return {fact.head: fact.tail for fact in strongest(facts, 1)}


def all_places(facts: Sequence[Fact]) -> list[str]:
    """Return every tail that is no head, once: first the usual ones, then the others, in order of appearance."""
    heads = {fact.head for fact in facts}
    others = [fact.tail for fact in facts if fact.tail not in heads]
    return list(dict.fromkeys([*usual_places(facts).values(), *others]))


def strongest(
    facts: Sequence[Fact], limit: int, heads: Iterable[str] = ()
) -> list[Fact]:
    """Return at most `limit` facts a head, the strongest, without tails that are heads here or among `heads`.

    >>> strongest([Fact("cup", "atlocation", "sink", 2), Fact("cup", "atlocation", "table", 1)], 1, ["sink"])
    [Fact(head='cup', relation='atlocation', tail='table', weight=1)]
    """
    by_head: dict[str, list[Fact]] = {fact.head: [] for fact in facts}
    excluded = {*heads, *by_head}
    for fact in sorted(facts, key=lambda fact: -fact.weight):
        own = by_head[fact.head]
        if fact.tail not in excluded and len(own) < limit:
            own.append(fact)
    return [fact for own in by_head.values() for fact in own]


# ---------------------------------------------------------------- reading


def read_facts(source: Any, heads: Iterable[str] | None = None) -> list[Fact]:
    """Return the facts of a shipped table, a file, or rows of four; the content of a file shows its form.

    Args:
        source: "commonsense" or "elsewhere"; a CSV file with the columns head, relation, tail, weight; a piece of
            ConceptNet's assertions dump, tab-separated, also as .gz; a JSON file with answers of its web API, or
            {head: [edge, …]}, or {head: {relation: [{"tail", "weight"}, …]}} as in room-env 3; or rows of four.
        heads: Return only the facts of these heads; None returns all.

    Of ConceptNet only English facts of the relation AtLocation are read, with blanks in words, and the larger weight
    of a fact that is there twice. Raises FileNotFoundError, or BadData with every fault of the file.
    """
    if isinstance(source, (str, Path)):
        is_shipped = source in SHIPPED
        path = data_dir() / "room" / f"{source}.csv" if is_shipped else Path(source)
        if not path.is_file():
            raise FileNotFoundError(
                f"no table of common sense at {path}; it is a file, or one of {', '.join(SHIPPED)}"
            )
        try:
            facts = _read_file(path)
        except (OSError, EOFError, csv.Error) as error:
            right = f"the file cannot be read ({error})"
            raise BadData(Fault(path.name, right=right)) from error
    else:
        facts = _checked([(None, row) for row in source], "commonsense")
    if heads is None:
        return facts
    wanted = {head.lower() for head in heads}
    return [fact for fact in facts if fact.head in wanted]


def _read_file(path):
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rt", encoding="utf-8-sig", errors="replace") as file:
        first = file.read(1)
        file.seek(0)
        if first == "/":
            return _read_dump(file, path.name)
        if first not in ("{", "["):
            return _read_table(file, path.name)
    return _facts_of_json(read_json(path, object), path.name)


def _read_table(file, name):
    rows = csv.DictReader(file)
    rows.fieldnames = [column.strip().lower() for column in rows.fieldnames or ()]
    refuse(
        Fault(name, 1, column, right="the column is missing")
        for column in COLUMNS
        if column not in rows.fieldnames
    )
    facts = []
    for row in rows:
        cells = [row[column] for column in COLUMNS if row[column] is not None]
        facts.append((rows.line_num, cells))
    return _checked(facts, name)


def _checked(rows, name):
    """Return the facts of (line, row) pairs. Raises BadData that lists every fault."""
    facts = []
    faults = []
    for line, row in rows:
        try:
            facts.append(_fact(row))
        except ValueError as error:
            faults.append(Fault(name, line, *error.args))
    relations = sorted({fact.relation for fact in facts})
    if len(relations) > 1:
        right = "one relation for the whole table"
        faults.append(Fault(name, None, "relation", ", ".join(relations), right))
    refuse(faults)
    if not usual_places(facts):
        right = (
            "there is no fact whose tail is not a head too, so that there is no place"
        )
        raise BadData(Fault(name, column="tail", right=right))
    return facts


def _fact(row):
    """Return the Fact of a row; raise ValueError(column, value, what would be right)."""
    if len(row) != len(COLUMNS):
        raise ValueError(None, f"{row!r:.60}", f"a fact with {', '.join(COLUMNS)}")
    words = [str(word).replace("_", " ").strip().lower() for word in row[:3]]
    for column, word in zip(COLUMNS, words):
        if not word or not word.isprintable() or "\ufffd" in word:
            raise ValueError(column, word, "a printable word in UTF-8")
    if OWNS in words[0]:
        raise ValueError("head", words[0], "a thing without its owner")
    try:
        weight = float(row[3])
    except (TypeError, ValueError):
        weight = math.nan
    if not 0 < weight < math.inf:
        raise ValueError("weight", str(row[3]), "a number above 0")
    return Fact(*words, weight)


# ---------------------------------------------------------------- ConceptNet


def _read_dump(file, name):
    """Return the facts of the assertions dump: URI, relation, start, end and JSON, separated by tabs."""
    edges = []
    for number, line in enumerate(file, 1):
        try:
            _, relation, start, end, about = line.split("\t")
            if relation == "/r/AtLocation":
                edges.append((start, end, float(json.loads(about)["weight"])))
        except (ValueError, KeyError, TypeError):
            right = '5 fields separated by tabs, the last JSON with a number "weight"'
            raise BadData(Fault(name, number, None, line[:60], right)) from None
    return _facts_of_edges(edges, name)


def _facts_of_json(content, name):
    """Return the facts of answers of the web API, or of {head: {relation: [{"tail": …, "weight": …}, …]}}."""
    is_release = isinstance(content, dict) and "edges" not in content
    if is_release and all(isinstance(part, dict) for part in content.values()):
        return _facts_of_release(content, name)
    edges = []
    for edge in _edges(content):
        try:
            relation = edge.get("rel", {}).get("@id", "/r/AtLocation")
            ends = [edge["start"], edge["end"]]
            terms = [str(end.get("term") or end["@id"]) for end in ends]
            if relation == "/r/AtLocation":
                edges.append((*terms, float(edge["weight"])))
        except (AttributeError, KeyError, TypeError, ValueError):
            right = 'an edge with "start" and "end", each with "@id", and "weight"'
            value = json.dumps(edge)[:60]
            raise BadData(Fault(name, value=value, right=right)) from None
    return _facts_of_edges(edges, name)


def _edges(content):
    """Return the edges in {"edges": […]}, in {head: […]}, or in lists of those."""
    if isinstance(content, dict) and "start" not in content:
        content = content["edges"] if "edges" in content else [*content.values()]
    if isinstance(content, list):
        return [edge for part in content for edge in _edges(part)]
    return [content]


def _facts_of_release(content, name):
    """Return the facts of {head: {relation: [{"tail": …, "weight": …}, …]}}."""
    rows = []
    try:
        for head, relations in content.items():
            for relation, tails in relations.items():
                for fact in tails:
                    rows.append((None, (head, relation, fact["tail"], fact["weight"])))
    except (KeyError, TypeError):
        right = 'expected {head: {relation: [{"tail": …, "weight": …}]}}'
        raise BadData(Fault(name, right=right)) from None
    return _checked(rows, name)


def _facts_of_edges(edges, name):
    """Return the English facts of (start, end, weight) edges, the larger weight of one that is there twice."""
    weights: dict[tuple[str, str], float] = {}
    for start, end, weight in edges:
        if start.startswith("/c/en/") and end.startswith("/c/en/"):
            # The word of /c/en/internet_cafe/n/wn/artifact is internet_cafe.
            pair = (start.split("/")[3], end.split("/")[3])
            weights[pair] = max(weight, weights.get(pair, 0.0))
    rows = [
        (None, (head, RELATION, tail, weights[head, tail]))
        for head, tail in weights
        if OWNS not in head.replace("_", " ")
    ]
    if not rows:
        raise BadData(Fault(name, right="no English fact of the relation AtLocation"))
    return _checked(rows, name)


def fetch_facts(heads: Iterable[str], limit: int = 20) -> list[Fact]:
    """Return facts of the given heads, at most `limit` each, from ConceptNet's web API.

    Raises OSError that names the address if there is no answer.
    """
    from urllib.parse import urlencode
    from urllib.request import urlopen

    answers = []
    for head in heads:
        term = f"/c/en/{head.replace(' ', '_')}"
        query = urlencode({"start": term, "rel": "/r/AtLocation", "limit": limit})
        try:
            with urlopen(f"{API}?{query}", timeout=30) as page:
                answers.append(json.load(page))
        except (OSError, ValueError) as error:
            raise OSError(
                f"no answer from {API}?{query} ({error}); a file of ConceptNet's assertions needs no network"
            ) from error
    return _facts_of_json(answers, "ConceptNet's web API")


# ---------------------------------------------------------------- writing


def write_facts(facts: Sequence[Fact], path: Path | str, replace: bool = True) -> Path:
    """Write the facts as a CSV table, the strongest of each head first, as `write_text` does; return the path."""
    heads = dict.fromkeys(fact.head for fact in facts)
    order = {head: place for place, head in enumerate(heads)}
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for fact in sorted(facts, key=lambda fact: (order[fact.head], -fact.weight)):
        writer.writerow([*fact[:3], f"{fact.weight:g}"])
    return write_text(path, text.getvalue(), replace)
