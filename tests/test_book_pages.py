"""Pages that the book makes of docstrings: worlds, the reference, the commands, and what to cite."""

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from gymnasium.spaces import Text
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sphinx", reason="the extra [book] is not installed")

from pushlab.envs import REMOTE, TABLE

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from extensions import api, docstrings, environments, references  # noqa: E402

sys.path.remove(str(ROOT / "docs"))

IDS = [name.removeprefix("pushlab/") for name, *_ in (*TABLE, REMOTE)]


def words(text):
    """The words of a text, without the marks of a list and the backticks around code."""
    return [word for word in text.replace("`", "").split() if word != "-"]


def read(text):
    """The words of the page that is made of a docstring."""
    return words(" ".join(node.astext() for node in docstrings.to_nodes(text)))


# ---------------------------------------------------------------- from docstrings to pages

def test_paragraphs_columns_lists_and_doctests_are_told_apart():
    parts = docstrings.parse("""What it is.

        Two lines of
        one paragraph.

        scores  array (runs,), and a text that goes
                on below
        level   coverage

        - one, which
          goes on
        - two

        >>> 1 + 1
        2
        """)
    assert [type(part).__name__ for part in parts] == ["Text", "Text", "Table", "Bullets", "Code"]
    assert parts[1].text == "Two lines of one paragraph."
    assert [row[0] for row in parts[2].rows] == ["scores", "level"]
    assert parts[2].rows[0][1][0].text == "array (runs,), and a text that goes on below"
    assert len(parts[3].items) == 2 and parts[4].text == ">>> 1 + 1\n2"


def test_a_column_may_hold_a_table_with_a_header_and_text_after_it():
    (table,) = docstrings.parse("""
        Reward   the sum of these:

                 part     default   2019   for each
                 opened    1           5   open
                 spared    0.2         0   notification that nobody
                                           misses

                 They come late.
        End      never
        """)
    sum_of, parts, late = table.rows[0][1]
    assert sum_of.text == "the sum of these:" and late.text == "They come late."
    assert parts.header[:3] == ["part", "default", "2019"]
    assert [row[:3] for row in parts.rows] == [["opened", "1", "5"], ["spared", "0.2", "0"]]
    assert parts.rows[1][3][0].text == "notification that nobody misses"
    assert table.rows[1][0] == "End"


def test_a_term_longer_than_the_column_has_its_text_behind_it():
    (table,) = docstrings.parse("""
        size     small or big
        n_people, n_objects   other numbers than
                 the size's
        and those of the other world
        """)[:1]
    assert table.rows[1][0] == "n_people, n_objects"
    assert table.rows[1][1][0].text == "other numbers than the size's"


def test_parameters_are_code_and_headings_are_not():
    (container,) = docstrings.to_nodes("scores  `level` says how\nSource  a book", names=["scores"])
    names = [field[0] for field in container[0]]
    assert [name[0].tagname for name in names] == ["literal", "#text"]
    assert "<literal>level</literal> says how" in str(container)


WORD = st.from_regex(r"[a-z][a-z(),.]{0,7}", fullmatch=True)
LINE = st.lists(WORD, min_size=1, max_size=6).map(" ".join)
PARAGRAPH = st.lists(LINE, min_size=1, max_size=3).map("\n".join)
BULLETS = st.lists(LINE, min_size=1, max_size=3).map(lambda lines: "\n".join(f"- {line}" for line in lines))


@st.composite
def columns(draw, inside=PARAGRAPH):
    """Hanging columns, whose texts are themselves paragraphs, lists or columns."""
    rows = draw(st.lists(st.tuples(WORD, inside), min_size=1, max_size=4))
    at = max(len(term) for term, _ in rows) + 2
    return "\n".join(f"{term:{at}}{text}".replace("\n", "\n" + " " * at) for term, text in rows)


PART = st.one_of(PARAGRAPH, BULLETS, columns(), columns(st.one_of(BULLETS, columns(), PARAGRAPH)))


@given(st.lists(PART, min_size=1, max_size=4).map("\n\n".join))
def test_no_word_is_lost_or_added_or_moved(text):
    assert read(text) == words(text)


def test_no_word_of_any_docstring_is_lost_or_added_or_moved():
    seen = 0
    for path in sorted((ROOT / "pushlab").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                text = ast.get_docstring(node)
                assert read(text) == words(text), f"{path}: {getattr(node, 'name', 'module')}"
                seen += 1
    assert seen > 2000


def test_a_reference_has_its_accents_and_says_what_it_is_not():
    entries = references.references()
    assert "François-Lavet" in references.plain(entries["kim2022memory"]["author"])
    assert "Fügenschuh" in references.cited(entries["momoh2018zika"])
    assert references.cited(entries["conlan2017evalumap"]).endswith("of 2019 and 2020 came later.")


def test_words_of_one_length_have_one_length():
    assert environments.in_words(Text(10, min_length=10)) == "`Text` of 10 characters"
    assert environments.in_words(Text(10, min_length=1)) == "`Text` of 1 to 10 characters"


# ---------------------------------------------------------------- the pages

@pytest.mark.parametrize("name", IDS)
def test_every_id_has_a_page_with_its_parts_a_picture_and_what_to_cite(built_book, name):
    page = built_book / f"{environments.page_of()[name]}.html"
    text = page.read_text("utf-8")
    headings = " ".join(re.sub(r"<[^>]+>", "", found) for found in re.findall(r"<h[23]>(.*?)</h[23]>", text, re.DOTALL))
    for part in environments.PARTS:
        assert part in headings, part
    assert f"pushlab/{name.rpartition('-v')[0]}-v" in text and name in text
    picture, alt = re.search(r'<img alt="([^"]*)"[^>]*src="([^"]*)"', text).group(2, 1)
    assert (page.parent / picture).resolve().stat().st_size > 10_000 and len(alt.split()) > 12
    assert any(f"{entry['type']}" in text and entry["year"] in text for entry in references.references().values()
               if page.stem in entry["for"])
    assert "@" in text[text.index("To cite"):] and "keywords" not in text[text.index("To cite"):]


def test_the_reward_table_of_push_is_a_table(built_book):
    text = (built_book / "docs/environments/push-v0.html").read_text("utf-8")
    rows = [[re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)]
            for row in re.findall(r"<tr.*?</tr>", text, re.DOTALL)]
    assert ["part", "default", "2019", "for each"] in rows
    assert ["dismissed", "-1", "-10", "notification shown and then dismissed: an interruption for nothing"] in rows


def test_every_entry_of_the_bibliography_is_cited_on_a_page_that_there_is(built_book):
    pages = {Path(page).name: page for page in environments.page_of().values()} | {
        page: f"docs/api/{page}" for page in api.PAGES}
    for key, entry in references.references().items():
        assert entry["for"] != [""], key
        for page in entry["for"]:
            text = (built_book / f"{pages[page]}.html").read_text("utf-8")
            assert f"{key}," in re.sub(r"<[^>]+>", "", text), (key, page)
        assert {"author", "title", "year"} <= entry.keys(), key


def test_every_public_name_is_on_a_page_of_the_reference(built_book):
    targets = set()
    for page in (built_book / "docs/api").glob("*.html"):
        targets |= set(re.findall(r'id="(pushlab\.[\w.]+)"', page.read_text("utf-8")))
    offered = [f"{package}.{name}" for package in (
        "pushlab", "pushlab.agents", "pushlab.plots", "pushlab.causal", "pushlab.clients", "pushlab.classroom",
        "pushlab.metrics.estimate", "pushlab.metrics.offpolicy", "pushlab.metrics.push", "pushlab.metrics.rec",
        "pushlab.metrics.lifelong") for name in api.exports(package)]
    assert len(offered) > 200
    assert not {name for name in offered if api.objects().get(name) not in targets}


def test_every_public_callable_is_told_with_the_arguments_that_it_takes():
    """Signatures are read from the source; Python's own, of what is imported, know of constructors that are inherited.
    """
    compared = 0
    for place in api.entries():
        module, _, name = place.partition(":")
        found, node = getattr(importlib.import_module(module), name), api.node_of(place)
        told = {place: found} if isinstance(node, (ast.ClassDef, ast.FunctionDef)) else {}
        for method in api.methods_of(node) if isinstance(node, ast.ClassDef) else ():
            if callable(getattr(found, method.name)):
                told[f"{place}.{method.name}"] = getattr(found, method.name)
        for where, one in told.items():
            if isinstance(one, type) and issubclass(one, Exception):
                continue                            # Python knows nothing of an error's arguments
            taken = [parameter for parameter in inspect.signature(one).parameters if parameter != "self"]
            given = ast.parse(f"def f{api.signature(where) or '()'}: ...").body[0].args
            assert [argument.arg for argument in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs,
                                                  given.kwarg) if argument] == taken, where
            compared += 1
    assert compared > 500


def test_every_row_of_a_table_of_names_says_what_the_name_is_for():
    assert [place for place in api.entries() if not api.summary(place)] == []


def test_an_entry_has_its_signature_with_types_its_source_and_links(built_book):
    text = (built_book / "docs/api/metrics.estimate.html").read_text("utf-8")
    at = text.index('id="pushlab.metrics.estimate.runs_needed"')
    entry = text[at:text.index('id="pushlab.', at + 10)]
    source = re.search(r'href="(https://github.com/[^"]*planning\.py)#L(\d+)-L(\d+)"', entry)
    lines = (ROOT / "pushlab/metrics/estimate/planning.py").read_text("utf-8").split("\n")
    assert lines[int(source[2]) - 1].startswith("def runs_needed(")
    shown = re.sub(r"<[^>]+>", "", entry)
    assert "difference: float" in shown.replace("\n", "") and "The least number of runs" in shown
    assert 'href="#pushlab.metrics.estimate.power"' in entry


def test_every_command_and_option_is_on_the_page_of_the_commands(built_book):
    from typer.testing import CliRunner

    from pushlab.__main__ import app

    text = re.sub(r"<[^>]+>", "", (built_book / "docs/api/commands.html").read_text("utf-8"))
    help_of_score = CliRunner().invoke(app, ["score", "--help"], terminal_width=200).output
    for option in set(re.findall(r"--[a-z][\w-]+", help_of_score)) - {"--help"}:
        assert option in text, option
    for words_ in api.commands():
        assert words_ in text


def test_a_second_build_writes_nothing(built_book):
    """Pages whose text is the same stay as they are, so that Sphinx reads again only what has changed."""
    before = {path: path.stat().st_mtime_ns for path in (*environments.FOLDER.rglob("*"), *api.FOLDER.rglob("*"))
              if path.is_file()}
    api.write_pages()
    environments.write_pages()
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_no_button_leads_to_a_source_that_is_not_in_the_repository(built_book):
    for page in ("api/metrics.push", "environments/push-v0", "environments/index"):
        assert f"{page}.md?plain=1" not in (built_book / f"docs/{page}.html").read_text("utf-8")
