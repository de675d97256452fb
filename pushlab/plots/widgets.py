"""Interactive plots: controls over a picture, a player of episodes, and manual control of an environment.

Each widget shows one image and replaces its bytes; nothing else on the page moves. The kernel draws the image, so
widgets don't respond on a page without a kernel: put a static picture beside them. Arrow keys move sliders and choices,
a letter moves a slider over words, and the space key presses buttons. No key reaches the notebook, where some delete
cells, except Escape (back to the cell), Tab, Shift+Enter, Ctrl+Enter and Ctrl+S.
"""

import asyncio
import functools
import inspect
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from gymnasium import spaces
from matplotlib.figure import Figure

from pushlab.plots.phones import (
    DAY,
    app_name,
    clock_time,
    format_value,
    phone,
    posting_app,
)
from pushlab.plots.style import format_number, png, readable_name
from pushlab.utils.arguments import import_optional, require, short_repr

INTERVAL = 300  # milliseconds per frame of a player
MAX_BUTTONS = 6  # with more values, a choice is a slider
# Words for abbreviations of the worlds.
WORDS = {"RT": "reverse transcriptase", "msg": "message", "err": "error"}
FOLDER = files("pushlab.plots")
AnyWidget: Any = import_optional("anywidget:AnyWidget", "a widget", "lab")
traitlets = import_optional("traitlets", "a widget", "lab")
get_ipython = import_optional("IPython:get_ipython", "a widget", "lab")


# ---------------------------------------------------------------- panels


class FrontEnd(AnyWidget):
    """The page's side of a panel, in widgets.js.

    Attributes:
        controls: One dict per control: name, kind (slider, choice or checkbox), label, texts of its values.
        positions: {name: index of the value} of all controls.
        actions: Labels of the buttons that take a step.
        interval: Milliseconds per frame of a player; 0 without a player.
        shown: The picture: png, scale, alt, caption, error and the positions that it belongs to. With
            actions, which of them are allowed, and whether an episode is under way, in place of the positions.
    """

    _esm = FOLDER.joinpath("widgets.js").read_text(encoding="utf-8")
    _css = FOLDER.joinpath("widgets.css").read_text(encoding="utf-8")
    controls = traitlets.List().tag(sync=True)
    positions = traitlets.Dict().tag(sync=True)
    actions = traitlets.List().tag(sync=True)
    interval = traitlets.Int(0).tag(sync=True)
    shown = traitlets.Dict().tag(sync=True)


@dataclass
class Control:
    """A control of a panel.

    Attributes:
        name: Its name in the code.
        values: The values that it can have.
        kind: "slider", "choice" or "checkbox"; the default depends on the number of values.
        label: Its name on the page; a unit may follow after a comma.
        texts: The values in words. The default adds the unit to each value.
        position: Index of the first value shown.
    """

    name: str
    values: Sequence
    kind: str = ""
    label: str = ""
    texts: Sequence[str] = ()
    position: int = 0

    def for_page(self) -> dict:
        """Return the entry of `FrontEnd.controls`."""
        label = self.label or readable_name(self.name)
        unit = label.partition(", ")[2]
        texts = self.texts or [f"{value} {unit}".rstrip() for value in self.values]
        default = "slider" if len(self.values) > MAX_BUTTONS else "choice"
        return {
            "name": self.name,
            "kind": self.kind or default,
            "label": label,
            "texts": list(texts),
        }


class Panel:
    """A picture with controls. Notebooks display it.

    Subclasses implement `draw`.

    Args:
        controls: The controls, from top to bottom.
        actions: Labels of the buttons that take a step.
        interval: Milliseconds per frame of a player.

    Attributes:
        view: The ipywidget, for a box of several: `ipywidgets.HBox([panel.view, ...])`.
        cache_size: Number of cached pictures. Pictures seen before are shown without a delay. The cache is cleared when
            another cell has run or code has moved a control, because either may change the picture. Set 0 for a
            picture that depends on anything else, such as another widget.
    """

    cache_size = 48

    def __init__(
        self,
        controls: Sequence[Control],
        actions: Sequence[str] = (),
        interval: int = 0,
    ) -> None:
        self.controls = {control.name: control for control in controls}
        self.view = FrontEnd(
            controls=[control.for_page() for control in controls],
            positions={control.name: control.position for control in controls},
            actions=list(actions),
            interval=interval,
        )
        self._cache: dict[Hashable, dict] = {}
        self._figures: dict[Hashable, tuple] = {}
        self.view.observe(self._on_move, "positions")
        self.view.on_msg(self._on_message)

    @property
    def values(self) -> dict[str, Any]:
        """The value of each control, {name: value}."""
        return self.values_at(self.view.positions.values())

    def values_at(self, positions: Iterable[int]) -> dict[str, Any]:
        """Return {name: value} for one position per control."""
        pairs = zip(self.controls.items(), positions)
        return {name: control.values[position] for (name, control), position in pairs}

    def set(self, **values: Any) -> None:
        """Move controls, as in `panel.set(height=0.5)`.

        Raises:
            KeyError: There is no such control.
            ValueError: It has no such value.
        """
        positions = dict(self.view.positions)
        for name, value in values.items():
            known = list(self.controls[name].values)
            require(value in known, f"{name} has no value {short_repr(value)}")
            positions[name] = known.index(value)
        self.view.positions = positions

    def state(self) -> Hashable:
        """Return the state that determines the picture: the position of each control."""
        return tuple(self.view.positions.values())

    def draw(self, state: Any) -> tuple[Any, str, str]:
        """Return the picture of a state, a Figure or Axes, its caption, and its description for screen readers."""
        raise NotImplementedError

    def show(self, is_from_page: bool = False, scale: int = 1) -> None:
        """Show the picture of the current state.

        Args:
            is_from_page: Whether a user moved a control, so that the cache remains valid.
            scale: Pixels of the picture per pixel of its figure.
        """
        if not is_from_page:
            self._cache.clear()
        rendered = self.render(self.state(), scale)
        self.view.shown = {**rendered, **self.situation(), "error": False}

    def situation(self) -> dict:
        """Return the entries of `FrontEnd.shown` that don't belong to the picture."""
        return {"positions": self.view.positions}

    def render(self, state: Hashable, scale: int = 1) -> dict:
        """Return the picture of a state with its words, from the cache if possible."""
        execution_count = getattr(get_ipython(), "execution_count", 0)
        key = (execution_count, state)
        if (*key, scale) in self._cache:
            return self._cache[*key, scale]
        # A sharp picture has the figure of the one before it.
        if scale == 1 or key not in self._figures:
            _remember(self._figures, key, self._figure(state), 2)
        figure, words = self._figures[key]
        rendered = {**words, "png": png(figure, scale), "scale": scale}
        _remember(self._cache, (*key, scale), rendered, self.cache_size)
        return rendered

    def _figure(self, state):
        """Return the figure of a state, with its words."""
        picture, caption, description = self.draw(state)
        figure = getattr(picture, "figure", None)
        if not isinstance(figure, Figure):
            raise TypeError(f"picture must return a Figure or Axes, got {picture!r}")
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot:  # otherwise the notebook shows its figures twice
            pyplot.close(figure)
        title = figure.get_label()
        alternative = f"{title} ({description})" if title else description
        return figure, {"caption": caption, "alt": alternative}

    def _on_move(self, change):
        is_from_page = bool(self.view._property_lock)
        with self.show_errors():
            self.show(is_from_page)

    def _on_message(self, view, message, buffers):
        """Draw the picture with more pixels; the page wants this when nothing moves."""
        if "sharpen" in message:
            with self.show_errors():
                self.show(is_from_page=True, scale=2)

    @contextmanager
    def show_errors(self) -> Iterator[None]:
        """Write errors under the picture, because callbacks of widgets would drop them."""
        try:
            yield
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            alternative = f"The picture from before this error: {message}"
            self.write_caption(message, error=True, alt=alternative)

    def write_caption(self, text: str, **entries: Any) -> None:
        """Write the text under the picture; screen readers read it when it changes."""
        entries = {**self.situation(), **entries, "caption": text}
        self.view.shown = self.view.shown | entries

    def _repr_mimebundle_(self, **options):
        data, metadata = self.view._repr_mimebundle_(**options)
        return {**data, "text/plain": repr(self)}, metadata


def _remember(cache, key, value, size):
    """Add a value to a cache, and remove the oldest ones."""
    cache.pop(key, None)
    cache[key] = value
    while len(cache) > size:
        del cache[next(iter(cache))]


# ---------------------------------------------------------------- explore


class Explorer(Panel):
    """Controls over a picture.

    Args:
        picture: Function of the names in `ranges` that returns a Figure or Axes.
        describe: Function of the same names that returns a sentence, for readers who can't see the picture.
        labels: {name: label} for controls whose name is a symbol; a unit may follow after a comma.
        ranges: name=(low, high, step) creates a slider, of integers if all three are integers. name=[values] creates
            a choice. Both start at the default of `picture`, or else at their first value. name=True or False creates
            a checkbox that starts at this value.

    Attributes:
        values: {name: value} of all controls; `set` moves them from code.

    >>> from pushlab import plots
    >>> def picture(height=1.0):
    ...     stage = plots.Stage(200, 100)
    ...     stage.line([(0, 0), (200, 100 * height)])
    ...     return stage.figure
    >>> panel = explore(picture, height=(0.0, 1.0, 0.1))
    >>> panel
    explore: height = 1.0
    >>> before = panel.view.shown["png"]
    >>> panel.set(height=0.5)
    >>> panel.values, panel.view.shown["png"] == before
    ({'height': 0.5}, False)
    """

    def __init__(
        self,
        picture: Callable,
        /,
        describe: Callable | None = None,
        labels: Mapping[str, str] = {},
        **ranges: Any,
    ):
        self.picture = picture
        self.describe = describe
        parameters = inspect.signature(picture).parameters
        controls = []
        for name, values in ranges.items():
            default = getattr(parameters.get(name), "default", None)
            control = _control(name, values, default)
            control.label = labels.get(name, "")
            controls.append(control)
        super().__init__(controls)
        self.show()  # raises errors of the first picture in the cell

    def __repr__(self):
        return _explored(self.values)

    def draw(self, state: Any) -> tuple[Any, str, str]:
        values = self.values_at(state)
        picture = self.picture(**values)
        caption = self.describe(**values) if self.describe else ""
        return picture, caption, caption or _explored(values)


def _explored(values):
    pairs = (f"{name} = {value}" for name, value in values.items())
    return "explore: " + ", ".join(pairs)


def _control(name, values, default):
    """Return the control for a range."""
    match values:
        case bool():
            return Control(name, [False, True], "checkbox", position=int(values))
        case list([first, *_]):
            value = default if default in values else first
            return Control(name, values, position=values.index(value))
        case tuple((low, high, step)) if low < high and step > 0:
            count = int((high - low) / step + 1e-9) + 1
            # Without rounding, the third value of (0.0, 1.0, 0.1) would be 0.30000000000000004.
            steps = [round(low + index * step, 10) for index in range(count)]
            if isinstance(default, int | float) and low <= default <= high:
                steps = sorted({*steps, default})
            else:
                default = low
            return Control(name, steps, "slider", position=steps.index(default))
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
    """Play an episode, with buttons and a slider; `set(step=3)` moves it from code.

    Args:
        frames: Frames of one episode, oldest first; `rollout(..., record="frames")` returns them.
        picture: Function of the frames so far that returns a Figure or Axes.
        options: Further arguments of `picture`, such as agent="thompson".
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
        self.frames = list(frames)
        self.picture = picture
        self.options = options
        last = len(frames) - 1
        texts = [f"{step:,} of {last:,}" for step in range(last + 1)]
        step = Control("step", range(last + 1), "slider", texts=texts)
        super().__init__([step], interval=INTERVAL)
        self.show()

    def _on_move(self, change):
        """Show the frame, and draw the next one unless another move comes first."""
        super()._on_move(change)
        now = self.view.positions

        def draw_next():
            if self.view.positions == now:
                with suppress(Exception):  # it is shown to a user who comes there
                    self.render((now["step"] + 1,))

        with suppress(RuntimeError):  # no event loop, so no page either
            asyncio.get_running_loop().call_later(0.02, draw_next)

    def __repr__(self):
        return f"player: {len(self.frames):,} frames"

    def draw(self, state: Any) -> tuple[Any, str, str]:
        (step,) = state
        frames = self.frames[: step + 1]
        words = describe_frame(frames[-1]) or f"step {step} of {len(self.frames) - 1}"
        return self.picture(frames, **self.options), words, words


def describe_frame(frame: Mapping) -> str:
    """Return when a frame is, and what happened last, for readers who can't see its picture.

    >>> context = {"day": "0", "time": "noon"}
    >>> app = {"postingApp": "org.pushlab.chat"}
    >>> push = {"context": context, "notification": app, "opened": True}
    >>> describe_frame({"context": {"day": "1"}, "push": push})
    'day 0, noon, chat shown, opened'
    """
    push = frame.get("push") or {}
    context = push.get("context") or frame.get("context") or {}
    labels = frame.get("labels") or {}
    words = []
    for name in ("day", "time"):
        if name in context:
            text = readable_value(name, context[name], labels)
            words.append(f"day {text}" if text.isdigit() else text)
    if "now" in frame:  # more exact than the time of the context
        words[1:] = [clock_time(frame["now"] % DAY)]
    if push:
        words += [f"{_app(push)} shown", "opened" if push["opened"] else "dismissed"]
    match frame:
        case {"last": {"action": action}}:
            words.append(f"chose {format_value(action)}")
        case {"last_answer": {"person": person, "object": thing, "right": right}}:
            words.append(f"{person}’s {thing} was at the {right}")
        case {"item_names": names, "action": int(item)}:
            words.append(f"{names[item]} shown")
        case {"state": dict() as levels}:
            words += (f"{name} {format_number(n)}" for name, n in levels.items())
    match frame:
        case {"hand": {"notification": _}}:
            words.append(f"{_app(frame['hand'])} in hand")
        case {"question": {"person": person, "object": thing}}:
            for index in frame["seen"]:
                words.append(
                    "{person}’s {object} at the {location}".format_map(
                        frame["placements"][index]
                    )
                )
            words.append(f"where is {person}’s {thing}?")
    return ", ".join(words)


def _app(push):
    """Return the app of a notification in a sentence."""
    return app_name(posting_app(push["notification"]) or "notification").lower()


def readable_value(name: str, value: Any, labels: Mapping = {}) -> str:
    """Return the value of a choice in words.

    >>> readable_value("postingApp", "org.pushlab.news"), readable_value("category", "msg")
    ('news', 'message')
    >>> readable_value("action", "RT inhibitor")
    'reverse transcriptase inhibitor'
    """
    text = str(labels.get(name, {}).get(str(value), value))
    if "app" in name.lower():
        return app_name(text).lower()
    return re.sub(r"\w+", lambda word: WORDS.get(word[0], word[0]), format_value(text))


# ---------------------------------------------------------------- you are the agent


class ManualControl(Panel):
    """Let the reader act as the agent: choose an action, send it, and see the outcome.

    Args:
        env: An environment of this package. If an action has several parts, each part has its own control; they begin
            with the first notification of the user's history. Otherwise each action has a button, which does nothing
            while the action is not allowed.
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
        self.env = env
        self.picture = world.picture
        self.choices = dict(world.action_choices)
        self.log: list[dict] = []
        self.episode = -1
        labels = getattr(world, "labels", {})
        texts = {
            name: [readable_value(name, value, labels) for value in values]
            for name, values in self.choices.items()
        }
        controls = []
        actions, *others = texts.values()
        if others:
            actions = ["send"]
            users = getattr(world, "users", None)
            first = (
                users[0].history.notification_codes[0] if users else [0] * len(texts)
            )
            for (name, values), at in zip(self.choices.items(), first):
                control = Control(name, values, texts=texts[name], position=int(at))
                controls.append(control)
        super().__init__(controls, actions)
        self.begin(seed)

    def __repr__(self):
        return f"you are the agent: episode {self.episode + 1}, step {self.step:,}, reward {self.score:g}"

    @property
    def step(self) -> int:
        """Number of steps in this episode."""
        return len(self.frames) - 1

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
        actions = self.view.actions
        self.allowed = [
            not self.is_over and (mask is None or bool(mask[index]))
            for index in range(len(actions))
        ]
        self.outcome = outcome
        with self.show_errors():  # an error in the picture doesn't end the episode
            self.show()

    def situation(self) -> dict:
        is_under_way = self.step > 0 and not self.is_over
        return {"allowed": self.allowed, "under_way": is_under_way}

    def _on_move(self, change):
        """Keep the picture: a control of an action changes nothing until the action is sent."""

    def _on_message(self, view, message, buffers):
        """Take the action of a button, begin an episode, or draw a sharp picture."""
        super()._on_message(view, message, buffers)
        if "begin" in message:
            self.begin()
        elif "act" in message:
            button = message["act"]
            if self.controls:
                self.act(list(message["positions"].values()))
            elif self.is_over or self.allowed[button]:
                self.act(button)
            else:
                self.write_caption(f"“{view.actions[button]}” is not allowed now.")

    def state(self) -> Hashable:
        return self.episode, self.step

    def draw(self, state: Any) -> tuple[Any, str, str]:
        options = {"agent": "you", "choosing": not self.is_over}
        accepted = inspect.signature(self.picture).parameters
        for name in options.keys() - accepted.keys():
            del options[name]
        picture = self.picture(self.frames, **options)
        words = f"{self.outcome} {describe_frame(self.frames[-1])}"
        return picture, self.outcome, words


explore = Explorer
player = Player
you_are_the_agent = ManualControl
