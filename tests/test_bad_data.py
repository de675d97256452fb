"""Errors for invalid files name file, row, column and value, and describe the valid values."""

import csv
import io
import json

import pytest

from pushlab import load_user
from pushlab.challenges.leaderboard import COLUMNS, add_to_board, read_board
from pushlab.datasets.borrowers import FEATURES, LABEL, read_borrowers
from pushlab.datasets.commonsense import read_facts
from pushlab.datasets.schema import Schema
from pushlab.utils.issues import BadData

N = "ann/train/notifications.csv"
P = "ann/train/context_on_posting.csv"
R = "ann/train/context_on_removal.csv"


def check_issues(expected, read, *arguments):
    """Check that reading raises these issues: (file, row, column, value, part of the message)."""
    with pytest.raises(BadData) as error:
        read(*arguments)
    actual = error.value.issues
    assert [issue[:4] for issue in actual] == [row[:4] for row in expected]
    for issue, row in zip(actual, expected):
        assert row[4] in issue.valid_values


# ------------------------------------------------------------------ users


def replace_cell(column, value):
    """Return a function that replaces one cell in line 6 of a CSV text, counted from 1 with the header."""

    def change(text):
        rows = list(csv.reader(io.StringIO(text)))
        rows[5][rows[0].index(column)] = value
        changed = io.StringIO()
        csv.writer(changed, lineterminator="\n").writerows(rows)
        return changed.getvalue()

    return change


@pytest.mark.parametrize(
    ("file", "change", "issues"),
    [
        (N, lambda text: "", [(None, None, None, "the file is empty")]),
        (N, replace_cell("subject", ""), [(6, "subject", "", "a word")]),
        (
            R,
            replace_cell("action", "maybe"),
            [(6, "action", "maybe", "one of True, true")],
        ),
        (
            N,
            lambda text: text.replace("appPackage", "appPackge", 1),
            [
                (1, "appPackge", None, "did you mean 'appPackage'?"),
                (1, "appPackage", None, "the column is missing"),
            ],
        ),
        (
            P,
            lambda text: text[:-25],
            [(31, None, None, "header has 14 fields and the row 10")],
        ),
    ],
)
def test_invalid_tables_of_a_user(ann, file, change, issues):
    path = ann.parent / file
    path.write_text(change(path.read_text()))
    check_issues([(file, *issue) for issue in issues], load_user, ann)


def test_unreadable_files_of_a_user(ann):
    (ann.parent / R).unlink()
    path = ann.parent / N
    path.write_text(replace_cell("subject", "schön")(path.read_text()), "latin-1")
    issues = [
        (N, 6, None, None, "not UTF-8 (byte 0xf6)"),
        (R, None, None, None, "the file is missing"),
    ]
    check_issues(issues, load_user, ann)


# ------------------------------------------------------------------ schemas

TEA = """{
  "name": "tea",
  "notification": [{"name": "cup", "kind": "closed", "values": ["small", "big"]}],
  "context": [{"name": "sky", "kind": "open"}],
  "action": {"opened": ["drunk"], "dismissed": ["left"]},
  "layouts": [{"root": "", "periods": {"history": [
    {"file": "then.csv", "columns": {"Cup": "cup", "Sky": "sky", "end": "action"}}
  ]}}]
}"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"name": "tea",', "", "'name' is missing"),
        ('"kind": "open"', '"kind": "odd"', "kind must be one of closed, open"),
        ('"kind": "open"', '"kind": "closed"', "a closed feature needs values"),
        (', "end": "action"', "", "layout 1, history: no column has the name 'action'"),
        ('"Cup": "cup"', '"Cup": "cap"', "layout 1, history: 'cap' is not a feature"),
    ],
)
def test_invalid_schemas(tmp_path, old, new, message):
    schema = Schema.from_dict(json.loads(TEA))
    assert schema.notification["cup"].values == ("small", "big")
    (tmp_path / "tea.json").write_text(TEA.replace(old, new, 1))
    with pytest.raises(BadData, match="tea.json: not a schema file") as error:
        Schema.load(tmp_path / "tea.json")
    assert message in str(error.value)


# ------------------------------------------------------------------ facts

FACTS = "head,relation,tail,weight\n"


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("head,relation,tail\n", (1, "weight", None, "the column is missing")),
        (FACTS + "cup,at,table,heavy\n", (2, "weight", "heavy", "a number, 0 or more")),
        (FACTS + "cup,at,cup,1\n", (None, "tail", None, "every tail is also a head")),
        (FACTS + "cup,at\n", (2, None, None, "header has 4 fields and the row 2")),
        ("/a/x\ty\n", (1, None, "/a/x\ty\n", "5 fields separated by tabs")),
        ('{"cup": [1]}', (None, "cup", "[1]", "a list of edges with")),
    ],
)
def test_invalid_facts(tmp_path, text, issue):
    path = tmp_path / ("facts.json" if text.startswith("{") else "facts.csv")
    path.write_text(text)
    check_issues([(path.name, *issue)], read_facts, path)


# ------------------------------------------------------------------ borrowers

HEADER = ",".join((LABEL, *FEATURES)) + "\n"
PERSON = "0,0.1,40,0,0.2,3000,5,0,1,0,0\n"


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        (PERSON + PERSON.replace("0", "2", 1), (3, LABEL, "2", "0 or 1")),
        (PERSON.replace("0", "NA", 1), (2, LABEL, "", "cs-test.csv has no answers")),
        (PERSON.replace("40", "old"), (2, "age", "old", "0 or more, or NA")),
    ],
)
def test_invalid_borrowers(tmp_path, text, issue):
    path = tmp_path / "people.csv"
    path.write_text(HEADER + text)
    check_issues([("people.csv", *issue)], read_borrowers, path)


# ------------------------------------------------------------------ the capstone's board


def test_invalid_rows_of_a_board(tmp_path):
    path = tmp_path / "board.csv"
    line = " ,mine,users-xyz,7,much,4,6,1,0,3,"
    path.write_text(",".join(COLUMNS) + f"\n{line}\n")
    expected = [
        ("board.csv", 2, "name", " ", "a name"),
        ("board.csv", 2, "syllabus", "users-xyz", "one of "),
        ("board.csv", 2, "seeds", "7", "two or more whole numbers"),
        ("board.csv", 2, "reward", "much", "a number"),
    ]
    check_issues(expected, read_board, path)
    check_issues(expected, add_to_board, path, dict.fromkeys(COLUMNS, "0"))
    assert line in path.read_text()
