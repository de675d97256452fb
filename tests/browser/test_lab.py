"""Tests of notebooks in JupyterLab and Notebook 7: run from the menu, with their widgets used like a reader."""

import string
from pathlib import Path

import nbformat
import pytest
from waiting import wait_until

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
SLIDER = ".pushlab-panel input[type=range]"
PLAYER = ".pushlab-panel button:text-is('play')"
CONTROL = ".pushlab-panel button:text-matches('send|stand by|sport|desk')"
# {widget: numbers of the notebooks that have it}
WIDGETS = {
    SLIDER: "00 01 05 06 07 08 09 10 11 12",
    PLAYER: "00 05 06 07 08 10",
    CONTROL: "00 05 06 07",
}
FAST = ("00", "10")

# Returns the checksum of an image's file, or null while it is loading.
PICTURE = """async (image) => {
    try {
        await image.decode();
        const file = await fetch(image.src);
        const sum = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
        return new Uint8Array(sum).join();
    } catch { return null; }
}"""

# Pauses each player that has not come to its end.
PAUSE = """() => {
    for (const button of document.querySelectorAll(".pushlab-panel button"))
        if (button.textContent === "pause") button.click();
}"""


def use(lab, widget):
    """Move a slider by keyboard or click a button, and wait for the picture beside it to change."""
    control = lab.find(widget)
    image = control.locator("xpath=ancestor::*[img]/img")
    before = wait_until(lambda: image.evaluate(PICTURE), f"a picture beside {widget}")
    if widget == SLIDER:
        position = control.input_value()
        last = control.get_attribute("max")
        control.press("ArrowLeft" if position == last else "ArrowRight")
    else:
        control.click()
    unchanged = (None, before)
    wait_until(
        lambda: image.evaluate(PICTURE) not in unchanged,
        f"another picture beside {widget}",
    )
    assert image.get_attribute("alt"), "a screen reader needs text"
    if widget == PLAYER:  # otherwise it would continue without a kernel
        lab.page.evaluate(PAUSE)


def issues(cells):
    """Return the errors and warnings in the outputs of cells."""
    issues = []
    for cell in cells:
        for output in cell.get("outputs", []):
            # dask warns if its processes end slowly on a busy machine
            is_slow_dask = "distributed.nanny" in output.get("text", "")
            kinds = {output["output_type"], output.get("name")}
            if kinds & {"error", "stderr"} and not is_slow_dask:
                issues.append(output)
    return issues


def case(path):
    """Return the case of a notebook, slow unless it is in FAST."""
    marks = () if path.stem[:2] in FAST else pytest.mark.slow
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize(
    "path", [case(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))]
)
def test_a_notebook_runs_and_its_widgets_respond(lab, path):
    lab.open(path.name)
    lab.run_all()
    assert issues(lab.cells()) == []
    for widget, numbers in WIDGETS.items():
        expected = path.stem[:2] in numbers.split()
        assert bool(lab.page.locator(widget).count()) == expected, widget
        if expected:
            use(lab, widget)
    assert issues(lab.cells()) == []
    assert lab.page.get_by_text("Error displaying widget").count() == 0
    assert lab.outside == []
    assert lab.errors == []


# ---------------------------------------------------------------- keys, focus and names

SCRATCH = """
import gymnasium as gym
from pushlab import plots
from pushlab.plots import widgets
def picture(height=1.0, few=1, many=1, shown=True):
    stage = plots.Stage(400, 200)
    stage.line([(0, 0), (200, 100 * height)])
    return stage.figure
labels = {"height": "height of the line, m"}
values = list(range(40))
widgets.explore(picture, labels=labels, height=(0.0, 1.0, 0.1), few=[1, 2], many=values, shown=True)
---
widgets.player([{"load": 1.0 * load} for load in range(20)], plots.frame_panels)
---
widgets.you_are_the_agent(gym.make("pushlab/evalumap1-v0"), seed=7)
---
widgets.you_are_the_agent(gym.make("pushlab/push-v0", max_episode_steps=60), seed=2)
""".split("---")
EXPLORER, PLAYER_PANEL, CHOICES, BUTTONS = range(4)
# The accessibility trees without texts.
TREES = {
    EXPLORER: """slider "height of the line, m": "10" | radiogroup "few" | radio "1" [checked] | radio "2"
        | slider "many": "1" | checkbox "shown" [checked]
        | img "explore: height = 1.0, few = 1, many = 1, shown = True" | status""",
    PLAYER_PANEL: """slider "step": "0" | group "player" | button "step back" [disabled] | button "play"
        | button "step forward" | img "After 0 steps (step 0 of 19)" | status: step 0 of 19""",
    BUTTONS: """status: Choose an action.
        | img "Nothing is in hand at 00:00 (Choose an action. Monday, 00:00)" | group "action"
        | button "show" [disabled] | button "dismiss" [disabled] | button "cache" [disabled]
        | button "check cache" [disabled] | button "stand by" | button "new episode"
        """,
}
FOCUSABLE = "input:not([type=radio]), input[type=radio]:checked, button:visible"
KEYS = (*string.ascii_letters, *string.digits, *"dd00", "Delete", "Backspace")


@pytest.fixture(params=["lab/tree", pytest.param("notebooks", marks=pytest.mark.slow)])
def panels(lab, request):
    """The panels of SCRATCH, in JupyterLab and in Notebook 7."""
    if request.param == "notebooks":
        pytest.importorskip("notebook")
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in SCRATCH]
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, lab.server.folder / "scratch.ipynb")
    lab.open("scratch.ipynb", request.param)
    lab.run_all()
    lab.find(CONTROL)
    panels = lab.page.locator(".pushlab-panel")
    wait_until(lambda: panels.count() == len(SCRATCH), "all panels")
    return panels


def focused(lab):
    """Return what has the focus: its name, or else the label of its group."""
    return lab.page.evaluate("""() => {
        const { labels, textContent, type } = document.activeElement;
        const group = document.activeElement.closest("[role=radiogroup]");
        return group ? group.parentElement.firstChild.textContent : labels?.[0]?.textContent || textContent;
    }""")


def test_no_key_on_a_control_changes_the_notebook(lab, panels):
    before = lab.saved("scratch.ipynb")
    cells = lab.cells()
    for control in panels.locator(FOCUSABLE).all():
        control.focus()
        for key in KEYS:
            lab.page.keyboard.press(key)
        assert control.evaluate("node => node === document.activeElement")
        assert lab.cells() == cells
    assert lab.saved("scratch.ipynb") == before


def test_controls_have_names_and_an_order(lab, panels):
    for index, tree in TREES.items():
        lines = panels.nth(index).aria_snapshot().splitlines()
        lines = [line.strip("- '") for line in lines if "text:" not in line]
        assert [line.removesuffix(":") for line in lines] == [
            part.strip() for part in tree.split("|")
        ]
    height = panels.nth(EXPLORER).locator("input").first
    assert height.get_attribute("aria-valuetext") == "1.0 m"
    height.focus()
    names = []
    for _ in range(8):
        names.append(focused(lab))
        lab.page.keyboard.press("Tab")
    assert names == [
        "height of the line, m",
        "few",
        "many",
        "shown",
        "step",
        "step back",
        "play",
        "step forward",
    ]
    panels.nth(CHOICES).get_by_role("slider", name="posting app").press("n")
    text = panels.nth(CHOICES).get_by_text("news", exact=True)
    assert text.first.is_visible()


def test_the_focus_stays_at_the_seat(lab, panels):
    """Thirty presses are thirty steps, and a new episode asks first."""
    send = panels.nth(CHOICES).get_by_role("button", name="send")
    send.focus()
    for _ in range(30):
        lab.page.keyboard.press("Space")
    panels.nth(CHOICES).get_by_text("after step 30.").wait_for()
    assert focused(lab) == "send"

    seat = panels.nth(BUTTONS)
    seat.get_by_role("button", name="stand by").focus()
    for step in range(1, 31):
        lab.page.keyboard.press("Space")
        seat.get_by_text(f"after step {step}.").wait_for()
        name = focused(lab)
        button = seat.get_by_role("button", name=name, exact=True)
        assert button.get_attribute("aria-disabled") == "false"
    seat.get_by_role("button", name="new episode").press("Enter")
    assert focused(lab) == "play on"
    lab.page.keyboard.press("Escape")
    assert focused(lab) == "new episode"
    lab.page.keyboard.press("Enter")
    seat.get_by_role("button", name="end it").press("Enter")
    seat.get_by_text("Choose an action.").wait_for()
