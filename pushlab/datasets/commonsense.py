"""Tables of common sense: the usual places of objects, as facts of head, relation, tail and weight.

The shipped tables are in data/room/. Your own can be a CSV file with the same four columns, an extract of ConceptNet's
assertions dump, or edges from ConceptNet's web API.

>>> facts = read_facts("commonsense")
>>> facts[0]
Fact(head='laptop', relation='atlocation', tail='desk', weight=3.0)
>>> usual_places(facts)["teddy bear"]
'nursery'

Source:
    Speer, Chin & Havasi (2017), ConceptNet 5.5, AAAI, for the dump and the web API.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pushlab.utils.files import csv_text, data_dir, read_json, write_text
from pushlab.utils.issues import BadData, DataIssue

RELATION = "atlocation"
AT_LOCATION = "/r/AtLocation"  # the relation in ConceptNet
POSSESSIVE = "'s "  # between an owner and an object: james's laptop
COLUMNS = ("head", "relation", "tail", "weight")
SHIPPED = ("commonsense", "elsewhere")
API = "https://api.conceptnet.io/query"


class Fact(NamedTuple):
    """A fact such as ("laptop", "atlocation", "desk", 3.0): a laptop is usually on a desk.

    The weight is 0 or more.
    """

    head: str
    relation: str
    tail: str
    weight: float


# ---------------------------------------------------------------- places of a room


def usual_places(facts: Sequence[Fact]) -> dict[str, str]:
    """Return {head: tail} of the strongest fact of each head, in order of appearance.

    Of equally strong facts the first counts. Tails that are heads too are skipped, so that no word is both an object
    and a place. Heads without another tail are left out.

    >>> usual_places([Fact("cup", "atlocation", "sink", 9), Fact("cup", "atlocation", "table", 2),
    ...               Fact("sink", "atlocation", "kitchen", 1)])
    {'cup': 'table', 'sink': 'kitchen'}
    """
    return {fact.head: fact.tail for fact in strongest_facts(facts, 1)}


def all_places(facts: Sequence[Fact]) -> list[str]:
    """Return all tails that aren't heads: first the usual places, then the others in order of appearance."""
    heads = {fact.head for fact in facts}
    places = [fact.tail for fact in facts if fact.tail not in heads]
    return list(dict.fromkeys([*usual_places(facts).values(), *places]))


def strongest_facts(
    facts: Sequence[Fact], limit: int, heads: Iterable[str] = ()
) -> list[Fact]:
    """Return the strongest facts of each head, at most `limit`.

    Facts are left out if their tail is a head of another fact or one of `heads`.

    >>> strongest_facts([Fact("cup", "atlocation", "sink", 2), Fact("cup", "atlocation", "table", 1)], 1, ["sink"])
    [Fact(head='cup', relation='atlocation', tail='table', weight=1)]
    """
    by_head: dict[str, list[Fact]] = {fact.head: [] for fact in facts}
    excluded = {*heads, *by_head}
    for fact in sorted(facts, key=lambda fact: -fact.weight):
        selected = by_head[fact.head]
        if fact.tail not in excluded and len(selected) < limit:
            selected.append(fact)
    return list(chain.from_iterable(by_head.values()))


# ---------------------------------------------------------------- reading


def read_facts(source: Any, heads: Iterable[str] | None = None) -> list[Fact]:
    """Return the facts of a shipped table, a file, or rows.

    Args:
        source: One of:

            - "commonsense" or "elsewhere", the shipped tables
            - a CSV file with the columns head, relation, tail, weight
            - an extract of ConceptNet's assertions dump, tab-separated, also as .gz
            - a JSON file {head: [edge, …]} with edges from its web API, or
              {head: {relation: [{"tail", "weight"}, …]}} as in room-env 3
            - rows (head, relation, tail, weight)

        heads: Return the facts of these heads only; None returns all.

    From ConceptNet only English facts of the relation AtLocation are read. Underscores become spaces. If a fact occurs
    twice, the larger weight counts.

    Raises:
        OSError: The file doesn't exist or can't be read.
        BadData: The file has an issue; the message describes it.
    """
    name = "commonsense"
    rows = source
    if isinstance(source, (str, Path)):
        is_shipped = source in SHIPPED
        path = data_dir() / "room" / f"{source}.csv" if is_shipped else Path(source)
        if not path.is_file():
            raise FileNotFoundError(
                f"there is no file {str(path)!r}; pass a file, or the name of a shipped table: {', '.join(SHIPPED)}"
            )
        name = path.name
        rows = _read_file(path)
    facts = _validate_facts(rows, name)
    if heads is None:
        return facts
    selected = {head.lower() for head in heads}
    return [fact for fact in facts if fact.head in selected]


def _read_file(path):
    """Return the rows of a file: head, relation, tail and weight."""
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rt", encoding="utf-8", errors="replace") as file:
        if file.read(1) == "/":
            file.seek(0)
            return _read_dump(file, path.name)
    if path.suffix == ".json":
        return _json_rows(read_json(path), path.name)
    from pushlab.utils.tables import ColumnRule, number_rule, read_table

    not_blank = ColumnRule(
        "a word", lambda column: column.mask(column.str.strip() == "")
    )
    rules = dict.fromkeys(COLUMNS, not_blank)
    rules["weight"] = number_rule(0)
    return read_table(path, rules)[list(COLUMNS)].to_numpy().tolist()


def _validate_facts(rows, name):
    """Return the facts in rows; raise BadData for the first issue. `name` is the file's name for messages."""
    facts = []
    for row in rows:
        try:
            head, relation, tail, weight = row
            words = []
            for word in (head, relation, tail):
                words.append(word.replace("_", " ").strip().lower())
            facts.append(Fact(*words, float(weight)))
        except (AttributeError, TypeError, ValueError):
            valid_values = f"a fact with {', '.join(COLUMNS)}"
            raise BadData(
                DataIssue(name, value=repr(row), valid_values=valid_values)
            ) from None
    relations = sorted({fact.relation for fact in facts})
    if len(relations) > 1:
        valid_values = "one relation for the whole table"
        raise BadData(
            DataIssue(name, None, "relation", ", ".join(relations), valid_values)
        )
    if not usual_places(facts):
        valid_values = "the table has no places: every tail is also a head"
        raise BadData(DataIssue(name, None, "tail", valid_values=valid_values))
    return facts


# ---------------------------------------------------------------- ConceptNet


def _read_dump(file, name):
    """Return the rows of the assertions dump, whose lines are URI, relation, start, end and JSON."""
    edges = []
    for line_number, line in enumerate(file, 1):
        try:
            _, relation, start, end, details = line.split("\t")
            if relation == AT_LOCATION:
                edges.append((start, end, json.loads(details)["weight"]))
        except (ValueError, KeyError):
            valid_values = '5 fields separated by tabs, the last JSON with a "weight"'
            raise BadData(
                DataIssue(name, line_number, None, line[:60], valid_values)
            ) from None
    return _edge_rows(edges)


def _json_rows(content, name):
    """Return the rows of {head: [edge, …]}, or of {head: {relation: [{"tail": …, "weight": …}, …]}}."""
    edges = []
    rows = []
    for head, value in content.items():
        try:
            if isinstance(value, list):
                edges += _location_edges(value)
                continue
            for relation, facts in value.items():
                for fact in facts:
                    rows.append((head, relation, fact["tail"], fact["weight"]))
        except (AttributeError, KeyError, TypeError):
            excerpt = json.dumps(value)[:60]
            valid_values = 'a list of edges with "start", "end" and "weight", or {relation: [{"tail", "weight"}, …]}'
            raise BadData(
                DataIssue(name, None, head, excerpt, valid_values, "line")
            ) from None
    return rows + _edge_rows(edges)


def _location_edges(edges):
    """Return (start, end, weight) of the web API's edges with the relation AtLocation or without a relation."""
    rows = []
    for edge in edges:
        if edge.get("rel", {"@id": AT_LOCATION})["@id"] == AT_LOCATION:
            start = edge["start"]["@id"]
            end = edge["end"]["@id"]
            rows.append((start, end, edge["weight"]))
    return rows


def _edge_rows(edges):
    """Return the rows of the English facts in edges (start, end, weight); of equal facts the larger weight counts."""
    weights: dict[tuple[str, str], float] = {}
    for start, end, weight in edges:
        if start.startswith("/c/en/") and end.startswith("/c/en/"):
            # /c/en/internet_cafe/n/wn/artifact is the word internet_cafe.
            pair = (start.split("/")[3], end.split("/")[3])
            weights[pair] = max(weight, weights.get(pair, 0.0))
    return [
        (head, RELATION, tail, weight)
        for (head, tail), weight in weights.items()
        if POSSESSIVE not in head.replace("_", " ")
    ]


def fetch_facts(heads: Iterable[str], limit: int = 20) -> list[Fact]:
    """Download the facts of these heads from ConceptNet's web API, at most `limit` for each head.

    Raises:
        OSError: The server can't be reached or returns no edges.
        BadData: The edges have an issue; the message describes it.
    """
    from urllib.parse import urlencode
    from urllib.request import urlopen

    edges = {}
    for head in heads:
        term = f"/c/en/{head.replace(' ', '_')}"
        query = urlencode({"start": term, "rel": AT_LOCATION, "limit": limit})
        try:
            with urlopen(f"{API}?{query}", timeout=30) as page:
                edges[head] = json.load(page)["edges"]
        except (OSError, ValueError, KeyError) as error:
            raise OSError(
                f"no answer from {API}?{query} ({error}); a file of ConceptNet's assertions needs no network"
            ) from error
    name = "ConceptNet's web API"
    return _validate_facts(_json_rows(edges, name), name)


# ---------------------------------------------------------------- writing


def write_facts(facts: Sequence[Fact], path: Path | str, replace: bool = True) -> Path:
    """Write facts as a CSV table, in their order; return the path.

    Raises:
        FileExistsError: The file exists and `replace` is False.
    """
    rows = [(*fact[:3], f"{fact.weight:g}") for fact in facts]
    return write_text(path, csv_text([COLUMNS, *rows]), replace)
