"""Check the numbers in the text of the notebooks against their sources.

- python tests/notebooks/prose.py [NAME ...]: propose sources for the numbers without one, by default
  in all notebooks. Or: make numbers NAMES="..."

A text cell lists its numbers in `metadata["numbers"]`: each number as it is written, and its source.
A number that is written k times has a list of k sources, in the order of the text.

- "output", "output: WORDS": a text output of this notebook contains it, rounded to the written
  digits; with WORDS, in a line that contains them
- "notebook NAME: WORDS": the same, in the saved outputs of another notebook
- "solution", "solution: WORDS": the same, in the output of the exercise with its solution in place
- "code": a numeric literal in a code cell of this notebook
- "= EXPRESSION": arithmetic, with the functions of `math`
- "data FILE: EXPRESSION": of t, the table data/FILE, np and pd
- "constant MODULE: EXPRESSION": of the names of a module of pushlab, or of a script such as
  studies/room.py
- "source: ...": a paper and its table, not checked
- "text: ...": a reason why it is not a result (a convention, an example, a count of listed items)
"""

import argparse
import ast
import importlib
import math
import re
import runpy
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
UNITS = {
    "%": 0.01,
    "percent": 0.01,
    "per cent": 0.01,
    "hundred": 0.01,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
}
DOWNWARDS = re.compile(
    r"\b(f[ae]lls?|fall(en|ing)|drop\w*|los[est]+\w*|low\w*|less|fewer|below|under|"
    r"behind|worse|down|minus|short\w*|reduc\w*|shrinks?|sav(es|ed|ing)|costs?|"
    r"gives? up|gave up)\b",
    re.IGNORECASE,
)
ROUGHLY = re.compile(
    r"\b(about|around|roughly|nearly|almost|some|hardly|over|than)\s*$", re.IGNORECASE
)
# Digits that are not numbers of the text, in the order of their removal.
IGNORED = (
    r"(?ms)^\*\*Sources?\*\*.*",
    r"(?m)^&nbsp; \d+ minutes to read and run, \d+ for the exercises;.*",
    r"(?m)^\*\d+ points?, about \d+ minutes\*",  # below the heading of an exercise
    r"(?ms)^[ >]*(```|~~~).*?^[ >]*\1",  # fences
    r"(?s)(`+)[^`].*?\1",  # code
    r"(?<=\])\([^)\s]*\)",  # link targets
    r"https?://[^\s)>]+",
    r"(?s)</?[a-zA-Z][^>]*>|<!--.*?-->|&#?\w+;",  # HTML
    r"(?m)^#+ +\d+(?= ·)|^\s*\d+\.(?=\s)|(?<=\[)\d+(?= ·)",  # "# 4 ·", "1. ", "[4 · "
    r"(?i)\b(notebook|exercise|challenge|table|figure|chapter|section|equation|step)s?"
    r"[ \u00a0]+\d+(?!\.?\d|,\d)((, | and | or | to |–)\d+\b(?! ?%))*",
    r"\((?:[^\W\d_][^()\d]*[ ,])?(?:1[5-9]|20)\d\d[a-z]?"  # (Ng, 2004)
    r"(?:[,;][^()\d]*(?:1[5-9]|20)\d\d[a-z]?)*\)",
    r"[^\W\d]\w*\d\w*(?:[-./]\w+)*|[^\W\d_]\w*-\d[\w.]*(?<!\.)",  # T1, room-env-3
    r"\d+(?:\.\d+){2,}",  # versions
)
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$", re.DOTALL)
RAISED_OR_LOWERED = re.compile(r"[_^](\{[^{}]*\}|\\[a-zA-Z]+|.)")
WRITTEN = re.compile(
    r"(?P<sign>(?<![\w.)\]}])[−-][ ]?)?(?<![\d.])"
    r"(?P<digits>\d{1,3}(?:(?:,|\\,|\{,\}|\u202f|\u2009)\d{3})+(?!\d)|\d+)"
    r"(?P<decimals>\.\d+)?(?![.,]?\d|[^\W\d_²³¹⁰⁴-⁹])"
    r"(?P<unit>[ \u00a0\u202f]?\\?%|"
    r"[ \u00a0](?:percent|per cent|thousand|million|billion)\b)?"
)
# "3.0 to 5.3 %", "30, 40 or 50 %", "2 in a hundred"
LATER_UNIT = re.compile(
    r"(?:(?: to | and | or |–|, | of | against )[−-]?[\d.,]*\d)+[ \u00a0]?"
    r"(%|thousand\b|million\b|billion\b)| (?:\w+ )?in (?:a|every) (hundred)\b"
)
PRINTED = re.compile(
    r"(?<![\w.])((?:(?<![)\]])[−-])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d*)?"
    r"(?:[eE][+-]?\d+)?)(?![.,]?\d)(?: ?(%)| (thousand|million|billion)\b)?"
)
SENTENCE_END = re.compile(r"[.!?][*)”\"]*\s+|\n\s*\n|\n(?=[-|#*>])")
LABEL = re.compile(r"[^\W\d_][^\d\[\](){}<>=|]*")


@dataclass(frozen=True)
class Number:
    """A number in a text.

    Attributes:
        text: The number as it is written, with its sign and unit.
        value: Its value without the unit.
        step: Place value of the last significant digit.
        factors: Factors by which a source may be divided: 1; for percent also 0.01.
        sentence: The sentence or table row around it.
    """

    text: str
    value: float
    step: float
    factors: tuple
    sentence: str

    def matches(self, values):
        """Return whether one of `values` rounds to this number at the written digits.

        "46 %" matches 0.46 and 46, "about 1,100" matches 1,080, and "falls by 0.2" also
        matches −0.2.

        >>> number, = numbers_in("Ines opens 46 %")
        >>> [number.matches([value]) for value in (0.4581, 45.81, 0.4651, -0.46)]
        [True, True, False, False]
        """
        if DOWNWARDS.search(self.sentence) and self.value > 0:
            values = [*values, *(-value for value in values)]
        return any(self.distance(value) <= 1 for value in values)

    def distance(self, value):
        """Return the distance of a value from this number in halves of a step."""
        nearest = min(abs(value / factor - self.value) for factor in self.factors)
        return nearest / (self.step * (0.5 + 1e-6))


def numbers_in(markdown):
    r"""Return the numbers written in digits in a text cell, in order.

    It ignores code, link targets, HTML tags, the numbers of headings, lists, notebooks and
    exercises, the sources at the end, years of citations, digits within names, exponents and
    subscripts.

    >>> text = "From 3.0 to 5.3 % of 1,234 [−0.48, 2.1]; `x = 7`, T1, notebook 5, (Ng, 2004)"
    >>> [number.text for number in numbers_in(text)]
    ['3.0', '5.3 %', '1,234', '−0.48', '2.1']
    >>> formulas = r"$0.2\,(1 - p)^{10}$, $k_1$, 0.98²⁰⁰, 9.26 billion"
    >>> [number.text for number in numbers_in(formulas)]
    ['0.2', '1', '0.98', '9.26 billion']
    """

    def blank(match):
        return re.sub(r"[^\n]", "\u2003", match.group())

    text = markdown
    for pattern in IGNORED:
        text = re.sub(pattern, blank, text)
    text = FORMULA.sub(
        lambda formula: RAISED_OR_LOWERED.sub(blank, formula.group()), text
    )
    breaks = [
        0,
        *(match.end() for match in SENTENCE_END.finditer(markdown)),
        len(markdown),
    ]
    numbers = []
    for match in WRITTEN.finditer(text):
        start, end = match.span()
        digits = re.sub(r"\D", "", match["digits"])
        decimals = match["decimals"] or ""
        step = 10.0 ** -max(0, len(decimals) - 1)
        if not decimals and ROUGHLY.search(text[:start]):
            zeros = len(digits) - len(digits.rstrip("0"))
            step = 10.0 ** min(zeros, len(digits) - 1)
        unit = (match["unit"] or "").strip(" \u00a0\u202f\\")
        if not unit and (later := LATER_UNIT.match(text, end)):
            unit = later[1] or later[2]
        sign = "-" if match["sign"] else ""
        first = max(position for position in breaks if position <= start)
        last = min(position for position in breaks if position >= end)
        numbers.append(
            Number(
                text=markdown[start:end].replace("\u00a0", " "),
                value=float(sign + digits + decimals),
                step=step,
                factors=(1.0, UNITS[unit]) if unit else (1.0,),
                sentence=" ".join(markdown[first:last].split()),
            )
        )
    return numbers


def lines_of(text):
    r"""Return [(line, values)] of a printed text; values with a unit occur with and without it.

    >>> lines_of("46% of 1,234\n-1e-05 [0.2, 1.]")
    [('46% of 1,234', [46.0, 0.46, 1234.0]), ('-1e-05 [0.2, 1.]', [-1e-05, 0.2, 1.0])]
    """
    lines = []
    for line in text.splitlines():
        values = []
        for digits, percent, unit in PRINTED.findall(line):
            value = float(digits.replace(",", "").replace("−", "-"))
            values.append(value)
            if percent or unit:
                values.append(round(value * UNITS[percent or unit], 12))
        lines.append((" ".join(line.split()), values))
    return lines


def output_lines(cells):
    """Return the lines of the saved text outputs of `cells`."""
    lines = []
    for cell in cells:
        for output in cell.get("outputs", ()):
            value = output.get("data", {}).get("text/plain", "")
            lines += lines_of(output.get("text") or value)
    return lines


def code_values(cells):
    """Return the numeric literals of the code cells, with their sign."""
    values = []
    for cell in cells:
        nodes = ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else ()
        signs = {}
        for node in nodes:
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
                signs[node.operand] = -1
            elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
                values.append(signs.get(node, 1) * node.value)
    return values


def evaluate(kind, name, expression):
    """Return the value of the expression of a source.

    Args:
        kind: "=", "data" or "constant".
        name: The expression after "=", the file of a table, or the module or script.
        expression: The expression after the colon.
    """
    import numpy as np
    import pandas as pd

    if kind == "=":
        return eval(name, vars(math).copy())
    if kind == "data":
        table = pd.read_csv(ROOT / "data" / name, sep=None, engine="python")
        return float(eval(expression, {"t": table, "np": np, "pd": pd}))
    if name.endswith(".py"):
        return float(eval(expression, runpy.run_path(str(ROOT / name))))
    module = importlib.import_module(name)
    names = {word: getattr(module, word) for word in dir(module)}
    return float(eval(expression, {**vars(module), **names}))


def issue(number, source, available):
    """Return a message if `source` does not give `number`, else "".

    Args:
        number: A Number.
        source: The source as it is listed.
        available: {"output", "code", "solution": lines}. With None instead of lines it is not checked.
    """
    kind, _, words = source.partition(":")
    kind, _, name = kind.partition(" ")
    words = words.strip()
    if kind in ("source", "text"):
        return "" if words else f"{source!r} has no text after the colon"
    if kind in available:
        lines = available[kind]
    elif kind == "notebook":
        other = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
        lines = output_lines(other.cells)
    elif kind in ("=", "data", "constant"):
        try:
            lines = [(words, [evaluate(kind, name, words)])]
        except Exception as error:
            return f"{source!r} fails: {error!r}"
    else:
        return f"{source!r} is not a source; tests/notebooks/prose.py lists them"
    if lines is None:
        return ""
    values = []
    for line, line_values in lines:
        if words in line:
            values += line_values
    if number.matches(values):
        return ""
    return f"{source!r} gives {min(values, key=number.distance, default='no number')}"


def texts(cells):
    """Yield (position, cell, {number as written: [Number]}, {number as written: [source]})."""
    for position, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            written = {}
            for number in numbers_in(cell.source):
                written.setdefault(number.text, []).append(number)
            listed = {}
            for text, sources in cell.metadata.get("numbers", {}).items():
                listed[text] = [sources] if isinstance(sources, str) else list(sources)
            yield position, cell, written, listed


def lines_by_kind(cells, solution):
    """Return {"output", "code", "solution": lines} of the cells of a notebook."""
    return {
        "output": output_lines(cells),
        "code": [("", code_values(cells))],
        "solution": solution,
    }


def complaints(notebook, solutions=None):
    """Return the faults of the numbers in the text of a notebook, a list of str.

    Args:
        notebook: The notebook.
        solutions: {position of the text with a solution: printed lines}; None if they did not run.
    """
    messages = []
    available = lines_by_kind(notebook.cells, None)
    for position, _, written, listed in texts(notebook.cells):
        if solutions is not None:
            available["solution"] = solutions.get(position) or sum(
                solutions.values(), []
            )
        for text, numbers in written.items():
            sources = listed.get(text, [])
            place = f"cell {position}, {text!r} in: {numbers[0].sentence}\n   "
            if len(sources) != len(numbers):
                messages.append(
                    f"{place} written {len(numbers)} times, {len(sources)} sources"
                )
            for number, source in zip(numbers, sources):
                if message := issue(number, source, available):
                    messages.append(f"{place} {message}")
        for text in listed.keys() - written.keys():
            messages.append(f"cell {position}: {text!r} is listed and not in the text")
    return messages


def words_of(text):
    """Return the words of a text with three letters or more, a set."""
    return set(re.findall(r"[^\W\d_]{3,}", text.lower()))


def proposal(number, available):
    """Return the likeliest source of a number, or None.

    It is the line that shares most words with the sentence, otherwise the code.
    """
    words = words_of(number.sentence)
    in_code = number.matches(available["code"][0][1])
    for kind in ("solution", "output"):
        lines = [line for line, values in available[kind] if number.matches(values)]
        best = max(lines, key=lambda line: len(words & words_of(line)), default=None)
        if best is not None and (words & words_of(best) or not in_code):
            label = LABEL.search(best)
            return f"{kind}: {label[0].strip(' :,;-.')}" if label else kind
    return "code" if in_code else None


def propose(notebook, solutions):
    """List sources for the numbers without one, and drop numbers no longer in the text.

    Returns:
        A message for each change.
    """
    report = []
    for position, cell, written, listed in texts(notebook.cells):
        available = lines_by_kind(notebook.cells, solutions.get(position, []))
        current = {}
        for text, numbers in written.items():
            sources = listed.get(text, [])[: len(numbers)]
            for number in numbers[len(sources) :]:
                source = proposal(number, available)
                report.append(
                    f"cell {position}: {text!r}: {source} <- {number.sentence}"
                )
                if source:
                    sources.append(source)
            if sources:
                current[text] = sources[0] if len(sources) == 1 else sources
        for text in listed.keys() - written.keys():
            report.append(f"cell {position}: {text!r} dropped: {listed[text]}")
        cell.metadata.pop("numbers", None)
        if current:
            cell.metadata["numbers"] = current
    return report


def main(arguments=None):
    """Propose sources for the named notebooks; return 0 if every number has one that gives it, else 1."""
    import refresh
    import solutions

    parser = argparse.ArgumentParser(
        description="Propose where numbers in the text of notebooks come from."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="such as 00_start_here; all by default"
    )
    parser.add_argument(
        "--without-solutions", action="store_true", help="do not run the solutions"
    )
    options = parser.parse_args(arguments)
    complaint_count = 0
    for path in refresh.find_notebooks(options.names):
        notebook = nbformat.read(path, as_version=4)
        printed = None
        if not options.without_solutions:
            with tempfile.TemporaryDirectory() as folder:
                attempts = solutions.run(path, folder, wrong={}, quotes=True)
            printed = {
                attempt.position: lines_of(attempt.printed)
                for attempt in attempts.values()
            }
        print(f"{path.name}:", *propose(notebook, printed or {}), sep="\n  ")
        refresh.save(notebook, path)
        messages = complaints(notebook, printed)
        print(*messages, f"{len(messages)} complaints", sep="\n  ")
        complaint_count += len(messages)
    return 1 if complaint_count else 0


if __name__ == "__main__":
    sys.exit(main())
