"""Measure the response times of widgets: JupyterLab in Chromium opens each notebook and moves sliders and players.

`make benchmarks ARGS=widgets` writes data/widgets/widgets.csv and its README, in about ten minutes on an idle machine.
`python tests/benchmarks/table.py widgets 05 07` only prints the results of these notebooks. Each row is a control:

- `median_ms`, `p90_ms`: from the key or click on the page to the loaded picture, with a move about every 150 ms. Moves
  without a new picture within 8 seconds count as 8 seconds
- `fresh_ms`: the median without cached pictures
- `draw_ms`, `png_ms`: the share of fresh_ms that the kernel takes for the picture function and for the PNG file
- `rest_ms`: the rest of fresh_ms: two messages, ipywidgets, JupyterLab, decoding
- `kilobytes`: size of the PNG file
- `first_ms`: from running the cell in a fresh kernel to the loaded picture
- `frames_a_second`: of a playing player; its default interval of 300 milliseconds allows 3.3
"""

import datetime
import importlib.util
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

MOVES = 16
WAIT = 8000  # timeout for a picture, in milliseconds
PLAYED = 4000  # duration of playing, in milliseconds

# Runs in the kernel before all cells; records times of drawing and of the PNG, and the size of the file.
WATCH = """
import time as _time
from pushlab.plots import widgets as _widgets
_timings = []
_png = _widgets.png
_render = _widgets.Panel.render
_cache_size = _widgets.Panel.cache_size
def _timed_png(figure, scale=1):
    start = _time.perf_counter()
    file = _png(figure, scale)
    _timings.append([_time.perf_counter() - start, len(file)])
    return file
def _timed_render(panel, state, scale=1):
    start = _time.perf_counter()
    before = len(_timings)
    rendered = _render(panel, state, scale)
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

# Runs the cells in order, and returns the milliseconds until each widget's picture is loaded.
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
            const image = cell.node.querySelector(".pushlab-panel img");
            shown = image && image.complete && image.naturalWidth ? performance.now() - begun : null;
            if (!shown) await frame();
        }
        await ran;
        if (shown) found.push({ at, first: shown });
    }
    return found;
}"""

# Measures the time from the next key or click to the next loaded picture.
ARM = """(image) => {
    let begun = null;
    const kinds = ["keydown", "click", "change"];
    const begin = (event) => { if (begun === null) begun = performance.now(); };
    for (const kind of kinds) window.addEventListener(kind, begin, { capture: true, once: true });
    const before = image.src;
    window.moved = new Promise((done) => {
        const look = () => {
            // A picture before the move is the sharp one of the last move.
            if (image.src === before || begun === null) return;
            image.removeEventListener("load", look);
            for (const kind of kinds) window.removeEventListener(kind, begin, { capture: true });
            done(performance.now() - begun);
        };
        image.addEventListener("load", look);
        setTimeout(() => done(WAIT), WAIT);
    });
}""".replace("WAIT", str(WAIT))

# Returns the position of a slider or a group of radio buttons, and the last one.
POSITION = """(control) => {
    if (control.max) return [Number(control.value), Number(control.max)];
    const inputs = [...control.querySelectorAll("input")];
    return [inputs.findIndex((input) => input.checked), inputs.length - 1];
}"""

COUNT_LOADS = """(image) => {
    window.loads = [];
    image.addEventListener("load", () => window.loads.push(performance.now()));
}"""


def browser_tools():
    """Return tests/browser/conftest.py as a module; it starts JupyterLab and controls Chromium."""
    path = Path(__file__).resolve().parents[1] / "browser" / "conftest.py"
    sys.path.insert(0, str(path.parents[1]))  # folder of the module `waiting`
    spec = importlib.util.spec_from_file_location("browser_tools", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Cell:
    """A cell with a widget, whose controls can be moved and timed.

    Args:
        lab: The page of JupyterLab.
        index: Index of the cell in the notebook.
    """

    def __init__(self, lab, index):
        self.page = lab.page
        self.index = index
        self.show()

    def show(self):
        """Scroll to the cell and mark it, because JupyterLab removes cells out of sight from the page."""
        self.page.evaluate(
            """async (at) => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            document.querySelectorAll("[data-timed]").forEach((node) => node.removeAttribute("data-timed"));
            notebook.widgets[at].node.setAttribute("data-timed", "yes");
            await notebook.scrollToItem(at, "center");
        }""",
            self.index,
        )
        self.node = self.page.locator("[data-timed]")
        self.image = self.node.locator(".pushlab-panel img").first

    def moves(self):
        """Yield each control as (name, function that moves it once)."""
        if self.node.get_by_role("button", name="new episode").count():
            yield "seat", self.act
            return
        play = self.node.get_by_role("group", name="player").count()
        for control in self.node.locator("input[type=range], [role=radiogroup]").all():
            row = control.locator("xpath=..")
            name = (
                "player" if play else row.locator(":scope > :first-child").inner_text()
            )
            yield name, lambda control=control, state=[1]: self.press(control, state)

    def press(self, control, state):
        """Press an arrow key, and turn back at the ends.

        Args:
            state: A list with the direction, 1 or -1.
        """
        position, last = control.evaluate(POSITION)
        if position <= 0:
            state[0] = 1
        elif position >= last:
            state[0] = -1
        if control.get_attribute("role"):
            control = control.locator("input:checked")
        control.focus()
        self.page.keyboard.press("ArrowRight" if state[0] > 0 else "ArrowLeft")

    def act(self):
        """Click the first allowed action, or "new episode" if the episode is over."""
        allowed = "[aria-label=action] button[aria-disabled=false]"
        buttons = self.node.locator(allowed)
        if not buttons.count():
            buttons = self.node.get_by_role("button", name="new episode")
        buttons.first.click()

    def times(self, move):
        """Return the milliseconds of MOVES moves, without a first move."""
        times = []
        for _ in range(MOVES + 1):
            self.image.evaluate(ARM)
            move()
            times.append(self.page.evaluate("window.moved"))
            self.page.wait_for_timeout(150)  # like a reader
        return times[1:]

    def frames_a_second(self):
        """Return the frame rate of a player at its interval."""
        self.image.evaluate(COUNT_LOADS)
        self.node.get_by_role("button", name="play").click()
        self.page.wait_for_timeout(PLAYED)
        pause = self.node.get_by_role("button", name="pause")
        if pause.count():  # the film has not ended
            pause.click()
        loads = self.page.evaluate("window.loads")
        if len(loads) <= 2:
            return float("nan")
        return 1000 * (len(loads) - 1) / (loads[-1] - loads[0])


def measure(lab, name):
    """Return the rows of one notebook."""
    import numpy as np

    lab.open(name)
    print(lab.page.evaluate(IN_KERNEL, WATCH), end="", file=sys.stderr)
    rows = []
    for widget in lab.page.evaluate(RUN_CELLS):
        cell = Cell(lab, widget["at"])
        for control, move in cell.moves():
            lab.page.evaluate(
                IN_KERNEL, "_widgets.Panel.cache_size = 0; _timings.clear()"
            )
            fresh = cell.times(move)
            code = "import json; print(json.dumps(_timings))"
            timings = json.loads(lab.page.evaluate(IN_KERNEL, code))
            lab.page.evaluate(IN_KERNEL, "_widgets.Panel.cache_size = _cache_size")
            times = cell.times(move)
            if not timings or min(fresh + times) >= WAIT:
                print(f"{name}: {control} changed no picture", file=sys.stderr)
                continue
            # The first timing can be incomplete, because widgets run in their own thread.
            complete = [timing for timing in timings if len(timing) == 3]
            total, png, size = np.median(np.array(complete), axis=0)
            frame_rate = np.nan
            if control == "player":
                frame_rate = cell.frames_a_second()
            row = {
                "notebook": name.removesuffix(".ipynb"),
                "cell": widget["at"],
                "control": control,
                "moves": len(times),
                "median_ms": np.median(times),
                "p90_ms": np.quantile(times, 0.9),
                "fresh_ms": np.median(fresh),
                "draw_ms": 1000 * (total - png),
                "png_ms": 1000 * png,
                "rest_ms": np.median(fresh) - 1000 * total,
                "kilobytes": size / 1000,
                "first_ms": widget["first"],
                "frames_a_second": frame_rate,
            }
            rows.append(row)
            print(
                f"{row['notebook']}, {control}: {row['median_ms']:.0f} ms, fresh {row['fresh_ms']:.0f} ms",
                file=sys.stderr,
                flush=True,
            )
    return rows


def main(names=()):
    """Measure the notebooks whose names begin with one of `names`; without names, measure all and write the table."""
    import pandas as pd
    from playwright.sync_api import sync_playwright

    tools = browser_tools()
    paths = []
    for path in sorted(tools.NOTEBOOKS.glob("*.ipynb")):
        is_selected = path.name.startswith(tuple(names) or "")
        if is_selected and "widgets." in path.read_text(encoding="utf-8"):
            paths.append(path)
    rows = []
    with (
        TemporaryDirectory() as home,
        tools.serving(Path(home)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=tools.find_chromium(), args=tools.CHROMIUM_FLAGS
        )
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        lab = tools.Lab(context.new_page(), server)
        for path in paths:
            rows += measure(lab, path.name)
            lab.leave()
        browser.close()
    results = pd.DataFrame(rows)
    print(results.to_string(index=False, float_format="%.0f", na_rep=""))
    if not names:
        write_results(results)
    return 0


def write_results(results):
    """Write data/widgets/widgets.csv and the table in its README."""
    import pandas as pd
    import table

    from pushlab.utils.files import data_dir

    machine = f"{table.processor()}, {os.cpu_count()} cores, {datetime.date.today()}"
    results.insert(0, "machine", machine)
    folder = data_dir() / "widgets"
    results.to_csv(folder / "widgets.csv", index=False, float_format="%.4g")
    before = results.iloc[:0]
    if (folder / "before.csv").exists():
        before = pd.read_csv(folder / "before.csv")
    table.write_between(folder / "README.md", block(results, before))


def block(results, before):
    """Return the table for data/widgets/README.md: a row per control, with its earlier time if known.

    Args:
        before: Earlier results.
    """
    import table

    earlier = {row[:3]: row[3] for row in keyed_rows(before)}
    rows = []
    for *key, median, result in keyed_rows(results):
        rows.append(
            [
                result.notebook,
                result.control,
                whole_number(earlier.get(tuple(key))),
                whole_number(median),
                whole_number(result.p90_ms),
                whole_number(result.fresh_ms),
                whole_number(result.first_ms),
                whole_number(result.frames_a_second),
            ]
        )
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
    machine = results["machine"].iloc[0]
    median = results["median_ms"].median()
    text = f"Measured on {machine}. Over all controls the median is {median:.0f} ms"
    if len(before):
        old_median = before["median_ms"].median()
        text += f"; of the {len(before)} that were measured before, it was {old_median:.0f} ms then"
    return f"{table.wrapped(text + '.')}\n\n{table.table(head, rows)}"


def keyed_rows(results):
    """Yield (notebook without its number, control, count of this control so far, median_ms, row)."""
    counts = results.groupby(["notebook", "control"]).cumcount()
    for count, row in zip(counts, results.itertuples()):
        yield row.notebook[3:], row.control, count, row.median_ms, row


def whole_number(value):
    """Format a number without decimals; None and NaN are empty."""
    return "" if value is None or value != value else f"{value:.0f}"
