#!/usr/bin/env python3
"""Check the size of the library, of its texts and of an installation against limits. `make lint` runs this check.

The limits are in pyproject.toml, [tool.pushlab.limits]. Tokens are those of Python's tokenizer without comments,
docstrings and layout, so long lines and long explanations don't change the count. Phrases are counted per 10,000 words
of docstrings and comments, or of pages and notebooks. The installation is pushlab without extras and all that it
requires, as installed in this environment, without compiled files. An editable pushlab counts as a package of no size.

    python .ci/weight.py            print each figure with its limit; exit code 1 if one is exceeded
"""

import ast
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from importlib.metadata import distribution
from itertools import chain
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
    # Questions aren't clauses.
    "what-clauses": r"\bwhat (?:is|was|were|it|they|an?|the|others)\b(?![^.!?]*\?)",
    "told": r"\b(?:told|tells?)\b",
    "nobody": r"\b(?:nobody|somebody|anybody|whoever)\b",
}


def docstrings(tree):
    """Yield (text, line numbers) of each docstring of a syntax tree."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            first = node.body[0]
            lines = range(first.lineno, first.end_lineno + 1)
            yield ast.get_docstring(node), lines


def weigh(path):
    """Return the number of tokens, the number of lines of code, and the text of docstrings and comments of a file."""
    with tokenize.open(path) as file:
        source = file.read()
    with tokenize.open(path) as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    texts = []
    docstring_lines = set()
    for text, lines in docstrings(ast.parse(source)):
        texts.append(re.sub(r"(?m)^\s*(>>>|\.\.\.).*$", "", text))
        docstring_lines.update(lines)
    texts += [token.string for token in tokens if token.type == tokenize.COMMENT]
    code = [
        token
        for token in tokens
        if token.type not in LAYOUT and token.start[0] not in docstring_lines
    ]
    lines = set()
    for token in code:
        lines.update(range(token.start[0], token.end[0] + 1))
    return len(code), len(lines), "\n".join(texts)


def code_figures(folder):
    """Return the figures of a folder's Python files: tokens, files, tokens a line, and those of their texts."""
    total = Counter()
    texts = []
    for path in sorted(folder.rglob("*.py")):
        tokens, lines, text = weigh(path)
        total.update(tokens=tokens, lines=lines, files=1)
        texts.append(text)
    return {
        "tokens": total["tokens"],
        "files": total["files"],
        "tokens a line": total["tokens"] / max(total["lines"], 1),
        **text_figures(texts),
    }


def page_figures(place):
    """Return the figures of a page, or of all pages and notebooks in a folder; generated ones aren't counted."""
    command = ["git", "ls-files", "-z", place]
    names = subprocess.check_output(command, text=True, cwd=ROOT).split("\0")
    texts = []
    for path in map(ROOT.joinpath, names):
        if path.suffix == ".md":
            texts.append(path.read_text(encoding="utf-8"))
        elif path.suffix == ".ipynb":
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            texts += [
                "".join(cell["source"])
                for cell in cells
                if cell["cell_type"] == "markdown"
            ]
    code = r"(?ms)^```.*?^```|`[^`]*`"
    return text_figures(re.sub(code, "", text) for text in texts)


def text_figures(texts):
    """Return the number of words of texts, and the rate of each phrase."""
    text = "\n".join(texts)
    words = len(re.findall(r"[^\W\d_][\w'-]*", text))
    rates = {
        name: len(re.findall(pattern, text)) * 10_000 / max(words, 1)
        for name, pattern in PHRASES.items()
    }
    return {"words": words, **rates}


def installation_figures():
    """Return the number of packages of an installation, and the megabytes of their files without compiled ones."""
    from packaging.requirements import Requirement

    found = {}
    names = ["pushlab"]
    while names:
        name = re.sub(r"[-_.]+", "-", names.pop()).lower()
        if name in found:
            continue
        found[name] = package = distribution(name)
        requirements = map(Requirement, package.requires or ())
        names += [
            requirement.name
            for requirement in requirements
            if not requirement.marker or requirement.marker.evaluate({"extra": ""})
        ]
    # pip lists .pyc files if it has compiled them itself; uv and tools.py compile later.
    files = chain.from_iterable(package.files or () for package in found.values())
    paths = [file.locate() for file in files if file.suffix != ".pyc"]
    size = sum(path.stat().st_size for path in paths if path.exists())
    return {"packages": len(found), "megabytes": size / 2**20}


def main():
    """Print all figures with their limits; return the exit code."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    has_failed = False
    for place, limits in pyproject["tool"]["pushlab"]["limits"].items():
        if "megabytes" in limits:
            values = installation_figures()
        else:
            is_code = "tokens" in limits
            values = (code_figures if is_code else page_figures)(ROOT / place)
        for name, limit in limits.items():
            is_exceeded = values[name] > limit
            has_failed |= is_exceeded
            mark = "  TOO MUCH" if is_exceeded else ""
            print(f"{place:24}{name:16}{values[name]:>10,.1f}{limit:>10,}{mark}")
    if has_failed:
        print(
            "Make it smaller, or raise the limit in pyproject.toml, [tool.pushlab.limits], and give the reason in the "
            "commit message."
        )
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
