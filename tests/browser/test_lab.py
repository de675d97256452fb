"""Tests of notebooks in JupyterLab: run from the menu, with their widgets used like a reader."""

from pathlib import Path

import pytest
from waiting import wait_until

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
SLIDER = ".widget-slider .noUi-handle"
PLAYER = ".widget-play button"
CONTROL = "button.widget-button:text-matches('send|stand-by|sport|desk')"
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


def use(lab, widget):
    """Move a slider by keyboard or click a button, and wait for the picture beside it to change."""
    control = lab.find(widget)
    image = lab.picture_beside(control)
    before = wait_until(lambda: image.evaluate(PICTURE), f"a picture beside {widget}")
    if widget == SLIDER:
        value = control.get_attribute("aria-valuenow")
        maximum = control.get_attribute("aria-valuemax")
        control.press("ArrowLeft" if value == maximum else "ArrowRight")
    else:
        control.click()
    unchanged = (None, before)
    wait_until(
        lambda: image.evaluate(PICTURE) not in unchanged,
        f"another picture beside {widget}",
    )
    assert image.get_attribute("title"), "a screen reader needs text"
    if widget == PLAYER:  # otherwise it would continue without a kernel
        lab.page.locator(".widget-play").first.locator("button").nth(1).click()


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
