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
import urllib.error
import urllib.request
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
TOKEN = "pushlab"
START_TIMEOUT = 120  # seconds for the server to answer
LOAD_TIMEOUT = 90_000  # milliseconds for JupyterLab to open a notebook and start a kernel
RUN_TIMEOUT = 180_000  # milliseconds for all cells of a notebook
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


def wait_until_it_answers(process, url, log):
    """Return when the server answers; RuntimeError with the end of its log when it does not."""
    deadline = time.monotonic() + START_TIMEOUT
    while process.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{url}/api/status?token={TOKEN}", timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.25)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')[-3000:]}")


class Server:
    """Where JupyterLab listens, and the folder it serves."""

    def __init__(self, url, folder):
        self.url, self.folder = url, folder


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


@pytest.fixture(scope="session")
def server(chromium, playwright, tmp_path_factory):
    """JupyterLab on a copy of notebooks/, for all browser tests together."""
    home = tmp_path_factory.mktemp("home")
    folder, log = home / "notebooks", home / "jupyterlab.log"
    copy_without_outputs(NOTEBOOKS, folder)
    url = f"http://127.0.0.1:{free_port()}"
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"),
        *("--ip=127.0.0.1", f"--port={url.rsplit(':', 1)[1]}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"),
    ]
    with open(log, "w", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=isolated_environment(home), cwd=folder)
    try:
        wait_until_it_answers(process, url, log)
        yield Server(url, folder)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


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
        self.outside, self.errors = [], []
        page.set_default_timeout(30_000)
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("websocket", lambda socket: self.note_if_outside(socket.url.replace("ws", "http", 1)))
        page.route(lambda url: url.startswith(("http:", "https:")), self.guard)

    def note_if_outside(self, url):
        outside = not url.startswith(self.server.url)
        if outside:
            self.outside.append(url)
        return outside

    def guard(self, route):
        if self.note_if_outside(route.request.url):
            route.abort()
        else:
            route.continue_()

    def open(self, name):
        """Open the notebook and wait for its kernel."""
        self.page.goto(f"{self.server.url}/lab/tree/{name}?token={TOKEN}&reset", timeout=LOAD_TIMEOUT)
        self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=LOAD_TIMEOUT)
        # The notebook's own indicator says "idle" before there is a kernel; the status bar does not.
        self.page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=LOAD_TIMEOUT)

    def run_all(self):
        """Choose Run All Cells from the menu; returns when every cell has run or one has failed."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self.page.wait_for_function(ALL_RUN_OR_ONE_FAILED, timeout=RUN_TIMEOUT)

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

    def picture_bytes(self, image):
        """The file that `image` shows, as a list of its bytes; an error when it shows nothing."""
        return image.evaluate(
            """async (image) => {
                await image.decode();
                const file = await fetch(image.src);
                return Array.from(new Uint8Array(await file.arrayBuffer()));
            }"""
        )

    def wait_for_another_picture(self, image, before, what, seconds=20):
        """Return when `image` shows something else than `before`; AssertionError naming `what` was done."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.picture_bytes(image) != before:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{what}, and the picture stayed the same for {seconds} s")


ALL_RUN_OR_ONE_FAILED = """() => {
    const notebook = window.jupyterapp.shell.currentWidget;
    const cells = notebook.content.model.toJSON().cells.filter(c => c.cell_type === "code" && c.source.length);
    const text = cell => [].concat(cell.source).join("").trim();
    const failed = cells.some(cell => cell.outputs.some(output => output.output_type === "error"));
    const all = cells.every(cell => cell.execution_count !== null || text(cell) === "");
    const kernel = notebook.sessionContext.session?.kernel;
    return kernel?.status === "idle" && (failed || all);
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
        picture = item.funcargs["tmp_path"] / "screenshot.png"
        lab.page.screenshot(path=picture)
        report.sections.append(("what the browser showed", str(picture)))
    return report


@pytest.fixture
def lab(server, browser, tmp_path):
    """A fresh page, as a browser that was never there before sees it."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    yield Lab(context.new_page(), server)
    context.close()
