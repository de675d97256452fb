"""Counts the lines of code of a folder: what `make lines` prints, a package a row.

    python tests/lines.py [FOLDER]          pushlab/ by default

Blank lines, comments and docstrings are no code. A line that is part of a longer statement or text is one.
"""

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path

SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
          tokenize.ENCODING}


def code_lines(path):
    """How many lines of a file are code, and how many are docstrings."""
    with tokenize.open(path) as file:
        lines = {line for token in tokenize.generate_tokens(file.readline) if token.type not in SILENT
                 for line in range(token.start[0], token.end[0] + 1)}
    told = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            told.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines - told), len(told)


def main(folder):
    code, told, files = Counter(), Counter(), Counter()
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder)
        package = place.parts[0] if len(place.parts) > 1 else "."
        lines, words = code_lines(path)
        code[package] += lines
        told[package] += words
        files[package] += 1
    for package in [*sorted(code, key=code.get, reverse=True), "all"]:
        row = [counter[package] if package != "all" else counter.total() for counter in (code, told, files)]
        print(f"{package:12}{row[0]:8,} of code{row[1]:8,} of docstrings{row[2]:6,} files")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "pushlab"))
