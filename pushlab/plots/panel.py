"""A picture in the page of a notebook, with words below it, and its controls: what all pictures that move share."""

import asyncio
import functools
import html
import inspect
import io
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, NamedTuple

import ipywidgets as W
import traitlets
from matplotlib.figure import Figure

from pushlab.plots.sheet import figure_of, png

SLOW = 0.3  # seconds: what takes longer is not drawn ahead, and waits until its slider is let go


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
    if (
        pyplot is not None
    ):  # or the notebook would show a figure of pyplot's a second time
        pyplot.close(figure)
    return shot


class PictureImage(W.Image):
    """An image widget whose text is short and always the same, so that saved notebooks can be compared.

    A widget's image has no `alt`; its tooltip, the attribute `title` in the page, is what screen readers read instead.
    """

    description = traitlets.Unicode("").tag(
        sync=True
    )  # a tooltip asks for one, and would break an image without

    def __repr__(self):
        return "PictureImage()"

    def show(self, shot: Shot, words: str) -> None:
        """Shows a shot, at most as wide as it was drawn; `words` are its alternative text."""
        self.layout.max_width = f"{shot.width:.0f}px"
        with self.hold_sync():  # one message for both
            self.value, self.tooltip = shot.png, words


class _Cells:
    """Of the cells of a notebook: how many began or ended, and whether one runs."""

    def __init__(self, shell):
        self.seen, self.runs = (
            0,
            True,
        )  # it is asked for the first time where a panel is made
        # Not pre_execute, which comes with every message of a widget as well.
        shell.events.register("pre_run_cell", lambda _: self.note(True))
        shell.events.register("post_run_cell", lambda _: self.note(False))

    def note(self, runs):
        self.seen, self.runs = self.seen + 1, runs


_cells_of = functools.cache(_Cells)


def moment() -> int:
    """The number of the pause between two cells of the notebook; 0 while a cell runs, and outside of notebooks."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return 0 if shell is None or (cells := _cells_of(shell)).runs else cells.seen


def from_page(*controls: W.Widget) -> bool:
    """Whether one of the controls is being moved in the page, not set by code."""
    return any(getattr(control, "_property_lock", None) for control in controls)


class _Echo(io.TextIOBase):
    """Passes on what is printed, to a stream or to nobody, and notes that something was."""

    def __init__(self, stream):
        self.stream, self.heard = stream, False

    def write(self, text):
        self.heard = True
        return self.stream.write(text) if self.stream else len(text)

    def flush(self):
        if self.stream:
            self.stream.flush()


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
             comes at once. All are dropped when a cell is run or code moves a control, as they may depend on what that
             changes. One that prints or warns is not kept, one that takes longer than SLOW not drawn ahead.
             0 keeps none and draws none ahead
    """

    keep = 48

    def __init__(
        self,
        picture: Any,
        say: Callable | None,
        controls: Sequence,
        below: Sequence = (),
    ) -> None:
        self.picture, self.say = picture, say
        self._figure: Figure | None = None
        self._kept: dict[Any, Shot] = {}
        self._later: asyncio.TimerHandle | None = None
        self._quick, self.took = (
            False,
            0.0,
        )  # of the last picture drawn: fit to draw others ahead; seconds
        self.image, self.words = PictureImage(format="png"), W.HTML()
        self.view = W.VBox([*controls, self.image, self.words, *below])

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle = self.view._repr_mimebundle_(include=include, exclude=exclude)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": repr(self)}, metadata

    def write(self, words: str, colour: str = "inherit") -> None:
        """The line of text under the picture; screen readers read it out when it changes."""
        self.words.value = words and (
            f'<p role="status" aria-live="polite" style="margin:0;color:{colour}">'
            f"{html.escape(words)}</p>"
        )

    @contextmanager
    def errors_shown(self) -> Iterator[None]:
        """Whatever the reader's function or the environment raises is shown under the picture instead of being lost."""
        try:
            yield
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            self.write(told, "#C04A00")
            self.image.tooltip = f"The picture from before this error: {told}"

    def show(self, shot: Shot) -> None:
        """Shows a picture and its words; where it has none, its alternative text says how the controls stand."""
        self.image.show(shot, shot.words or repr(self))
        self.write(shot.words)

    def show_kept(
        self, state: Any, next_states: Sequence = (), settled: bool = True
    ) -> bool:
        """Shows the picture of a state (anything hashable), kept or drawn now, and draws the next ones in idle time.

        settled   False where code is at work that may change more: then nothing is kept

        Returns whether it was drawn now, in `took` seconds.
        """
        if self._later:
            self._later.cancel()  # the reader went elsewhere
        now = moment() if settled and self.keep else 0
        if not now:
            self._kept.clear()
        drawn = (now, state) not in self._kept
        self.show(self._shot_of(now, state))
        if now and self._quick:
            self._draw_later(now, list(next_states))
        return drawn

    def _shot_of(self, now, state, ahead=False):
        if (now, state) in self._kept:
            return self._kept[now, state]
        out, err = (
            _Echo(None if ahead else stream) for stream in (sys.stdout, sys.stderr)
        )
        begun = time.perf_counter()
        with redirect_stdout(out), redirect_stderr(err):
            shot = self.shot_of(state)
        self.took, silent = time.perf_counter() - begun, not (out.heard or err.heard)
        self._quick = silent and self.took < SLOW
        if now and silent:
            while self._kept and (
                len(self._kept) >= self.keep or next(iter(self._kept))[0] != now
            ):
                del self._kept[next(iter(self._kept))]  # the oldest
            self._kept[now, state] = shot
        return shot

    def _draw_later(self, now, states):
        """In the kernel's own loop and thread: a message that comes meanwhile is only as late as one picture takes."""
        with suppress(RuntimeError):  # there is no loop: nobody waits
            later = asyncio.get_running_loop().call_later
            self._later = later(0.02, self._draw_ahead, now, states) if states else None

    def _draw_ahead(self, now, states):
        if moment() != now:  # a cell runs or ran
            return
        with (
            suppress(Exception),
            warnings.catch_warnings(),
        ):  # what is said once a place has not been said yet
            warnings.showwarning = lambda *_, **__: sys.stderr.write("not kept")
            self._shot_of(now, states[0], ahead=True)
            if self._quick:
                self._draw_later(now, states[1:])

    def shot_of(self, state: Any) -> Shot:
        """The picture of a state, drawn; each kind of panel says how."""
        raise NotImplementedError

    def shot_of_frames(
        self,
        frames: Sequence[Mapping],
        words: str = "",
        given: Mapping | None = None,
        **offered: Any,
    ) -> Shot:
        """The picture of some frames and its sentence; of what is offered it takes what it knows by name."""
        parameters, offered = (
            parameters_of(self.picture),
            {"figure": self._figure, **offered},
        )
        takes_all = any(
            parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
        )
        known = {
            name: value
            for name, value in offered.items()
            if takes_all or name in parameters
        }
        shown = self.picture(frames, **{**known, **(given or {})})
        self._figure = figure_of(shown)
        return shoot(shown, f"{words} {self.say(frames) if self.say else ''}".strip())
