#!/usr/bin/env python3
"""Check that the library stays small and its English plain: `make lint` runs it.

The limits are in pyproject.toml, [tool.pushlab.limits]. Tokens are those of Python's tokenizer without
comments, docstrings and layout, so neither long lines nor long explanations change the count. A phrase
counts per 10,000 words of docstrings and comments.

    python .ci/weight.py            print each figure beside its limit; exit code 1 if one is above it
"""

import ast
import re
import sys
import tokenize
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PHRASES = {
    "what-clauses": r"\bwhat (?:is|was|were|it|they|an?|the|others)\b",
    "told": r"\b(?:told|tells?)\b",
    "nobody": r"\b(?:nobody|somebody|anybody|whoever)\b",
}


def docstrings(tree):
    """Yield each docstring of a syntax tree as (text, numbers of its lines)."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            first = node.body[0]
            lines = range(first.lineno, first.end_lineno + 1)
            yield ast.get_docstring(node), lines


def weigh(path):
    """Return the tokens, the lines of code, and the words about them of a Python file."""
    with tokenize.open(path) as file:
        source = file.read()
    with tokenize.open(path) as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    words = []
    silent = set()
    for text, lines in docstrings(ast.parse(source)):
        words.append(re.sub(r"(?m)^\s*(>>>|\.\.\.).*$", "", text))
        silent.update(lines)
    words += [token.string for token in tokens if token.type == tokenize.COMMENT]
    code = [
        token
        for token in tokens
        if token.type not in LAYOUT and token.start[0] not in silent
    ]
    lines = set()
    for token in code:
        lines.update(range(token.start[0], token.end[0] + 1))
    return len(code), len(lines), "\n".join(words)


def figures(folder):
    """Return a folder's figures by name: tokens, files, tokens a line, and the phrases."""
    total = Counter()
    texts = []
    for path in sorted(folder.rglob("*.py")):
        tokens, lines, text = weigh(path)
        total.update(tokens=tokens, lines=lines, files=1)
        texts.append(text)
    text = "\n".join(texts)
    words = max(len(re.findall(r"\w+", text)), 1)
    rates = {
        name: len(re.findall(pattern, text)) * 10_000 / words
        for name, pattern in PHRASES.items()
    }
    return {
        "tokens": total["tokens"],
        "files": total["files"],
        "tokens a line": total["tokens"] / max(total["lines"], 1),
        **rates,
    }


def main():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    exceeded = False
    for place, limits in pyproject["tool"]["pushlab"]["limits"].items():
        found = figures(ROOT / place)
        for name, limit in limits.items():
            over = found[name] > limit
            exceeded |= over
            mark = "  TOO MUCH" if over else ""
            print(f"{place:24}{name:16}{found[name]:>10,.1f}{limit:>10,}{mark}")
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
