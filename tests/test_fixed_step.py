"""Steps of a fixed length: their order, the cut last step, copies that know nothing of each other, and failure."""

import numpy as np
import pytest

from pushlab.envs.ode.integrate import METHODS
from pushlab.envs.ode.world import ODE, ODEEnv

NO_DRAWS = np.empty((1, 0))


def last_state(**arguments):
    world = ODE("lotka_volterra", config={"end_time": 5.0}, **arguments)
    state = world.initial(NO_DRAWS, {})
    for _ in range(10):
        state, _ = world.advance(state, np.array([1]), NO_DRAWS)
    return state["values"][0]


@pytest.mark.parametrize("solver, order", [("euler", 1), ("rk4", 4)])
def test_halving_the_step_divides_the_error_as_the_order_says(solver, order):
    exact = last_state(tolerance=1e-13)
    errors = [np.abs(last_state(solver=solver, dt=dt) - exact).max() for dt in (0.5 / 32, 0.5 / 64, 0.5 / 128)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.1)


def test_one_euler_step_is_the_slope_times_its_length():
    world = ODE("lotka_volterra", solver="euler", dt=0.5)
    after, time, _ = world.flow(np.array([[10.0, 5.0]]), np.array([0]), np.array([[0.75]]))
    assert after.tolist() == [[10 + 0.5 * (10 - 5), 5 + 0.5 * (0.75 * 5 - 7.5)]] and time.tolist() == [0.5]


def test_a_timestep_is_cut_into_equal_parts_no_longer_than_dt():
    world = ODE("lotka_volterra", solver="euler", dt=0.2)       # 0.5 takes three parts
    twin = ODE("lotka_volterra", solver="euler", dt=0.5 / 3)
    given = np.array([[10.0, 5.0]]), np.array([0]), np.array([[0.75]])
    assert np.array_equal(world.flow(*given)[0], twin.flow(*given)[0])


@pytest.mark.parametrize("solver", METHODS)
def test_what_becomes_of_a_copy_does_not_depend_on_the_others(solver):
    rng = np.random.default_rng(0)
    world = ODE("lotka_volterra", solver=solver, dt=0.01)
    for copies in (1, 11, 12, 64, 65, 130):
        values, dose = rng.uniform(5, 20, (copies, 2)), rng.uniform(0.4, 0.75, (copies, 1))
        step = rng.integers(0, 199, copies)
        together = world.flow(values, step, dose)
        alone = [world.flow(values[i:i + 1], step[i:i + 1], dose[i:i + 1]) for i in range(copies)]
        for part in range(3):
            assert np.array_equal(together[part], np.concatenate([one[part] for one in alone]))


def test_steps_too_long_for_the_model_are_an_error_and_are_not_clipped():
    env = ODEEnv("hiv", solver="euler", dt=1.0, initial_state="unhealthy")
    env.reset(seed=0)
    with pytest.raises(ArithmeticError, match="hiv could not be integrated in steps of 1 from"):
        for _ in range(50):
            env.step(0)
