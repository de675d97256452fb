"""Tests of widgets: they show the picture of their controls, with a caption and alternative text."""

from io import BytesIO

import gymnasium as gym
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from traitlets.config import Config

from pushlab import plots
from pushlab.metrics.lifelong import log_from_blocks
from pushlab.plots import widgets
from pushlab.plots.widgets import explore, player


def move_from_page(panel, **positions):
    positions = panel.view.positions | positions
    panel.view.set_state({"positions": positions})


def press(manual, index=0, **positions):
    positions = manual.view.positions | positions
    message = {"act": index, "positions": positions}
    manual.view._handle_custom_msg(message, [])


def draw_bar(height=1.0, colour="red", shown=True):
    figure = Figure(figsize=(1, 1))
    axes = figure.add_axes((0, 0, 1, 1), ylim=(0, 2))
    axes.bar(["a"], [height], color=colour, visible=shown)
    return figure


def pixels(panel):
    return Image.open(BytesIO(panel.view.shown["png"])).convert("RGB").tobytes()


def figure_pixels(figure):
    return pixels(explore(lambda x: figure, x=(0, 1, 1)))


# ---------------------------------------------------------------- explore


def test_moving_a_control_shows_the_picture_of_its_value():
    ranges = {"height": (0.0, 2.0, 0.1), "colour": ["blue", "green"], "shown": True}
    panel = explore(draw_bar, describe=lambda height, **_: f"<{height}>", **ranges)
    assert panel.values == {"height": 1.0, "colour": "blue", "shown": True}
    kinds = [control["kind"] for control in panel.view.controls]
    assert kinds == ["slider", "choice", "checkbox"]
    for name, value in (("height", 0.5), ("colour", "green"), ("shown", False)):
        before = pixels(panel)
        panel.set(**{name: value})
        assert pixels(panel) != before
        assert pixels(panel) == figure_pixels(draw_bar(**panel.values))
    assert panel.view.shown["caption"] == panel.view.shown["alt"] == "<0.5>"
    with pytest.raises(ValueError, match="height has no value 0.55"):
        panel.set(height=0.55)


def test_without_a_sentence_the_alternative_text_names_the_controls():
    panel = explore(draw_bar, labels={"height": "height, m"}, height=(0, 2, 1))
    assert panel.view.shown["alt"] == repr(panel) == "explore: height = 1"
    data, _ = panel._repr_mimebundle_()
    assert data["text/plain"] == repr(panel)
    assert panel.view.controls[0]["texts"] == ["0 m", "1 m", "2 m"]
    panel.set(height=2)
    assert panel.view.shown["alt"] == "explore: height = 2"


def test_a_picture_at_rest_has_twice_the_pixels():
    panel = explore(draw_bar, height=(0, 2, 1))
    move_from_page(panel, height=2)
    shown = panel.view.shown
    panel.view._handle_custom_msg({"sharpen": True}, [])
    sizes = [Image.open(BytesIO(s["png"])).size for s in (shown, panel.view.shown)]
    assert sizes[1] == tuple(2 * size for size in sizes[0])
    assert panel.view.shown["alt"] == shown["alt"] == "explore: height = 2"


def test_an_error_is_shown_as_text_until_the_next_picture():
    panel = explore(
        lambda x=1: draw_bar(1 / x), describe=lambda x: f"x is {x}", x=(0, 3, 1)
    )
    before = pixels(panel)
    panel.set(x=0)
    for name in ("caption", "alt"):
        assert "ZeroDivisionError: division by zero" in panel.view.shown[name]
    assert pixels(panel) == before
    panel.set(x=2)
    assert panel.view.shown["caption"] == panel.view.shown["alt"] == "x is 2"


@pytest.mark.parametrize("values", [(1, 0, 1), "abc"])
def test_an_error_names_the_range(values):
    with pytest.raises(ValueError, match="height must be"):
        explore(draw_bar, height=values)


def test_a_picture_is_drawn_once_until_another_cell_has_run(monkeypatch, tmp_path):
    shells = pytest.importorskip("IPython.core.interactiveshell")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config(HistoryManager={"enabled": False})
    shell = shells.InteractiveShell.instance(config=config)
    drawn_heights = []

    def picture(height=0.0):
        drawn_heights.append(height)
        return draw_bar(height)

    try:
        shell.user_ns |= {"explore": explore, "picture": picture}
        cell = "panel = explore(picture, height=(0.0, 1.0, 0.1))"
        shell.run_cell(cell, store_history=True)
        panel = shell.user_ns["panel"]
        for position in (1, 3, 1):
            move_from_page(panel, height=position)
        assert drawn_heights == [0.0, 0.1, 0.3]
        # Another cell may have changed the data of the picture.
        shell.run_cell("1", store_history=True)
        move_from_page(panel, height=3)
        assert drawn_heights == [0.0, 0.1, 0.3, 0.3]
        panel.set(height=0.1)  # code may also change the data
        move_from_page(panel, height=3)
        assert drawn_heights[4:] == [0.1, 0.3]
        panel.cache_size = 0  # as if it depended on another widget
        for position in (5, 3):
            move_from_page(panel, height=position)
        assert drawn_heights[6:] == [0.5, 0.3]
    finally:
        shell.restore_sys_module_state()
        shells.InteractiveShell.clear_instance()


def test_sliders_over_the_settings_of_a_lifetime_change_its_numbers():
    rewards = [0, 4, 8, 2, 6, 8]
    log = log_from_blocks(("train", "A", rewards), ("train", "B", rewards))
    panel = widgets.lifelong_settings(log)
    for name, value in (("smoothing", "none"), ("normalization", "none")):
        before = pixels(panel)
        panel.set(**{name: value})
        assert pixels(panel) != before
    assert "saturation 8" in panel.view.shown["caption"]


# ---------------------------------------------------------------- player


def test_the_player_draws_the_frames_up_to_the_slider():
    frames = [{"load": load} for load in (1.0, 3.0, 2.0)]
    panel = player(frames, plots.frame_panels)
    for index in (2, 1):
        panel.set(step=index)
        figure = plots.frame_panels(frames[: index + 1])
        words = f"{figure.get_label()} (step {index} of 2)"
        assert panel.view.shown["alt"] == words
        assert pixels(panel) == figure_pixels(figure)
    with pytest.raises(ValueError, match="at least one frame"):
        player([])


# ---------------------------------------------------------------- you are the agent


def test_choices_send_a_notification_and_log_its_reward():
    clicked = widgets.you_are_the_agent(gym.make("pushlab/evalumap1-v0"), seed=5)
    called = widgets.you_are_the_agent(gym.make("pushlab/evalumap1-v0"), seed=5)
    reference = gym.make("pushlab/evalumap1-v0")
    reference.reset(seed=5)
    world = reference.unwrapped.world
    first = list(clicked.view.positions.values())
    assert first in world.users[0].history.notification_codes.tolist()
    assert clicked.view.controls[0]["texts"][2] == "chat"
    action = np.ones(len(first), int)
    reward = reference.step(action)[1]
    before = pixels(clicked)
    press(clicked, **dict.fromkeys(clicked.view.positions, 1))
    called.act(action)
    values = {name: values[1] for name, values in world.action_choices}
    expected = {"episode": 0, "step": 1, "action": values, "reward": reward}
    assert clicked.log == called.log == [expected]
    assert clicked.frames == called.frames
    assert len(clicked.frames) == 2
    assert pixels(clicked) == pixels(called) != before
    words = f"Reward {reward:+g}. In all {reward:g} after step 1."
    assert clicked.view.shown["caption"] == words
    assert " Monday, morning, calendar shown, " in clicked.view.shown["alt"]
    clicked.act(action * 1000)
    assert "Error" in clicked.view.shown["caption"]
    assert len(clicked.log) == 1


def test_a_button_does_nothing_while_its_action_is_not_allowed():
    env = gym.make("pushlab/push-v0", max_episode_steps=6)
    manual = widgets.you_are_the_agent(env, seed=2)
    actions = env.unwrapped.world.actions
    press(manual, actions.index("show"))
    assert manual.view.shown["caption"] == "“show” is not allowed now."
    while not manual.is_over:
        allowed = [i for i, yes in enumerate(manual.view.shown["allowed"]) if yes]
        names = {actions[index] for index in allowed}
        assert names == set(manual.frames[-1]["allowed"])
        before = pixels(manual)
        press(manual, allowed[-1])
        assert manual.log[-1]["action"] == actions[allowed[-1]]
        assert pixels(manual) != before
    assert not any(manual.view.shown["allowed"])
    assert "The episode is over." in manual.view.shown["caption"]
    press(manual)
    assert len(manual.log) == 6
    manual.view._handle_custom_msg({"begin": True}, [])
    assert repr(manual) == "you are the agent: episode 2, step 0, reward 0"
    manual.act(4)
    assert manual.log[-1]["episode"] == 1


@pytest.mark.parametrize("agents", [1, 2])
def test_an_action_of_text_is_the_text_of_the_choice(agents):
    room = gym.make("pushlab/RoomEnv-v0", n_agents=agents)
    manual = widgets.you_are_the_agent(room, seed=3)
    manual.act([0] * agents)
    desk = manual.choices["answer" if agents == 1 else "answer 0"][0]
    answer = manual.log[0]["action"]
    assert answer == (desk if agents == 1 else {"answer 0": desk, "answer 1": desk})


def test_actions_without_a_list_raise_an_error():
    with pytest.raises(ValueError, match="a finite list of actions"):
        widgets.you_are_the_agent(gym.make("pushlab/ODE-HIV-v0", actions="box"))
