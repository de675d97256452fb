"""How fast the pictures that move answer: each notebook in JupyterLab in Chromium, sliders,
players, seats moved.

`make benchmarks ARGS=widgets` writes data/widgets/widgets.csv and its README (some ten minutes on
an idle machine); `python tests/benchmarks/table.py widgets 05 07` prints those notebooks only and
writes nothing. A row is a control:

- `median_ms`, `p90_ms`: from the key or click, as the page sees it, to the new picture loaded, a
  move every 150 ms or so; one that does not come within 8 seconds counts as 8
- `fresh_ms`: the median where no picture is kept, as after a jump to somewhere new
- `draw_ms`, `png_ms`: of fresh_ms in the kernel: the picture function with all its metrics; pixels
  and the PNG file
- `rest_ms`: of fresh_ms everything else: two messages, ipywidgets, JupyterLab, decoding
- `kilobytes`: size of the PNG file
- `first_ms`: from running the cell, for the first time in a fresh kernel, to its picture loaded
- `frames_a_second`: of a player that plays; its interval, 300 milliseconds by default, lets 3.3
  through
"""

import datetime
import importlib.util
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

MOVES = 16
WAIT = 8000  # milliseconds: a picture that does not come counts as this late
PLAYED = 4000  # milliseconds that a player is watched

# Runs in the kernel before all cells: how long the two parts of a panel's work take, and how large the file is.
WATCH = """
import time as _time
from pushlab.plots import widgets as _widgets
_timings = []
_png = _widgets.png
_render = _widgets.Panel.render
_cache_size = _widgets.Panel.cache_size
def _timed_png(figure):
    start = _time.perf_counter()
    file = _png(figure)
    _timings.append([_time.perf_counter() - start, len(file)])
    return file
def _timed_render(panel, state):
    start = _time.perf_counter()
    before = len(_timings)
    rendered = _render(panel, state)
    if len(_timings) > before:
        _timings[-1].insert(0, _time.perf_counter() - start)
    return rendered
_widgets.png = _timed_png
_widgets.Panel.render = _timed_render
"""

IN_KERNEL = """async (code) => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const future = kernel.requestExecute({ code, store_history: false });
    let text = "";
    future.onIOPub = (message) => {
        if (message.header.msg_type === "stream") text += message.content.text;
        if (message.header.msg_type === "error") text += message.content.evalue;
    };
    await future.done;
    return text;
}"""

# Runs the cells in order; of those that show a widget with a picture, the milliseconds until it is loaded.
RUN_CELLS = """async () => {
    const panel = window.jupyterapp.shell.currentWidget, notebook = panel.content, found = [];
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    for (let at = 0; at < notebook.widgets.length; at++) {
        const cell = notebook.widgets[at];
        if (cell.model.type !== "code") continue;
        const moves = /widgets\\.|Explorer|explore\\(|player\\(/.test(cell.model.sharedModel.getSource());
        notebook.activeCellIndex = at;
        if (moves) { await notebook.scrollToItem(at, "center"); await frame(); await frame(); }
        const begun = performance.now();
        const ran = window.jupyterapp.commands.execute("notebook:run-cell");
        if (!moves) { await ran; continue; }
        const late = begun + 60000;
        let shown = null, over = false;
        ran.then(() => { over = performance.now(); });
        while (!shown && performance.now() < late && !(over && performance.now() > over + 3000)) {
            const image = cell.node.querySelector("img.widget-image");
            shown = image && image.complete && image.naturalWidth ? performance.now() - begun : null;
            if (!shown) await frame();
        }
        await ran;
        if (shown) found.push({ at, first: shown });
    }
    return found;
}"""

# The next key or click begins the clock, the next picture loaded ends it.
ARM = """(image) => {
    let begun = null;
    const kinds = ["keydown", "click", "change"];
    const begin = (event) => { if (begun === null) begun = performance.now(); };
    for (const kind of kinds) window.addEventListener(kind, begin, { capture: true, once: true });
    const before = image.src;
    window.moved = new Promise((done) => {
        const look = () => {
            if (image.src === before) return;
            image.removeEventListener("load", look);
            for (const kind of kinds) window.removeEventListener(kind, begin, { capture: true });
            done(performance.now() - begun);
        };
        image.addEventListener("load", look);
        setTimeout(() => done(WAIT), WAIT);
    });
}""".replace("WAIT", str(WAIT))

COUNT_LOADS = """(image) => {
    window.loads = [];
    image.addEventListener("load", () => window.loads.push(performance.now()));
}"""


def browser_tools():
    """tests/browser/conftest.py as a module: how the tests start JupyterLab and drive Chromium."""
    path = Path(__file__).resolve().parents[1] / "browser" / "conftest.py"
    sys.path.insert(0, str(path.parents[1]))  # of the module `waiting`
    spec = importlib.util.spec_from_file_location("browser_tools", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Cell:
    """One cell with a widget: its controls are found in the page, moved, and timed."""

    def __init__(self, lab, found):
        self.page, self.found = lab.page, found
        self.node = lab.page.locator(".jp-Notebook .jp-Cell").nth(
            0
        )  # until show() says better
        self.show()

    def show(self):
        """Scrolls to the cell and marks it, as cells out of sight lose their place among the others."""
        self.page.evaluate(
            """async (at) => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            document.querySelectorAll("[data-timed]").forEach((node) => node.removeAttribute("data-timed"));
            notebook.widgets[at].node.setAttribute("data-timed", "yes");
            await notebook.scrollToItem(at, "center");
        }""",
            self.found["at"],
        )
        self.node = self.page.locator("[data-timed]")
        self.image = self.node.locator("img.widget-image").first

    def moves(self):
        """Yields (name of a control, function that moves it once)."""
        if self.node.locator("button:has-text('new episode')").count():
            send = self.node.locator("button.widget-button:has-text('send')")
            buttons = self.node.locator("button.widget-button:not(:disabled)")
            yield "seat", lambda: self.click((send if send.count() else buttons).first)
            return
        play = self.node.locator(".widget-play").count()
        handles = self.node.locator(".widget-slider .noUi-handle")
        for place in range(handles.count()):
            handle = handles.nth(place)
            name = "player" if play else self.name(handle, "widget-slider")
            yield name, lambda handle=handle, turn=[1]: self.press(handle, turn)
        choices = self.node.locator(".widget-toggle-buttons")
        for place in range(choices.count()):
            buttons = choices.nth(place).locator("button")
            name = self.name(buttons.first, "widget-toggle-buttons")
            yield name, lambda buttons=buttons, turn=[1]: self.choose(buttons, turn)

    def name(self, part, kind):
        """The label of the widget that has a part."""
        widget = part.locator(f"xpath=ancestor::*[contains(@class, '{kind}')][1]")
        return widget.locator(".widget-label").inner_text()

    def press(self, handle, turn):
        """An arrow key; back again at the ends."""
        now, low, high = (
            float(handle.get_attribute(f"aria-value{end}"))
            for end in ("now", "min", "max")
        )
        turn[0] = 1 if now <= low else -1 if now >= high else turn[0]
        handle.focus()
        self.page.keyboard.press("ArrowRight" if turn[0] > 0 else "ArrowLeft")

    def click(self, button):
        if button.is_disabled():  # the episode is over
            button = self.node.locator(
                "button.widget-button:has-text('new episode')"
            ).first
        button.click()

    def choose(self, buttons, turn):
        """The next button, by mouse; back again at the ends."""
        pressed = "all => all.findIndex(one => one.classList.contains('mod-active'))"
        at, of = buttons.evaluate_all(pressed), buttons.count()
        turn[0] = 1 if at == 0 else -1 if at == of - 1 else turn[0]
        buttons.nth(at + turn[0]).click()

    def times(self, move):
        """Milliseconds of MOVES moves, after one that is not counted."""
        found = []
        for _ in range(MOVES + 1):
            self.image.evaluate(ARM)
            move()
            found.append(self.page.evaluate("window.moved"))
            self.page.wait_for_timeout(150)  # a reader looks; so does the kernel
        return found[1:]

    def frames_a_second(self):
        """Of a player, while it plays at the interval that its notebook gives it."""
        buttons = self.node.locator(".widget-play button")
        self.image.evaluate(COUNT_LOADS)
        buttons.nth(0).click()
        self.page.wait_for_timeout(PLAYED)
        buttons.nth(1 if buttons.count() > 2 else 0).click()
        loads = self.page.evaluate("window.loads")
        return (
            1000 * (len(loads) - 1) / (loads[-1] - loads[0])
            if len(loads) > 2
            else float("nan")
        )


def measure(lab, name):
    """The rows of one notebook."""
    import numpy as np

    lab.open(name)
    print(lab.page.evaluate(IN_KERNEL, WATCH), end="", file=sys.stderr)
    rows = []
    for found in lab.page.evaluate(RUN_CELLS):
        cell = Cell(lab, found)
        for control, move in cell.moves():
            lab.page.evaluate(
                IN_KERNEL, "_widgets.Panel.cache_size = 0; _timings.clear()"
            )
            fresh = cell.times(move)
            kernel = json.loads(
                lab.page.evaluate(IN_KERNEL, "import json; print(json.dumps(_timings))")
            )
            lab.page.evaluate(IN_KERNEL, "_widgets.Panel.cache_size = _cache_size")
            times = cell.times(move)
            if not kernel or min(fresh + times) >= WAIT:
                print(f"{name}: {control} changed no picture", file=sys.stderr)
                continue
            # A widget runs in a thread of its own: the first may have begun before.
            kernel = [row for row in kernel if len(row) == 3]
            whole, png, size = np.median(np.array(kernel), axis=0)
            row = {
                "notebook": name.removesuffix(".ipynb"),
                "cell": found["at"],
                "control": control,
                "moves": len(times),
                "median_ms": np.median(times),
                "p90_ms": np.quantile(times, 0.9),
                "fresh_ms": np.median(fresh),
                "draw_ms": 1000 * (whole - png),
                "png_ms": 1000 * png,
                "rest_ms": np.median(fresh) - 1000 * whole,
                "kilobytes": size / 1000,
                "first_ms": found["first"],
                "frames_a_second": cell.frames_a_second()
                if control == "player"
                else np.nan,
            }
            rows.append(row)
            print(
                f"{row['notebook']}, {control}: {row['median_ms']:.0f} ms, fresh {row['fresh_ms']:.0f} ms",
                file=sys.stderr,
                flush=True,
            )
    return rows


def main(names=()):
    """Measures the notebooks whose names begin with one of `names`, or all, and stores the table of all."""
    import pandas as pd
    import table
    from playwright.sync_api import sync_playwright

    from pushlab.ground.files import data_dir

    tools, rows = browser_tools(), []
    paths = sorted(
        path
        for path in tools.NOTEBOOKS.glob("*.ipynb")
        if "widgets." in path.read_text(encoding="utf-8")
        and path.name.startswith(tuple(names) or "")
    )
    with (
        TemporaryDirectory() as home,
        tools.serving(Path(home)) as server,
        sync_playwright() as playwright,
    ):
        opened = playwright.chromium.launch(
            executable_path=tools.find_chromium(), args=tools.CHROMIUM_FLAGS
        )
        lab = tools.Lab(
            opened.new_context(viewport={"width": 1280, "height": 1000}).new_page(),
            server,
        )
        for path in paths:
            rows += measure(lab, path.name)
            lab.leave()
        opened.close()
    found = pd.DataFrame(rows)
    print(found.to_string(index=False, float_format="%.0f", na_rep=""))
    if not names:
        found.insert(
            0,
            "machine",
            f"{table.processor()}, {os.cpu_count()} cores, {datetime.date.today()}",
        )
        folder = data_dir() / "widgets"
        found.to_csv(folder / "widgets.csv", index=False, float_format="%.4g")
        before = (
            pd.read_csv(folder / "before.csv")
            if (folder / "before.csv").exists()
            else found.iloc[:0]
        )
        table.write_between(folder / "README.md", block(found, before))
    return 0


def block(found, before):
    """The table for data/widgets/README.md: a row a control, with what it was before where that is known."""
    import table

    found, before = (
        rows.assign(nth=rows.groupby(["notebook", "control"]).cumcount())
        for rows in (found, before)
    )

    def at(one, column):
        there = before[
            (before["control"] == one.control)
            & (before["notebook"].str[3:] == one.notebook[3:])
            & (before["nth"] == one.nth)
        ]
        return number(there[column].iloc[0]) if len(there) else ""

    def number(value):
        return "" if value != value else f"{value:.0f}"

    rows = [
        [
            one.notebook,
            one.control,
            at(one, "median_ms"),
            number(one.median_ms),
            number(one.p90_ms),
            number(one.fresh_ms),
            number(one.first_ms),
            number(one.frames_a_second),
        ]
        for one in found.itertuples()
    ]
    head = [
        "notebook",
        "control",
        "median ms before",
        "median ms",
        "90th percentile",
        "fresh",
        "first paint",
        "frames a second",
    ]
    middle = found["median_ms"].median()
    words = f"Measured on {found['machine'].iloc[0]}. Over all controls the median is {middle:.0f} ms"
    if len(before):
        words += f"; of the {len(before)} that were measured before, it was {before['median_ms'].median():.0f} ms then"
    return f"{table.filled(words + '.')}\n\n{table.table(head, rows)}"
