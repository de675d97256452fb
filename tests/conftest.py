"""Fixtures and settings of all tests: pictures without a display, and the last line of the report."""

import gc
import os
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STARTED = pytest.StashKey[float]()

# Tests run in parallel, so several threads per test would only slow each other down.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The default timeout of dask, 30 seconds, is too short for a busy machine.
os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "900s")
os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP", "900s")


@pytest.fixture(autouse=True)
def headless(monkeypatch):
    """Draw without a display, also in the processes that a test starts.

    It isn't set for the whole run, since the kernels of notebooks need their inline backend.
    """
    monkeypatch.setenv("MPLBACKEND", "Agg")


def pytest_collection_finish():
    """Exempt the imported libraries and collected tests from garbage collection."""
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Start notebooks and browser tests first. At the end, the other workers would wait for them."""
    items.sort(
        key=lambda item: (
            item.path.suffix != ".ipynb" and "browser" not in item.path.parts
        )
    )
    if os.name == "nt":
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(pytest.mark.skip(reason="not supported on Windows"))


def pytest_configure(config):
    config.stash[STARTED] = time.time()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """Print the last line of the report: number of tests, time, and the command for the other tests."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    reports = [*reporter.stats.get("passed", ()), *reporter.stats.get("failed", ())]
    files = [report.nodeid.partition("::")[0] for report in reports]
    notebooks = {file for file in files if file.endswith(".ipynb")}
    tests = sum(not file.endswith(".ipynb") for file in files)
    browser = sum("tests/browser/" in file for file in files)
    minutes, seconds = divmod(round(time.time() - config.stash[STARTED]), 60)
    line = f"{tests:,} tests, {len(notebooks)} notebooks, {browser} in a browser: "
    line += f"{minutes} min {seconds} s."
    if config.option.markexpr == "not slow":
        line += " `make test-all` runs the rest."
    reporter.write_line(line)


@pytest.fixture(scope="session")
def good_picture():
    """A function that returns the texts of a Figure or Axes, and fails if they are cut, overlap or are tiny."""

    def words_of(picture):
        from matplotlib.text import Text

        figure = picture.figure if picture.figure is not None else picture
        figure.draw_without_rendering()
        unseen = set()  # labels of ticks outside the axes, which are never drawn
        for ax in figure.axes:
            for axis in (ax.xaxis, ax.yaxis):
                low, high = sorted(axis.get_view_interval())
                slack = 1e-6 * (high - low)
                for tick in axis.get_major_ticks():
                    if not low - slack <= tick.get_loc() <= high + slack:
                        unseen.add(tick.label1)
        texts = [
            text
            for text in figure.findobj(Text)
            if text.get_text().strip() and text.get_visible() and text not in unseen
        ]
        boxes = [text.get_window_extent() for text in texts]
        words = [text.get_text() for text in texts]
        width, height = figure.canvas.get_width_height()
        for word, box in zip(words, boxes):
            assert (
                box.x0 >= 4
                and box.y0 >= 4
                and box.x1 <= width - 4
                and box.y1 <= height - 4
            ), f"{word!r} is cut"
        for (one, a), (other, b) in combinations(zip(words, boxes), 2):
            apart = (
                min(a.x1, b.x1) <= max(a.x0, b.x0)
                or min(a.y1, b.y1) <= max(a.y0, b.y0) + 3
            )
            assert apart, f"{one!r} and {other!r} touch"
        assert min(text.get_size() for text in texts) >= 8.5
        return words

    return words_of


@pytest.fixture(scope="session")
def built_book(tmp_path_factory):
    """Folder of the book as HTML, built once for all workers of a run."""
    from filelock import FileLock

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    book = shared / "book"
    with FileLock(shared / "book.lock"):
        if not book.exists():
            options = "-W --keep-going -q -E -j auto -c docs -b html".split()
            command = [sys.executable, "-P", "-m", "sphinx", *options]
            command += ["-d", shared / "doctrees", ".", shared / "unfinished"]
            built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            assert built.returncode == 0, (
                f"the book has warnings:\n{built.stdout}{built.stderr}"
            )
            (shared / "unfinished").rename(book)
    return book


@pytest.fixture
def ann(tmp_path):
    """A user's folder in the format of EvalUMAP 2019, with the first 30 rows of Mira's tables."""
    for table in (
        "train/notifications.csv",
        "train/context_on_posting.csv",
        "train/context_on_removal.csv",
        "test/notifications.csv",
    ):
        lines = (ROOT / "data" / "push" / "mira" / table).read_text().splitlines(True)
        path = tmp_path / "ann" / table
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines[:31]))
    return tmp_path / "ann"
