"""Numbers in the text of the notebooks, and where each of them comes from.

    python tests/notebooks/prose.py [NAME ...]      propose sources for the numbers that have none; all notebooks
                                                    when no name is given. Or: make numbers NAMES="…"

A text cell lists its numbers in `metadata["numbers"]`: the number as it is written, and its source. A number that is
written k times has a list of k sources, in the order of the text.

    "output"                   a text output of this notebook gives it, rounded to the digits that are written
    "output: WORDS"            the same, in a line that holds these words: what the command below proposes
    "notebook NAME: WORDS"     the same, in the saved outputs of another notebook
    "code"                     a numeric literal in a code cell of this notebook
    "solution", "solution: WORDS"   as "output", in what the exercise prints when its solution stands in its place
    "= EXPRESSION"             arithmetic: numbers, + - * / **, sqrt, log, exp
    "data FILE: EXPRESSION"    of t, the table data/FILE; np and pd are there too
    "constant MODULE: EXPRESSION"   of the names of a module of pushlab
    "source: …"                a paper and its table, not checked
    "text: …"                  why it is no result (a convention, an example, a count of what the sentence names)

What counts as a number is said by `numbers_in`, and what it takes to give one by `Number.given_by`.
"""

import argparse
import ast
import bisect
import functools
import importlib
import math
import operator
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
UNITS = {"%": 0.01, "percent": 0.01, "per cent": 0.01, "thousand": 1e3, "million": 1e6, "billion": 1e9}
DOWNWARDS = re.compile(
    r"\b(f[ae]lls?|fall(en|ing)|drop\w*|los[est]+\w*|low\w*|less|fewer|below|under|behind|worse|down|minus|short\w*|"
    r"reduc\w*|shrinks?|sav(es|ed|ing)|costs?|gives? up|gave up)\b", re.IGNORECASE)
ROUGHLY = re.compile(r"\b(about|around|roughly|nearly|almost|some|hardly|over|than)\s*$", re.IGNORECASE)
# Numbers that are conventions wherever they stand, and what may be said of them.
CONVENTIONS = (
    (re.compile(r"^(90|95|99) ?%$"), re.compile(r"interval|bar|band|confiden|level|median|middle|bootstrap"),
     "text: the level of an interval"),
    (re.compile(r"^20[012]\d$"), re.compile(r"challenge", re.IGNORECASE), "text: a year"),
)

# What is no number of the text, in the order in which it is taken out.
LEFT_OUT = [re.compile(pattern, flags) for pattern, flags in (
    (r"^\*\*Sources?\*\*.*", re.MULTILINE | re.DOTALL),
    (r"^&nbsp; \d+ minutes to read and run, \d+ for the exercises;.*", re.MULTILINE),
    (r"^\*\d+ points?, about \d+ minutes\*", re.MULTILINE),              # below the heading of an exercise
    (r"^[ >]*(```|~~~).*?^[ >]*\1", re.MULTILINE | re.DOTALL),          # fences
    (r"(`+)[^`].*?\1", re.DOTALL),                                      # code spans
    (r"(?<=\])\([^)\s]*\)", 0),                                         # where a link or a picture leads
    (r"https?://[^\s)>]+", 0),
    (r"</?[a-zA-Z][^>]*>|<!--.*?-->|&#?\w+;", re.DOTALL),               # HTML
    (r"^#+ +\d+(?= ·)|^\s*\d+\.(?=\s)|(?<=\[)\d+(?= ·)", re.MULTILINE),  # "# 4 ·", "1. " in a list, "[4 · …](…)"
    (r"\b(notebook|exercise|challenge|table|figure|chapter|section|equation|step)s?[ \u00a0]+\d+(?!\.?\d|,\d)"
     r"((, | and | or | to |–)\d+\b(?! ?%))*", re.IGNORECASE),
    (r"\((?:[^\W\d_][^()\d]*[ ,])?(?:1[5-9]|20)\d\d[a-z]?(?:[,;][^()\d]*(?:1[5-9]|20)\d\d[a-z]?)*\)", 0),  # (Ng, 2004)
    (r"[^\W\d]\w*\d\w*(?:[-./]\w+)*|[^\W\d_]\w*-\d[\w.]*(?<!\.)", 0),   # T1, k_1, evalumap2-v0, room-env-3
    (r"\d+(?:\.\d+){2,}", 0),                                           # versions
)]
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$", re.DOTALL)
RAISED_OR_LOWERED = re.compile(r"[_^](\{[^{}]*\}|\\[a-zA-Z]+|.)")
WRITTEN = re.compile(
    r"(?P<sign>(?<![\w.)\]}])[−-][ ]?)?(?<![\d.])"
    r"(?P<digits>\d{1,3}(?:(?:,|\\,|\{,\}|\u202f|\u2009)\d{3})+(?!\d)|\d+)(?P<decimals>\.\d+)?(?![.,]?\d|[^\W\d_²³¹⁰⁴-⁹])"
    r"(?P<unit>[ \u00a0\u202f]?\\?%|[ \u00a0](?:percent|per cent|thousand|million|billion)\b)?")
# "3.0 to 5.3 %", "30, 40 or 50 %", "2 in a hundred"
UNIT_OF_A_LATER = re.compile(
    r"(?:(?: to | and | or |–|, | of | against )[−-]?[\d.,]*\d)+[ \u00a0]?(%|thousand\b|million\b|billion\b)"
    r"| (?:\w+ )?in (?:a|every) (hundred)\b")
PRINTED = re.compile(r"(?<![\w.])(?:(?<![)\]])[−-])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d*)?(?:[eE][+-]?\d+)?"
                     r"(?![.,]?\d)( ?%| (?:thousand|million|billion)\b)?")


@dataclass(frozen=True)
class Number:
    """A number in a text: as written, and how to compare it.

    text      as it is written, with its sign and its unit
    value     float, without the unit
    step      what the last digit that counts is worth, float
    factors   what a source may have been multiplied by: 1; 0.01 for percent, a million, … beside it
    sentence  the sentence or row around it
    start     where in the cell it begins
    """
    text: str
    value: float
    step: float
    factors: tuple
    sentence: str = ""
    start: int = 0

    def given_by(self, values):
        """Whether one of `values` rounds to this number at the digits written, with its sign.

        "46 %" is given by 0.46 and by 46, "1.92 million" by 1,919,630 and by 1.92, and "about 1,100" by 1,080. A
        fall may be written without its sign: "falls by 0.2" is given by −0.2.

        >>> number, = numbers_in("Ines opens 46 %")
        >>> number.given_by([0.4581]), number.given_by([0.4651]), number.given_by([-0.46])
        (True, False, False)
        """
        return any(self._is(value) or (self.value > 0 and DOWNWARDS.search(self.sentence) and self._is(-value))
                   for value in values)

    def _is(self, value):
        nearest = (abs(value / factor - self.value) for factor in self.factors)
        return math.isfinite(value) and min(nearest) <= self.step * (0.5 + 1e-6)

    @property
    def is_whole(self):
        return self.value == int(self.value) and "." not in self.text and "%" not in self.text

    @property
    def is_common(self):
        """Whether many an output holds this number by accident."""
        return self.is_whole and abs(self.value) < 100


def numbers_in(markdown):
    """The numbers written in digits in a text cell, in order: [Number, …].

    Left out are code, link targets, HTML tags, the numbers of headings, lists, notebooks and exercises, the sources
    at the end, years of citations, digits within names (T1, evalumap2-v0), exponents and subscripts.

    >>> [one.text for one in numbers_in("From 3.0 to 5.3 % of 1,234 [−0.48, 2.1]; `x = 7`, T1, notebook 5, (Ng, 2004)")]
    ['3.0', '5.3 %', '1,234', '−0.48', '2.1']
    >>> [one.text for one in numbers_in(r"$0.2\\,(1 - p)^{10}$, $20\\,000\\ k_1$, 0.98²⁰⁰, 9.26 billion")]
    ['0.2', '1', '20\\\\,000', '0.98', '9.26 billion']
    """
    left = markdown
    for pattern in LEFT_OUT:
        left = pattern.sub(lambda found: re.sub(r"[^\n]", "\u2003", found.group()), left)
    left = FORMULA.sub(lambda formula: RAISED_OR_LOWERED.sub(
        lambda found: "\u2003" * len(found.group()), formula.group()), left)
    return [_number(found, left, markdown) for found in WRITTEN.finditer(left)]


def _number(found, left, markdown):
    digits = re.sub(r"\D", "", found["digits"])
    decimals = found["decimals"] or ""
    step = 10.0 ** -max(0, len(decimals) - 1)
    if not decimals and ROUGHLY.search(left[:found.start()]):
        step = 10.0 ** min(len(digits) - len(digits.rstrip("0")), len(digits) - 1)
    unit = (found["unit"] or "").strip(" \u00a0\u202f\\")
    later = UNIT_OF_A_LATER.match(left, found.end()) if not unit else None
    unit = unit or (later and (later[1] or "%")) or ""
    return Number(
        text=markdown[found.start():found.end()].replace("\u00a0", " "),
        value=float((found["sign"] and "-" or "") + digits + decimals),
        step=step,
        factors=(1.0, UNITS[unit]) if unit else (1.0,),
        sentence=sentence_around(markdown, found.start(), found.end()),
        start=found.start(),
    )


def sentence_around(text, start, end):
    """The sentence, row or item of `text` that holds the characters from `start` to `end`, on one line."""
    breaks = [match.end() for match in re.finditer(r"[.!?][*)”\"]*\s+|\n\s*\n|\n(?=[-|#*>])", text)]
    at = bisect.bisect_right(breaks, start)
    stop = bisect.bisect_left(breaks, end)
    return " ".join(text[breaks[at - 1] if at else 0:breaks[stop] if stop < len(breaks) else len(text)].split())


# What a notebook has to say: its outputs, line by line, and the numbers of its code.


@dataclass(frozen=True)
class Line:
    """A line of a text output: its words, and the numbers in it."""
    cell: int
    text: str
    values: tuple

    @property
    def label(self):
        """The first words of the line, by which a source may name it."""
        words = re.search(r"[^\W\d_][^\d\[\](){}<>=|]*", self.text)
        return words.group().strip(" :,;-−.'\"") if words else ""


def output_lines(cells):
    """The lines of the text outputs of `cells`, [Line, …], those with a number in them."""
    lines = []
    for position, cell in enumerate(cells):
        for output in cell.get("outputs", ()):
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            lines += [Line(position, " ".join(row.split()), values)
                      for row in "".join(text).splitlines() if (values := printed_values(row))]
    return lines


def printed_values(text):
    """The numbers in a line of output, floats; one with a unit counts with it and without.

    >>> printed_values("46% of 1,234, -1e-05 [0.2, 1.]")
    (46.0, 0.46, 1234.0, -1e-05, 0.2, 1.0)
    """
    values = []
    for found in PRINTED.finditer(text):
        unit = (found[1] or "").strip()
        number = float(found.group().removesuffix(found[1] or "").replace(",", "").replace("−", "-"))
        values += [number, round(number * UNITS[unit], 12)] if unit else [number]
    return tuple(values)


def code_values(cells):
    """The numeric literals of the code cells: [(position of the cell, value), …]."""
    values = []
    for position, cell in enumerate(cells):
        if cell.cell_type != "code":
            continue
        try:
            nodes = list(ast.walk(ast.parse(cell.source)))
        except SyntaxError:             # a line that only a notebook understands
            continue
        negated = {id(node.operand): -1 for node in nodes
                   if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)}
        values += [(position, negated.get(id(node), 1) * node.value) for node in nodes
                   if isinstance(node, ast.Constant) and type(node.value) in (int, float)]
    return values


# Sources.


class NotGiven(Exception):
    """A source that does not give its number; the message says what it gives."""


def holds(number, source, cells, solutions=None):
    """Raise NotGiven where `source` does not give `number`.

    cells      the notebook's
    solutions  the Lines that the solution prints; None: they are not at hand, and such a source is taken on trust
    """
    kind, words = _parse(source)
    if kind in ("output", "solution", "notebook"):
        if kind == "notebook":
            name, words = words.split(":", 1)
            lines, words = lines_of_notebook(name), words.strip()
        else:
            lines = output_lines(cells) if kind == "output" else solutions
        if lines is None:
            return
        said = [line for line in lines if not words or words in line.text]
        if words and not said:
            raise NotGiven(f"no line of {_of(kind)} holds {words!r}")
        if not any(number.given_by(line.values) for line in said):
            raise NotGiven(f"{'the line of ' + words if words else _of(kind)} {_nearest(number, said)}")
    elif kind == "code":
        values = [value for _, value in code_values(cells)]
        if not number.given_by(values):
            raise NotGiven("no code cell has this number in it")
    elif kind in ("=", "data", "constant"):
        value = _worked_out(kind, source)
        if not number.given_by([value]):
            raise NotGiven(f"{source!r} is {value:.6g}")


def _parse(source):
    """(kind, words) of a source. Raises NotGiven for one that is none."""
    if isinstance(source, str):
        if source.startswith("=") and source[1:].strip():
            return "=", ""
        kind, _, rest = source.partition(":")
        rest = rest.strip()
        if kind in ("output", "solution") and (rest or ":" not in source) or source == "code":
            return kind, rest
        if kind in ("source", "text") and len(rest) > 3:
            return kind, rest
        if kind.split(" ")[0] == "notebook" and len(kind.split()) == 2 and rest:
            return "notebook", source.split(maxsplit=1)[1]
        if kind.split(" ")[0] in ("data", "constant") and len(kind.split()) == 2 and rest:
            return kind.split()[0], rest
    raise NotGiven(f"{source!r} is no source; there are: output, output: WORDS, notebook NAME: WORDS, code, solution, "
                   "= EXPRESSION, data FILE: EXPRESSION, constant MODULE: EXPRESSION, source: …, text: …")


def _of(kind):
    return {"solution": "what the solution prints", "notebook": "that notebook's outputs"}.get(kind, "the outputs")


@functools.cache
def lines_of_notebook(name):
    """The Lines that the notebook called `name` shows as it is saved. Raises NotGiven where there is none."""
    path = ROOT / "notebooks" / f"{name}.ipynb"
    if not path.exists():
        raise NotGiven(f"there is no notebook {name!r}")
    return output_lines(nbformat.read(path, as_version=4).cells)


def _nearest(number, lines):
    distances = [(abs(value / factor - number.value), value) for line in lines for value in line.values
                 for factor in number.factors if math.isfinite(value)]
    return f"has {min(distances)[1]:g} as the nearest" if distances else "has no number"


def _worked_out(kind, source):
    try:
        if kind == "=":
            return arithmetic(source[1:])
        where, _, expression = source.partition(":")
        name = where.split()[1]
        return float(_of_data(name, expression) if kind == "data" else _of_module(name, expression))
    except Exception as failure:        # whatever an expression may do: the complaint names it
        raise NotGiven(f"{source!r} fails: {type(failure).__name__}: {failure}") from failure


def _of_data(name, expression):
    import numpy as np
    import pandas as pd

    path = ROOT / "data" / name
    table = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")
    return eval(expression.strip(), {"t": table, "np": np, "pd": pd})


def _of_module(name, expression):
    if name.split(".")[0] != "pushlab":
        raise ValueError(f"expected a module of pushlab, got {name!r}")
    module = importlib.import_module(name)
    return eval(expression.strip(), {**{word: getattr(module, word) for word in dir(module)}, **vars(module)})


OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
              ast.Pow: operator.pow}
FUNCTIONS = {"sqrt": math.sqrt, "log": math.log, "exp": math.exp}


def arithmetic(expression):
    """What an expression of numbers, + - * / **, sqrt, log and exp is worth.

    >>> arithmetic("1.2 / (1 + 2.2)"), arithmetic("sqrt(9) - exp(0)")
    (0.375, 2.0)
    """
    def value(node):
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
                return OPERATIONS[type(op)](value(left), value(right))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
                return FUNCTIONS[name](value(argument))
        raise ValueError(f"expected numbers, + - * / **, sqrt, log or exp; got {ast.unparse(node)!r}")

    return value(ast.parse(expression.strip(), mode="eval").body)


# A notebook against its lists.


def by_text(markdown):
    """{number as written: [Number, …]}, in the order of the text."""
    numbers = {}
    for number in numbers_in(markdown):
        numbers.setdefault(number.text, []).append(number)
    return numbers


def sources_of(cell, text):
    """The sources listed for a number of a cell, []: none."""
    listed = cell.metadata.get("numbers", {}).get(text, [])
    return [listed] if isinstance(listed, str) else list(listed)


def complaints(notebook, name="notebook", solutions=None):
    """What is wrong with the numbers in the text of a notebook: [str, …], each with what would be right.

    solutions  {position of the cell that holds a solution: its Lines}; None: sources "solution" are taken on trust
    """
    found = []
    for position, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            continue
        written = by_text(cell.source)
        where = f"{name}, cell {position}"
        for text, numbers in written.items():
            sources = sources_of(cell, text)
            if not sources:
                found.append(f"{where}: {text!r} is not listed ({_remedy(numbers[0], notebook.cells, position)}), "
                             f"in: {numbers[0].sentence}")
            elif len(sources) != len(numbers):
                found.append(f"{where}: {text!r} is written {len(numbers)} times and listed with {len(sources)} "
                             f"sources; it needs one each, as a list. In: {numbers[0].sentence}")
            for number, source in zip(numbers, sources):
                try:
                    holds(number, source, notebook.cells, solution_lines(solutions, position))
                except NotGiven as fault:
                    found.append(f"{where}: {text!r} is not what its source gives: {fault}. In: {number.sentence}")
        found += [f"{where}: {text!r} is listed and no longer in the text; the text has {sorted(written)}"
                  for text in cell.metadata.get("numbers", {}) if text not in written]
    return found


def _remedy(number, cells, position):
    source = proposal(number, cells, position)
    return f"{source!r} would give it" if source else "no output and no code gives it"


def solution_lines(solutions, position):
    """The Lines that a text cell may quote as "solution": of its own exercise, else of all of the notebook."""
    if solutions is None:
        return None
    return solutions.get(position) or [line for lines in solutions.values() for line in lines]


# Proposals.


def proposal(number, cells, position, solution=None):
    """The likeliest source of a number in cell `position`, or None: a line of an output, a convention, or the code.

    Of several lines the one with most words in common with the sentence, then the nearest above, then below. A whole
    number is met by accident in some line or other: without a word in common it is looked for in the code first.
    """
    for text, sentence, source in CONVENTIONS:
        if text.search(number.text) and sentence.search(number.sentence):
            return source
    said = set(_words(number.sentence))

    def worth(line):
        above = line.cell < position
        return len(said.intersection(_words(line.text))), above, -abs(position - line.cell)

    of_code = "code" if number.given_by([value for _, value in code_values(cells)]) else None
    for kind, lines in (("solution", solution or []), ("output", output_lines(cells))):
        giving = [line for line in lines if number.given_by(line.values)]
        if giving:
            line = max(giving, key=worth)
            if of_code and number.is_whole and not worth(line)[0]:
                return of_code
            return f"{kind}: {line.label}" if line.label else kind
    return of_code


def _words(text):
    return [word.lower() for word in re.findall(r"[^\W\d_]{3,}", text)]


def propose(notebook, solutions=None):
    """List what can be listed, in place, and drop what is no longer there.

    returns  [str, …]: what was written, dropped, and what nobody can point to, for a person to check
    """
    report = []
    for position, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            continue
        written, listed = by_text(cell.source), {}
        solution = (solutions or {}).get(position)
        for text, numbers in written.items():
            sources = sources_of(cell, text)[:len(numbers)]
            for number in numbers[len(sources):]:
                source = proposal(number, notebook.cells, position, solution)
                mark = "MISSING" if source is None else "look twice" if number.is_common else "written"
                report.append(f"cell {position:2} {mark:10} {text!r}: {source!r} <- {number.sentence}")
                if source:
                    sources.append(source)
            for number, source in zip(numbers, sources):
                try:
                    holds(number, source, notebook.cells, solution_lines(solutions, position))
                except NotGiven as fault:
                    better = proposal(number, notebook.cells, position, solution)
                    report.append(f"cell {position:2} WRONG      {text!r}: {fault}; left as it is"
                                  f"{f', {better!r} would give it' if better else ''} <- {number.sentence}")
            if sources:
                listed[text] = sources[0] if len(sources) == len(numbers) == 1 else sources
        dropped = {text: source for text, source in cell.metadata.get("numbers", {}).items() if text not in written}
        report += [f"cell {position:2} dropped    {text!r}: {source!r}" for text, source in dropped.items()]
        if solution and any(text not in listed for text in written):
            report += [f"cell {position:2} its solution prints: {line.text}" for line in solution]
        cell.metadata.pop("numbers", None)
        if listed:
            cell.metadata["numbers"] = listed
    return report


def main(arguments=None):
    """Propose sources for the named notebooks; returns 0 where every number has one that holds, else 1."""
    import refresh
    import solutions

    parser = argparse.ArgumentParser(description="Propose where the numbers in the text of notebooks come from.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as 00_start_here; all when none is given")
    parser.add_argument("--without-solutions", action="store_true", help="do not run the solutions of the exercises")
    chosen = parser.parse_args(arguments)
    left = 0
    for path in refresh.find_notebooks(chosen.names):
        notebook = nbformat.read(path, as_version=4)
        printed = None
        if not chosen.without_solutions:
            printed = {solved.position: output_lines(solved.cells) for solved in solutions.run(notebook, path.parent)}
        print(f"{path.name}:", *propose(notebook, printed), sep="\n  ")
        refresh.save(notebook, path)
        wrong = complaints(notebook, path.stem, printed)
        print(f"  {len(wrong)} numbers are left to you" if wrong else "  every number has a source that holds")
        left += len(wrong)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
