"""Pictures that move: sliders over a picture, a player of episodes, and a seat for the reader in the agent's place.

Each shows one image and changes its bytes; nothing else in the page moves. They are drawn in the kernel, so a page
without one stands still: put a static picture beside them.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets as W
import numpy as np

from pushlab.ground.arguments import whole
from pushlab.plots import panel
from pushlab.plots.panel import Panel, Shot, from_page, parameters_of, shoot
from pushlab.plots.phone import phone

NAMES = {"description_width": "initial"}
WIDE, ROW = {"width": "420px", "max_width": "100%"}, {"flex_flow": "row wrap"}


def _count(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# ---------------------------------------------------------------- explore


class Explorer(Panel):
    """Sliders, menus and boxes over a picture.

    picture   function of the names in `ranges` that returns a Figure or Axes
    say       function of the same names that returns one sentence, for whoever cannot see the picture
    keep      0 where the picture depends on more than the names and the cells: on draws of a random generator, say, or
              on what another widget's function sets. Otherwise what was shown is shown again without drawing, and the
              next two steps of a slider are drawn ahead, before anybody asks for them
    ranges    name=(low, high, step) a slider, of whole numbers where all three are whole; name=[values] a menu;
              name=True or False a box. A slider begins at the default of `picture`, or else at its low end.
    controls  {name: widget}; `.controls[name].value = ...` moves a control from code
    values    {name: value}, what they stand at

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
        say: Callable | None = None,
        keep: int | None = None,
        **ranges: Any,
    ) -> None:
        if keep is not None:
            self.keep = whole("keep", keep, 0)
        if not ranges:
            raise ValueError(
                "explore() needs at least one range, such as threshold=(0.0, 1.0, 0.1)"
            )
        parameters = parameters_of(picture)
        self.controls = {
            name: _control(name, values, getattr(parameters.get(name), "default", None))
            for name, values in ranges.items()
        }
        super().__init__(picture, say, list(self.controls.values()))
        self.show_kept(self._state())  # the first picture's error belongs to the cell
        for control in self.controls.values():
            control.observe(self._redraw, "value")

    def __repr__(self):
        return "explore: " + ", ".join(
            f"{name} = {value}" for name, value in self.values.items()
        )

    @property
    def values(self) -> dict[str, Any]:
        return {name: control.value for name, control in self.controls.items()}

    def shot_of(self, state: tuple) -> Shot:
        values = {
            name: place if hasattr(control, "step") else control.value
            for (name, control), place in zip(self.controls.items(), state)
        }
        return shoot(self.picture(**values), self.say(**values) if self.say else "")

    def _state(self, moved=None, to=None):
        """Where all controls stand, or stood if one were moved: a menu by its place, as its values may be anything."""
        places = [
            to if control is moved else getattr(control, "index", control.value)
            for control in self.controls.values()
        ]
        return tuple(
            round(place, 9) if isinstance(place, float) else place for place in places
        )

    def _redraw(self, change):
        moved = change["owner"]
        slides = hasattr(moved, "step")
        with self.errors_shown():
            next_states = (
                self._after(moved, change["old"], change["new"]) if slides else ()
            )
            drawn = self.show_kept(self._state(), next_states, from_page(moved))
            if (
                slides and drawn
            ):  # what is slow to draw waits until the slider is let go
                moved.continuous_update = self.took < panel.SLOW

    def _after(self, moved, old, new):
        """The states that come next if the slider is moved on as it was."""
        step = moved.step if new > old else -moved.step
        places = [
            place
            for place in (new + step, new + 2 * step)
            if moved.min <= round(place, 9) <= moved.max
        ]
        return [self._state(moved, place) for place in places]


def _control(name, values, default):
    """The widget for one range."""
    look = {"description": name.replace("_", " "), "style": NAMES}
    if isinstance(values, bool):
        return W.Checkbox(value=values, indent=False, **look)
    numbers = isinstance(values, tuple) and all(
        isinstance(v, int | float | np.number) for v in values
    )
    if numbers and len(values) in (2, 3):
        return _slider(name, values, default, look)
    if isinstance(values, list | dict) and len(values):
        allowed = list(values.values()) if isinstance(values, dict) else values
        return W.Dropdown(
            options=values, value=default if default in allowed else allowed[0], **look
        )
    raise ValueError(
        f"{name}: expected (low, high, step), a list of values, or True or False; got {values!r}"
    )


def _slider(name, values, default, look):
    whole = all(isinstance(v, int | np.integer) for v in values)
    low, high, step = (
        values
        if len(values) == 3
        else (*values, 1 if whole else (values[1] - values[0]) / 20)
    )
    if not low < high or step <= 0:
        raise ValueError(
            f"{name}: expected low < high and a step above 0, got {values!r}"
        )
    starts_at_default = (
        isinstance(default, int | float)
        and not isinstance(default, bool)
        and low <= default <= high
    )
    kind = W.IntSlider if whole else W.FloatSlider
    more = {} if whole else {"readout_format": ".2f" if step < 0.1 else ".1f"}
    return kind(
        value=default if starts_at_default else low,
        min=low,
        max=high,
        step=step,
        continuous_update=True,
        layout=W.Layout(**WIDE),
        **look,
        **more,
    )


def lifelong_settings(
    log: Any,
    experts: Any = None,
    measure: str | None = None,
    metrics: Sequence[str] | None = None,
) -> Explorer:
    """Sliders over the preprocessing of a lifetime: watch its curves and its metrics change.

    log, experts, measure   as `pushlab.metrics.lifelong.lifelong_report` takes them
    metrics                 names of those to show; None takes eight, see `plots.report_sheet`
    """
    from pushlab.metrics.lifelong import Settings, lifelong_report
    from pushlab.plots.lifelong import report_sheet, shown_metrics, smoothing_words
    from pushlab.plots.style import short_number, spoken

    usual, sheets = (
        lifelong_report(log, experts=experts, measure=measure),
        dict[str, Any](),
    )
    names = metrics or shown_metrics(usual, None)

    @functools.lru_cache(maxsize=1)
    def report_under(smoothing, window, normalization, clamp):
        settings = Settings(
            smoothing=smoothing,
            window=window or None,
            normalization=normalization,
            clamp=clamp,
        )
        return lifelong_report(log, experts=experts, measure=measure, settings=settings)

    def picture(**values):  # one figure is used again and again
        report = report_under(**values)
        title = f"Smoothing: {smoothing_words(report.settings)}; normalization: {values['normalization']}"
        sheets["figure"] = report_sheet(
            report, usual, names, title=title, figure=sheets.get("figure")
        )
        return sheets["figure"]

    def say(**values):
        found = report_under(**values).lifetime.reindex(names)
        return "; ".join(
            f"{spoken(name)} {short_number(value)}"
            for name, value in found.items()
            if np.isfinite(value)
        )

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
    """Plays an episode: play and pause, and a slider that arrow keys move.

    frames    frames of one episode, oldest first, as the environments make them
    picture   function of the frames up to now, by default the phone
    interval  milliseconds a frame; no less than 100, which is about what drawing costs
    say       function of the frames up to now that returns one sentence
    more      further arguments for `picture`, such as agent="thompson"
    slider    the widget whose value is the number of the frame shown
    """

    def __init__(
        self,
        frames: Sequence[Mapping],
        picture: Callable = phone,
        interval: int = 300,
        say: Callable | None = None,
        **more: Any,
    ) -> None:
        if not len(frames):
            raise ValueError(
                "player() needs at least one frame; rollout(..., record='frames') keeps them"
            )
        self.frames, self.more, last = list(frames), more, len(frames) - 1
        self.play = W.Play(
            min=0, max=last, interval=max(100, interval), show_repeat=False
        )
        self.slider = W.IntSlider(
            min=0,
            max=max(last, 1),
            description="step",
            style=NAMES,
            layout=W.Layout(**WIDE),
            disabled=last == 0,
        )
        super().__init__(
            picture, say, [W.HBox([self.play, self.slider], layout=W.Layout(**ROW))]
        )
        self.show_kept(0)
        self.play.observe(
            lambda change: setattr(self.slider, "value", change["new"]), "value"
        )
        self.slider.observe(self._move, "value")

    def __repr__(self):
        return f"player: {_count(len(self.frames), 'frame')}"

    def _move(self, change):
        self.play.value = change["new"]  # play goes on from where the slider was put
        old, new = change["old"], change["new"]
        onward = (
            range(new + 1, len(self.frames)) if new > old else range(new - 1, -1, -1)
        )
        with self.errors_shown():
            self.show_kept(new, onward[:2], from_page(self.play, self.slider))

    def shot_of(self, state: int) -> Shot:
        return self.shot_of_frames(self.frames[: state + 1], given=self.more)


# ---------------------------------------------------------------- you are the agent


class Seat(Panel):
    """Puts the reader in the agent's place: choose, send, see what the user does.

    env      an environment of this package; where an action has several parts each gets a menu, otherwise each
             action has a button, grey while it is not allowed
    seed     seed of the first episode; the next ones follow from it
    picture  function of the frames so far; None takes that of the environment
    say      function of the frames so far that returns one sentence
    log      list of dicts episode, step, action, reward; an action of several parts is a dict of words
    frames   the frames of this episode, from its reset
    score    reward so far in this episode
    """

    def __init__(
        self,
        env: Any,
        seed: int = 0,
        picture: Callable | None = None,
        say: Callable | None = None,
    ) -> None:
        self.env = env
        self.choices = [
            (name, list(values)) for name, values in env.unwrapped.world.action_choices
        ]
        self.several = hasattr(
            env.action_space, "nvec"
        )  # an action has several parts, each with its own menu
        self.log: list[dict] = []
        self.episode, self.seed = -1, seed
        self.again = W.Button(description="new episode", icon="refresh")
        self.again.on_click(lambda _: self.begin())
        super().__init__(picture, say, [], self._controls())
        self.view.children = [
            self.words,
            self.image,
            *self.view.children[2:],
        ]  # the outcome stands on top
        self.begin()

    def __repr__(self):
        steps = _count(len(self.frames) - 1, "step")
        return f"you are the agent: episode {self.episode + 1}, {steps}, reward {self.score:g}"

    def _controls(self):
        if self.several:
            self.menus = [
                W.Dropdown(
                    options=[
                        (words, number) for number, words in enumerate(map(str, values))
                    ],
                    description=name,
                    style={"description_width": "130px"},
                    layout=W.Layout(width="310px", max_width="100%"),
                )
                for name, values in self.choices
            ]
            self.buttons = [
                W.Button(description="send", icon="paper-plane", button_style="primary")
            ]
            self.buttons[0].on_click(
                lambda _: self.act([menu.value for menu in self.menus])
            )
            rows = [self.menus, [*self.buttons, self.again]]
        else:
            self.buttons = [
                W.Button(description=str(words), layout=W.Layout(width="auto"))
                for words in self.choices[0][1]
            ]
            for number, button in enumerate(self.buttons):
                button.on_click(lambda _, number=number: self.act(number))
            rows = [self.buttons]
        boxes = [W.HBox(row, layout=W.Layout(**ROW)) for row in rows]
        return boxes if self.several else [*boxes, self.again]

    def begin(self) -> None:
        """Starts a new episode; all but the first go on from the same stream of chance."""
        _, info = self.env.reset(seed=self.seed if self.episode < 0 else None)
        self.episode, self.score, self.over = self.episode + 1, 0.0, False
        self.frames = [self.env.unwrapped.frame()]
        if (
            self.picture is None
        ):  # of a world of pushes the phone: it knows a reader who chooses
            self.picture = (
                phone
                if {"push", "context"} <= set(self.frames[0])
                else self.env.unwrapped.world.picture
            )
        self._show(
            info, "Choose what to send." if self.several else "Choose an action."
        )

    def act(self, action: Any) -> None:
        """Takes one step; what a button does. `action` is a number, or one number for each part."""
        if self.over:
            return self.write("The episode is over: press “new episode”.")
        with self.errors_shown():  # of an action that is not allowed, say
            space = self.env.action_space
            taken = (
                np.asarray(action, dtype=space.dtype)
                if self.several
                else int(action) + int(getattr(space, "start", 0))
            )
            _, reward, terminated, truncated, info = self.env.step(taken)
            self.score += float(reward)
            self.over = bool(terminated or truncated)
            self.frames.append(self.env.unwrapped.frame())
            self.log.append(
                {
                    "episode": self.episode,
                    "step": len(self.frames) - 1,
                    "action": self._in_words(action),
                    "reward": float(reward),
                }
            )
            self._show(info, self._outcome(float(reward)))

    def _in_words(self, action):
        if self.several:
            return {
                name: values[number]
                for (name, values), number in zip(self.choices, action)
            }
        return self.choices[0][1][action]

    def _outcome(self, reward):
        push = self.frames[-1].get("push") or {}
        event = (
            f"{'Opened' if push['opened'] else 'Dismissed'}: "
            if "opened" in push
            else ""
        )
        words = f"{event}reward {reward:+g}. In all {self.score:g} after {_count(len(self.frames) - 1, 'step')}."
        return words + (" The episode is over." if self.over else "")

    def _show(self, info, words):
        """Greys what is not allowed now, and draws the moment."""
        mask = info.get("action_mask")
        for number, button in enumerate(self.buttons):
            button.disabled = self.over or (
                not self.several and mask is not None and not mask[number]
            )
        with self.errors_shown():  # the episode goes on
            self.show(
                self.shot_of_frames(
                    self.frames, words, agent="you", choosing=not self.over
                )
            )


explore, player, you_are_the_agent = Explorer, Player, Seat
