"""World3: people, capital, food, resources and pollution of one finite world, from "The Limits to Growth".

Source: Meadows, Behrens, Meadows, Naill, Randers & Zahn (1974), Dynamics of Growth in a Finite World, Wright-Allen
Press. Behind each variable and parameter stand its name and the number of its equation there. The book itself was not
at hand: equations and figures were read from WhyNot 0.12 and compared with pyworld3 1.1, another program after it.

Compared one by one with pyworld3's were the 38 constants that the book gives a name, the 12 levels of 1900 and the 38
tables. They agree in all but one: normal life expectancy is 32 years in WhyNot and 28 in pyworld3, which cites the
book for it. Here it is 28. The preset "whynot" has 32, and with it people are most in 2036, 9.3 billion, and not in
2027, 7.1 billion.

The equations agree too. Begun from all 30 numbers of pyworld3's state in the middle of 1900, with its year of medicine,
Euler's method in half years keeps the 12 levels within a relative 1e-12 of its run until 2100; left alone, and with
twice the resources and all eight interventions moved in 1975. Begun in 1900 from the levels alone, they are within
0.2 % of it from 1950 on, but persistent pollution within 0.8 % until 1970 and 0.1 % after. What is left comes from two
things:

- Delays begin here in equilibrium with their input. In pyworld3 three of them are one round from a guess, and of the
  pollution that is on its way three twentieths are there: its persistent pollution sinks to a fifth of ours by 1906.
- Medicine helps more (23) in the steps from the year 1940 on here, in pyworld3 in those after it, which in half years
  is half a year later.

The book's auxiliary equations are computed anew wherever they are needed; what is left is the 12 levels of the book
and the 17 stages of its delays, SMOOTH (one stage) and DELAY3 or DLINF3 (three). The switches that
lie in the year 4000 (FCEST, IET, PET, ZPGT) are left out: no run comes that far.

Three rates are held where the book's would take more than there is, so that nothing falls below zero: resources used
up (130) and land developed (96) in a year are at most all that is left, and towns take (119) no more than if they
wanted all arable land. The book's own run never comes near. Per head means per person or more, per hectare per hectare
or more, so that an empty world divides by no zero.
"""

from copy import copy
from typing import Any

import numpy as np

from pushlab.envs.ode.models import (
    Model,
    config_class,
    read_interventions,
    read_variables,
)
from pushlab.envs.ode.world import ODE
from pushlab.envs.ode.world3_equations import (
    advance_run,
    derivative,
    find_food,
    find_output,
    settle,
)
from pushlab.ground.compiled import inlined

USAGE = "nonrenewable_resource_usage_factor"
GENERATION = "persistent_pollution_generation_factor"

# First the constants that actions can set, then the others, those of the reward and of the clock.
World3Config = config_class(
    __name__,
    "World3Config",
    """
industrial_capital_output_ratio         3       years             capital for a yearly dollar of output (ICOR, 51)
average_lifetime_of_industrial_capital  14      years             (ALIC, 54)
fraction_of_industrial_output_allocated_to_consumption_constant  0.43    -                 (FIOACC, 58)
average_lifetime_of_service_capital     20      years             (ALSC, 69)
service_capital_output_ratio            1       years             capital for a yearly dollar of services (SCOR, 72)
land_yield_factor                       1       -                 technology's multiple of the yield of land (LYF, 104)
nonrenewable_resource_usage_factor      1       -                 multiple of the resources used (NRUF, 131)
persistent_pollution_generation_factor  1       -                 multiple of the pollution made (PPGF, 138)
normal_life_expectancy                  28      years             (LEN, 19.1)
subsistence_food_per_capita             230     kg/(person year)  (SFPC, 20)
health_services_impact_delay            20      years             (HSID, 22 and 46)
health_policy_year                      1940    year              from which medicine helps more (IPHST, 23)
reproductive_lifetime                   30      years             (RLT, 30)
max_total_fertility_normal              12      children          (MTFN, 33)
lifetime_perception_delay               20      years             (LPD, 37)
desired_completed_family_size_normal    4       children          (DCFSN, 38)
social_adjustment_delay                 20      years             (SAD, 40)
income_expectation_averaging_time       3       years             (IEAT, 43)
labor_force_participation_fraction      0.75    -                 (LFPF, 80)
labor_utilization_fraction_delay_time   2       years             (LUFDT, 82)
potentially_arable_land_total           3.2e9   ha                (PALT, 84)
land_fraction_harvested                 0.7     -                 (LFH, 87)
processing_loss                         0.1     -                 of food (PL, 87)
average_lifetime_of_agricultural_inputs  2       years             (ALAI, 100)
industrial_output_in_1970               7.9e11  dollars/year      (IO70, 106)
social_discount                         0.07    1/year            (SD, 109)
average_life_of_land_normal             6000    years             (ALLN, 112)
inherent_land_fertility                 600     kg/(ha year)      (ILF, 114 and 124)
urban_industrial_land_development_time  10      years             (UILDT, 119)
food_shortage_perception_delay          2       years             (FSPD, 128)
fraction_of_resources_as_persistent_material  0.02    -                 (FRPM, 139)
industrial_materials_emission_factor    0.1     -                 (IMEF, 139)
industrial_materials_toxicity_index     10      pollution units/resource unit  (IMTI, 139)
fraction_of_inputs_as_persistent_material  0.001   -                 (FIPM, 140)
agricultural_materials_toxicity_index   1       pollution units/dollar  (AMTI, 140)
persistent_pollution_transmission_delay  20      years             (PPTD, 141)
persistent_pollution_in_1970            1.36e8  pollution units   (PPOL70, 143)
assimilation_half_life_in_1970          1.5     years             (AHL70, 146)
worth_of_people                         2e-8    1/person          in the reward
worth_of_industrial_capital             1e-11   1/dollar          in the reward
cost_of_pollution                       5e-7    1/pollution unit  in the reward
cost_of_resource_change                 0.3     -                 in the reward, of a usage factor 1 away, squared
cost_of_pollution_change                0.5     -                 in the reward, of a generation factor 1 away, squared
start_time                              1900    year              when an episode begins
end_time                                2100    year              when an episode ends
""",
)


@inlined
def reward(before, values, dose, constants, earned):
    """Fill `earned`: people and capital are good, pollution is bad, and changing the two factors of the book costs."""
    p = constants[0]
    for i in range(len(values)):
        people = values[i, 0] + values[i, 1] + values[i, 2] + values[i, 3]
        earned[i] = (
            p.worth_of_people * people
            + p.worth_of_industrial_capital * values[i, 4]
            - p.cost_of_pollution * values[i, 11]
            - p.cost_of_resource_change * (1.0 - dose[i, 6]) ** 2
            - p.cost_of_pollution_change * (1.0 - dose[i, 7]) ** 2
        )


def settled(config, levels):
    """Return the state (variables,) with delays in equilibrium with `levels` (12,)."""
    y = np.zeros((len(MODEL.variables), 1))
    y[: len(levels), 0] = levels
    time = np.array([float(config.start_time)])
    settle(y, time, MODEL.constants(config), MODEL.dose(config)[:, None])
    return y[:, 0]


def indicators(values, dose, config):
    """Return the quantities in the charts of the book, {name: (n,)}, of states (n, variables) under doses.

    population in persons, resources as the share that is left, food in kg a head and year, output of industry in
    dollars a head and year, pollution as a multiple of that of 1970.

    >>> start, config = MODEL.state(), MODEL.Config()
    >>> shown = indicators(start[None], MODEL.dose(config)[None], config)
    >>> {name: round(float(value[0]), 2) for name, value in shown.items()}
    {'population': 1600000000.0, 'resources': 1.0, 'food': 277.93, 'output': 41.56, 'pollution': 0.18}
    """
    rows = []
    for y, given in zip(values, dose):
        population = max(y[0] + y[1] + y[2] + y[3], 1.0)
        left = y[10] / max(y[12], 1e-9)
        industrial, output, _ = find_output(
            config, population, y[4], y[5], left, y[15], given[0], given[4]
        )
        land = max(y[6], 1.0)
        food, *_ = find_food(
            config, population, land, y[9], y[16], y[17], industrial, given[5]
        )
        pollution = y[11] / config.persistent_pollution_in_1970
        rows.append((population, left, food, output, pollution))
    names = ("population", "resources", "food", "output", "pollution")
    return dict(zip(names, np.array(rows).T))


def upper(p, start, ranges):
    """Return upper bounds under any doses; they follow one from another, from land to food to people.

    Births are at most so many children as the food of all land can keep alive, wherever the people stand, since life
    expectancy grows at most like food per head, and fecundity at most like life expectancy. Industry grows at most at
    its best rate, and once it wants nine times the labour there is, at that of a tenth of its capital at work: the
    labour it feels is what it wants averaged over two years, which is the 2 in the factor. All else is at most fed by
    these, or decays from where it starts.

    Args:
        p: The parameters.
        start: A state, (variables,).
        ranges: {intervention: doses}; other interventions keep the parameters' own values.
    """
    low = {}
    high = {}
    for item in MODEL.interventions:
        doses = [*ranges.get(item.name, ()), getattr(p, item.name)]
        low[item.name] = min(doses)
        high[item.name] = max(doses)
    span = p.end_time - p.start_time
    land = start[6] + start[7]
    fertility = max(start[9], p.inherent_land_fertility)
    food = (
        high["land_yield_factor"]
        * fertility
        * 10.0
        * land
        * p.land_fraction_harvested
        * (1.0 - p.processing_loss)
    )
    food = max(food, 1.0)
    # The longest life but for food; 2.0 by medicine.
    longest = 2.0 * (1.0 + 0.1 * 0.8) * p.normal_life_expectancy
    births = (
        0.5
        * p.max_total_fertility_normal
        / p.reproductive_lifetime
        * longest
        / 50.0
        * (food / p.subsistence_food_per_capita)
    )
    p1 = max(start[0], births / (0.001 + 0.999 / 15.0))
    p2 = max(start[1], p1 / 15.0 / (0.0008 + 0.9992 / 30.0))
    p3 = max(start[2], p2 / 30.0 / (0.006 + 0.994 / 20.0))
    p4 = max(start[3], p3 / 20.0 / 0.04)
    people = sum((p1, p2, p3, p4))
    workers = max(1.0, p.labor_force_participation_fraction * (p2 + p3))
    icor = low["industrial_capital_output_ratio"]
    consumed = low["fraction_of_industrial_output_allocated_to_consumption_constant"]
    best = 0.95 / icor * max(0.0, 1.0 - consumed)
    wear = 1.0 / high["average_lifetime_of_industrial_capital"]
    growth = max(0.0, best - wear)
    felt = p.labor_utilization_fraction_delay_time
    crowded = (1.0 + felt * growth) * 9.0 / 0.6 * workers / 0.00006
    slow = np.exp(max(0.0, 0.1 * best - wear) * span)
    fast = start[4] * np.exp(min(600.0, growth * span))
    industry = min(max(start[4] * np.exp(felt * growth), crowded) * slow, fast)
    output = 0.95 * industry / icor
    service = max(start[5], 0.3 * output * high["average_lifetime_of_service_capital"])
    services = service / low["service_capital_output_ratio"]
    inputs = max(start[16], 0.4 * output)
    made = high[GENERATION] * (
        7.0
        * people
        * p.fraction_of_resources_as_persistent_material
        * p.industrial_materials_emission_factor
        * p.industrial_materials_toxicity_index
        + inputs
        * p.fraction_of_inputs_as_persistent_material
        * p.agricultural_materials_toxicity_index
    )
    appearing = max(made, *start[27:30])
    absorbed = appearing * 41.0 * 1.4 * p.assimilation_half_life_in_1970
    pollution = max(start[11], absorbed)
    jobs = 0.00037 * industry + 0.0011 * service + 2.0 * max(land, 1.0)
    levels = [
        p1,
        p2,
        p3,
        p4,
        industry,
        service,
        land,
        start[7],
        start[8] + land,
        fertility,
        start[10],
        pollution,
        start[12],
    ]
    food_ratio = food / p.subsistence_food_per_capita
    delays = np.maximum(start[13:18], [230.0, output, jobs, inputs, food_ratio])
    sources = [1.4 * longest, output, 0.035 * services, appearing]
    stages = np.maximum(start[18:].reshape(4, 3).max(axis=1), sources)
    return np.concatenate([levels, delays, np.repeat(stages, 3)])


MODEL = Model(
    name="world3",
    title="World3",
    time_unit="year",
    timestep=1.0,
    Config=World3Config,
    variables=read_variables(
        """
population_0_to_14              persons         people of 0 to 14 years (P1, 2)
population_15_to_44             persons         people of 15 to 44 years (P2, 6)
population_45_to_64             persons         people of 45 to 64 years (P3, 10)
population_65_and_over          persons         people of 65 years and more (P4, 14)
industrial_capital              dollars         industrial capital (IC, 52)
service_capital                 dollars         service capital (SC, 67)
arable_land                     ha              arable land (AL, 85)
potentially_arable_land         ha              land that could be made arable (PAL, 86)
urban_industrial_land           ha              land of towns and industry (UIL, 120)
land_fertility                  kg/(ha year)    yield of land left to itself (LFERT, 121)
nonrenewable_resources          resource units  resources left (NR, 129)
persistent_pollution            pollution units  persistent pollution (PPOL, 142)
nonrenewable_resources_initial  resource units  resources that those left are a fraction of (NRI, 129.2); constant
effective_health_services_per_capita  dollars/(person year)  (EHSPC, 22)
average_industrial_output_per_capita  dollars/(person year)  (AIOPC, 43)
labor_utilization_fraction_delayed  -               (LUFD, 82)
agricultural_inputs             dollars/year    (AI, 99)
perceived_food_ratio            -               food per head as perceived, in subsistences (PFR, 128)
perceived_life_expectancy_1     years           life expectancy as perceived (PLE, 37), stage 1 of 3
perceived_life_expectancy_2     years           life expectancy as perceived (PLE, 37), stage 2 of 3
perceived_life_expectancy_3     years           life expectancy as perceived (PLE, 37), stage 3 of 3
delayed_industrial_output_per_capita_1  dollars/(person year)  (DIOPC, 40), stage 1 of 3
delayed_industrial_output_per_capita_2  dollars/(person year)  (DIOPC, 40), stage 2 of 3
delayed_industrial_output_per_capita_3  dollars/(person year)  (DIOPC, 40), stage 3 of 3
fertility_control_facilities_per_capita_1  dollars/(person year)  (FCFPC, 46), stage 1 of 3
fertility_control_facilities_per_capita_2  dollars/(person year)  (FCFPC, 46), stage 2 of 3
fertility_control_facilities_per_capita_3  dollars/(person year)  (FCFPC, 46), stage 3 of 3
persistent_pollution_appearance_rate_1  pollution units/year  (PPAPR, 141), stage 1 of 3
persistent_pollution_appearance_rate_2  pollution units/year  (PPAPR, 141), stage 2 of 3
persistent_pollution_appearance_rate_3  pollution units/year  (PPAPR, 141), stage 3 of 3
"""
    ),
    # The levels alone: the delays start in equilibrium with them.
    initial_states={
        "1900": (
            6.5e8,
            7.0e8,
            1.9e8,
            6.0e7,
            2.1e11,
            1.44e11,
            0.9e9,
            2.3e9,
            8.2e6,
            600.0,
            1.0e12,
            2.5e7,
        )
    },
    derivative=derivative,
    reward=reward,
    upper=upper,
    settled=settled,
    indicators=indicators,
    dt=0.5,
    presets={"whynot": {"normal_life_expectancy": 32.0}},
    interventions=read_interventions(
        """
industrial_capital_output_ratio         capital per output    2    5    -
average_lifetime_of_industrial_capital  lifetime of industry  7    28   -
fraction_of_industrial_output_allocated_to_consumption_constant  consumption  0.2  0.8  -
average_lifetime_of_service_capital     lifetime of services  10   40   -
service_capital_output_ratio            capital per service   0.5  2    -
land_yield_factor                       land yield            0.5  2    -
nonrenewable_resource_usage_factor      resource use          0    2    -
persistent_pollution_generation_factor  pollution made        0    2    -
"""
    ),
)


class World3(ODE):
    """Steer the world of "The Limits to Growth": how much of its resources it uses, and how much it pollutes.

    Observation:
        Box(12,), float64, the levels of the model in this order:

        - population_0_to_14, _15_to_44, _45_to_64, _65_and_over: persons
        - industrial_capital, service_capital: dollars (of 1968)
        - arable_land, potentially_arable_land, urban_industrial_land: ha
        - land_fertility: kg/(ha year)
        - nonrenewable_resources: resource units
        - persistent_pollution: pollution units

        The 17 stages of the model's delays belong to the state too, and so does the amount of which the resources left
        are a share. `observe` can name any of `world.model.names`.

    Action:
        Discrete(9), 3 a + b: resource use 0.8, 1 or 1.2 (a = 0, 1, 2) and pollution made 0.8, 1 or 1.2 (b = 0, 1, 2),
        as multiples of the book's for a year; 4 leaves the world alone. With actions="box" Box(2,), both from 0.8 to
        1.2. `interventions` can name six other constants of the model as well, and wider bounds, as in
        {"land_yield_factor": (1.0, 1.5)}.

    Reward:
        2e-8 people + 1e-11 industrial capital - 5e-7 pollution, of the state after the step,
        - 0.3 (1 - resource use)² - 0.5 (1 - pollution made)². The weights are WhyNot's, which says that they are made
        up so that all three count alike in 1900. They are parameters of `config`. Other interventions are free.

    Start:
        1900, delays in equilibrium. `initial_state` gives the 12 levels of another world (or all 30 variables); its
        resources count as all there ever were.

    End:
        Never terminated; truncated at config.end_time, 2100, after decisions of a year.

    Info:
        "time", the year.

    Args:
        dt: Length of the steps of Euler's method, with which the book's model was run, in years: 0.5 by default, as in
            WhyNot's environment, and at most 1.
        reference: "whynot-0.12" has WhyNot's preset and rules. Each timestep starts the delays anew, in equilibrium
            with their input, and again after its first step (except labour, agricultural inputs and perceived food),
            which can be a dt late. The share of resources left is counted from the start of the timestep, so that they
            are never scarce. Crowding acts on life expectancy a dt late. `env.simulate` is then WhyNot's plain run:
            all that once, at its start. Resources below zero, which WhyNot's environment reaches at step 163 if nothing
            is done, their consequences, NaN and the shared config don't come back.
        preset: "whynot": a normal life expectancy of 32 years instead of the book's 28.
        actions, interventions, observe, arguments: Those of `ODE` except the model.

    Source:
        Meadows et al. (1974), Dynamics of Growth in a Finite World. As an environment in WhyNot 0.12, where delays
        start anew every year. `pushlab/envs/ode/world3.py` describes comparisons with another program, and where a rate
        is held so that nothing is ever below zero.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-World3-v1")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(4)
    >>> round(reward, 3), info, round(float(observation[:4].sum()) / 1e9, 3)
    (22.179, {'time': 1901.0}, 1.609)
    """

    name, drawing = "ODE-World3-v1", "limits_to_growth"
    crowding: np.ndarray | None = None  # of a plain run of WhyNot

    def __init__(
        self,
        actions: str = "discrete",
        interventions: dict | None = None,
        observe: Any = None,
        **arguments: Any,
    ) -> None:
        if interventions is None:
            doses = (0.8, 1.2) if actions == "box" else (0.8, 1.0, 1.2)
            interventions = {USAGE: doses, GENERATION: doses}
        if observe is None:
            observe = MODEL.levels
        super().__init__(
            MODEL,
            actions=actions,
            interventions=interventions,
            observe=observe,
            **arguments,
        )

    def flow(self, values, step, dose):
        if self.reference is None:
            return super().flow(values, step, dose)
        begin, end = self.years(step)
        y = values.T.copy()
        parts = int(np.ceil(self.timestep / self.dt - 1e-9))
        crowding = self.crowding
        is_first = crowding is None or step[0] == 0
        if crowding is None:
            crowding = np.zeros((2, len(values)))
        advance_run(
            y,
            begin,
            end - begin,
            parts,
            is_first,
            self._constants,
            dose.T.copy(),
            crowding,
        )
        after = y.T.copy()
        earned = np.empty(len(values))
        reward(values, after, dose, self._constants, earned)
        return after, end, earned

    def simulate(self, env, actions, initial_state=None):
        """Return the trajectory as `ODE.simulate` does; with a reference, one run without a break."""
        world = copy(self)
        world.crowding = np.zeros((2, 1))
        return ODE.simulate(world, env, actions, initial_state)
