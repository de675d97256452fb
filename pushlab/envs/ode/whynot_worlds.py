"""The registered worlds of two epidemics, of opioids and of Zika, which came as environments with WhyNot."""

import numpy as np

from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world import ODE

REFERENCE = "whynot-0.12"
ZIKA_DISCOUNT = 4 / 365             # 1/day, in WhyNot


class Epidemic(ODE):
    """What both have in common: a frame says too how things would stand had nothing been done."""

    drawing = "epidemic"

    def initial(self, draws, options):
        state = super().initial(draws, options)
        return {**state, "start": state["values"]}

    def advance(self, state, action, draws):
        after, outcome = super().advance(state, action, draws)
        after["start"] = state["start"]
        return after, outcome

    def frame(self, state, outcome, at=0):
        values, nothing = state["start"][at:at + 1], self._dose[None]
        for step in range(int(state["step"][at])):
            values, *_ = self.flow(values, np.array([step]), nothing)
        return {**super().frame(state, outcome, at), "idle": dict(zip(self.model.names, values[0].tolist()))}


class Opioid(Epidemic):
    """Keep people from dying of opioids, by holding down how many begin to misuse or to use them.

    Observation  Box (6,), float64, in this order:
                     nonmedical_users  nonmedical users of prescription opioids, without a disorder       people
                     oud_users         people with a prescription opioid use disorder                     people
                     illicit_users     users of illicit opioids, such as heroin and fentanyl              people
                     misuse_share, illicit_share  how many begin to misuse or to use illicit opioids, as a share of
                                       those who would had nothing ever been done
                     overdose_deaths   deaths by overdose since the start                                 people
                 What comes depends on the year too, which is info["time"]
    Action       Discrete(4), for a year: 0 nothing, 1 less illicit use, 2 less misuse, 3 both. "Less" lowers an
                 incidence by 7.5 % within the year, on top of how it changes by itself; and it stays lowered. With
                 actions="box" Box (2,), misuse and illicit use, from 0 to 0.3 for 30 %.
                 interventions={"misuse_reduction": (0, 0.075, 0.113)} are the paper's two and nothing
    Reward       -(deaths of the step + 0.001 r1 nonmedical users + 0.005 r2 illicit users) / 1000, r1 and r2 being by
                 how much misuse and illicit use are lowered: a unit is a thousand deaths. The weights are WhyNot's, a
                 millionth of them; the paper has no costs
    Start        2002; or "2015", with config={"start_time": 2015}, where the paper's interventions begin
    End          never terminated; truncated at config.end_time, 2030, after decisions of a year
    Info         "time", the year
    Arguments    preset     "pessimistic": illicit use and its deaths become stable in 2025; 2020 is our choice;
                            "whynot": that, and misuse goes on falling by 7.47 % a year after 2015
                 reference  None, or "whynot-0.12", which brings back WhyNot's environment: its preset, three numbers
                            seen, its actions and its reward; see `pushlab/envs/ode/models/opioid_whynot.py`
                 and those of `ODE` but the model
    Source       Chen et al. (2019), JAMA Network Open 2(2), e187621; as an environment in WhyNot 0.12.
                 `pushlab/envs/ode/models/opioid.py` says what of the paper was at hand, and how near to it this comes
    Ours         nothing is done by "nothing", misuse falls where it is to fall, and illicit use can be lowered too
                 (in the paper it is not); the deaths of the whole step count. SciPy at 1e-10 agrees to 1e-6 for
                 decisions at the turn of a year, where trends have corners, and to 1e-5 for others

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-Opioid-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(2)
    >>> round(reward, 3), info, round(observation[5]), round(float(observation[3]), 3)
    (-17.178, {'time': 2003.0}, 16426, 0.925)
    """

    name = "ODE-Opioid-v0"

    def __init__(self, reference=None, preset=None, **arguments):
        self.reference = known_reference(reference)
        if reference:
            from pushlab.envs.ode.models.opioid_whynot import MODEL

            super().__init__(MODEL, preset=preset or "whynot", **arguments)
        else:
            super().__init__("opioid", preset=preset, **arguments)

    def flow(self, values, step, dose):
        if self.reference:
            years = [np.minimum(self.config.start_time + at * self.timestep, self.config.end_time)
                     for at in (step, step + 1)]
            dose = np.column_stack([dose, *years])
        return super().flow(values, step, dose)


class Zika(Epidemic):
    """Hold down Zika in a small town, with bednets, condoms, treatment and spray, none of which is free.

    Observation  Box (7,), float64, in this order:
                     susceptible_humans, asymptomatic_humans, symptomatic_humans, recovered_humans     people
                     susceptible_mosquitoes, exposed_mosquitoes, infectious_mosquitoes                 mosquitoes
                 `observe` takes the two populations too, human_population and mosquito_population
    Action       Discrete(16), 8 b + 4 c + 2 t + s: bednets, condoms, treatment of people with symptoms and indoor spray
                 used by nobody (0) or everybody (1) for a day; 0 is nothing. With actions="box" Box (4,), the share
                 of each from 0 to 1
    Reward       -(60 asymptomatic + 500 symptomatic, as shares of 1030 people, + 60 mosquitoes, as a share of 10600,
                 + (25 b² + 20 c² + 30 t² + 40 s²) / 2), of the state after the step: the paper's objective, by day
    Start        "outbreak", 1030 people, 260 of them infected, and 10600 mosquitoes, 100 of them infectious; or
                 "first case", one person with symptoms and no infected mosquito
    End          never terminated; truncated at config.end_time, 100 days, after decisions of a day
    Info         "time", days
    Arguments    preset     "whynot": recruitment and costs without a scale, so that all mosquitoes soon die
                 reference  None, or "whynot-0.12", which brings back WhyNot's environment: its preset, Box actions, all
                            nine variables seen, and a reward discounted by exp(-4/365) a day
                 and those of `ODE` but the model
    Source       Momoh & Fügenschuh (2018), Operations Research for Health Care 18, 99-111; as an environment in
                 WhyNot 0.12. `pushlab/envs/ode/models/zika.py` says what of the paper was at hand
    Ours         fractions and counts are told apart: recruitment and costs are those of the town's populations. In the
                 paper bednets, treatment and spray together are the most cost-effective; here treatment and spray are,
                 of all that is done alike every day

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-Zika-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(3)
    >>> round(reward, 3), info, env.unwrapped.world.action_choices[0][1][3]
    (-100.65, {'time': 1.0}, 'treatment + spray')
    """

    name = "ODE-Zika-v0"

    def __init__(self, reference=None, preset=None, actions=None, observe=None, **arguments):
        self.reference = known_reference(reference)
        model = load_model("zika")
        super().__init__(model, preset=preset or ("whynot" if reference else None),
                         actions=actions or ("box" if reference else "discrete"),
                         observe=observe or (model.names if reference else model.levels), **arguments)

    def flow(self, values, step, dose):
        after, time, reward = super().flow(values, step, dose)
        if self.reference:
            reward *= np.exp(-ZIKA_DISCOUNT * time)
        return after, time, reward


def known_reference(reference):
    """The name of the original whose behaviour is asked for, or None."""
    if reference not in (None, REFERENCE):
        raise ValueError(f"reference is None or {REFERENCE!r}; got {reference!r}")
    return reference
