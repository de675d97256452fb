"""What every test shares: a headless Matplotlib and a repeatable Hypothesis."""

import gc
import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
LONG = ("test_solutions.py", "test_sweep.py", "test_typing.py", "test_warm.py", "test_windows.py", "test_world3.py")

# An environment variable, so that processes started by a test draw headless too.
os.environ.setdefault("MPLBACKEND", "Agg")
# Tests run side by side already; threads of their own would have to wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# "repeatable" tries the same examples every time, so that a red test is red for everybody.
# HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, max_examples=50)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_finish():
    """Numba, pandas and thousands of tests stay as long as the run: no garbage is looked for among them."""
    gc.freeze()


def pytest_collection_modifyitems(items):
    """First the files that take long and would come late: begun last, they would leave one worker alone with them."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))
    for item in items if os.name == "nt" else ():
        if item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="made of what Windows does not have"))


def _stray_words(figure):
    """Words that leave the sheet, and pairs of words that touch."""
    from matplotlib.text import Text

    figure.draw_without_rendering()         # words are placed, and no pixel is made
    shown = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    boxes = [text.get_window_extent() for text in shown]
    width, height = figure.canvas.get_width_height()
    outside = [text.get_text() for text, box in zip(shown, boxes)
               if box.x0 < 4 or box.y0 < 4 or box.x1 > width - 4 or box.y1 > height - 4]
    touching = [(one.get_text(), other.get_text()) for (one, a), (other, b) in combinations(zip(shown, boxes), 2)
                if min(a.x1, b.x1) > max(a.x0, b.x0) and min(a.y1, b.y1) > max(a.y0, b.y0) + 3]
    return outside, touching


@pytest.fixture(scope="session")
def stray_words():
    """A function of a figure: the words that leave the sheet, and the pairs that touch; ([], []) for a good one."""
    return _stray_words


@pytest.fixture(scope="session")
def good_picture():
    """A function that fails for a picture (Figure or Axes) with words off the sheet, touching or tiny, or too large."""
    def look_at(picture):
        from matplotlib.text import Text

        from pushlab.plots import png

        figure = picture.figure if picture.figure is not None else picture
        image = png(figure)
        assert _stray_words(figure) == ([], [])
        shown = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
        assert min(text.get_size() for text in shown) >= 8.5
        assert len(image) < 150_000
        return [text.get_text() for text in shown]

    return look_at


def _sources_of_the_book():
    """What the book is made by, a line each (this Python, Sphinx and its helpers), and a digest of all files it is of.

    So `make test-latest` builds with its newest Sphinx what `make test` has built with another.
    """
    makers = ("sphinx", "docutils", "myst-nb", "myst-parser", "sphinx-book-theme", "pydata-sphinx-theme",
              "sphinx-copybutton", "math-core", "ziamath")
    lines = [f"python {sys.version.split()[0]}", *(f"{name} {version(name)}" for name in makers)]
    digest = hashlib.sha256()
    folders = [path for name in ("docs", "notebooks", "pushlab") for path in (ROOT / name).rglob("*")
               if "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc")]
    for path in sorted([*folders, *(ROOT / "data").glob("*/README.md"), *ROOT.glob("*.md"), ROOT / "pyproject.toml"]):
        made = path.relative_to(ROOT).parts[:2] in (("docs", "api"), ("docs", "environments"))  # by the build itself
        if path.is_file() and not made:
            digest.update(f"{path.relative_to(ROOT)} {path.stat().st_size} ".encode() + path.read_bytes())
    return "\n".join([*lines, digest.hexdigest()])


@pytest.fixture(scope="session")
def built_book():
    """Folder of the book as HTML. Built once for all processes that test it, and again when a source changes."""
    pytest.importorskip("sphinx", reason="the extra [book] is not installed")
    from filelock import FileLock

    folder = ROOT / "build" / "tested"
    folder.mkdir(parents=True, exist_ok=True)
    book, stamp = folder / "book", folder / "sources"
    with FileLock(folder / "lock"):
        sources = _sources_of_the_book()
        if not stamp.exists() or stamp.read_text() != sources:
            stamp.unlink(missing_ok=True)
            shutil.rmtree(book, ignore_errors=True)
            command = [sys.executable, "-P", "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-j", "auto",
                       "-c", "docs", "-b", "html", ".", book]
            built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if built.returncode != 0:
                pytest.fail(f"the book does not build without a warning:\n{built.stdout}{built.stderr}", pytrace=False)
            stamp.write_text(sources)
    return book
