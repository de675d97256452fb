"""Common sense as data: the usual places of things, as a table of head, relation, tail and weight.

The shipped tables are in data/room/. A table of your own is a CSV file with the same four columns,
or comes from ConceptNet: an extract of its assertions dump, or edges from its web API.

>>> facts = read_facts("commonsense")
>>> facts[0]
Fact(head='laptop', relation='atlocation', tail='desk', weight=3.0)
>>> usual_places(facts)["teddy bear"]
'nursery'

Source:
    Speer, Chin & Havasi (2017), ConceptNet 5.5, AAAI, for the two forms in which its facts come.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import csv_text, data_dir, read_json, write_text

RELATION = "atlocation"
AT_LOCATION = "/r/AtLocation"  # its name in ConceptNet
OWNS = "'s "  # joins a person and a thing: james's laptop
COLUMNS = ("head", "relation", "tail", "weight")
SHIPPED = ("commonsense", "elsewhere")
API = "https://api.conceptnet.io/query"


class Fact(NamedTuple):
    """A fact such as ("laptop", "atlocation", "desk", 3.0): a laptop is usually on a desk. The weight is 0 or more."""

    head: str
    relation: str
    tail: str
    weight: float


# ---------------------------------------------------------------- places of a room


def usual_places(facts: Sequence[Fact]) -> dict[str, str]:
    """Return {head: tail} of the strongest fact of each head, in order of appearance. The first of equal facts counts.

    A tail that is a head too is skipped, so that no word is both an object and a place. A head without any other tail
    is left out.

    >>> usual_places([Fact("cup", "atlocation", "sink", 9), Fact("cup", "atlocation", "table", 2),
    ...               Fact("sink", "atlocation", "kitchen", 1)])
    {'cup': 'table', 'sink': 'kitchen'}
    """
    return {fact.head: fact.tail for fact in strongest(facts, 1)}


def all_places(facts: Sequence[Fact]) -> list[str]:
    """Return all tails that aren't heads, in order of appearance, the usual places first."""
    heads = {fact.head for fact in facts}
    others = [fact.tail for fact in facts if fact.tail not in heads]
    return list(dict.fromkeys([*usual_places(facts).values(), *others]))


def strongest(
    facts: Sequence[Fact], limit: int, heads: Iterable[str] = ()
) -> list[Fact]:
    """Return the strongest facts of each head, at most `limit`, without tails that are heads here or in `heads`.

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
    """Return the facts of a shipped table, a file, or rows.

    Args:
        source: "commonsense" or "elsewhere"; a CSV file with the columns head, relation, tail, weight; an extract
            of ConceptNet's assertions dump, tab-separated, also as .gz; a JSON file {head: [edge, …]} with edges from
            its web API, or {head: {relation: [{"tail", "weight"}, …]}} as in room-env 3; or rows (head, relation,
            tail, weight).
        heads: Return only the facts of these heads; None returns all.

    From ConceptNet only English facts of the relation AtLocation are read, with spaces in place of underscores. A
    fact that occurs twice has the larger weight. Raises FileNotFoundError, or BadData if the file is faulty.
    """
    name = "commonsense"
    rows = source
    if isinstance(source, (str, Path)):
        is_shipped = source in SHIPPED
        path = data_dir() / "room" / f"{source}.csv" if is_shipped else Path(source)
        if not path.is_file():
            raise FileNotFoundError(
                f"no table of common sense at {path}; it is a file, or one of {', '.join(SHIPPED)}"
            )
        name = path.name
        try:
            rows = _read_file(path)
        except (OSError, EOFError) as error:
            right = f"the file cannot be read ({error})"
            raise BadData(Fault(name, right=right)) from error
    facts = _checked(rows, name)
    if heads is None:
        return facts
    wanted = {head.lower() for head in heads}
    return [fact for fact in facts if fact.head in wanted]


def _read_file(path):
    """Return rows of head, relation, tail and weight."""
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rt", encoding="utf-8", errors="replace") as file:
        if file.read(1) == "/":
            file.seek(0)
            return _read_dump(file, path.name)
    if path.suffix == ".json":
        return _rows_of_json(read_json(path), path.name)
    from pushlab.ground.tables import Rule, number, read_table

    some_word = Rule("a word", lambda column: column.mask(column.str.strip() == ""))
    rules = dict.fromkeys(COLUMNS, some_word)
    rules["weight"] = number(0)
    return read_table(path, rules)[list(COLUMNS)].to_numpy().tolist()


def _checked(rows, name):
    """Return the facts of rows. Raises BadData for the first fault."""
    facts = []
    for row in rows:
        try:
            head, relation, tail, weight = row
            words = (head, relation, tail)
            words = [word.replace("_", " ").strip().lower() for word in words]
            facts.append(Fact(*words, float(weight)))
        except (AttributeError, TypeError, ValueError):
            right = f"a fact with {', '.join(COLUMNS)}"
            raise BadData(Fault(name, value=repr(row), right=right)) from None
    for fact in facts:
        if OWNS in fact.head:
            right = "a thing without its owner"
            raise BadData(Fault(name, None, "head", fact.head, right))
    relations = sorted({fact.relation for fact in facts})
    if len(relations) > 1:
        right = "one relation for the whole table"
        raise BadData(Fault(name, None, "relation", ", ".join(relations), right))
    if not usual_places(facts):
        right = "there is no fact whose tail is not a head too, so there is no place"
        raise BadData(Fault(name, None, "tail", right=right))
    return facts


# ---------------------------------------------------------------- ConceptNet


def _read_dump(file, name):
    """Return rows of the assertions dump: URI, relation, start, end and JSON, separated by tabs."""
    edges = []
    for line_number, line in enumerate(file, 1):
        try:
            _, relation, start, end, about = line.split("\t")
            if relation == AT_LOCATION:
                edges.append((start, end, json.loads(about)["weight"]))
        except (ValueError, KeyError):
            right = '5 fields separated by tabs, the last JSON with a "weight"'
            raise BadData(Fault(name, line_number, None, line[:60], right)) from None
    return _rows_of_edges(edges)


def _rows_of_json(content, name):
    """Return rows of {head: [edge, …]}, or of {head: {relation: [{"tail": …, "weight": …}, …]}}."""
    edges = []
    rows = []
    for head, found in content.items():
        try:
            if isinstance(found, list):
                edges += _edges(found)
                continue
            for relation, facts in found.items():
                for fact in facts:
                    rows.append((head, relation, fact["tail"], fact["weight"]))
        except (AttributeError, KeyError, TypeError):
            value = json.dumps(found)[:60]
            right = 'a list of edges with "start", "end" and "weight", or {relation: [{"tail", "weight"}, …]}'
            raise BadData(Fault(name, None, head, value, right, "line")) from None
    return rows + _rows_of_edges(edges)


def _edges(found):
    """Return (start, end, weight) of AtLocation edges of the web API; an edge without a relation counts as one."""
    edges = []
    for edge in found:
        if edge.get("rel", {"@id": AT_LOCATION})["@id"] == AT_LOCATION:
            edges.append((edge["start"]["@id"], edge["end"]["@id"], edge["weight"]))
    return edges


def _rows_of_edges(edges):
    """Return rows of the English facts in (start, end, weight) edges; of equal facts the larger weight counts."""
    weights: dict[tuple[str, str], float] = {}
    for start, end, weight in edges:
        if start.startswith("/c/en/") and end.startswith("/c/en/"):
            # The word of /c/en/internet_cafe/n/wn/artifact is internet_cafe.
            pair = (start.split("/")[3], end.split("/")[3])
            weights[pair] = max(weight, weights.get(pair, 0.0))
    return [
        (head, RELATION, tail, weight)
        for (head, tail), weight in weights.items()
        if OWNS not in head.replace("_", " ")
    ]


def fetch_facts(heads: Iterable[str], limit: int = 20) -> list[Fact]:
    """Download facts of the given heads, at most `limit` each, from ConceptNet's web API.

    Raises:
        OSError: There is no answer from the address.
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
    return _checked(_rows_of_json(edges, name), name)


# ---------------------------------------------------------------- writing


def write_facts(facts: Sequence[Fact], path: Path | str, replace: bool = True) -> Path:
    """Write the facts as a CSV table, in their order; return the path.

    Raises:
        FileExistsError: The file exists and `replace` is False.
    """
    rows = [(*fact[:3], f"{fact.weight:g}") for fact in facts]
    return write_text(path, csv_text([COLUMNS, *rows]), replace)
