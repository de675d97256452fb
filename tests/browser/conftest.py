"""A real JupyterLab in a real Chromium, for using the workbook as a student does.

`server` is a JupyterLab on a copy of notebooks/ without outputs, `lab` a browser page on it. Without Chromium or
Playwright these tests are skipped, or fail if PUSHLAB_BROWSER=required.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from waiting import PATIENCE, wait_until

from pushlab.ground.files import cache_dir

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
TOKEN = "pushlab"
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
# Variables that would bring in the settings of the user who runs the tests.
OF_THE_USER = (
    "JUPYTER_DATA_DIR",
    "JUPYTER_PATH",
    "JUPYTER_CONFIG_PATH",
    "MPLBACKEND",
    "MPLCONFIGDIR",
)


def unavailable(reason):
    """Skip the test for this reason, or fail it if the browser tests are required."""
    if os.environ.get("PUSHLAB_BROWSER") == "required":
        pytest.fail(f"PUSHLAB_BROWSER=required, but {reason}", pytrace=False)
    pytest.skip(reason)


def find_chromium():
    """Return the path of the system's Chromium, or None."""
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


def copy_without_outputs(source, target):
    """Copy the folder of notebooks, with all cells as if they had never run."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*"))
    for path in target.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(notebook, path)


def new_user(home):
    """Return the environment variables of a user who never opened Jupyter before."""
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    quiet = json.dumps({"fetchNews": "false", "checkForUpdates": False})
    (settings / "notification.jupyterlab-settings").write_text(quiet, encoding="utf-8")
    inherited = {
        name: value for name, value in os.environ.items() if name not in OF_THE_USER
    }
    return inherited | {
        "HOME": str(home),
        "PUSHLAB_CACHE": str(cache_dir()),  # judges fitted by other tests
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


@dataclass
class Server:
    """The address of a JupyterLab, and the folder it serves."""

    url: str
    folder: Path


@contextmanager
def serving(home):
    """Serve a copy of notebooks/ in the folder `home` as a Server, for the length of a `with` block."""
    folder, log = home / "notebooks", home / "jupyterlab.log"
    copy_without_outputs(NOTEBOOKS, folder)
    command = [sys.executable, "-P", "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--expose-app-in-browser", "--ip=127.0.0.1", f"--port={free_port()}"]
    command += ["--ServerApp.port_retries=50", f"--ServerApp.root_dir={folder}"]
    command += [f"--IdentityProvider.token={TOKEN}"]
    command += [f"--MappingKernelManager.kernel_info_timeout={PATIENCE}"]

    def address():
        """Return the address that the server wrote into its runtime folder, once it answers there."""
        if process.poll() is not None:
            raise RuntimeError(
                f"JupyterLab ended:\n{log.read_text(encoding='utf-8')[-3000:]}"
            )
        try:
            written = next((home / "runtime").glob("jpserver-*.json"))
            url = json.loads(written.read_text(encoding="utf-8"))["url"].rstrip("/")
            urllib.request.urlopen(
                f"{url}/api/status?token={TOKEN}", timeout=PATIENCE
            ).close()
        except (OSError, ValueError, StopIteration):  # not written yet, or half of it
            return None
        return url

    with open(log, "w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=new_user(home), cwd=folder
        )
        try:
            yield Server(wait_until(address, "JupyterLab to start"), folder)
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture(scope="session")
def chromium():
    path = find_chromium()
    if path is None:
        unavailable(
            "no Chromium is installed; on Debian or Ubuntu: apt install chromium"
        )
    return path


@pytest.fixture(scope="session")
def playwright():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("playwright is not installed: pip install playwright")
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def server(chromium, playwright, tmp_path_factory):
    with serving(tmp_path_factory.mktemp("home")) as served:
        yield served


@pytest.fixture(scope="session")
def browser(chromium, playwright):
    opened = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
    yield opened
    opened.close()


class Lab:
    """One page of JupyterLab.

    Attributes:
        outside: Addresses asked for that are not the server's (the browser refuses them).
        errors: The console's error messages and uncaught exceptions.
    """

    def __init__(self, page, server):
        self.page, self.server = page, server
        self.outside, self.errors = [], []
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", self._note_message)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        # Not routed: a page with routes has no cache.
        page.on("request", lambda request: self._note_address(request.url))
        page.on(
            "websocket",
            lambda one: self._note_address(one.url.replace("ws", "http", 1)),
        )

    def _note_message(self, message):
        if message.type == "error":
            self.errors.append(f"{message.text} {message.location['url']}")

    def _note_address(self, url):
        if url.startswith("http") and not url.startswith(self.server.url):
            self.outside.append(url)

    def open(self, name):
        """Open the notebook and wait for its kernel."""
        if self.page.url == "about:blank":
            self.page.goto(f"{self.server.url}/lab/tree/{name}?token={TOKEN}&reset")
        else:
            self.page.evaluate(OPEN, name)
        self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        # The status bar: the notebook's own indicator is idle before there is a kernel.
        self.page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()

    def leave(self):
        """Close what is open, unsaved, and its kernels."""
        self.page.evaluate(CLOSE_ALL)
        self.page.locator(".jp-Notebook").wait_for(state="detached")
        self.outside.clear()
        self.errors.clear()

    def run_all(self):
        """Choose Run All Cells from the menu; wait until all have run or one has failed."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        wait_until(
            lambda: self.page.evaluate(HAS_RUN), "all cells to run", interval=0.5
        )

    def cells(self):
        """Return the notebook's cells as JupyterLab holds them now, in notebook format."""
        return self.page.evaluate(CELLS)

    def find(self, selector):
        """Return the first such control, scrolled into view: JupyterLab hides cells out of sight."""
        control = self.page.locator(selector).first
        control.evaluate(SCROLL_TO_CELL)
        control.scroll_into_view_if_needed()
        return control

    def picture_beside(self, control):
        """Return the image of the widget that `control` belongs to."""
        has_image = "[.//img[contains(concat(' ', @class, ' '), ' widget-image ')]]"
        widget = control.locator(f"xpath=ancestor::*{has_image}[1]")
        return widget.locator("img.widget-image").first


CELLS = "() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells"

HAS_RUN = """() => {
    const notebook = window.jupyterapp.shell.currentWidget;
    if (notebook.sessionContext.session?.kernel?.status !== "idle") return false;
    const text = cell => [].concat(cell.source).join("").trim();
    const cells = notebook.content.model.toJSON().cells.filter(c => c.cell_type === "code" && text(c));
    const failed = cells.some(cell => cell.outputs.some(output => output.output_type === "error"));
    return failed || cells.every(cell => cell.execution_count !== null);
}"""

OPEN = """async (path) => {
    await window.jupyterapp.commands.execute("docmanager:open", { path });
}"""

CLOSE_ALL = """async () => {
    for (const widget of [...window.jupyterapp.shell.widgets("main")]) {
        if (widget.context) widget.context.model.dirty = false;
        widget.close();
    }
    await window.jupyterapp.serviceManager.sessions.shutdownAll();
}"""

SCROLL_TO_CELL = """(control) => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.scrollToItem(notebook.widgets.findIndex(cell => cell.node.contains(control)), "center");
}"""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Leave a screenshot behind if a test with `lab` fails, and name its path in the report."""
    report = yield
    lab = getattr(item, "funcargs", {}).get("lab")
    if call.when == "call" and report.failed and lab:
        picture = item.funcargs["tmp_path"] / "screenshot.png"
        lab.page.screenshot(path=picture)
        report.sections.append(("what the browser showed", str(picture)))
    return report


@pytest.fixture(scope="session")
def jupyterlab(server, browser):
    """One page for all tests: to load JupyterLab takes half of a short test."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    return Lab(context.new_page(), server)


@pytest.fixture
def lab(jupyterlab, tmp_path):
    """JupyterLab with nothing open."""
    yield jupyterlab
    jupyterlab.leave()
