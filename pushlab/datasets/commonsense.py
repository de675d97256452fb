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

import codecs
import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pushlab.datasets.tables import LARGEST, LONGEST, find_columns, read_rows
from pushlab.ground._old_reading import limited, opened, read_json
from pushlab.ground.faults import BadData, Fault, refuse
from pushlab.ground.files import data_dir, write_text

RELATION = "atlocation"
OWNS = "'s "  # joins a person and a thing: james's laptop
COLUMNS = ("head", "relation", "tail", "weight")
SHIPPED = ("commonsense", "elsewhere")
MOST_FAULTS = 100  # reading a long file stops after so many
LONGEST_DUMP = 16 * 2**30  # bytes of assertions, unpacked; they are read one by one
MOST_EDGES = 10**6  # the whole dump has some 30,000 of English words
API = "https://api.conceptnet.io/query"


class Fact(NamedTuple):
    """One thing that is usually so: a laptop is at location desk, with a weight above 0."""

    head: str
    relation: str
    tail: str
    weight: float


# ---------------------------------------------------------------- what a room needs of the facts


def usual_places(facts: Sequence[Fact]) -> dict[str, str]:
    """{head: tail} of the strongest fact of each head, in order of appearance; the first of equals wins.

    A tail that is itself a head is passed over, so that no word is an object and a place; so is a head that is left
    without a place.

    >>> usual_places([Fact("cup", "atlocation", "sink", 9), Fact("cup", "atlocation", "table", 2),
    ...               Fact("sink", "atlocation", "kitchen", 1)])
    {'cup': 'table', 'sink': 'kitchen'}
    """
    heads, best = {fact.head for fact in facts}, {}
    for fact in facts:
        if fact.tail not in heads and (
            fact.head not in best or fact.weight > best[fact.head].weight
        ):
            best[fact.head] = fact
    return {
        head: best[head].tail
        for head in dict.fromkeys(fact.head for fact in facts)
        if head in best
    }


def all_places(facts: Sequence[Fact]) -> list[str]:
    """Every tail that is no head, each once: first the usual ones, then the others, in order of appearance."""
    heads = {fact.head for fact in facts}
    others = (fact.tail for fact in facts if fact.tail not in heads)
    return list(dict.fromkeys([*usual_places(facts).values(), *others]))


def strongest(
    facts: Sequence[Fact], limit: int, heads: Iterable[str] = ()
) -> list[Fact]:
    """At most `limit` facts a head, the strongest, leaving out tails that are heads here or among `heads`.

    >>> strongest([Fact("cup", "atlocation", "sink", 2), Fact("cup", "atlocation", "table", 1)], 1, ["sink"])
    [Fact(head='cup', relation='atlocation', tail='table', weight=1)]
    """
    heads, kept = {*heads, *(fact.head for fact in facts)}, {}
    for fact in sorted(facts, key=lambda fact: -fact.weight):
        if fact.tail not in heads and len(kept.setdefault(fact.head, [])) < limit:
            kept[fact.head].append(fact)
    return [
        fact
        for head in dict.fromkeys(fact.head for fact in facts)
        for fact in kept.get(head, ())
    ]


# ---------------------------------------------------------------- reading


def read_facts(source: Any, heads: Iterable[str] | None = None) -> list[Fact]:
    """A list of facts from a shipped table, a file, or facts as they are; its form is told by its content.

    source  "commonsense" or "elsewhere"; a CSV file with the columns head, relation, tail, weight; a piece of
            ConceptNet's assertions dump, tab-separated, also with .gz; a JSON file with answers of its web API, or
            {head: [edge, …]}, or {head: {relation: [{"tail", "weight"}, …]}} as room-env 3 keeps it; or rows of four
    heads   keep only the facts of these heads; None keeps all

    Of ConceptNet only English facts of the relation AtLocation are kept, the larger weight where one is there twice,
    and words are written with blanks. Raises FileNotFoundError, or BadData with every fault of the file.
    """
    if isinstance(source, (str, Path)):
        path = (
            data_dir() / "room" / f"{source}.csv" if source in SHIPPED else Path(source)
        )
        if not path.is_file():
            raise FileNotFoundError(
                f"no table of common sense at {path}; it is a file, or one of {', '.join(SHIPPED)}"
            )
        with opened(path, LONGEST_DUMP, links=True) as packed:
            file = (
                limited(gzip.GzipFile(fileobj=packed), LONGEST_DUMP, path.name)
                if path.suffix == ".gz"
                else packed
            )
            try:
                start = file.peek(4).removeprefix(codecs.BOM_UTF8)[:1]
                read = {b"{": _read_json, b"[": _read_json, b"/": _read_dump}.get(
                    start, _read_table
                )
                facts = read(
                    file if read is _read_dump else limited(file, LARGEST, path.name),
                    path.name,
                )
            except (OSError, EOFError, zlib.error) as error:
                raise BadData(
                    Fault(path.name, right=f"the file cannot be unpacked ({error})")
                ) from error
    else:
        facts = _check([(None, tuple(row)) for row in source], "commonsense")
    wanted = None if heads is None else {head.lower() for head in heads}
    return [fact for fact in facts if wanted is None or fact.head in wanted]


def _read_table(file, name):
    """Facts of a CSV table."""
    header, rows, lines, faults = read_rows(file, name)
    header = [column.strip().lower() for column in header]
    wrong = find_columns(header, {column: [column] for column in COLUMNS}, (), name)[1]
    if wrong:
        raise BadData([*wrong, *faults])
    return _check(
        [
            (line, [row[header.index(column)] for column in COLUMNS])
            for line, row in zip(lines, rows)
        ],
        name,
        faults,
    )


def _check(rows, name, faults=()):
    """The facts of (line, row) pairs; BadData lists every fault, those found before among them."""
    facts, faults, seen = [], list(faults), set()
    for line, row in rows:
        found = _faults_of(row, name, line)
        if not found:
            head, relation, tail = (str(word).strip().lower() for word in row[:3])
            if (head, relation, tail) in seen:
                found = [
                    Fault(
                        name,
                        line,
                        None,
                        f"{head},{relation},{tail}",
                        "a fact of its own (it is there twice)",
                    )
                ]
            seen.add((head, relation, tail))
            facts.append(Fact(head, relation, tail, float(row[3])))
        faults += found
    if not rows and not faults:
        faults.append(Fault(name, right="there are no facts in it"))
    if len({fact.relation for fact in facts}) > 1:
        told = ", ".join(sorted({fact.relation for fact in facts}))
        faults.append(
            Fault(name, None, "relation", told, "one relation for the whole table")
        )
    if not faults and not usual_places(facts):
        faults.append(
            Fault(
                name,
                column="tail",
                right="every tail is a head too, so that no place is left",
            )
        )
    refuse(faults)
    return facts


def _faults_of(row, name, line):
    if len(row) != 4:
        return [
            Fault(
                name,
                line,
                right=f"the row has {len(row)} fields; a fact has {', '.join(COLUMNS)}",
            )
        ]
    faults = []
    for column, value in zip(COLUMNS[:3], row):
        word = str(value).strip()
        if not word or not word.isprintable() or "\ufffd" in word:
            faults.append(
                Fault(name, line, column, str(value), "a printable word in UTF-8")
            )
        elif column == "head" and OWNS in word:
            faults.append(
                Fault(name, line, column, str(value), "a thing without its owner")
            )
    try:
        right = 0 < float(row[3]) < math.inf
    except (TypeError, ValueError, OverflowError):
        right = False
    return (
        faults
        if right
        else [*faults, Fault(name, line, "weight", str(row[3]), "a number above 0")]
    )


# ---------------------------------------------------------------- ConceptNet


def _read_dump(file, name):
    """Facts of the assertions dump: URI, relation, start, end and JSON, separated by tabs; read line by line."""
    edges, faults = [], []
    for number, line in enumerate(iter(partial(file.readline, LONGEST), b""), 1):
        fields = (
            line.decode("utf-8-sig" if number == 1 else "utf-8", "replace")
            .rstrip("\r\n")
            .split("\t")
        )
        if len(fields) != 5 or not fields[0].startswith("/a/"):
            right = f"an assertion is 5 fields separated by tabs, the first beginning with /a/; here are {len(fields)}"
            faults.append(Fault(name, number, right=right))
        elif fields[1] == "/r/AtLocation":
            try:
                edges.append(
                    (
                        fields[2],
                        fields[3],
                        float(read_json(fields[4].encode())["weight"]),
                    )
                )
            except (ValueError, KeyError, TypeError):
                faults.append(
                    Fault(
                        name, number, "5", fields[4][:60], 'JSON with a number "weight"'
                    )
                )
        if len(faults) >= MOST_FAULTS or len(edges) > MOST_EDGES:
            break
    if len(edges) > MOST_EDGES:
        faults.append(
            Fault(
                name,
                right=f"there are more than {MOST_EDGES:,} assertions of AtLocation",
            )
        )
    return _facts_of(edges, faults, name)


def _read_json(file, name):
    """Facts of answers of the web API, or in the form {head: {relation: [{"tail": …, "weight": …}, …]}}."""
    content, faults = read_json(file.read(), LARGEST, (dict, list), name), []
    if isinstance(content, dict) and "edges" not in content:
        if all(isinstance(part, dict) for part in content.values()):
            return _read_release(content, name)
        content = list(content.values())
    edges = [_edge(edge, name, faults) for edge in _flat(content)]
    return _facts_of([edge for edge in edges if edge], faults, name)


def _flat(content):
    """The edges in an answer {"edges": […]}, or in lists of answers or edges."""
    if isinstance(content, list):
        return [edge for part in content for edge in _flat(part)]
    if isinstance(content, dict) and "edges" in content:
        return _flat(content["edges"])
    return [content]


def _edge(edge, name, faults):
    """(start, end, weight) of an edge as the web API writes it; None for another relation or where it is faulty."""
    try:
        relation = edge.get("rel", {}).get("@id", "/r/AtLocation")
        ends = [edge[end].get("term") or edge[end]["@id"] for end in ("start", "end")]
        if not all(isinstance(term, str) for term in ends):
            raise TypeError
        return (*ends, float(edge["weight"])) if relation == "/r/AtLocation" else None
    except (AttributeError, KeyError, TypeError, ValueError):
        right = 'an edge with "start" and "end", each with "@id", and "weight"'
        faults.append(Fault(name, value=json.dumps(edge)[:60], right=right))
        return None


def _read_release(content, name):
    """Facts in the form {head: {relation: [{"tail": …, "weight": …}, …]}}."""
    try:
        rows = [
            (
                None,
                (
                    head.replace("_", " "),
                    relation,
                    found["tail"].replace("_", " "),
                    found["weight"],
                ),
            )
            for head, relations in content.items()
            for relation, tails in relations.items()
            for found in tails
        ]
    except (AttributeError, KeyError, TypeError) as error:
        raise BadData(
            Fault(name, right='expected {head: {relation: [{"tail": …, "weight": …}]}}')
        ) from error
    return _check(rows, name)


def _facts_of(edges, faults, name):
    """Facts of (start, end, weight) edges: the English ones, the larger weight where one is there twice."""
    weights = {}
    for start, end, weight in edges:
        if start.startswith("/c/en/") and end.startswith("/c/en/"):
            pair = _word(start), _word(end)
            if OWNS not in pair[0]:
                weights[pair] = max(weight, weights.get(pair, 0.0))
    refuse(faults)
    if not weights:
        raise BadData(Fault(name, right="no English fact of the relation AtLocation"))
    return _check(
        [
            (None, (head, RELATION, tail, weight))
            for (head, tail), weight in weights.items()
        ],
        name,
    )


def _word(term):
    """The word of a term: /c/en/internet_cafe/n/wn/artifact is "internet cafe"."""
    return term.split("/")[3].replace("_", " ")


def fetch_facts(
    heads: Iterable[str], limit: int = 20, opener: Callable[[str], bytes] | None = None
) -> list[Fact]:
    """Facts of the given heads from ConceptNet's web API, one question a head; needs a network.

    limit   at most so many facts a head
    opener  function from an address to bytes, for whoever has another way to the network

    Raises OSError naming the address where there is no answer.
    """
    from urllib.parse import urlencode
    from urllib.request import urlopen

    def answer(address):
        with urlopen(address, timeout=30) as page:
            return page.read(LARGEST + 1)

    answers = []
    for head in heads:
        term = f"/c/en/{head.replace(' ', '_')}"
        address = f"{API}?{urlencode({'start': term, 'rel': '/r/AtLocation', 'limit': limit})}"
        try:
            answers.append(
                read_json((opener or answer)(address), LARGEST, name=address)
            )
        except OSError as error:
            raise OSError(
                f"no answer from {address} ({error}); a file of ConceptNet's assertions needs no network"
            ) from error
    return _read_json(io.BytesIO(json.dumps(answers).encode()), "ConceptNet's web API")


# ---------------------------------------------------------------- writing


def write_facts(facts: Sequence[Fact], path: Path | str, replace: bool = True) -> Path:
    """Writes the facts as a CSV table, the strongest of each head first; whole or not at all, as `write_text` does."""
    order = {
        head: place
        for place, head in enumerate(dict.fromkeys(fact.head for fact in facts))
    }
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for fact in sorted(facts, key=lambda fact: (order[fact.head], -fact.weight)):
        writer.writerow([*fact[:3], f"{fact.weight:g}"])
    return write_text(path, text.getvalue(), replace)
