"""A real JupyterLab in a real Chromium, for reading the workbook as a student does.

Fixtures: `server` serves a copy of notebooks/ with outputs removed, so that whatever is seen was made in this run;
`lab` is one browser page on it. Without Chromium or Playwright these tests are skipped, or fail if
PUSHLAB_BROWSER=required.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import nbformat
import pytest

from pushlab.ground.files import cache_dir

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
TOKEN = "pushlab"
# Seconds to wait for anything. It only ends runs that hang: on a busy machine all of it may take ten times as long.
PATIENCE = 900
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_FLAGS = [
    "--no-sandbox",  # containers run as root
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]
HOME_OF_SOMEBODY_ELSE = ("JUPYTER_DATA_DIR", "JUPYTER_PATH", "JUPYTER_CONFIG_PATH", "MPLBACKEND", "MPLCONFIGDIR")


def unavailable(reason):
    """Skip the test for this reason, or fail it where the browser tests are required."""
    if os.environ.get("PUSHLAB_BROWSER") == "required":
        pytest.fail(f"PUSHLAB_BROWSER=required, but {reason}", pytrace=False)
    pytest.skip(reason)


def find_chromium():
    """Path of the system's Chromium, or None."""
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


def copy_without_outputs(source, target):
    """Copy the folder of notebooks, with every cell as if it had never been run."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*"))
    for path in target.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(notebook, path)


def isolated_environment(home):
    """Environment variables of a user who never opened Jupyter before."""
    apart = {name: value for name, value in os.environ.items() if name not in HOME_OF_SOMEBODY_ELSE}
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet), encoding="utf-8")
    return apart | {
        "HOME": str(home),
        "PUSHLAB_CACHE": str(cache_dir()),      # judges fitted to the same histories by other tests
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
    }


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def address_when_it_answers(process, runtime, log):
    """The server's address, once it answers; RuntimeError with the end of its log when it does not.

    The server writes it into the folder `runtime`, as its port may have been taken since it was found free.
    """
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError, ValueError, StopIteration):      # nothing is written yet, or half of it
            address = json.loads(next(runtime.glob("jpserver-*.json")).read_text(encoding="utf-8"))["url"].rstrip("/")
            urllib.request.urlopen(f"{address}/api/status?token={TOKEN}", timeout=30).close()
            return address
        time.sleep(0.25)
    ended = f"ended with {process.returncode}" if process.poll() is not None else f"gave no answer for {PATIENCE} s"
    raise RuntimeError(f"JupyterLab did not start, it {ended}:\n{log.read_text(encoding='utf-8')[-3000:]}")


class Server:
    """Where JupyterLab listens, and the folder it serves."""

    def __init__(self, url, folder):
        self.url, self.folder = url, folder

    def ask(self, path, method="GET"):
        """What the server's own API answers, a bytes."""
        request = urllib.request.Request(f"{self.url}/api/{path}", method=method,
                                         headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read()

    def end_kernels(self):
        """Ends all kernels: each holds some 300 MB as long as the server runs."""
        for session in json.loads(self.ask("sessions")):
            self.ask(f"sessions/{session['id']}", "DELETE")


@pytest.fixture(scope="session")
def chromium():
    path = find_chromium()
    if path is None:
        unavailable("no Chromium is installed; on Debian or Ubuntu: apt install chromium")
    return path


@pytest.fixture(scope="session")
def playwright():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("playwright is not installed: pip install playwright (`playwright install` is not needed)")
    with sync_playwright() as running:
        yield running


@contextmanager
def serving(home):
    """JupyterLab on a copy of notebooks/ in the folder `home`, as a Server, for the length of a `with` block."""
    folder, log = home / "notebooks", home / "jupyterlab.log"
    copy_without_outputs(NOTEBOOKS, folder)
    command = [
        *(sys.executable, "-P", "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"),
        *("--ip=127.0.0.1", f"--port={free_port()}", "--ServerApp.port_retries=50"),
        *(f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"),
    ]
    with open(log, "w", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=isolated_environment(home), cwd=folder)
    try:
        yield Server(address_when_it_answers(process, home / "runtime", log), folder)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="session")
def server(chromium, playwright, tmp_path_factory):
    """JupyterLab on a copy of notebooks/, for all browser tests together."""
    with serving(tmp_path_factory.mktemp("home")) as served:
        yield served


@pytest.fixture(scope="session")
def browser(chromium, playwright):
    opened = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
    yield opened
    opened.close()


class Lab:
    """One page of JupyterLab, with what it asked for outside the server and what its console complained of.

    outside   list of addresses asked for that are not the server's (they are refused)
    errors    list of the console's error messages and uncaught exceptions
    """

    def __init__(self, page, server):
        self.page, self.server = page, server
        self.outside, self.errors, self.failed = [], [], False
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        # Listened to, not routed: a page with routes has no cache, and each file of JupyterLab would pass through here.
        page.on("request", lambda request: self.note_if_outside(request.url))
        page.on("websocket", lambda socket: self.note_if_outside(socket.url.replace("ws", "http", 1)))

    def note_if_outside(self, url):
        if url.startswith(("http:", "https:")) and not url.startswith(self.server.url):
            self.outside.append(url)

    def open(self, name):
        """Open the notebook and wait for its kernel: the first by its address, others from there, as readers go on."""
        with self.waiting_for(f"JupyterLab to open {name}"):
            if self.page.url == "about:blank":
                self.page.goto(f"{self.server.url}/lab/tree/{name}?token={TOKEN}&reset")
            else:
                self.page.evaluate(OPEN, name)
            self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        with self.waiting_for(f"the kernel of {name}"):
            # The notebook's own indicator says "idle" before there is a kernel; the status bar does not.
            self.page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()

    def leave(self):
        """Close what is open, unsaved, and its kernels, for the next test."""
        self.page.evaluate(CLOSE_ALL)
        self.page.locator(".jp-Notebook").wait_for(state="detached")
        self.server.end_kernels()
        self.outside.clear(), self.errors.clear()

    def run_all(self):
        """Choose Run All Cells from the menu; returns when every cell has run or one has failed."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        with self.waiting_for("all cells to run"):
            # Now and then, not with every frame: to look is to write out the whole notebook.
            self.page.wait_for_function(ALL_RUN_OR_ONE_FAILED, polling=500)

    @contextmanager
    def waiting_for(self, what):
        """Says what was waited for in vain."""
        from playwright.sync_api import TimeoutError as PlaywrightTimeout

        try:
            yield
        except PlaywrightTimeout as late:
            raise AssertionError(f"waited {PATIENCE} s in vain for {what}") from late

    def cells(self):
        """The notebook's cells as JupyterLab holds them now, in notebook format."""
        return self.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells")

    def find(self, selector):
        """The first such control, scrolled to as a reader would: JupyterLab 4.4 hides the cells out of sight."""
        control = self.page.locator(selector).first
        control.evaluate(SCROLL_TO_CELL)
        control.scroll_into_view_if_needed()
        return control

    def picture_beside(self, control):
        """The image of the widget that `control` belongs to."""
        has_image = "[.//img[contains(concat(' ', @class, ' '), ' widget-image ')]]"
        return control.locator(f"xpath=ancestor::*{has_image}[1]").locator("img.widget-image").first

    def picture(self, image):
        """A checksum of the file that `image` shows; an error when it shows nothing.

        A player may put another file in its place while this one is decoded, which counts as an error: look again.
        """
        return image.evaluate(
            """async (image) => {
                for (let tries = 0, shown = null; tries < 50 && shown !== image.src; tries++) {
                    shown = image.src;
                    await image.decode().catch((error) => {
                        if (tries > 20 || shown === image.src && image.complete && !image.naturalWidth) throw error;
                        shown = null;
                    });
                }
                const file = await fetch(image.src);
                const sum = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
                return Array.from(new Uint8Array(sum));
            }"""
        )

    def wait_for_another_picture(self, image, before, what):
        """Return when `image` shows something else than `before`; AssertionError naming `what` was done."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.picture(image) != before:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{what}, and the picture stayed the same for {PATIENCE} s")


ALL_RUN_OR_ONE_FAILED = """() => {
    const notebook = window.jupyterapp.shell.currentWidget;
    if (notebook.sessionContext.session?.kernel?.status !== "idle") return false;
    const cells = notebook.content.model.toJSON().cells.filter(c => c.cell_type === "code" && c.source.length);
    const text = cell => [].concat(cell.source).join("").trim();
    const failed = cells.some(cell => cell.outputs.some(output => output.output_type === "error"));
    const all = cells.every(cell => cell.execution_count !== null || text(cell) === "");
    return failed || all;
}"""


OPEN = """async (path) => {
    await window.jupyterapp.commands.execute("docmanager:open", { path });
}"""


CLOSE_ALL = """async () => {
    for (const widget of [...window.jupyterapp.shell.widgets("main")]) {
        if (widget.context) widget.context.model.dirty = false;
        widget.close();
    }
}"""


SCROLL_TO_CELL = """(control) => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.scrollToItem(notebook.widgets.findIndex(cell => cell.node.contains(control)), "center");
}"""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Leave a screenshot behind when a test on a page fails, and say where in the report."""
    report = yield
    lab = getattr(item, "funcargs", {}).get("lab")
    if call.when == "call" and report.failed and lab is not None:
        lab.failed = True
        picture = item.funcargs["tmp_path"] / "screenshot.png"
        lab.page.screenshot(path=picture)
        report.sections.append(("what the browser showed", str(picture)))
    return report


@pytest.fixture(scope="session")
def kept():
    """The page that tests hand on to one another, [Lab] or []: to load JupyterLab takes half of a short test."""
    return []


@pytest.fixture
def lab(server, browser, kept, tmp_path):
    """JupyterLab with nothing open; after a failed test a fresh one, as a browser that was never there before sees it.

    What a page keeps for itself goes with its browser's context.
    """
    if not kept:
        kept.append(Lab(browser.new_context(viewport={"width": 1280, "height": 1000}).new_page(), server))
    lab = kept[0]
    yield lab
    if lab.failed:
        kept.clear()
        lab.page.context.close()
        server.end_kernels()
    else:
        lab.leave()
