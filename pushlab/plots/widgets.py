"""Interactive plots: controls over a picture, a player of episodes, and manual control of an environment.

Each widget shows one image and replaces its bytes; nothing else on the page moves. The kernel draws the image, so
widgets don't respond on a page without a kernel: put a static picture beside them. Arrow keys move sliders, and the
space key presses buttons.
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
from pushlab.plots.style import DISMISSED, format_number, png, readable_name

INTERVAL = 300  # milliseconds per frame of a player
MAX_BUTTONS = 6  # with more values, a choice is a slider


# ---------------------------------------------------------------- panels


class Picture(W.Image):
    """An image whose tooltip is its alternative text. Screen readers read it; image widgets have no `alt`."""

    # JupyterLab needs a description to set a tooltip.
    description = traitlets.Unicode("").tag(sync=True)


class Panel:
    """A picture with controls. Notebooks display it.

    Subclasses create the controls, put them and the picture into `view`, and implement `state` and `draw`.

    Attributes:
        view: The widget that contains everything.
        image: The picture; `image.value` is its PNG.
        caption: The text under the picture.
        cache_size: Number of cached pictures. Pictures seen before are shown without a delay. The cache is cleared when
            another cell has run or code has moved a control, because either may change the picture. Set 0 for a
            picture that depends on anything else, such as another widget.
    """

    cache_size = 48
    view: W.Widget

    def __init__(self) -> None:
        self.image = Picture(format="png")
        self.caption = W.HTML()
        self._cache: dict[Hashable, tuple] = {}

    def state(self) -> Hashable:
        """Return the state that determines the picture."""
        raise NotImplementedError

    def draw(self, state: Any) -> tuple[Any, str]:
        """Return the picture of a state, a Figure or Axes, and its caption."""
        raise NotImplementedError

    def update(self, change: Mapping) -> None:
        """Show the picture after a control has moved."""
        with self.show_errors():
            is_from_page = bool(change["owner"]._property_lock)
            self.show(is_from_page)

    def show(self, is_from_page: bool = False) -> None:
        """Show the picture of the current state.

        Args:
            is_from_page: Whether a user moved a control, so that the cache remains valid.
        """
        if not is_from_page:
            self._cache.clear()
        image, width, caption, alternative = self.render(self.state())
        self.image.layout.max_width = width
        with self.image.hold_sync():  # one message for both
            self.image.value = image
            self.image.tooltip = alternative
        self.write_caption(caption)

    def render(self, state: Hashable) -> tuple:
        """Return PNG, width, caption and alternative text of a state, from the cache if possible."""
        execution_count = getattr(get_ipython(), "execution_count", 0)
        key = (execution_count, state)
        if key in self._cache:
            return self._cache[key]
        picture, caption = self.draw(state)
        figure = getattr(picture, "figure", None)
        if not isinstance(figure, Figure):
            raise TypeError(f"picture must return a Figure or Axes, got {picture!r}")
        title = figure.get_label()
        alternative = caption or repr(self)
        if title:
            alternative = f"{title} ({alternative})"
        width = f"{figure.bbox.width:.0f}px"
        rendered = (png(figure), width, caption, alternative)
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot:  # otherwise the notebook shows its figures twice
            pyplot.close(figure)
        self._cache[key] = rendered
        while len(self._cache) > self.cache_size:
            oldest = next(iter(self._cache))
            del self._cache[oldest]
        return rendered

    @contextmanager
    def show_errors(self) -> Iterator[None]:
        """Write errors under the picture, because callbacks of widgets would drop them."""
        try:
            yield
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            self.write_caption(message, DISMISSED)
            self.image.tooltip = f"The picture from before this error: {message}"

    def write_caption(self, text: str, colour: str = "inherit") -> None:
        """Write the text under the picture; screen readers read it when it changes."""
        self.caption.value = (
            f'<p role="status" aria-live="polite" style="margin:0;color:{colour}">'
            f"{html.escape(text)}</p>"
        )

    def _repr_mimebundle_(self, **options):
        bundle = self.view._repr_mimebundle_(**options)
        return {**bundle, "text/plain": repr(self)}


def _control_style():
    """Return style and layout of a control in a column of controls."""
    layout = W.Layout(width="520px", max_width="100%")
    return {"style": {"description_width": "130px"}, "layout": layout}


def _choice(name, options, **more):
    """Return buttons or a slider for a choice. A W.Dropdown would pass keys on to JupyterLab."""
    kind = W.ToggleButtons if len(options) <= MAX_BUTTONS else W.SelectionSlider
    control = kind(options=options, description=name, **_control_style(), **more)
    if kind is W.ToggleButtons:
        control.style.button_width = "auto"
        control.add_class("widget-inline-hbox")  # the name on the left
    return control


# ---------------------------------------------------------------- explore


class Explorer(Panel):
    """Controls over a picture.

    Args:
        picture: Function of the names in `ranges` that returns a Figure or Axes.
        describe: Function of the same names that returns a sentence, for readers who can't see the picture.
        ranges: name=(low, high, step) creates a slider, of integers if all three are integers. name=[values] creates
            a choice, name=True or False a checkbox. A control starts at the default of `picture`, or else at its first
            value.

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
        self,
        picture: Callable,
        /,
        describe: Callable | None = None,
        **ranges: Any,
    ):
        super().__init__()
        self.picture = picture
        self.describe = describe
        self.controls = {}
        parameters = inspect.signature(picture).parameters
        for name, values in ranges.items():
            default = getattr(parameters.get(name), "default", None)
            self.controls[name] = _control(name, values, default)
        self.view = W.VBox([*self.controls.values(), self.image, self.caption])
        self.show()  # raises errors of the first picture in the cell
        for control in self.controls.values():
            control.observe(self.update, "value")

    def __repr__(self):
        values = (f"{name} = {value}" for name, value in self.values.items())
        return "explore: " + ", ".join(values)

    @property
    def values(self) -> dict[str, Any]:
        return {name: control.value for name, control in self.controls.items()}

    def state(self) -> Hashable:
        """Return the position of each control, because values of a choice may not be hashable."""
        return tuple(getattr(c, "index", c.value) for c in self.controls.values())

    def draw(self, state: Any) -> tuple[Any, str]:
        values = self.values
        picture = self.picture(**values)
        caption = self.describe(**values) if self.describe else ""
        return picture, caption


def _control(name, values, default):
    """Return the control for a range."""
    label = name.replace("_", " ")
    match values:
        case bool():
            return W.Checkbox(value=values, description=label, **_control_style())
        case list([first, *_]):
            value = default if default in values else first
            return _choice(label, values, value=value)
        case tuple((low, high, step)) if low < high and step > 0:
            is_integer = all(isinstance(value, int | np.integer) for value in values)
            is_inside = isinstance(default, int | float) and low <= default <= high
            kind = W.IntSlider if is_integer else W.FloatSlider
            return kind(
                value=default if is_inside else low,
                min=low,
                max=high,
                step=step,
                description=label,
                **_control_style(),
            )
    raise ValueError(
        f"{name} must be (low, high, step) with low < high and step > 0, "
        f"a list of values, or True or False; got {values!r}"
    )


def lifelong_settings(log: Any) -> Explorer:
    """Explore how the curves and metrics of a lifetime depend on the preprocessing settings.

    Args:
        log: See `pushlab.metrics.lifelong.lifelong_report`.
    """
    from pushlab.metrics.lifelong import Settings, lifelong_report
    from pushlab.plots.lifelong import report_sheet, select_metrics

    default_report = lifelong_report(log)
    names = select_metrics(default_report)

    @functools.lru_cache(maxsize=1)
    def report_with(**values):
        values["window"] = values["window"] or None
        return lifelong_report(log, settings=Settings(**values))

    def picture(**values):
        title = ", ".join(f"{name} {value}" for name, value in values.items())
        report = report_with(**values)
        return report_sheet(report, default_report, names, title.capitalize())

    def describe(**values):
        metrics = report_with(**values).lifetime.reindex(names).dropna()
        parts = (
            f"{readable_name(name)} {format_number(n)}" for name, n in metrics.items()
        )
        return "; ".join(parts)

    return explore(
        picture,
        describe,
        smoothing=["flat", "hanning", "hamming", "bartlett", "blackman", "none"],
        window=(0, 100, 5),
        normalization=["task", "run", "none"],
        clamp=False,
    )


# ---------------------------------------------------------------- the player


class Player(Panel):
    """Play an episode, with a play button and a slider.

    Args:
        frames: Frames of one episode, oldest first; `rollout(..., record="frames")` returns them.
        picture: Function of the frames so far that returns a Figure or Axes.
        options: Further arguments of `picture`, such as agent="thompson".

    Attributes:
        slider: The widget whose value is the index of the frame.
    """

    def __init__(
        self,
        frames: Sequence[Mapping],
        picture: Callable = phone,
        **options: Any,
    ):
        if not len(frames):
            raise ValueError(
                "frames is empty, but player() needs at least one frame; "
                "rollout(..., record='frames') returns them"
            )
        super().__init__()
        self.frames = list(frames)
        self.picture = picture
        self.options = options
        last = max(1, len(frames) - 1)  # a slider needs two values
        self.play = W.Play(max=last, interval=INTERVAL, show_repeat=False)
        self.slider = W.IntSlider(max=last, description="step")
        W.jslink((self.play, "value"), (self.slider, "value"))
        controls = W.HBox([self.play, self.slider])
        self.view = W.VBox([controls, self.image, self.caption])
        self.show()
        self.slider.observe(self.update, "value")

    def __repr__(self):
        return f"player: {len(self.frames):,} frames"

    def state(self) -> Hashable:
        return self.slider.value

    def draw(self, state: Any) -> tuple[Any, str]:
        frames = self.frames[: state + 1]
        return self.picture(frames, **self.options), ""

    def update(self, change: Mapping) -> None:
        """Show the picture of a frame, and draw the next one in advance."""
        super().update(change)
        index = change["new"]

        def draw_next():
            if self.slider.value == index:
                self.render(index + 1)

        with suppress(RuntimeError):  # no event loop, so no page either
            asyncio.get_running_loop().call_later(0.02, draw_next)


# ---------------------------------------------------------------- you are the agent


class ManualControl(Panel):
    """Let the reader act as the agent: choose an action, send it, and see the outcome.

    Args:
        env: An environment of this package. If an action has several parts, each part has its own control. Otherwise
            each action has a button, disabled while the action is not allowed.
        seed: Seed of the first episode. Later episodes continue its random numbers.

    Attributes:
        log: One dict per step: episode, step, action, reward. An action with several parts is {part: value}.
        frames: Frames of this episode since its reset.
        score: Sum of the rewards in this episode.
    """

    def __init__(self, env: Any, seed: int = 0):
        world = env.unwrapped.world
        if not world.action_choices:
            raise ValueError(
                "you_are_the_agent() needs a finite list of actions, "
                f"but {world.name} has the action space {env.action_space}"
            )
        super().__init__()
        self.env = env
        self.picture = world.picture
        self.choices = dict(world.action_choices)
        self.log: list[dict] = []
        self.restart = W.Button(description="new episode", icon="refresh")
        self.restart.on_click(lambda _: self.begin())
        self.menus = []
        self.buttons = []
        if len(self.choices) > 1:
            self._add_menus()
        else:
            for index, value in enumerate(*self.choices.values()):
                self._add_button(str(value), lambda _, index=index: self.act(index))
        buttons = W.HBox(self.buttons, layout=W.Layout(flex_flow="row wrap"))
        self.view = W.VBox(
            [self.caption, self.image, *self.menus, buttons, self.restart]
        )
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
            options = [(str(value), index) for index, value in enumerate(values)]
            self.menus.append(_choice(name, options))
        self._add_button("send", lambda _: self.act([m.value for m in self.menus]))
        self.buttons[0].button_style = "primary"

    def _add_button(self, label, on_click):
        button = W.Button(description=label, layout=W.Layout(width="auto"))
        button.on_click(on_click)
        self.buttons.append(button)

    def begin(self, seed: int | None = None) -> None:
        """Begin an episode. Without a seed the environment continues its random numbers."""
        self.episode += 1
        _, info = self.env.reset(seed=seed)
        self.score = 0.0
        self.is_over = False
        self.frames = [self.env.unwrapped.frame()]
        self._show(info, "Choose an action.")

    def act(self, action: Any) -> None:
        """Take a step.

        Args:
            action: The index of a choice, or one index for each part.
        """
        if self.is_over:
            return self.write_caption("The episode is over: press “new episode”.")
        indices = [int(index) for index in np.atleast_1d(action)]
        with self.show_errors():  # such as an action that is not allowed
            step = self.env.step(self._env_action(indices))
            _, reward, terminated, truncated, info = step
            reward = float(reward)
            self.score += reward
            self.is_over = bool(terminated or truncated)
            self.frames.append(self.env.unwrapped.frame())
            values = self._selected_values(indices)
            self.log.append(
                {
                    "episode": self.episode,
                    "step": self.step,
                    "action": values if len(values) > 1 else values.popitem()[1],
                    "reward": reward,
                }
            )
            total = f"In all {self.score:g} after step {self.step:,}."
            end = " The episode is over." if self.is_over else ""
            self._show(info, f"Reward {reward:+g}. {total}{end}")

    def _selected_values(self, indices):
        parts = zip(self.choices.items(), indices)
        return {name: values[index] for (name, values), index in parts}

    def _env_action(self, indices):
        """Convert indices of choices to an action of the environment."""
        space = self.env.action_space
        if isinstance(space, spaces.MultiDiscrete):
            return np.array(indices, space.dtype)
        if isinstance(space, spaces.Discrete):
            return indices[0] + int(space.start)
        values = tuple(self._selected_values(indices).values())
        return values if isinstance(space, spaces.Tuple) else values[0]

    def _show(self, info, outcome):
        mask = info.get("action_mask")
        for index, button in enumerate(self.buttons):
            is_allowed = bool(self.menus) or mask is None or mask[index]
            button.disabled = self.is_over or not is_allowed
        self.outcome = outcome
        with self.show_errors():  # an error in the picture doesn't end the episode
            self.show()

    def state(self) -> Hashable:
        return self.episode, self.step

    def draw(self, state: Any) -> tuple[Any, str]:
        options = {"agent": "you", "choosing": not self.is_over}
        accepted = inspect.signature(self.picture).parameters
        for name in options.keys() - accepted.keys():
            del options[name]
        return self.picture(self.frames, **options), self.outcome


explore = Explorer
player = Player
you_are_the_agent = ManualControl
