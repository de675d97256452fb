"""Pictures that move: sliders over a picture, a player of episodes, and a seat for the reader in the agent's place.

Each shows one image and changes its bytes; nothing else in the page moves. They are drawn in the kernel, so a page
without one stands still: put a static picture beside them.
"""

import functools
import html
import inspect
import sys

import ipywidgets as W
import numpy as np

from pushlab.plots.phone import phone
from pushlab.plots.sheet import figure_of, png

WIDE = W.Layout(width="auto", max_width="100%")
NAMES = {"description_width": "initial"}


class PictureImage(W.Image):
    """An image widget whose text is short and always the same, so that saved notebooks can be compared."""

    def __repr__(self):
        return "PictureImage()"

    def show(self, picture):
        """Shows a Figure (or Axes), at most as wide as it was drawn."""
        figure = figure_of(picture)
        self.value = png(figure)
        self.layout.max_width = f"{figure.bbox.width:.0f}px"
        _forget(figure)


def _forget(figure):
    """Takes a figure made with pyplot off pyplot's list, or the notebook would show it a second time."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


def _paragraph(words, colour="inherit"):
    """A line of text under a picture; screen readers read it out when it changes."""
    return f'<p role="status" aria-live="polite" style="margin:0;color:{colour}">{html.escape(words)}</p>'


def _count(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _with_known_arguments(picture, **offered):
    """Those of the arguments that the picture function takes by name."""
    try:
        parameters = inspect.signature(picture).parameters.values()
    except (TypeError, ValueError):
        return {}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return offered
    return {name: value for name, value in offered.items() if name in {parameter.name for parameter in parameters}}


class Panel:
    """A picture with controls. As the last expression of a cell it shows itself.

    view     the widget that holds everything
    image    the picture; `image.value` is its PNG
    words    the text under the picture
    """

    def __init__(self, controls, below=()):
        self.image, self.words = PictureImage(format="png"), W.HTML()
        self.view = W.VBox([*controls, self.image, self.words, *below])

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle = self.view._repr_mimebundle_(include=include, exclude=exclude)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": repr(self)}, metadata

    def _say(self, words):
        self.words.value = _paragraph(words) if words else ""

    def _say_error(self, error):
        self.words.value = _paragraph(f"{type(error).__name__}: {error}", "#C04A00")


# ---------------------------------------------------------------- explore

def explore(picture, /, say=None, **ranges):
    """Sliders, menus and boxes over a picture.

    picture   function of the names in `ranges` that returns a Figure or Axes
    say       function of the same names that returns one sentence, for whoever cannot see the picture
    ranges    name=(low, high, step) a slider, of whole numbers where all three are whole; name=[values] a menu;
              name=True or False a box. A slider begins at the default of `picture`, or else at its low end.
    returns   Explorer; `.controls[name].value = ...` moves a control from code

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
    return Explorer(picture, say, ranges)


class Explorer(Panel):
    """What `explore` returns: `.controls` is a dict of widgets by name, `.values` what they stand at."""

    def __init__(self, picture, say, ranges):
        if not ranges:
            raise ValueError("explore() needs at least one range, such as threshold=(0.0, 1.0, 0.1)")
        self.picture, self.say = picture, say
        defaults = _defaults(picture)
        self.controls = {name: _control(name, values, defaults.get(name)) for name, values in ranges.items()}
        super().__init__(self.controls.values())
        self._draw()                                    # the first picture's error belongs to the cell
        for control in self.controls.values():
            control.observe(self._redraw, "value")

    def __repr__(self):
        return "explore: " + ", ".join(f"{name} = {value}" for name, value in self.values.items())

    @property
    def values(self):
        return {name: control.value for name, control in self.controls.items()}

    def _draw(self):
        values = self.values
        self.image.show(self.picture(**values))
        self._say(self.say(**values) if self.say else "")

    def _redraw(self, _):
        try:
            self._draw()
        except Exception as error:                      # whatever the reader's function raises must not be lost
            self._say_error(error)


def _defaults(picture):
    try:
        parameters = inspect.signature(picture).parameters.items()
    except (TypeError, ValueError):
        return {}
    return {name: parameter.default for name, parameter in parameters if parameter.default is not parameter.empty}


def _control(name, values, default):
    """The widget for one range."""
    look = {"description": name.replace("_", " "), "style": NAMES}
    if isinstance(values, bool):
        return W.Checkbox(value=values, indent=False, **look)
    numbers = isinstance(values, tuple) and all(isinstance(v, int | float | np.number) for v in values)
    if numbers and len(values) in (2, 3):
        return _slider(name, values, default, look)
    if isinstance(values, list | dict) and len(values):
        allowed = list(values.values()) if isinstance(values, dict) else values
        return W.Dropdown(options=values, value=default if default in allowed else allowed[0], **look)
    raise ValueError(f"{name}: expected (low, high, step), a list of values, or True or False; got {values!r}")


def _slider(name, values, default, look):
    whole = all(isinstance(v, int | np.integer) for v in values)
    low, high, step = values if len(values) == 3 else (*values, 1 if whole else (values[1] - values[0]) / 20)
    if not low < high or step <= 0:
        raise ValueError(f"{name}: expected low < high and a step above 0, got {values!r}")
    starts_at_default = isinstance(default, int | float) and not isinstance(default, bool) and low <= default <= high
    kind = W.IntSlider if whole else W.FloatSlider
    more = {} if whole else {"readout_format": ".2f" if step < 0.1 else ".1f"}
    return kind(value=default if starts_at_default else low, min=low, max=high, step=step, continuous_update=False,
                layout=W.Layout(width="420px", max_width="100%"), **look, **more)


def lifelong_settings(log, experts=None, measure=None, metrics=None):
    """Sliders over the preprocessing of a lifetime: watch its curves and its metrics change.

    log, experts, measure   as `pushlab.metrics.lifelong.lifelong_report` takes them
    metrics                 names of those to show; None takes eight, see `plots.report_sheet`
    """
    from pushlab.metrics.lifelong import Settings, lifelong_report
    from pushlab.plots.lifelong import report_sheet, shown_metrics
    from pushlab.plots.lifelong_words import SCALES, capital, smoothing_words
    from pushlab.plots.words import short_number, spoken

    usual, sheets = lifelong_report(log, experts=experts, measure=measure), {}
    names = metrics or shown_metrics(usual, None)

    @functools.lru_cache(maxsize=1)
    def report_under(smoothing, window, normalization, clamp):
        settings = Settings(smoothing=smoothing, window=window or None, normalization=normalization, clamp=clamp)
        return lifelong_report(log, experts=experts, measure=measure, settings=settings)

    def picture(**values):                                  # one figure is used again and again
        report = report_under(**values)
        title = f"{capital(smoothing_words(report.settings))}; {SCALES[report.settings.normalization]}"
        sheets["figure"] = report_sheet(report, usual, names, title=title, figure=sheets.get("figure")).figure
        return sheets["figure"]

    def say(**values):
        found = report_under(**values).lifetime.reindex(names)
        return "; ".join(f"{spoken(name)} {short_number(value)}" for name, value in found.items()
                         if np.isfinite(value))

    return explore(picture, say, smoothing=["flat", "hanning", "hamming", "bartlett", "blackman", "none"],
                   window=(0, 100, 5), normalization=["task", "run", "none"], clamp=False)


# ---------------------------------------------------------------- the player

def player(frames, picture=phone, interval=300, say=None, **more):
    """Plays an episode: play and pause, and a slider that arrow keys move.

    frames    frames of one episode, oldest first, as the environments make them
    picture   function of the frames up to now, by default the phone
    interval  milliseconds a frame; no less than 100, which is about what drawing costs
    say       function of the frames up to now that returns one sentence
    more      further arguments for `picture`, such as agent="thompson"
    """
    return Player(frames, picture, interval, say, more)


class Player(Panel):
    """What `player` returns: `.slider.value` is the number of the frame shown, `.frames` all of them."""

    def __init__(self, frames, picture, interval, say, more):
        if not len(frames):
            raise ValueError("player() needs at least one frame; rollout(..., record='frames') keeps them")
        self.frames, self.picture, self.say, self.more = list(frames), picture, say, more
        last = len(self.frames) - 1
        self.play = W.Play(min=0, max=last, interval=max(100, interval), show_repeat=False)
        self.slider = W.IntSlider(min=0, max=max(last, 1), description="step", continuous_update=False, style=NAMES,
                                  layout=W.Layout(width="420px", max_width="100%"), disabled=last == 0)
        self._figure = None
        super().__init__([W.HBox([self.play, self.slider], layout=W.Layout(flex_flow="row wrap"))])
        self._draw(0)
        self.play.observe(lambda change: setattr(self.slider, "value", change["new"]), "value")
        self.slider.observe(self._move, "value")

    def __repr__(self):
        return f"player: {_count(len(self.frames), 'frame')}"

    def _move(self, change):
        self.play.value = change["new"]                 # play goes on from where the slider was put
        try:
            self._draw(change["new"])
        except Exception as error:                      # shown under the picture instead of being lost
            self._say_error(error)

    def _draw(self, number):
        so_far = self.frames[:number + 1]
        shown = self.picture(so_far, **_with_known_arguments(self.picture, figure=self._figure), **self.more)
        self._figure = figure_of(shown)
        self.image.show(shown)
        self._say(self.say(so_far) if self.say else "")


# ---------------------------------------------------------------- you are the agent

def you_are_the_agent(env, seed=0, picture=None, say=None):
    """Puts the reader in the agent's place: choose, send, see what the user does.

    env      an environment of this package; where an action has several parts each gets a menu, otherwise each
             action has a button, grey while it is not allowed
    seed     seed of the first episode; the next ones follow from it
    picture  function of the frames so far; None takes that of the environment
    say      function of the frames so far that returns one sentence
    returns  Seat: `.log` is a list of {episode, step, action, reward}, `.frames` the frames of this episode
    """
    return Seat(env, seed, picture, say)


def _picture_of(world, frame):
    """The phone for a world of pushes, since it knows a reader who chooses; otherwise the world's own picture."""
    return phone if {"push", "context"} <= set(frame) else world.picture


class Seat(Panel):
    """What `you_are_the_agent` returns.

    log      list of dicts episode, step, action, reward; an action of several parts is a dict of words
    frames   the frames of this episode, from its reset
    score    reward so far in this episode
    """

    def __init__(self, env, seed=0, picture=None, say=None):
        self.env, self.world = env, env.unwrapped.world
        self.picture, self.say = picture, say
        self.choices = [(name, list(values)) for name, values in self.world.action_choices]
        self.log, self.frames, self.score, self.episode, self.over = [], [], 0.0, -1, True
        self._figure, self._seed = None, seed
        self.again = W.Button(description="new episode", icon="refresh")
        self.again.on_click(lambda _: self.begin())
        super().__init__([], self._controls())
        self.view.children = [self.words, self.image, *self.view.children[2:]]     # the outcome stands on top
        self.begin()

    def __repr__(self):
        steps = _count(len(self.frames) - 1, "step")
        return f"you are the agent: episode {self.episode + 1}, {steps}, reward {self.score:g}"

    @property
    def several(self):
        """Whether an action has several parts, each with its own menu."""
        return hasattr(self.env.action_space, "nvec")

    def _controls(self):
        row = W.Layout(flex_flow="row wrap")
        if self.several:
            self.menus = [W.Dropdown(options=[(words, number) for number, words in enumerate(map(str, values))],
                                     description=name, style={"description_width": "130px"},
                                     layout=W.Layout(width="310px", max_width="100%")) for name, values in self.choices]
            self.buttons = [W.Button(description="send", icon="paper-plane", button_style="primary")]
            self.buttons[0].on_click(lambda _: self.act([menu.value for menu in self.menus]))
            return [W.HBox(self.menus, layout=row), W.HBox([*self.buttons, self.again], layout=row)]
        self.menus, self.buttons = [], []
        for number, words in enumerate(self.choices[0][1]):
            button = W.Button(description=str(words), layout=W.Layout(width="auto"))
            button.on_click(lambda _, number=number: self.act(number))
            self.buttons.append(button)
        return [W.HBox(self.buttons, layout=row), self.again]

    def begin(self):
        """Starts a new episode."""
        _, info = self.env.reset(seed=self._seed)
        self._seed = None                               # later episodes go on from the same stream
        self.episode, self.score, self.over = self.episode + 1, 0.0, False
        self.frames = [self.env.unwrapped.frame()]
        self.picture = self.picture or _picture_of(self.world, self.frames[0])
        self._allow(info)
        self._draw("Choose what to send." if self.several else "Choose an action.")

    def act(self, action):
        """Takes one step; what a button does. `action` is a number, or one number for each part."""
        if self.over:
            return self._say("The episode is over: press “new episode”.")
        try:
            _, reward, terminated, truncated, info = self.env.step(self._as_action(action))
        except Exception as error:                      # an action that is not allowed, say
            return self._say_error(error)
        self.score += float(reward)
        self.frames.append(self.env.unwrapped.frame())
        self.log.append({"episode": self.episode, "step": len(self.frames) - 1, "action": self._in_words(action),
                         "reward": float(reward)})
        self.over = bool(terminated or truncated)
        self._allow(info)
        self._draw(self._outcome(float(reward)))

    def _as_action(self, action):
        space = self.env.action_space
        return np.asarray(action, dtype=space.dtype) if self.several else int(action) + int(getattr(space, "start", 0))

    def _in_words(self, action):
        if self.several:
            return {name: values[number] for (name, values), number in zip(self.choices, action)}
        return self.choices[0][1][action]

    def _outcome(self, reward):
        push = self.frames[-1].get("push") or {}
        event = f"{'Opened' if push['opened'] else 'Dismissed'}: " if "opened" in push else ""
        words = f"{event}reward {reward:+g}. In all {self.score:g} after {_count(len(self.frames) - 1, 'step')}."
        return words + (" The episode is over." if self.over else "")

    def _allow(self, info):
        """Greys what is not allowed now."""
        mask = info.get("action_mask")
        for number, button in enumerate(self.buttons):
            button.disabled = self.over or (not self.several and mask is not None and not mask[number])

    def _draw(self, words):
        try:
            more = _with_known_arguments(self.picture, figure=self._figure, agent="you", choosing=not self.over)
            shown = self.picture(self.frames, **more)
            self._figure = figure_of(shown)
            self.image.show(shown)
            said = self.say(self.frames) if self.say else ""
            self._say(f"{words} {said}".strip())
        except Exception as error:                      # shown instead of being lost; the episode goes on
            self._say_error(error)
