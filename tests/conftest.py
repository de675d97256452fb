"""What every test shares: a headless Matplotlib and a repeatable Hypothesis."""

import os
from itertools import combinations

import pytest
from hypothesis import settings

# An environment variable, so that processes started by a test draw headless too.
os.environ.setdefault("MPLBACKEND", "Agg")
# Tests run side by side already; threads of their own would have to wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# "repeatable" tries the same examples every time, so that a red test is red for everybody.
# HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, max_examples=50)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_modifyitems(items):
    """First the file that takes longest: begun last, it would leave one worker alone with it."""
    items.sort(key=lambda item: item.path.name != "test_solutions.py")


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
