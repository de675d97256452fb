"""The frame of the checks: verdict, reason, hint and points, whatever a student writes."""

import base64
import io
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
import refresh
import solutions
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "notebooks"))
from checks import Checks, demand

check = Checks("99 · Half")


@check(1, points=2)
def a_half(half):
    demand(callable(half), "`half` is no function", "begin with def half(x):")
    demand(half(4) == 2, f"half(4) is {half(4)}", "divide by two")
    demand(half(5) == 2.5, "half(5) lost something", "/ and not //", earned=1)
    return "It halves."


def judged(capsys, **names):
    points = eval("check.exercise(1)", {"check": check, **names})
    return points, capsys.readouterr().out


@pytest.mark.parametrize(("half", "points", "words"), [
    (lambda x: x / 2, 2, ["✓ Exercise 1: 2 of 2 points. It halves."]),
    (lambda x: x // 2, 1, ["✗ Exercise 1: 1 of 2 points. half(5) lost something.", "Hint: / and not //."]),
    (lambda x: x, 0, ["✗", "half(4) is 4.", "Hint: divide by two."]),
    (7, 0, ["✗", "`half` is no function", "def half(x)"]),
    (lambda x: x.half, 0, ["✗", "AttributeError: 'int' object has no attribute 'half'", "Hint: "]),
    (None, 0, ["✗", "`half` is still empty", "Write your answer"]),
    (..., 0, ["✗", "`half` is still empty"]),
])
def test_verdict_reason_hint_and_points(capsys, half, points, words):
    earned, said = judged(capsys, half=half)
    assert earned == points and all(one in said for one in words), said
    assert check.points().to_dict("records") == [{"exercise": 1, "title": "a half", "points": points, "of": 2}]


def test_a_cell_that_was_not_run_is_asked_for(capsys):
    points, said = judged(capsys)
    assert points == 0 and "There is no `half` yet" in said


def test_an_exercise_that_is_not_there():
    with pytest.raises(KeyError, match=r"no exercise 2; it has \[1\]"):
        check.exercise(2)


@pytest.mark.parametrize(("mine", "truth", "within", "words"), [
    ("?", 0.5, 0, "No guess was written down. It is 0.5."),
    (0.4, 0.5, 0.2, "close enough"),
    (0.4, 0.5, 0.05, "too low"),
    (9, 3, 1, "You guessed 9; it is 3: too high."),
    (True, True, 0, "right"),
    ("mira", "noor", 0, "You guessed mira; it is noor: not so."),
    ("Evening", "evening", 0, "right"),
    ("about 5", 7, 0, "which is no number: write one without quotes. It is 7."),
    ([1], 7, 0, "which is no number"),
    (3, np.int64(4), 2, "close enough"),
    (0.4, np.float32(0.5), 0.2, "close enough"),
])
def test_a_guess_is_held_against_what_came_out(capsys, mine, truth, within, words):
    check.guess(mine, truth, within)
    assert words in capsys.readouterr().out


def test_a_round_of_dagger_may_ask_the_teacher_for_all_labels_anew():
    from checks import nb08

    from pushlab.studies import interventions

    class Tree:
        def __init__(self, states, answers):
            self.known = {tuple(state): answer for state, answer in zip(states, answers)}

        def __call__(self, states):
            return np.array([self.known.get(tuple(state), 2) for state in states])

    def one_round(states, answers, teacher, learner, starts):
        states = np.vstack([states, states_of(learner, starts)])
        return states, teacher(states), Tree(states, teacher(states))

    world = interventions.make_world()

    def states_of(policy, starts):
        return interventions.treat(world, policy, starts=starts)[0][:-1].reshape(-1, 6)

    said = nb08.check.exercises[3].judge(one_round, states_of, Tree, world)
    assert "nothing is forgotten" in said


def test_wrong_answers_run_before_the_solution_in_one_kernel(tmp_path):
    cell = nbformat.v4.new_code_cell
    notebook = nbformat.v4.new_notebook(cells=[
        cell("tries = 0"), cell("x = 0", metadata={"tags": ["exercise"]}),
        cell("tries += 1\nprint(tries, '✓' if x == 2 else '✗')", metadata={"tags": ["check"]}),
        nbformat.v4.new_markdown_cell("<details>\n\n```python\nx = 2\n```\n</details>")])
    [solved] = solutions.run(notebook, tmp_path, {1: {"one too few": "x = 1"}})
    assert solved.wrong == {"as it stands": "1 ✗\n", "one too few": "2 ✗\n"}
    assert solutions.text_of(solved.cells[1:]) == "3 ✓\n" and solved.position == 3


def test_saved_pictures_get_smaller_and_a_text(tmp_path):
    code = "import matplotlib.pyplot as plt\n%matplotlib inline\nprint('up')\nplt.plot([1, 2]);"
    cell = nbformat.v4.new_code_cell(code)
    notebook = nbformat.v4.new_notebook(cells=[cell])
    refresh.execute(notebook, tmp_path)
    before = len(notebook.cells[0].outputs[1].data["image/png"])
    refresh.normalise(notebook)
    picture = notebook.cells[0].outputs[1]
    assert picture.metadata["image/png"]["alt"] == "up" and len(picture.data["image/png"]) < before


def test_a_small_mark_keeps_its_colour_in_a_saved_picture():
    picture, fade = np.full((300, 600, 3), 250, np.uint8), np.linspace(0, 1, 256)[:, None]
    for row, ink in enumerate([(30, 40, 50), (0, 158, 115), (213, 94, 0), (230, 159, 0), (204, 121, 167)]):
        shade = fade[np.random.default_rng(row).integers(256, size=(30, 256))]      # which no PNG makes small
        picture[20 + 40 * row:50 + 40 * row, 20:276] = 250 * (1 - shade) + np.array(ink) * shade
    picture[280:284, 4:8] = 0, 114, 178
    raw = io.BytesIO()
    Image.fromarray(picture).save(raw, "PNG")
    saved = Image.open(io.BytesIO(base64.b64decode(refresh.with_palette(base64.b64encode(raw.getvalue()).decode()))))
    assert np.abs(np.asarray(saved.convert("RGB"))[281, 5].astype(int) - (0, 114, 178)).max() <= 16
