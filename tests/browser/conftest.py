"""Fixtures that run JupyterLab in Chromium, to use the workbook like a student.

`server` is a JupyterLab on a copy of notebooks/ without outputs, `lab` a browser page on it. It also has Jupyter
Notebook 7's pages, if it is installed. Without Chromium or Playwright these tests are skipped, or fail if
PUSHLAB_BROWSER=required.
"""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from ports import free_ports
from waiting import PATIENCE, wait_until

from pushlab.utils.files import cache_dir

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
# These variables would add the settings of the user who runs the tests.
USER_VARIABLES = (
    "JUPYTER_DATA_DIR",
    "JUPYTER_PATH",
    "JUPYTER_CONFIG_PATH",
    "MPLBACKEND",
    "MPLCONFIGDIR",
)


def unavailable(reason):
    """Skip the test, or fail it if browser tests are required."""
    if os.environ.get("PUSHLAB_BROWSER") == "required":
        pytest.fail(f"PUSHLAB_BROWSER=required, but {reason}", pytrace=False)
    pytest.skip(reason)


def find_chromium():
    """Return the path of the system's Chromium, or None."""
    paths = filter(None, map(shutil.which, CHROMIUM_NAMES))
    return next(paths, None)


def copy_without_outputs(source, target):
    """Copy a folder of notebooks and remove all outputs."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*"))
    for path in target.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = []
                cell.execution_count = None
        nbformat.write(notebook, path)


def new_user(home):
    """Return the environment variables of a user who has never opened Jupyter."""
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    quiet = json.dumps({"fetchNews": "false", "checkForUpdates": False})
    (settings / "notification.jupyterlab-settings").write_text(quiet, encoding="utf-8")
    inherited = {
        name: value for name, value in os.environ.items() if name not in USER_VARIABLES
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


@dataclass
class Server:
    """Address and folder of a JupyterLab server."""

    url: str
    folder: Path


@contextmanager
def serving(home):
    """Context manager that serves a copy of notebooks/ in the folder `home`."""
    folder = home / "notebooks"
    log = home / "jupyterlab.log"
    copy_without_outputs(NOTEBOOKS, folder)
    [port] = free_ports()
    command = [sys.executable, "-P", "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--expose-app-in-browser", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--JupyterNotebookApp.expose_app_in_browser=True"]
    command += ["--ServerApp.port_retries=50", f"--ServerApp.root_dir={folder}"]
    command += [f"--IdentityProvider.token={TOKEN}"]
    command += [f"--MappingKernelManager.kernel_info_timeout={PATIENCE}"]

    def address():
        """Return the address of the server if it answers, else None."""
        if process.poll() is not None:
            output = log.read_text(encoding="utf-8")
            raise RuntimeError(f"JupyterLab ended:\n{output[-3000:]}")
        try:
            file = next((home / "runtime").glob("jpserver-*.json"))
            settings = json.loads(file.read_text(encoding="utf-8"))
            url = settings["url"].rstrip("/")
            status = f"{url}/api/status?token={TOKEN}"
            urllib.request.urlopen(status, timeout=PATIENCE).close()
        except (OSError, ValueError, StopIteration):  # the file is not complete yet
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
    with serving(tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.fixture(scope="session")
def browser(chromium, playwright):
    browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
    yield browser
    browser.close()


class Lab:
    """A page of JupyterLab.

    Attributes:
        outside: Requested addresses outside the server, which the browser refuses.
        errors: Error messages of the console and uncaught exceptions.
    """

    def __init__(self, page, server):
        self.page = page
        self.server = server
        self.outside = []
        self.errors = []
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", self._note_message)
        page.on("dialog", lambda dialog: dialog.accept())  # to leave unsaved notebooks
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        # Don't use routes: a page with routes has no cache.
        page.on("request", lambda request: self._note_address(request.url))
        page.on(
            "websocket",
            lambda link: self._note_address(link.url.replace("ws", "http", 1)),
        )

    def _note_message(self, message):
        if message.type == "error":
            self.errors.append(f"{message.text} {message.location['url']}")

    def _note_address(self, url):
        if url.startswith("http") and not url.startswith(self.server.url):
            self.outside.append(url)

    def open(self, name, folder="lab/tree"):
        """Open the notebook and wait for its kernel.

        Args:
            folder: "lab/tree" for JupyterLab, "notebooks" for Notebook 7.
        """
        if folder not in self.page.url:
            self.page.goto(f"{self.server.url}/{folder}/{name}?token={TOKEN}&reset")
        else:
            self.page.evaluate(OPEN, name)
        self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        wait_until(lambda: self.page.evaluate(IS_IDLE), "the kernel to start")

    def leave(self):
        """Close all documents without saving, and their kernels."""
        self.page.evaluate(CLOSE_ALL)
        if "/lab" in self.page.url:
            self.page.locator(".jp-Notebook").wait_for(state="detached")
        else:  # Notebook 7 has one document a page
            self.page.goto("about:blank")
        self.outside.clear()
        self.errors.clear()

    def run_all(self):
        """Choose Run All Cells from the menu, and wait until all have run or one has failed."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        wait_until(
            lambda: self.page.evaluate(HAS_RUN), "all cells to run", interval=0.5
        )

    def cells(self):
        """Return the current cells of the notebook, in notebook format."""
        return self.page.evaluate(CELLS)

    def find(self, selector):
        """Return the first control that matches, scrolled into view because JupyterLab hides other cells."""
        control = self.page.locator(selector).first
        control.evaluate(SCROLL_TO_CELL)
        control.scroll_into_view_if_needed()
        return control

    def saved(self, name):
        """Save the notebook and return the text of its file."""
        self.page.evaluate(
            "() => window.jupyterapp.commands.execute('docmanager:save')"
        )
        return (self.server.folder / name).read_text(encoding="utf-8")


CELLS = "() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells"

IS_IDLE = "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"

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
    """Save a screenshot if a test with `lab` fails, and add its path to the report."""
    report = yield
    lab = getattr(item, "funcargs", {}).get("lab")
    if call.when == "call" and report.failed and lab:
        picture = item.funcargs["tmp_path"] / "screenshot.png"
        lab.page.screenshot(path=picture)
        report.sections.append(("screenshot", str(picture)))
    return report


@pytest.fixture(scope="session")
def jupyterlab(server, browser):
    """One page for all tests, because loading JupyterLab takes half the time of a short test."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    return Lab(context.new_page(), server)


@pytest.fixture
def lab(jupyterlab, tmp_path):
    """JupyterLab without open documents."""
    yield jupyterlab
    jupyterlab.leave()
