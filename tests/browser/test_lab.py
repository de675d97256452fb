"""Every notebook, opened in JupyterLab and run from the menu, with its widgets used by hand.

A widget belongs in the table below; one that is not listed there fails the test of its notebook.
"""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
KERNELSPEC = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
SLIDER, PLAYER, SEND = ".widget-slider .noUi-handle", ".widget-play button", "button.widget-button:has-text('send')"
ANSWER = "button.widget-button:has-text('desk')"
STAND_BY = "button.widget-button:has-text('stand-by')"
SPORT = "button.widget-button:has-text('sport')"                # an item of the recommender's shelf


def move_slider(lab):
    handle = lab.find(SLIDER)
    image = lab.picture_beside(handle)
    before = lab.picture(image)
    at_end = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
    handle.focus()
    for _ in range(3):
        handle.press("ArrowLeft" if at_end else "ArrowRight")
    lab.wait_for_another_picture(image, before, "the first slider was moved by keyboard")


def press_play(lab):
    play = lab.find(PLAYER)
    image = lab.picture_beside(play)
    before = lab.picture(image)
    play.click()
    lab.wait_for_another_picture(image, before, "Play was pressed")
    # Stopped, or it would play on after its notebook is closed, and complain in the next one that it has no kernel.
    lab.page.locator(".widget-play").first.locator("button").nth(1).click()


def send_push(lab):
    send = lab.find(SEND)
    image = lab.picture_beside(send)
    before = lab.picture(image)
    send.click()
    lab.wait_for_another_picture(image, before, "a push was sent")


def show_sport(lab):
    sport = lab.find(SPORT)
    image = lab.picture_beside(sport)
    before = lab.picture(image)
    sport.click()
    lab.wait_for_another_picture(image, before, "sport was shown")


def stand_by(lab):
    button = lab.find(STAND_BY)
    image = lab.picture_beside(button)
    before = lab.picture(image)
    button.click()
    lab.wait_for_another_picture(image, before, "time was let pass")


def answer_desk(lab):
    answer = lab.find(ANSWER)
    image = lab.picture_beside(answer)
    before = lab.picture(image)
    answer.click()
    lab.wait_for_another_picture(image, before, "a question was answered")


# Notebook: the widgets it shows, and what a reader does with them.
INTERACTIONS = {
    "00_start_here": {SLIDER: move_slider, PLAYER: press_play, SEND: send_push},
    "01_the_data": {SLIDER: move_slider},
    "03_challenge_2_cold_start": {SLIDER: move_slider, PLAYER: press_play},
    "05_managing_arrivals": {SLIDER: move_slider, PLAYER: press_play, STAND_BY: stand_by},
    "06_recommender": {SLIDER: move_slider, PLAYER: press_play, SPORT: show_sport},
    "08_interventions": {SLIDER: move_slider, PLAYER: press_play},
    "09_why_not": {SLIDER: move_slider},
    "10_world_answers_back": {SLIDER: move_slider, PLAYER: press_play},
    "07_the_room": {SLIDER: move_slider, PLAYER: press_play, ANSWER: answer_desk},
    "12_capstone": {SLIDER: move_slider},
    "13_research_scale": {SLIDER: move_slider},
    "11_lifelong_metrics": {SLIDER: move_slider},
}


def failures(cells):
    """What went wrong in these cells: errors, and anything written to stderr."""
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    errors = [f"{output['ename']}: {output['evalue']}" for output in outputs if output["output_type"] == "error"]
    warnings = [output["text"] for output in outputs if output.get("name") == "stderr"]
    return errors + warnings


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_its_widgets_answer(lab, path):
    lab.open(path.name)
    lab.run_all()
    assert failures(lab.cells()) == []
    expected = INTERACTIONS.get(path.stem, {})
    shown = {widget for widget in (SLIDER, PLAYER, SEND, SPORT, ANSWER, STAND_BY) if lab.page.locator(widget).count()}
    assert shown == set(expected), "the widgets of this notebook and INTERACTIONS disagree"
    for interact in expected.values():
        interact(lab)
    assert failures(lab.cells()) == []
    assert lab.page.get_by_text("Error displaying widget").count() == 0
    unnamed = lab.page.locator("img.widget-image").evaluate_all("images => images.filter(image => !image.title).length")
    assert unnamed == 0, "a screen reader has nothing to say of a widget's picture"
    assert lab.outside == [], "the notebook asked for something outside the machine"
    assert lab.errors == [], "the browser's console complained"


def test_table_names_notebooks_that_exist():
    assert set(INTERACTIONS) <= {path.stem for path in NOTEBOOKS}


# The harness itself: what must not happen is seen when it does.


def write_notebook(server, name, *sources):
    notebook = new_notebook(metadata={"kernelspec": KERNELSPEC}, cells=[new_code_cell(source) for source in sources])
    nbformat.write(notebook, server.folder / name)


def test_failing_cell_is_seen(lab, server):
    write_notebook(server, "failing.ipynb", "1 + 1", "import warnings; warnings.warn('careful')", "missing", "2 + 2")
    lab.open("failing.ipynb")
    lab.run_all()
    warning, error = sorted(failures(lab.cells()), key=lambda failure: "missing" in failure)
    assert "careful" in warning
    assert "name 'missing' is not defined" in error


def test_a_widget_names_its_picture_for_screen_readers(lab, server):
    """By the sentence of `say`, and a new one when the slider moved; without one by how the controls stand."""
    write_notebook(server, "named.ipynb", "from pushlab.plots import Stage, widgets", """def picture(height=1):
    stage = Stage(200, 100)
    stage.line([(0, 50), (200, 100 - 10 * height)])
    return stage.figure""", "widgets.explore(picture, say=lambda height: f'It is {height} high.', height=(0, 9, 1))",
                   "widgets.explore(picture, height=(0, 9, 1))")
    lab.open("named.ipynb")
    lab.run_all()
    lab.page.get_by_role("img", name="It is 1 high.", exact=True).wait_for()
    handle = lab.find(SLIDER)
    handle.focus()
    handle.press("ArrowRight")
    lab.page.get_by_role("img", name="It is 2 high.", exact=True).wait_for()
    lab.page.get_by_role("img", name="explore: height = 1", exact=True).wait_for()
    assert failures(lab.cells()) == [] and lab.errors == []


@pytest.mark.parametrize("host", ["pushlab.invalid", "127.0.0.2"])
def test_request_off_the_server_is_seen_and_refused(lab, server, host):
    """Whether the other host has a name or, like one that would answer at once, only a number."""
    address = f"https://{host}/a.png"
    source = f"from IPython.display import HTML; HTML('<img src=\"{address}\">')"
    write_notebook(server, "asking.ipynb", source)
    lab.open("asking.ipynb")
    with lab.page.expect_event("requestfailed") as failed:
        lab.run_all()
    assert failed.value.failure == "net::ERR_NAME_NOT_RESOLVED"        # by the flag; nobody was asked for it
    assert set(lab.outside) == {address}                               # drawn anew, the cell asks again
