"""Each check accepts its solution and refuses the stub and wrong answers, with a reason and a hint."""

import nbformat
import prose
import pytest
import refresh
import solutions

NOTEBOOKS = pytest.mark.parametrize(
    "path", refresh.find_notebooks(), ids=lambda path: path.stem
)
# Exercises that take more than a second: only the slow tests run them.
SLOW_EXERCISES = {
    "00_start_here": (2,),
    "01_the_data": (2, 5),
    "02_challenge_1_learn_from_history": (4, 5),
    "05_managing_arrivals": (4, 5, 6),
    "07_the_room": (3, 4),
    "09_why_not": (6,),
    "10_world_answers_back": (4, 5),
    "11_lifelong_metrics": (5,),
    "12_capstone": (4,),
    "14_a_trial_on_a_phone": (4, 6),
}


def assert_verdicts(attempts):
    for number, attempt in attempts.items():
        passed = f"✓ Exercise {number}: "
        refused = f"✗ Exercise {number}: "
        stub_verdict = attempt.wrong[solutions.STUB]
        assert passed in attempt.verdict, f"exercise {number}:\n{attempt.verdict}"
        assert f"{refused}0 of" in stub_verdict, f"exercise {number}, stub"
        for mistake, verdict in attempt.wrong.items():
            message = f"exercise {number}, {mistake}:\n{verdict}"
            if mistake.startswith("right: "):
                assert passed in verdict, message
            else:
                assert refused in verdict, message
                assert "Hint: " in verdict, message
                assert "Your answer raised" not in verdict, message


@NOTEBOOKS
def test_checks_accept_solutions_and_refuse_wrong_answers(path, tmp_path):
    exercises = solutions.exercises(nbformat.read(path, as_version=4).cells)
    numbers = set(range(1, len(exercises) + 1)).difference(
        SLOW_EXERCISES.get(path.stem, ())
    )
    attempts = solutions.run(path, tmp_path, numbers)
    assert set(attempts) == numbers
    assert_verdicts(attempts)


@pytest.mark.slow
@NOTEBOOKS
def test_all_exercises_and_the_numbers_that_texts_quote_from_solutions(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    attempts = solutions.run(path, tmp_path, quotes=True)
    assert len(attempts) == len(solutions.exercises(notebook.cells)) >= 4
    assert_verdicts(attempts)
    printed = {
        attempt.position: prose.lines_of(attempt.printed)
        for attempt in attempts.values()
    }
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
            session.run(source.replace('USER = "mira"', 'USER = "noor"'))
            for source in code
        )
    assert "noor" in printed.lower()
    assert "user 'mira'" not in printed
