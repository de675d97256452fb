"""Pictures of lenders and people: words inside the sheet, what they say, and the widgets around them."""

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import pushlab  # noqa: F401
from pushlab import plots
from pushlab.agents import Foresighted, GradientStep, Retrained, TrainedOnce
from pushlab.datasets.borrowers import make_borrowers
from pushlab.envs.credit.rules import promise_table
from pushlab.logs.rollout import rollout
from pushlab.plots.widgets import explore, player, you_are_the_agent


@pytest.fixture(scope="module")
def people():
    return make_borrowers(3, 400, 480)


def film(people, agent, steps, **config):
    env = gym.make("pushlab/Credit-v0", people=people, actions="box", config=config)
    return rollout(env, agent, progress=False, steps=steps, record="frames")


@pytest.mark.parametrize("agent, steps, config", [
    (Retrained(), 3, {}), (Retrained(), 9, {"epsilon": 30.0}), (GradientStep(), 6, {"epsilon": 30.0}),
    (TrainedOnce(), 12, {"memory": True, "changeable": [0, 2, 4, 5, 6, 7, 9]}), (TrainedOnce(), 1, {"changeable": []})])
def test_every_round_is_a_good_picture(people, good_picture, agent, steps, config):
    _, (frames,) = film(people, agent, steps, **config)
    for until in (1, 2, steps + 1):
        good_picture(plots.credit_scores(frames[:until], agent=agent.name))


def test_the_title_tells_promise_and_payment(people, good_picture):
    log, (frames,) = film(people, TrainedOnce(), 1)
    words = good_picture(plots.credit_scores(frames))
    promised, paid = frames[1]["promised"], log["info.loss"].iloc[0]
    assert f"Round 1: a loss of {promised:.3f} was promised, {paid:.3f} came" in words
    assert paid > promised
    assert "Nobody is scored yet" in good_picture(plots.credit_scores(frames[:1]))
    assert f"{100 * log['info.refused_behind'].iloc[0]:.0f} %" in words


def test_frames_count_everybody_once(people):
    _, (frames,) = film(people, Retrained(), 2)
    for frame in frames:
        assert np.sum(frame["scores"], axis=2) == pytest.approx(np.ones((2, 2)))
        assert all(isinstance(share, float) for group in frame["refused"] for share in group)
    assert frames[0]["scores"][0][0] == frames[0]["scores"][0][1]       # nobody has moved
    assert frames[0]["best"] <= min(frame["loss"] for frame in frames[1:])


def test_the_table_of_retraining_holds_the_changes_and_losses(people):
    log, _ = film(people, Retrained(), 5, epsilon=3.0)
    table = plots.retraining_table(log)
    theta = log[[column for column in log if column.startswith("action.")]].to_numpy()
    assert table["round"].tolist() == [1, 2, 3, 4, 5] and np.isnan(table["change"].iloc[0])
    assert table["change"].iloc[1] == pytest.approx(np.linalg.norm(theta[1] - theta[0]))
    assert table["loss"].tolist() == log["info.loss"].tolist()


def test_who_comes_to_rest_is_said_on_top(people, good_picture):
    logs = []
    for epsilon in (1.0, 30.0):
        env = gym.make("pushlab/Credit-v0", people=people, actions="box", config={"epsilon": epsilon})
        logs.append(rollout(env, Retrained(), progress=False, run=f"epsilon {epsilon:g}"))
    words = good_picture(plots.retraining(pd.concat(logs), by="run"))
    assert "Epsilon 1 comes to rest" in words
    words = good_picture(plots.retraining(logs[1], by="run"))
    assert "Nothing comes to rest" in words


def test_lenders_side_by_side(people, good_picture):
    agents = [TrainedOnce(), Retrained(), GradientStep(), Foresighted()]
    logs = [film(people, agent, 25)[0] for agent in agents]
    words = good_picture(plots.retraining(pd.concat(logs), best=0.48))
    assert {agent.name for agent in agents} <= set(words)
    assert "Trained once, retrained and foresighted come to rest" in words


def test_a_log_of_something_else_is_refused():
    with pytest.raises(ValueError, match="no column 'action"):
        plots.retraining(pd.DataFrame({"agent": "a", "step": [0], "info.loss": [1.0]}))


@pytest.mark.parametrize("strength, epsilon", [(0.0, 1.0), (1.0, 3.0), (0.5, 100.0), (2.0, 0.0)])
def test_promise_and_payment_drift_apart_with_what_people_can_change(people, good_picture, strength, epsilon):
    words = good_picture(plots.promise(promise_table(people, epsilon), strength))
    said = next(word for word in words if word.startswith(f"At strength {strength:.2f}"))
    promised, paid = (float(part.split()[-1]) for part in said.split(", "))
    assert (promised == paid) == (strength == 0 or epsilon == 0) and paid >= promised


def test_the_widgets_take_them(people):
    env = gym.make("pushlab/Credit-v0", people=people)
    seat = you_are_the_agent(env)
    assert [button.description for button in seat.buttons][1] == "trained on the past"
    before = seat.image.value
    seat.act(1)
    assert seat.image.value != before and "reward" in seat.words.value
    _, (frames,) = film(people, Retrained(), 3)
    panel = player(frames, env.unwrapped.world.picture)
    before = panel.image.value
    panel.slider.value = 2
    assert panel.image.value != before

    def picture(strength=1.0, epsilon=1.0):
        return plots.promise(promise_table(people, epsilon), strength)

    panel = explore(picture, strength=(0.0, 2.0, 0.1), epsilon=(0.0, 10.0, 0.5))
    before = panel.image.value
    panel.controls["epsilon"].value = 5.0
    assert panel.image.value != before
