"""The check of every exercise accepts its solution and refuses the stub and wrong answers, with a reason and a hint."""

import nbformat
import prose
import pytest
import refresh
import solutions

NOTEBOOKS = pytest.mark.parametrize(
    "path", refresh.find_notebooks(), ids=lambda path: path.stem
)
# Exercises that take more than a second: left to the slow tests.
COSTLY = {
    "00_start_here": (2,),
    "01_the_data": (2, 5),
    "02_challenge_1_learn_from_history": (4, 5),
    "05_managing_arrivals": (4, 5),
    "07_the_room": (3, 4),
    "10_world_answers_back": (4, 5),
    "11_lifelong_metrics": (5,),
    "12_capstone": (4,),
}


def check_verdicts(tried):
    for number, one in tried.items():
        passed, refused = f"✓ Exercise {number}: ", f"✗ Exercise {number}: "
        assert passed in one.verdict, f"exercise {number}, solved:\n{one.verdict}"
        assert f"{refused}0 of" in one.wrong[solutions.STUB], f"exercise {number}, stub"
        for what, verdict in one.wrong.items():
            named = f"exercise {number}, {what}:\n{verdict}"
            if what.startswith("right: "):
                assert passed in verdict, named
            else:
                assert refused in verdict and "Hint: " in verdict, named
                assert "Your answer raised" not in verdict, (
                    f"{named}\nbut wrong answers run"
                )


@NOTEBOOKS
def test_checks_accept_solutions_and_refuse_wrong_answers(path, tmp_path):
    found = solutions.exercises(nbformat.read(path, as_version=4).cells)
    numbers = set(range(1, len(found) + 1)).difference(COSTLY.get(path.stem, ()))
    tried = solutions.run(path, tmp_path, numbers)
    assert set(tried) == numbers
    check_verdicts(tried)


@pytest.mark.slow
@NOTEBOOKS
def test_all_exercises_and_the_numbers_that_texts_quote_from_solutions(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    tried = solutions.run(path, tmp_path, quotes=True)
    assert len(tried) == len(solutions.exercises(notebook.cells)) >= 4
    check_verdicts(tried)
    printed = {one.position: prose.lines_of(one.printed) for one in tried.values()}
    assert prose.complaints(notebook, printed) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["00_start_here", "01_the_data"])
def test_a_notebook_runs_for_another_user(name, tmp_path):
    [path] = refresh.find_notebooks([name])
    cells = nbformat.read(path, as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert "\n".join(code).count('USER = "mira"') == 1
    with solutions.Session(tmp_path) as session:
        printed = "".join(
            session.run(one.replace('USER = "mira"', 'USER = "noor"')) for one in code
        )
    assert "noor" in printed.lower()
    assert "user 'mira'" not in printed
