"""Widgets change their picture when a control moves, keep errors in sight, and have short texts for saved notebooks."""

import asyncio
import contextlib
import io
import sys
import warnings

import gymnasium as gym
import ipywidgets as W
import numpy as np
import pytest

from pushlab import plots
from pushlab.plots.widgets import explore, player, you_are_the_agent


def draw_bar(height=1.0, colour="red", shown=True):
    stage = plots.Stage(100, 100)
    if shown:
        stage.box(10, 0, 20, 100 * height, 0, colour)
    return stage.figure


def draw_count(frames, figure=None):
    stage = plots.Stage(100, 100, figure)
    stage.text(10, 50, str(len(frames)))
    return stage.figure


# ---------------------------------------------------------------- explore

def test_moving_a_control_changes_the_picture():
    panel = explore(draw_bar, height=(0.0, 2.0, 0.1), colour=["blue", "green"], shown=True)
    seen = [panel.image.value]
    for name, value in (("height", 0.5), ("colour", "green"), ("shown", False)):
        panel.controls[name].value = value
        seen.append(panel.image.value)
    assert len(set(seen)) == 4 and all(bytes(image).startswith(b"\x89PNG") for image in seen)
    assert panel.values == {"height": 0.5, "colour": "green", "shown": False}


def test_controls_fit_their_ranges():
    controls = explore(lambda **values: draw_bar(), a=(1, 5, 2), b=(0.0, 1.0, 0.05), c=["x", "y"], d=False).controls
    assert [type(control) for control in controls.values()] == [W.IntSlider, W.FloatSlider, W.Dropdown, W.Checkbox]
    assert controls["a"].value == 1 and controls["a"].step == 2


def test_a_slider_begins_at_the_default_of_the_picture():
    assert explore(draw_bar, height=(0.0, 2.0, 0.1)).values == {"height": 1.0}


def test_an_error_is_shown_and_goes_away():
    def picture(x=1):
        return draw_bar(1 / x)

    panel = explore(picture, say=lambda x: f"x is {x}", x=(0, 3, 1))
    assert "x is 1" in panel.words.value
    before = panel.image.value
    panel.controls["x"].value = 0
    assert "ZeroDivisionError: division by zero" in panel.words.value and panel.image.value == before
    assert panel.image.tooltip == "The picture from before this error: ZeroDivisionError: division by zero"
    panel.controls["x"].value = 2
    assert "x is 2" in panel.words.value and panel.image.tooltip == "x is 2"


@pytest.mark.parametrize("values", [(1, 0, 1), (0, 1, 0), "abc", [], (1, 2, 3, 4)])
def test_a_range_that_makes_no_sense_is_refused_by_name(values):
    with pytest.raises(ValueError, match="height: expected"):
        explore(draw_bar, height=values)


def test_a_picture_that_is_none_is_refused():
    with pytest.raises(TypeError, match="Figure or Axes, got NoneType"):
        explore(lambda x: None, x=(0, 1, 1))


def test_pyplot_keeps_no_figure():
    plt = pytest.importorskip("matplotlib.pyplot")

    def picture(x=0):
        figure, ax = plt.subplots()
        ax.plot([0, x])
        return ax

    panel = explore(picture, x=(0, 5, 1))
    panel.controls["x"].value = 3
    assert plt.get_fignums() == []


def test_words_are_not_read_as_html():
    panel = explore(draw_bar, say=lambda height: "<b>", height=(0.0, 2.0, 0.1))
    assert "&lt;b&gt;" in panel.words.value


def counted(drawn):
    """A picture and its sentence, which note what they were asked for."""
    def picture(height=0.0, names=None):
        drawn.append(round(height, 9))
        return draw_bar(height)

    return picture


@pytest.fixture
def pause(monkeypatch):
    """As in a notebook between two cells; it returns a function that sets the number of the pause."""
    def to(number):
        monkeypatch.setattr("pushlab.plots.panel.moment", lambda: number)

    to(1)
    return to


def move(control, to):
    """As the page does it; `control.value = to` is what code does."""
    control.set_state({"value": to})


def test_a_picture_shown_before_is_not_drawn_again_until_a_cell_is_run(pause):
    drawn = []
    panel = explore(counted(drawn), height=(0.0, 1.0, 0.1))
    seen = {}
    for height in (0.1, 0.3, 0.1):
        move(panel.controls["height"], height)
        assert seen.setdefault(height, panel.image.value) == panel.image.value
    assert drawn == [0.0, 0.1, 0.3]
    pause(2)                                                                # a cell may have changed what it draws from
    move(panel.controls["height"], 0.3)
    assert drawn == [0.0, 0.1, 0.3, 0.3]


def test_nothing_is_kept_outside_of_notebooks_nor_while_a_cell_runs():
    drawn = []
    panel = explore(counted(drawn), height=(0.0, 1.0, 0.1))
    for height in (0.1, 0.3, 0.1):
        move(panel.controls["height"], height)
    assert drawn == [0.0, 0.1, 0.3, 0.1]


def test_code_that_moves_a_control_may_have_changed_more(pause):
    drawn = []
    panel = explore(counted(drawn), height=(0.0, 1.0, 0.1))
    move(panel.controls["height"], 0.1)
    panel.controls["height"].value = 0.3
    for height in (0.1, 0.3):
        move(panel.controls["height"], height)
    assert drawn == [0.0, 0.1, 0.3, 0.1, 0.3]


def test_no_more_pictures_are_kept_than_said(pause):
    drawn = []
    panel = explore(counted(drawn), keep=2, height=(0, 9, 1))
    for height in (1, 2, 1, 0):
        move(panel.controls["height"], height)
    assert drawn == [0, 1, 2, 0]
    with pytest.raises(ValueError, match="keep is a whole number"):
        explore(counted(drawn), keep=-1, height=(0, 9, 1))


def test_a_panel_that_keeps_none_draws_the_same_state_again(pause):
    drawn = []
    panel = player([{}, {}, {}], lambda frames: drawn.append(len(frames)) or draw_bar())
    panel.keep = 0
    for place in (1, 1):
        panel.show_kept(place)
    assert drawn == [1, 2, 2]


def test_cells_are_told_from_the_pauses_between_them():
    """Also cells without a number, and an error in one: the events of a shell say so, not the count of its cells."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    from pushlab.plots.panel import _cells_of

    seen = []
    shell.user_ns.update(cells=lambda: _cells_of(shell), seen=seen)
    for code in ("seen.append(cells().runs)", "seen.append(cells().runs); 1 / 0", "seen.append(cells().runs)"):
        with contextlib.redirect_stdout(io.StringIO()):
            shell.run_cell(code, store_history=False)
        seen.append((cells := _cells_of(shell)).seen)
        assert not cells.runs
    assert seen[::2] == [True] * 3 and len(set(seen[1::2])) == 3
    shell.events.trigger("pre_execute")                                     # as every message of a widget does
    assert not cells.runs and cells.seen == seen[-1]


def test_values_of_a_menu_may_be_anything():
    panel = explore(counted([]), height=(0.0, 1.0, 0.1), names={"one": [1], "two": {"a": np.zeros(2)}})
    panel.controls["names"].value = panel.controls["names"].options["two"]
    panel.controls["height"].value = 0.5
    assert panel.words.value == "" and panel.values["height"] == 0.5


def test_the_next_pictures_are_drawn_ahead_while_nothing_else_is_to_do(pause):
    drawn = []

    async def reader():
        panel = explore(counted(drawn), height=(0.0, 1.0, 0.1))
        move(panel.controls["height"], 0.2)
        move(panel.controls["height"], 0.5)                                 # the first wish is dropped
        for _ in range(500):
            await asyncio.sleep(0.01)
            if len(drawn) == 5:
                break
        move(panel.controls["height"], 0.6)
        return len(drawn), panel.image.value

    count, shown = asyncio.run(reader())
    assert drawn == [0.0, 0.2, 0.5, 0.6, 0.7] and count == 5
    assert shown == plots.png(draw_bar(0.6))


def rested(picture, moves, begun=None, **more):
    """The panel after these moves, each with time to draw ahead; `begun` is called after the first one."""
    async def reader():
        panel = explore(picture, x=(0, 9, 1), **more)
        for place in moves:
            move(panel.controls["x"], place)
            if begun and place == moves[0]:
                begun()
            await asyncio.sleep(0.2)
        return panel
    return asyncio.run(reader())


@pytest.mark.parametrize("why", ["keep", "slow", "cell"])
def test_nothing_is_drawn_ahead_that_should_not_be(pause, monkeypatch, why):
    """Of a generator's draws, after a slow picture, and once a cell has begun."""
    drawn = []
    if why == "slow":
        monkeypatch.setattr("pushlab.plots.panel.SLOW", 0)
    rested(lambda x=0: drawn.append(x) or draw_bar(), [1], begun=(lambda: pause(0)) if why == "cell" else None,
           keep=0 if why == "keep" else None)
    assert drawn == [0, 1]


def test_what_a_picture_prints_or_warns_of_is_told_whenever_it_is_shown(pause, capsys, monkeypatch):
    monkeypatch.setattr("warnings.showwarning", lambda message, *_: sys.stderr.write(f"{message}\n"))
    warnings.simplefilter("default")                                        # pytest takes it back

    def picture(x=0):
        if x == 2:
            print("two")
        if x == 4:
            warnings.warn("four", stacklevel=1)
        return draw_bar()

    rested(picture, [1, 2, 1, 2, 3])
    assert capsys.readouterr() == ("two\ntwo\n", "")                        # 2 and 4 were drawn ahead as well
    rested(picture, [3, 4])
    assert capsys.readouterr() == ("", "four\n")


def test_an_error_ahead_of_the_reader_is_shown_only_to_who_comes_there(pause):
    def picture(x=4):
        return draw_bar(1 / x)

    async def reader():
        panel = explore(picture, say=lambda x: f"x is {x}", x=(0, 4, 1))
        move(panel.controls["x"], 2)
        await asyncio.sleep(0.3)
        before = panel.words.value
        move(panel.controls["x"], 0)
        return before, panel.words.value

    before, after = asyncio.run(reader())
    assert "x is 2" in before and "ZeroDivisionError" in after


def test_what_is_slow_to_draw_waits_until_the_slider_is_let_go(pause, monkeypatch):
    panel = explore(draw_bar, height=(0.0, 2.0, 0.1))
    slider = panel.controls["height"]
    assert slider.continuous_update
    monkeypatch.setattr("pushlab.plots.panel.SLOW", 0)
    move(slider, 0.5)
    assert not slider.continuous_update
    monkeypatch.setattr("pushlab.plots.panel.SLOW", 9)
    move(slider, 1.0)                                                       # this one is kept, which says nothing
    assert not slider.continuous_update


# ---------------------------------------------------------------- player

def test_player_draws_the_frames_up_to_the_slider():
    panel = player([{}, {}, {}], draw_count, say=lambda frames: f"frame {len(frames)}")
    pictures = [panel.image.value]
    for place in (1, 2):
        panel.slider.value = place
        pictures.append(panel.image.value)
        assert f"frame {place + 1}" in panel.words.value and panel.play.value == place
    assert pictures[1] == plots.png(draw_count([{}, {}])) and len(set(pictures)) == 3


def test_play_moves_the_slider():
    panel = player([{}, {}, {}], draw_count)
    panel.play.value = 2
    assert panel.slider.value == 2


def test_player_of_one_frame_and_of_none():
    assert repr(player([{}], draw_count)) == "player: 1 frame"
    with pytest.raises(ValueError, match="at least one frame"):
        player([], draw_count)


# ---------------------------------------------------------------- you are the agent

class Pushes(gym.Env):
    """Three steps; opened when the first part of the action is 1."""

    action_space = gym.spaces.MultiDiscrete([2, 3])
    observation_space = gym.spaces.Discrete(2)

    class world:
        action_choices = [("postingApp", ["chat", "bank"]), ("priority", ["low", "default", "high"])]
        picture = staticmethod(draw_count)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.start = 0, int(self.np_random.integers(1000))
        return 0, {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.steps += 1
        return 0, float(action[0]), self.steps == 3, False, {}

    def frame(self):
        return {"step": self.steps, "start": self.start}


class Choices(Pushes):
    """The same with two plain actions, of which the second is allowed only at first."""

    action_space = gym.spaces.Discrete(2)

    class world:
        action_choices = [("action", ["show", "dismiss"])]
        picture = staticmethod(draw_count)

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0], {"action_mask": np.array([1, 1], np.int8)}

    def step(self, action):
        self.steps += 1
        return 0, float(action), False, self.steps == 3, {"action_mask": np.array([1, 0], np.int8)}


def test_sending_takes_a_step_and_is_logged():
    seat = you_are_the_agent(Pushes())
    before = seat.image.value
    seat.menus[0].value, seat.menus[1].value = 1, 2
    seat.buttons[0].click()
    assert seat.log == [{"episode": 0, "step": 1, "action": {"postingApp": "bank", "priority": "high"}, "reward": 1.0}]
    assert len(seat.frames) == 2 and seat.score == 1 and seat.image.value != before
    assert "reward +1. In all 1 after 1 step." in seat.words.value
    assert repr(seat) == "you are the agent: episode 1, 1 step, reward 1"


def test_an_episode_ends_and_another_begins():
    seat = you_are_the_agent(Pushes())
    for _ in range(3):
        seat.buttons[0].click()
    assert seat.buttons[0].disabled and "The episode is over." in seat.words.value
    seat.act([0, 0])
    assert len(seat.log) == 3
    seat.again.click()
    assert not seat.buttons[0].disabled and len(seat.frames) == 1 and len(seat.log) == 3
    seat.buttons[0].click()
    assert seat.log[-1]["episode"] == 1


def test_a_seed_repeats_the_episodes():
    starts = []
    for _ in range(2):
        seat = you_are_the_agent(Pushes(), seed=5)
        first = seat.frames[0]["start"]
        seat.begin()
        starts.append((first, seat.frames[0]["start"]))
    assert starts[0] == starts[1] and starts[0][0] != starts[0][1]


def test_a_button_an_action_grey_while_not_allowed():
    seat = you_are_the_agent(Choices())
    assert [button.description for button in seat.buttons] == ["show", "dismiss"]
    assert [button.disabled for button in seat.buttons] == [False, False]
    seat.buttons[1].click()
    assert seat.log[0]["action"] == "dismiss"
    assert [button.disabled for button in seat.buttons] == [False, True]


def test_an_error_of_the_environment_is_shown():
    seat = you_are_the_agent(Pushes())
    seat.act([0, 7])
    assert "AssertionError" in seat.words.value and seat.log == []


# ---------------------------------------------------------------- in a notebook

@pytest.mark.parametrize("make", [
    lambda: explore(draw_bar, height=(0.0, 2.0, 0.1)), lambda: player([{}, {}], draw_count),
    lambda: you_are_the_agent(Pushes())])
def test_panels_show_themselves_with_a_short_text(make):
    data, _ = make()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"] == repr(make()) and len(data["text/plain"]) < 80
    assert repr(make().image) == "PictureImage()"


@pytest.mark.parametrize("make", [
    lambda: explore(draw_bar, height=(0.0, 2.0, 0.1)), lambda: player([{}, {}], draw_count),
    lambda: you_are_the_agent(Pushes())])
def test_the_image_is_no_wider_than_drawn_and_says_what_it_shows(make):
    panel = make()
    assert panel.image.layout.max_width == "105px"
    said = "Choose what to send." if isinstance(panel, you_are_the_agent) else repr(panel)
    assert panel.image.tooltip == said and panel.image.description == ""      # without one, a tooltip breaks an image
