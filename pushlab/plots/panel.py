"""A picture in the page of a notebook, with words below it, and its controls: what all pictures that move share."""

import asyncio
import html
import inspect
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, NamedTuple

import ipywidgets as W
import traitlets
from matplotlib.figure import Figure

from pushlab.plots.sheet import figure_of, png


class Shot(NamedTuple):
    """A picture as the page gets it: its PNG, its width in pixels, and the words under it."""

    png: bytes
    width: float
    words: str


def shoot(picture: Any, words: str = "") -> Shot:
    """The shot of a Figure (or Axes)."""
    figure = figure_of(picture)
    shot = Shot(png(figure), figure.bbox.width, words)
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:                      # or the notebook would show a figure of pyplot's a second time
        pyplot.close(figure)
    return shot


class PictureImage(W.Image):
    """An image widget whose text is short and always the same, so that saved notebooks can be compared.

    A widget's image has no `alt`; its tooltip, the attribute `title` in the page, is what screen readers read instead.
    """

    description = traitlets.Unicode("").tag(sync=True)  # a tooltip asks for one, and would break an image without

    def __repr__(self):
        return "PictureImage()"

    def show(self, shot: Shot, words: str) -> None:
        """Shows a shot, at most as wide as it was drawn; `words` are its alternative text."""
        self.layout.max_width = f"{shot.width:.0f}px"
        with self.hold_sync():                  # one message for both
            self.value, self.tooltip = shot.png, words


def moment() -> int:
    """The number of the notebook's cell that runs or ran last; 0 outside of notebooks."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "execution_count", 0)


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
    keep     how many pictures are kept. One that was shown before, or was drawn ahead while nothing else was to do,
             comes at once. All are dropped when a cell is run, as they may depend on what it changes. 0 keeps none
    """

    keep = 48

    def __init__(self, picture: Any, say: Callable | None, controls: Sequence, below: Sequence = ()) -> None:
        self.picture, self.say = picture, say
        self._figure: Figure | None = None
        self._kept: dict[Any, Shot] = {}
        self._later: asyncio.TimerHandle | None = None
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

    def show(self, shot: Shot) -> None:
        """Shows a picture and its words; where it has none, its alternative text says how the controls stand."""
        self.image.show(shot, shot.words or repr(self))
        self.write(shot.words)

    def show_kept(self, state: Any, next_states: Sequence = ()) -> None:
        """Shows the picture of a state (anything hashable), kept or drawn now, and draws the next ones in idle time."""
        if self._later:
            self._later.cancel()                        # the reader went elsewhere
        self.show(self._shot_of(state))
        self._draw_later(list(next_states) if self.keep else [])

    def _shot_of(self, state):
        if (now := moment(), state) not in self._kept:
            while self._kept and (len(self._kept) >= self.keep or next(iter(self._kept))[0] != now):
                del self._kept[next(iter(self._kept))]  # the oldest
            self._kept[now, state] = self.shot_of(state)
        return self._kept[now, state]

    def _draw_later(self, states):
        """In the kernel's own loop and thread: a message that comes meanwhile is only as late as one picture takes."""
        with suppress(RuntimeError):                    # there is no loop: nobody waits
            self._later = asyncio.get_running_loop().call_later(0.02, self._draw_ahead, states) if states else None

    def _draw_ahead(self, states):
        with suppress(Exception), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            self._shot_of(states[0])
            self._draw_later(states[1:])

    def shot_of(self, state: Any) -> Shot:
        """The picture of a state, drawn; each kind of panel says how."""
        raise NotImplementedError

    def shot_of_frames(self, frames: Sequence[Mapping], words: str = "", given: Mapping | None = None,
                       **offered: Any) -> Shot:
        """The picture of some frames and its sentence; of what is offered it takes what it knows by name."""
        parameters, offered = parameters_of(self.picture), {"figure": self._figure, **offered}
        takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        known = {name: value for name, value in offered.items() if takes_all or name in parameters}
        shown = self.picture(frames, **{**known, **(given or {})})
        self._figure = figure_of(shown)
        return shoot(shown, f"{words} {self.say(frames) if self.say else ''}".strip())
