"""Widgets show the picture of their controls, with words and alternative text."""

from io import BytesIO

import gymnasium as gym
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from traitlets.config import Config

from pushlab import plots
from pushlab.metrics.lifelong import log_of
from pushlab.plots import widgets
from pushlab.plots.widgets import explore, player


def draw_bar(height=1.0, colour="red", shown=True):
    figure = Figure(figsize=(1, 1))
    axes = figure.add_axes((0, 0, 1, 1), ylim=(0, 2))
    axes.bar(["a"], [height], color=colour, visible=shown)
    return figure


def pixels(panel):
    return Image.open(BytesIO(panel.image.value)).convert("RGB").tobytes()


def pixels_of(figure):
    return pixels(explore(lambda x: figure, x=(0, 1, 1)))


# ---------------------------------------------------------------- explore


def test_moving_a_control_shows_the_picture_of_its_value():
    ranges = {"height": (0.0, 2.0, 0.1), "colour": ["blue", "green"], "shown": True}
    panel = explore(draw_bar, say=lambda height, **_: f"<{height}>", **ranges)
    assert panel.values == {"height": 1.0, "colour": "blue", "shown": True}
    for name, value in (("height", 0.5), ("colour", "green"), ("shown", False)):
        before = pixels(panel)
        panel.controls[name].value = value
        assert pixels(panel) != before
        assert pixels(panel) == pixels_of(draw_bar(**panel.values))
    assert "&lt;0.5&gt;" in panel.words.value
    assert panel.image.tooltip == "<0.5>"


def test_without_a_sentence_the_alternative_text_names_the_controls():
    panel = explore(draw_bar, height=(0, 2, 1))
    assert panel.image.tooltip == repr(panel) == "explore: height = 1"
    assert panel._repr_mimebundle_()["text/plain"] == repr(panel)
    panel.controls["height"].value = 2
    assert panel.image.tooltip == "explore: height = 2"


def test_an_error_is_shown_in_words_until_the_next_picture():
    panel = explore(lambda x=1: draw_bar(1 / x), say=lambda x: f"x is {x}", x=(0, 3, 1))
    before = pixels(panel)
    panel.controls["x"].value = 0
    for words in (panel.words.value, panel.image.tooltip):
        assert "ZeroDivisionError: division by zero" in words
    assert pixels(panel) == before
    panel.controls["x"].value = 2
    assert "x is 2" in panel.words.value and panel.image.tooltip == "x is 2"


@pytest.mark.parametrize("values", [(1, 0, 1), "abc"])
def test_an_error_names_the_range(values):
    with pytest.raises(ValueError, match="height: expected"):
        explore(draw_bar, height=values)


def test_a_picture_is_drawn_once_until_another_cell_has_run(monkeypatch, tmp_path):
    shells = pytest.importorskip("IPython.core.interactiveshell")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config(HistoryManager={"enabled": False})
    shell = shells.InteractiveShell.instance(config=config)
    drawn = []

    def picture(height=0.0):
        drawn.append(height)
        return draw_bar(height)

    try:
        shell.user_ns |= {"explore": explore, "picture": picture}
        cell = "panel = explore(picture, height=(0.0, 1.0, 0.1))"
        shell.run_cell(cell, store_history=True)
        slider = shell.user_ns["panel"].controls["height"]
        for height in (0.1, 0.3, 0.1):
            slider.set_state({"value": height})  # as the page does
        assert drawn == [0.0, 0.1, 0.3]
        # What the picture is drawn from may have changed.
        shell.run_cell("1", store_history=True)
        slider.set_state({"value": 0.3})
        assert drawn == [0.0, 0.1, 0.3, 0.3]
        slider.value = 0.1  # code may change more than the control
        slider.set_state({"value": 0.3})
        assert drawn[4:] == [0.1, 0.3]
        shell.user_ns["panel"].keep = 0  # it depends on another widget, say
        for height in (0.5, 0.3):
            slider.set_state({"value": height})
        assert drawn[6:] == [0.5, 0.3]
    finally:
        shell.restore_sys_module_state()
        shells.InteractiveShell.clear_instance()


def test_sliders_over_the_settings_of_a_lifetime_change_its_numbers():
    rewards = [0, 4, 8, 2, 6, 8]
    log = log_of(("train", "A", rewards), ("train", "B", rewards))
    panel = widgets.lifelong_settings(log)
    for name, value in (("smoothing", "none"), ("normalization", "none")):
        before = pixels(panel)
        panel.controls[name].value = value
        assert pixels(panel) != before
    assert "saturation 8" in panel.words.value


# ---------------------------------------------------------------- player


def test_the_player_draws_the_frames_up_to_the_slider():
    frames = [{"load": load} for load in (1.0, 3.0, 2.0)]
    panel = player(frames, plots.numbers)
    for place in (2, 1):
        panel.slider.value = place
        figure = plots.numbers(frames[: place + 1])
        assert panel.image.tooltip == f"{figure.get_label()} (player: 3 frames)"
        assert pixels(panel) == pixels_of(figure)
    with pytest.raises(ValueError, match="at least one frame"):
        player([])


# ---------------------------------------------------------------- you are the agent


def test_choices_send_a_notification_and_log_its_reward():
    seat, again = (
        widgets.you_are_the_agent(gym.make("pushlab/evalumap1-v0"), seed=5)
        for _ in range(2)
    )
    twin = gym.make("pushlab/evalumap1-v0")
    twin.reset(seed=5)
    action = np.ones(len(seat.menus), int)
    reward = twin.step(action)[1]
    before = pixels(seat)
    for menu in seat.menus:
        menu.value = 1
    seat.buttons[0].click()
    again.act(action)
    choices = twin.unwrapped.world.action_choices
    words = {name: values[1] for name, values in choices}
    line = {"episode": 0, "step": 1, "action": words, "reward": reward}
    assert seat.log == again.log == [line]
    assert seat.frames == again.frames and len(seat.frames) == 2
    assert pixels(seat) == pixels(again) != before
    assert f"Reward {reward:+g}. In all {reward:g} after step 1." in seat.words.value
    seat.act(action * 1000)
    assert "Error" in seat.words.value and len(seat.log) == 1


def test_buttons_are_grey_while_their_action_is_not_allowed():
    env = gym.make("pushlab/push-v0", max_episode_steps=6)
    seat = widgets.you_are_the_agent(env, seed=2)
    while not seat.is_over:
        allowed = [button for button in seat.buttons if not button.disabled]
        names = [button.description for button in allowed]
        assert set(names) == set(seat.frames[-1]["allowed"])
        before = pixels(seat)
        allowed[-1].click()
        assert seat.log[-1]["action"] == names[-1]
        assert pixels(seat) != before
    assert all(button.disabled for button in seat.buttons)
    assert "The episode is over." in seat.words.value
    seat.act(0)
    assert len(seat.log) == 6
    seat.again.click()
    assert repr(seat) == "you are the agent: episode 2, step 0, reward 0"
    seat.act(4)
    assert seat.log[-1]["episode"] == 1


@pytest.mark.parametrize("agents", [1, 2])
def test_a_world_of_words_gets_the_words_of_the_choice(agents):
    room = gym.make("pushlab/RoomEnv-v0", n_agents=agents)
    seat = widgets.you_are_the_agent(room, seed=3)
    seat.act([0] * agents)
    desk = seat.choices["answer" if agents == 1 else "answer 0"][0]
    answer = seat.log[0]["action"]
    assert answer == (desk if agents == 1 else {"answer 0": desk, "answer 1": desk})


def test_an_action_that_cannot_be_listed_has_no_seat():
    with pytest.raises(ValueError, match="actions that can be listed"):
        widgets.you_are_the_agent(gym.make("pushlab/ODE-HIV-v0", actions="box"))


def test_no_control_is_a_menu_that_passes_keys_to_the_notebook():
    seat = widgets.you_are_the_agent(gym.make("pushlab/evalumap1-v0"))
    panel = explore(lambda few, many: draw_bar(), few=[1, 2], many=list(range(40)))
    for control in (*seat.menus, *panel.controls.values()):
        assert control._view_name in ("ToggleButtonsView", "SelectionSliderView")
