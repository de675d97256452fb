"""Figures as pixels, and on the screen while an environment runs in the mode "human"."""

import sys
from typing import Any
from weakref import WeakKeyDictionary, finalize

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from pushlab.plots.sheet import figure_of, png

_windows: WeakKeyDictionary = (
    WeakKeyDictionary()
)  # what stands on the screen, by the environment that draws
_closers: WeakKeyDictionary = (
    WeakKeyDictionary()
)  # what closes its window, at the latest when it is gone


def pixels(figure: Figure) -> np.ndarray:
    """The figure, or that of Axes, as a uint8 array (height, width, 3)."""
    canvas = FigureCanvasAgg(figure_of(figure))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def show(figure: Figure, owner: Any) -> None:
    """Shows a figure in the place of the owner's last one: in a notebook below its cell, else in a window.

    Without a notebook and without a display there is nothing to show it on, and it is left at that.
    """
    (_show_in_notebook if _in_notebook() else _show_in_window)(figure_of(figure), owner)


def hide(owner: Any) -> None:
    """Closes the owner's window, if it has one."""
    _windows.pop(owner, None)
    close = _closers.pop(owner, None)
    if close is not None:
        close()


def _in_notebook():
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _show_in_notebook(figure, owner):
    from IPython.display import Image, display

    image = Image(png(figure))
    if owner in _windows:
        _windows[owner].update(image)
    else:
        _windows[owner] = display(image, display_id=True)


def _show_in_window(figure, owner):
    import matplotlib
    import matplotlib.pyplot as plt
    from matplotlib.backends import BackendFilter, backend_registry

    interactive = backend_registry.list_builtin(BackendFilter.INTERACTIVE)
    if matplotlib.get_backend().lower() not in interactive:
        return
    image = pixels(figure)
    window = _windows.get(owner)
    if window is None:
        height, wide = image.shape[:2]
        window = _windows[owner] = plt.figure(
            figsize=(wide / 100, height / 100), dpi=100
        )
        _closers[owner] = finalize(owner, plt.close, window)
        _closers[
            owner
        ].atexit = False  # all windows go then, and Matplotlib maybe before them
        window.add_axes([0, 0, 1, 1]).axis("off")
        window.axes[0].imshow(image)
    window.axes[0].images[0].set_data(image)
    plt.pause(0.001)
