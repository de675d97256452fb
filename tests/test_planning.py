"""Agents for dynamical models: constant, bang-bang, fitted Q iteration."""

import gymnasium as gym
import numpy as np
import pytest

import pushlab  # noqa: F401
from pushlab.agents.planning import BangBang, Constant, FittedQIteration
from pushlab.envs.ode.worlds import HIV
from pushlab.logs.rollout import rollout
from pushlab.studies import imitation
from pushlab.studies import interventions as study


def test_a_constant_policy_does_the_same_always():
    log = rollout("pushlab/ODE-HIV-v0", Constant(2, "RT inhibitor"), steps=20, progress=False)
    assert set(log["action"]) == {2} and set(log["agent"]) == {"RT inhibitor"}
    box = gym.make("pushlab/ODE-HIV-v0", actions="box")
    assert rollout(box, Constant([0.3, 0.1]), steps=3, progress=False)["action.epsilon_1"].tolist() == [0.3] * 3


def test_bang_bang_goes_on_until_the_lower_threshold():
    agent = BangBang(component=0, above=10.0, below=2.0, on=3)
    agent.begin(None, 0)
    assert [agent.act(np.array([value]), {}) for value in (5, 11, 5, 2, 5, 10)] == [0, 3, 3, 0, 0, 3]
    agent.begin(None, 0)
    assert agent.act(np.array([5.0]), {}) == 0
    with pytest.raises(ValueError, match="got below=11"):
        BangBang(0, above=10.0, below=11.0, on=3)


def corridor(agent_steps=200):
    """Every step along a corridor of six places: left or right, 1 for entering the last, where one stays."""
    place, action = np.divmod(np.arange(agent_steps * 12) % 12, 2)
    following = np.where(place == 5, 5, np.clip(place + 2 * action - 1, 0, 5))
    return place[:, None].astype(float), action, (following == 5) & (place < 5), following[:, None].astype(float)


def test_fitted_q_iteration_finds_the_values_of_a_corridor():
    places, actions, rewards, following = corridor()
    agent = FittedQIteration(actions=2, discount=0.5, trees=5, leaf=1, growths=30, sweeps=1)
    agent.fit(places, actions, rewards.astype(float), following)
    values = agent.values(np.arange(6.0)[:, None])
    assert values[:, 1] == pytest.approx([0.5 ** 4, 0.5 ** 3, 0.5 ** 2, 0.5, 1.0, 0.0])
    assert values[1:5, 0] == pytest.approx(0.25 * values[1:5, 1])       # a step back costs two
    assert [agent.act(np.array([float(at)]), {}, explore=False) for at in range(5)] == [1] * 5


def test_what_terminated_earns_nothing_more():
    places, actions, rewards, following = corridor()
    twice = rewards + 1.0
    agent = FittedQIteration(actions=2, discount=0.5, trees=5, leaf=1, growths=1, sweeps=30)
    agent.fit(places, actions, twice, following, terminated=following[:, 0] == 5)
    assert agent.values(np.array([[4.0]]))[0, 1] == pytest.approx(2.0)


def test_more_iterations_look_further_ahead():
    short, long = (FittedQIteration(2, 0.9, trees=3, leaf=1, growths=growths, sweeps=1).fit(*corridor())
                   for growths in (3, 9))
    assert short.values(np.array([[0.0]]))[0, 1] == 0
    assert long.values(np.array([[0.0]]))[0, 1] == pytest.approx(0.9 ** 4)


def test_exploring_is_the_share_asked_for_and_begin_repeats_it():
    agent = FittedQIteration(2, 0.5, trees=3, leaf=1, growths=1, sweeps=9, explore=0.3)
    agent.fit(*corridor())
    agent.begin(None, 3)
    first = agent.act_each(np.full((4000, 1), 3.0))
    assert np.mean(first == 0) == pytest.approx(0.15, abs=0.03)
    agent.begin(None, 3)
    assert np.array_equal(first, agent.act_each(np.full((4000, 1), 3.0)))


def test_an_agent_that_learned_nothing_explores_and_says_so():
    agent = FittedQIteration(actions=4)
    agent.begin(None, 0)
    assert len({agent.act(np.zeros(6), {}) for _ in range(50)}) == 4
    with pytest.raises(ValueError, match="call fit"):
        agent.values(np.zeros((1, 6)))
    with pytest.raises(ValueError, match="each of the 4 actions has to occur"):
        agent.fit(np.zeros((9, 6)), np.zeros(9, int), np.zeros(9), np.zeros((9, 6)))


# ---------------------------------------------------------------- the study

def test_a_small_study_beats_every_constant_policy():
    """Two rounds of ten patients: nobody is healed yet, but the return is far above that of both drugs always."""
    world, agent = study.make_world(), study.make_agent(trees=10, growths=2)
    *_, (number, steps, (found, states, actions), _) = study.learn_in_rounds(world, agent, 2, 10, seed=0)
    constant = [study.examine(world, lambda states, action=action: np.full(len(states), action))[0]["return"]
                for action in range(4)]
    assert number == 2 and steps == 4000 and states.shape == (401, 6) and (actions[200:] == 0).all()
    assert found["return"] > 2 * max(constant)


def test_a_basin_is_where_the_untreated_settle_however_near_they_are_to_the_other_state():
    ward = HIV(initial_state="healthy", timestep=1.0)
    unhealthy, healthy = ward.model.state("unhealthy"), ward.model.state("healthy")
    assert study.basin(ward, [unhealthy, healthy]).tolist() == ["unhealthy", "healthy"]
    assert study.basin(ward, [ward.model.state("early infection")]).tolist() == ["unhealthy"]
    after = {days: study.treat(ward, lambda states: np.array([study.BOTH]), decisions=days)[0][-1, 0]
             for days in (1, 2)}
    assert after[2][5] > 0.8 * healthy[5] and after[2][4] < healthy[4]      # near by, with less virus, and yet
    assert study.basin(ward, list(after.values())).tolist() == ["healthy", "unhealthy"]


def test_who_settles_in_neither_state_is_an_error_and_not_a_guess(monkeypatch):
    monkeypatch.setattr(study, "LONGEST", 1)
    uninfected = [1e6, 0.0, 3198.0, 0.0, 0.0, 10.0]
    with pytest.raises(ArithmeticError, match="after 1,000 days without drugs a patient is near neither"):
        study.basin(HIV(initial_state="healthy", timestep=5.0), [uninfected])


def test_one_decision_is_disturbed_and_the_rest_is_left_to_the_policy():
    world, met = study.make_world(), []

    def never(states):
        met.append(len(states))
        return np.zeros(len(states), np.int64)

    told = study.disturb(world, never, np.zeros(200, int), at=(0, 199))
    assert told["day"] == [0, 995] and told["was"] == [0, 0] and told["became"] == [3, 3] and met == [2] * 200
    both_once = study.treat(world, study.following([3] + [0] * 199))[0][-1, 0, 5]
    assert told["E_after_1000_days"][0] == pytest.approx(both_once) and told["basin"] == ["unhealthy"] * 2
    always = study.disturb(world, study.following([3] * 200), np.full(200, 3), at=(7,))
    assert always["became"] == [0]


def test_a_study_that_was_interrupted_goes_on_to_the_same_end(monkeypatch):
    size = {"rounds": 3, "patients": 6, "trees": 4, "growths": 2}
    whole = list(study.run_seed(3, **size))
    assert list(study.run_seed(3, **size, done=whole[:1])) == whole[1:]
    monkeypatch.setattr(study, "make_agent", lambda *size: None)                # finished: nothing is learned again
    assert list(study.run_seed(3, **size, done=whole)) == []


def test_the_stored_study_says_of_itself_what_replaying_it_gives():
    import pandas as pd

    from pushlab.ground.files import data_dir

    rounds, patient, disturbed = (pd.read_csv(data_dir() / "ode" / f"fitted_q_{name}.csv")
                                  for name in ("rounds", "patient", "disturbed"))
    learned = rounds[rounds["policy"] == "fitted Q iteration"]
    assert learned.groupby("seed").size().tolist() == [study.ROUNDS] * study.SEEDS
    best = learned[learned["basin"] == "healthy"].sort_values("return").iloc[-1]
    world, schedule = study.make_world(), patient["action"].to_numpy()[:200]
    found, *_ = study.examine(world, study.following([*schedule, *[0] * 200]))
    assert found["return"] == pytest.approx(best["return"], rel=1e-5) and found["basin"] == "healthy"
    assert found["E_after_2000_days"] == pytest.approx(patient["E"].iloc[-1], rel=1e-5)
    assert best["return"] > 100 * rounds[rounds["seed"].isna()]["return"].max()
    assert (disturbed["seed"] == best["seed"]).all() and (disturbed["round"] == best["round"]).all()
    kept = study.disturb(world, study.following(schedule), schedule)
    assert kept["basin"] == disturbed["basin_by_schedule"].tolist() and kept["was"] == disturbed["was"].tolist()
    assert disturbed["basin_by_policy"].eq("healthy").sum() == best["by_policy"]


# ---------------------------------------------------------------- imitation

def thirsty(states):
    """A teacher who gives both drugs while there is much virus."""
    return np.where(states[:, 4] > 5000, 3, 0)


def test_patients_may_begin_anywhere_and_do_not_meet():
    world = study.make_world()
    starts = imitation.near_unhealthy(world, 3, np.random.default_rng(1))
    together = study.treat(world, thirsty, decisions=20, starts=starts)[0]
    alone = [study.treat(world, thirsty, decisions=20, starts=starts[one:one + 1])[0][:, 0] for one in range(3)]
    assert np.allclose(together, np.stack(alone, axis=1), rtol=1e-4) and np.array_equal(together[0], starts)
    assert np.log(starts / world.model.state("unhealthy")).std() == pytest.approx(imitation.SPREAD, rel=0.5)


def test_both_ways_of_imitating_begin_alike_and_pay_the_same():
    world = study.make_world()
    cloned, dagger = (list(imitation.imitate(world, thirsty, who, seed=3, rounds=2, depth=2))
                      for who in ("teacher", "learner"))
    assert [labels for _, labels, _ in cloned] == [labels for _, labels, _ in dagger] == [800, 1600]
    first = [imitation.examine(world, thirsty, ways[0][0]) for ways in (cloned, dagger)]
    assert first[0] == first[1] and cloned[0][2] == dagger[0][2]
    assert imitation.examine(world, thirsty, thirsty)["agrees"] == 1


def test_the_stored_imitation_is_the_study_that_is_described():
    import pandas as pd

    from pushlab.ground.files import data_dir

    table = pd.read_csv(data_dir() / "ode" / "imitation.csv")
    learned = table.dropna(subset=["seed"])
    sizes = learned.groupby(["depth", "who"]).size()
    assert (sizes == imitation.SEEDS * 8).all() and [*sizes.index.levels[0]] == [*imitation.DEPTHS]
    assert (learned["labels"] == 4 * 200 * learned["round"]).all() and imitation.ROUNDS == 8
    first = learned[learned["round"] == 1].pivot(index=["depth", "seed"], columns="who", values="return")
    assert (first["learner"] == first["teacher"]).all()
