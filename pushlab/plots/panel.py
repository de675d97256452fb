"""A picture in the page of a notebook, with words below it, and its controls: what all pictures that move share."""

import html
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import ipywidgets as W
from matplotlib.figure import Figure

from pushlab.plots.sheet import figure_of, png


class PictureImage(W.Image):
    """An image widget whose text is short and always the same, so that saved notebooks can be compared."""

    def __repr__(self):
        return "PictureImage()"

    def show(self, picture: Any) -> None:
        """Shows a Figure (or Axes), at most as wide as it was drawn."""
        figure = figure_of(picture)
        self.value = png(figure)
        self.layout.max_width = f"{figure.bbox.width:.0f}px"
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:                  # or the notebook would show a figure of pyplot's a second time
            pyplot.close(figure)


def parameters_of(function: Callable) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function, none of one that does not tell them."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


class Panel:
    """A picture with controls. As the last expression of a cell it shows itself.

    view     the widget that holds everything
    image    the picture; `image.value` is its PNG
    words    the text under the picture
    """

    def __init__(self, picture: Any, say: Callable | None, controls: Sequence, below: Sequence = ()) -> None:
        self.picture, self.say = picture, say
        self._figure: Figure | None = None
        self.image, self.words = PictureImage(format="png"), W.HTML()
        self.view = W.VBox([*controls, self.image, self.words, *below])

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle = self.view._repr_mimebundle_(include=include, exclude=exclude)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": repr(self)}, metadata

    def write(self, words: str, colour: str = "inherit") -> None:
        """The line of text under the picture; screen readers read it out when it changes."""
        self.words.value = words and (f'<p role="status" aria-live="polite" style="margin:0;color:{colour}">'
                                      f"{html.escape(words)}</p>")

    @contextmanager
    def errors_shown(self) -> Iterator[None]:
        """Whatever the reader's function or the environment raises is shown under the picture instead of being lost."""
        try:
            yield
        except Exception as error:
            self.write(f"{type(error).__name__}: {error}", "#C04A00")

    def draw_frames(self, frames: Sequence[Mapping], words: str = "", given: Mapping | None = None,
                    **offered: Any) -> None:
        """The picture of some frames and its sentence; of what is offered it takes what it knows by name."""
        parameters, offered = parameters_of(self.picture), {"figure": self._figure, **offered}
        takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        known = {name: value for name, value in offered.items() if takes_all or name in parameters}
        shown = self.picture(frames, **{**known, **(given or {})})
        self._figure = figure_of(shown)
        self.image.show(shown)
        self.write(f"{words} {self.say(frames) if self.say else ''}".strip())
