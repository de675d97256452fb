"""Pictures that move: controls over a picture, a player of episodes, and a seat for the reader in the agent's place.

Each shows one image and replaces its bytes; nothing else in the page moves. The kernel draws the image, so a page
without a kernel stands still: put a static picture beside the widget. Arrow keys move sliders, the space key presses
buttons.
"""

import asyncio
import functools
import html
import inspect
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import ipywidgets as W
import numpy as np
import traitlets
from gymnasium import spaces
from IPython import get_ipython
from matplotlib.figure import Figure

from pushlab.plots.phones import phone
from pushlab.plots.style import DISMISSED, png, short_number, spoken

INTERVAL = 300  # milliseconds a frame of a player
BUTTONS = 6  # a choice from more values than this is a slider


# ---------------------------------------------------------------- the engine


class Picture(W.Image):
    """An image whose tooltip is its alternative text: screen readers read it, and image widgets have no `alt`."""

    # JupyterLab needs a description to set a tooltip.
    description = traitlets.Unicode("").tag(sync=True)


class Panel:
    """A picture with controls. As the last expression of a cell it shows itself.

    A subclass makes the controls, puts them and the picture into `view`, and says what to draw for each state.

    Attributes:
        view: The widget that holds everything.
        image: The picture; `image.value` is its PNG.
        words: The text under the picture.
        keep: Number of pictures in the cache. A picture that the reader has seen before comes at once. It is drawn
            again after a cell has run, or code has moved a control, because it may depend on what that changed.
            Set 0 for a picture that depends on anything else, such as another widget.
    """

    keep = 48
    view: W.Widget

    def __init__(self) -> None:
        self.image = Picture(format="png")
        self.words = W.HTML()
        self._cache: dict[Hashable, tuple] = {}

    def state(self) -> Hashable:
        """Return what the picture depends on."""
        raise NotImplementedError

    def draw(self, state: Any) -> tuple[Any, str]:
        """Return the picture of a state, a Figure or Axes, and the words under it."""
        raise NotImplementedError

    def update(self, change: Mapping) -> None:
        """Show the picture after a control has moved."""
        with self.errors_shown():
            self.show(is_from_page=bool(change["owner"]._property_lock))

    def show(self, is_from_page: bool = False) -> None:
        """Show the picture of the present state."""
        if not is_from_page:
            self._cache.clear()
        image, width, words, alternative = self.shot(self.state())
        self.image.layout.max_width = width
        with self.image.hold_sync():  # one message for both
            self.image.value = image
            self.image.tooltip = alternative
        self.write(words)

    def shot(self, state: Hashable) -> tuple:
        """Return the picture of a state, from the cache or drawn now: PNG, width, words, alternative text."""
        key = (getattr(get_ipython(), "execution_count", 0), state)
        if key in self._cache:
            return self._cache[key]
        picture, words = self.draw(state)
        figure = getattr(picture, "figure", None)
        if not isinstance(figure, Figure):
            raise TypeError(f"a picture must be a Figure or Axes, got {picture!r}")
        alternative = words or repr(self)
        if figure.get_label():  # the title
            alternative = f"{figure.get_label()} ({alternative})"
        shot = (png(figure), f"{figure.bbox.width:.0f}px", words, alternative)
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot:  # otherwise the notebook shows its figures twice
            pyplot.close(figure)
        self._cache[key] = shot
        while len(self._cache) > self.keep:
            del self._cache[next(iter(self._cache))]
        return shot

    @contextmanager
    def errors_shown(self) -> Iterator[None]:
        """Write an error under the picture, where it would be lost otherwise."""
        try:
            yield
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            self.write(words, DISMISSED)
            self.image.tooltip = f"The picture from before this error: {words}"

    def write(self, words: str, colour: str = "inherit") -> None:
        """Write the text under the picture; screen readers read it out when it changes."""
        self.words.value = (
            f'<p role="status" aria-live="polite" style="margin:0;color:{colour}">'
            f"{html.escape(words)}</p>"
        )

    def _repr_mimebundle_(self, **options):
        bundle = self.view._repr_mimebundle_(**options)
        return {**bundle, "text/plain": repr(self)}


def _form():
    """Return the look of a control in a column of controls."""
    layout = W.Layout(width="520px", max_width="100%")
    return {"style": {"description_width": "130px"}, "layout": layout}


def _choice(name, options, **more):
    """Return buttons or a slider for a choice: the keys typed on a menu (W.Dropdown) would reach JupyterLab."""
    kind = W.ToggleButtons if len(options) <= BUTTONS else W.SelectionSlider
    control = kind(options=options, description=name, **_form(), **more)
    if kind is W.ToggleButtons:
        control.style.button_width = "auto"
        control.add_class("widget-inline-hbox")  # its name on the left
    return control


# ---------------------------------------------------------------- explore


class Explorer(Panel):
    """Controls over a picture.

    Args:
        picture: Function of the names in `ranges` that returns a Figure or Axes.
        say: Function of the same names that returns a sentence, for readers who cannot see the picture.
        ranges: name=(low, high, step) makes a slider, of integers if all three are; name=[values] a choice;
            name=True or False a box. A control begins at the default of `picture`, or else at its first value.

    Attributes:
        controls: {name: widget}. `.controls[name].value = ...` moves a control from code.
        values: {name: value} of all controls.

    >>> from pushlab import plots
    >>> def picture(height=1.0):
    ...     stage = plots.Stage(200, 100)
    ...     stage.line([(0, 0), (200, 100 * height)])
    ...     return stage.figure
    >>> panel = explore(picture, height=(0.0, 1.0, 0.1))
    >>> panel
    explore: height = 1.0
    >>> before = panel.image.value
    >>> panel.controls["height"].value = 0.5
    >>> panel.image.value == before
    False
    """

    def __init__(
        self, picture: Callable, /, say: Callable | None = None, **ranges: Any
    ):
        super().__init__()
        self.picture = picture
        self.say = say
        self.controls = {}
        for name, values in ranges.items():
            parameter = inspect.signature(picture).parameters.get(name)
            control = _control(name, values, getattr(parameter, "default", None))
            self.controls[name] = control
        self.view = W.VBox([*self.controls.values(), self.image, self.words])
        self.show()  # an error in the first picture belongs to the cell
        for control in self.controls.values():
            control.observe(self.update, "value")

    def __repr__(self):
        words = (f"{name} = {value}" for name, value in self.values.items())
        return "explore: " + ", ".join(words)

    @property
    def values(self) -> dict[str, Any]:
        return {name: control.value for name, control in self.controls.items()}

    def state(self) -> Hashable:
        """Return the position of each control: the values of a choice may not be hashable."""
        return tuple(getattr(c, "index", c.value) for c in self.controls.values())

    def draw(self, state: Any) -> tuple[Any, str]:
        values = self.values
        return self.picture(**values), self.say(**values) if self.say else ""


def _control(name, values, default):
    """Return the widget for a range."""
    words = name.replace("_", " ")
    match values:
        case bool():
            return W.Checkbox(value=values, description=words, **_form())
        case list([first, *_]):
            value = default if default in values else first
            return _choice(words, values, value=value)
        case tuple((low, high, step)) if low < high and step > 0:
            is_whole = all(isinstance(value, int | np.integer) for value in values)
            is_inside = isinstance(default, int | float) and low <= default <= high
            return (W.IntSlider if is_whole else W.FloatSlider)(
                value=default if is_inside else low,
                min=low,
                max=high,
                step=step,
                description=words,
                **_form(),
            )
    raise ValueError(
        f"{name}: expected (low, high, step) with low < high and step > 0, "
        f"a list of values, or True or False; got {values!r}"
    )


def lifelong_settings(log: Any) -> Explorer:
    """Explore the preprocessing of a lifetime: how its curves and its metrics depend on it.

    Args:
        log: See `pushlab.metrics.lifelong.lifelong_report`.
    """
    from pushlab.metrics.lifelong import Settings, lifelong_report
    from pushlab.plots.lifelong import report_sheet, shown_metrics

    usual = lifelong_report(log)
    names = shown_metrics(usual)

    @functools.lru_cache(maxsize=1)
    def report_with(**values):
        values["window"] = values["window"] or None
        return lifelong_report(log, settings=Settings(**values))

    def picture(**values):
        title = ", ".join(f"{name} {value}" for name, value in values.items())
        return report_sheet(report_with(**values), usual, names, title.capitalize())

    def say(**values):
        numbers = report_with(**values).lifetime.reindex(names).dropna()
        words = (f"{spoken(name)} {short_number(n)}" for name, n in numbers.items())
        return "; ".join(words)

    return explore(
        picture,
        say,
        smoothing=["flat", "hanning", "hamming", "bartlett", "blackman", "none"],
        window=(0, 100, 5),
        normalization=["task", "run", "none"],
        clamp=False,
    )


# ---------------------------------------------------------------- the player


class Player(Panel):
    """Play an episode: a play button, and a slider that arrow keys move.

    Args:
        frames: Frames of one episode, oldest first: `rollout(..., record="frames")` returns them.
        picture: Function of the frames up to now that returns a Figure or Axes.
        more: Further arguments of `picture`, such as agent="thompson".

    Attributes:
        slider: The widget whose value is the index of the frame.
    """

    def __init__(
        self,
        frames: Sequence[Mapping],
        picture: Callable = phone,
        **more: Any,
    ):
        if not len(frames):
            raise ValueError(
                "player() needs at least one frame; rollout(..., record='frames') returns them"
            )
        super().__init__()
        self.frames = list(frames)
        self.picture = picture
        self.more = more
        last = max(1, len(frames) - 1)  # a slider needs two values
        self.play = W.Play(max=last, interval=INTERVAL, show_repeat=False)
        self.slider = W.IntSlider(max=last, description="step")
        W.jslink((self.play, "value"), (self.slider, "value"))
        controls = W.HBox([self.play, self.slider])
        self.view = W.VBox([controls, self.image, self.words])
        self.show()
        self.slider.observe(self.update, "value")

    def __repr__(self):
        return f"player: {len(self.frames):,} frames"

    def state(self) -> Hashable:
        return self.slider.value

    def draw(self, state: Any) -> tuple[Any, str]:
        return self.picture(self.frames[: state + 1], **self.more), ""

    def update(self, change: Mapping) -> None:
        """Show the picture of a frame; draw the next one while the reader looks at it."""
        super().update(change)
        at = change["new"]
        with suppress(RuntimeError):  # there is no event loop, and no page
            asyncio.get_running_loop().call_later(
                0.02, lambda: at == self.slider.value and self.shot(at + 1)
            )


# ---------------------------------------------------------------- you are the agent


class Seat(Panel):
    """Put the reader in the agent's place: choose an action, send it, see the outcome.

    Args:
        env: An environment of this package. If an action has several parts, each has its own control; otherwise each
            action has a button, grey while it is not allowed.
        seed: Seed of the first episode; the next ones follow from it.

    Attributes:
        log: A dict for each step: episode, step, action, reward. An action of several parts is a dict of words.
        frames: Frames of this episode, from its reset.
        score: Sum of the rewards in this episode.
    """

    def __init__(self, env: Any, seed: int = 0):
        world = env.unwrapped.world
        if not world.action_choices:
            raise ValueError(
                f"you_are_the_agent() needs actions that can be listed; those of {world.name} are {env.action_space}"
            )
        super().__init__()
        self.env = env
        self.picture = world.picture
        self.choices = dict(world.action_choices)
        self.log: list[dict] = []
        self.again = W.Button(description="new episode", icon="refresh")
        self.again.on_click(lambda _: self.begin())
        self.menus = []
        self.buttons = []
        if len(self.choices) > 1:
            self._add_menus()
        else:
            for number, words in enumerate(*self.choices.values()):
                self._add_button(str(words), lambda _, number=number: self.act(number))
        buttons = W.HBox(self.buttons, layout=W.Layout(flex_flow="row wrap"))
        self.view = W.VBox([self.words, self.image, *self.menus, buttons, self.again])
        self.episode = -1
        self.begin(seed)

    def __repr__(self):
        return f"you are the agent: episode {self.episode + 1}, step {self.step:,}, reward {self.score:g}"

    @property
    def step(self) -> int:
        """Number of steps in this episode."""
        return len(self.frames) - 1

    def _add_menus(self):
        for name, values in self.choices.items():
            options = [(str(words), number) for number, words in enumerate(values)]
            self.menus.append(_choice(name, options))
        self._add_button(
            "send", lambda _: self.act([menu.value for menu in self.menus])
        )
        self.buttons[0].button_style = "primary"

    def _add_button(self, words, act):
        button = W.Button(description=words, layout=W.Layout(width="auto"))
        button.on_click(act)
        self.buttons.append(button)

    def begin(self, seed: int | None = None) -> None:
        """Begin an episode; without a seed the environment goes on with its own random numbers."""
        self.episode += 1
        _, info = self.env.reset(seed=seed)
        self.score = 0.0
        self.is_over = False
        self.frames = [self.env.unwrapped.frame()]
        self._show(info, "Choose an action.")

    def act(self, action: Any) -> None:
        """Take a step, as a button does.

        Args:
            action: The index of a choice, or one index for each part.
        """
        if self.is_over:
            return self.write("The episode is over: press “new episode”.")
        numbers = [int(number) for number in np.atleast_1d(action)]
        with self.errors_shown():  # such as an action that is not allowed
            _, reward, terminated, truncated, info = self.env.step(self._sent(numbers))
            reward = float(reward)
            self.score += reward
            self.is_over = bool(terminated or truncated)
            self.frames.append(self.env.unwrapped.frame())
            words = self._in_words(numbers)
            self.log.append(
                {
                    "episode": self.episode,
                    "step": self.step,
                    "action": words if len(words) > 1 else words.popitem()[1],
                    "reward": reward,
                }
            )
            total = f"In all {self.score:g} after step {self.step:,}."
            end = " The episode is over." if self.is_over else ""
            self._show(info, f"Reward {reward:+g}. {total}{end}")

    def _in_words(self, numbers):
        parts = zip(self.choices.items(), numbers)
        return {name: values[number] for (name, values), number in parts}

    def _sent(self, numbers):
        """Return the indices of the choices as an action of the environment."""
        space = self.env.action_space
        if isinstance(space, spaces.MultiDiscrete):
            return np.array(numbers, space.dtype)
        if isinstance(space, spaces.Discrete):
            return numbers[0] + int(space.start)
        words = tuple(self._in_words(numbers).values())
        return words if isinstance(space, spaces.Tuple) else words[0]

    def _show(self, info, words):
        mask = info.get("action_mask")
        for number, button in enumerate(self.buttons):
            is_allowed = bool(self.menus) or mask is None or mask[number]
            button.disabled = self.is_over or not is_allowed
        self.outcome = words
        with self.errors_shown():  # the episode goes on
            self.show()

    def state(self) -> Hashable:
        return self.episode, self.step

    def draw(self, state: Any) -> tuple[Any, str]:
        offered = {"agent": "you", "choosing": not self.is_over}
        known = inspect.signature(self.picture).parameters
        more = {name: value for name, value in offered.items() if name in known}
        return self.picture(self.frames, **more), self.outcome


explore = Explorer
player = Player
you_are_the_agent = Seat
