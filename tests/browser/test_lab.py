"""Notebooks, opened in JupyterLab and run from the menu, with their widgets used by hand."""

from pathlib import Path

import pytest
from waiting import wait_until

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
SLIDER = ".widget-slider .noUi-handle"
PLAYER = ".widget-play button"
SEAT = "button.widget-button:text-matches('send|stand-by|sport|desk')"
# The notebooks with each widget, by number.
SHOWN = {
    SLIDER: "00 01 03 05 06 07 08 09 10 11 12 13",
    PLAYER: "00 03 05 06 07 08 10",
    SEAT: "00 05 06 07",
}
FAST = ("00", "10")

# A checksum of the file that an image shows; null while it has none or gets another.
PICTURE = """async (image) => {
    try {
        await image.decode();
        const file = await fetch(image.src);
        const sum = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
        return new Uint8Array(sum).join();
    } catch { return null; }
}"""


def use(lab, widget):
    """Move a slider by keyboard or click a button, and wait until the picture beside it changes."""
    control = lab.find(widget)
    image = lab.picture_beside(control)
    before = wait_until(lambda: image.evaluate(PICTURE), f"a picture beside {widget}")
    if widget == SLIDER:
        value, end = (
            control.get_attribute(f"aria-value{name}") for name in ("now", "max")
        )
        control.press("ArrowLeft" if value == end else "ArrowRight")
    else:
        control.click()
    after = (None, before)
    wait_until(
        lambda: image.evaluate(PICTURE) not in after, f"another picture beside {widget}"
    )
    assert image.get_attribute("title"), "a screen reader needs words"
    if widget == PLAYER:  # or it would go on playing without a kernel
        lab.page.locator(".widget-play").first.locator("button").nth(1).click()


def faults(cells):
    """Return the errors and warnings that the cells show."""
    found = []
    for cell in cells:
        for output in cell.get("outputs", []):
            # dask's processes end slowly on a busy machine, and it says so
            slow = "distributed.nanny" in output.get("text", "")
            if {"error", "stderr"} & {
                output["output_type"],
                output.get("name"),
            } and not slow:
                found.append(output)
    return found


def case(path):
    marks = () if path.stem[:2] in FAST else pytest.mark.slow
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize(
    "path", [case(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))]
)
def test_a_notebook_runs_and_its_widgets_respond(lab, path):
    lab.open(path.name)
    lab.run_all()
    assert faults(lab.cells()) == []
    for widget, numbers in SHOWN.items():
        expected = path.stem[:2] in numbers.split()
        assert bool(lab.page.locator(widget).count()) == expected, widget
        if expected:
            use(lab, widget)
    assert faults(lab.cells()) == []
    assert lab.page.get_by_text("Error displaying widget").count() == 0
    assert lab.outside == []
    assert lab.errors == []
