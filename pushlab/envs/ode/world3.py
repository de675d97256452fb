"""World3: people, capital, food, resources and pollution of one finite world, from "The Limits to Growth".

Source: Meadows, Behrens, Meadows, Naill, Randers & Zahn (1974), Dynamics of Growth in a Finite World, Wright-Allen
Press. Each variable and parameter has its name in the book and the number of its equation, in parentheses. The book
itself was not available: equations and figures were taken from WhyNot 0.12 and compared with pyworld3 1.1, another
implementation.

The 38 constants with a name in the book, the 12 levels of 1900 and the 38 tables were compared with pyworld3. All but
one agree. Normal life expectancy is 32 years in WhyNot and 28 in pyworld3, which cites the book. Here it is 28. With
32, the preset "whynot", the population has its maximum in 2036, 9.3 billion, instead of 2027, 7.1 billion.

The equations agree too. The first comparison starts from all 30 numbers of pyworld3's state in the middle of 1900, with
its year of medicine, and uses Euler's method in steps of half a year. Until 2100 the 12 levels then differ from
pyworld3's by at most a relative 1e-12, both without actions and with twice the resources and all eight interventions
changed in 1975. The second comparison starts in 1900 from the levels alone. The levels then differ by at most 0.2 %
from 1950 on, and persistent pollution by at most 0.8 % until 1970 and 0.1 % after it. The differences have two causes:

- Delays start here in equilibrium with their input. In pyworld3 three of them are one round from a guess, and only
  three twentieths of the pollution in transmission are included: its persistent pollution falls to a fifth of the
  value here by 1906.
- Medicine becomes more effective (23) here in the steps from the year 1940 on. In pyworld3 this starts in the steps
  after 1940, half a year later with steps of half a year.

The book's auxiliary variables are computed where they are needed. The state consists of the book's 12 levels, of the
initial resources, and of the 17 stages of its delays, SMOOTH (one stage) and DELAY3 or DLINF3 (three stages). The
switches in the year 4000 (FCEST, IET, PET, ZPGT) are left out, since no run reaches it.

Three rates have limits that the book doesn't have, so that no variable falls below zero. Resources used (130) and land
developed (96) in a year are at most the remaining ones. Towns take (119) at most as much land as if they needed all
arable land. The book's own run doesn't reach these limits. Values per person and per hectare are divided by at least
one person or one hectare, so there is no division by zero.
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
    food_per_person,
    industrial_output,
    settle,
)
from pushlab.utils.compiled import inlined

USAGE = "nonrenewable_resource_usage_factor"
GENERATION = "persistent_pollution_generation_factor"

# First the constants that actions can set, then the others, the weights of the reward, and the time.
World3Config = config_class(
    __name__,
    "World3Config",
    """
industrial_capital_output_ratio         3       years             capital for a dollar of output a year (ICOR, 51)
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
health_policy_year                      1940    year              in which medicine becomes more effective (IPHST, 23)
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
processing_loss                         0.1     -                 loss of food (PL, 87)
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
worth_of_people                         2e-8    1/person          reward for a person
worth_of_industrial_capital             1e-11   1/dollar          reward for a dollar of industrial capital
cost_of_pollution                       5e-7    1/pollution unit  cost in the reward
cost_of_resource_change                 0.3     -                 cost of the squared change of the usage factor
cost_of_pollution_change                0.5     -                 cost of the squared change of the generation factor
start_time                              1900    year              beginning of an episode
end_time                                2100    year              end of an episode
""",
)


@inlined
def reward(before, values, dose, constants, rewards):
    """Fill `rewards`: the worth of people and capital, minus the costs of pollution and of changes of two factors."""
    p = constants[0]
    for i in range(len(values)):
        people = values[i, 0] + values[i, 1] + values[i, 2] + values[i, 3]
        rewards[i] = (
            p.worth_of_people * people
            + p.worth_of_industrial_capital * values[i, 4]
            - p.cost_of_pollution * values[i, 11]
            - p.cost_of_resource_change * (1.0 - dose[i, 6]) ** 2
            - p.cost_of_pollution_change * (1.0 - dose[i, 7]) ** 2
        )


def complete_state(config, levels):
    """Return the state (variables,) with delays in equilibrium with `levels` (12,)."""
    y = np.zeros((len(MODEL.variables), 1))
    y[: len(levels), 0] = levels
    time = np.array([float(config.start_time)])
    settle(y, time, MODEL.constants(config), MODEL.dose(config)[:, None])
    return y[:, 0]


def indicators(values, dose, config):
    """Return the quantities in the charts of the book.

    Args:
        values: States, (n, variables).
        dose: Doses, (n, interventions).
        config: The parameters.

    Returns:
        {name: (n,)}: population in persons, resources as the remaining fraction, food in kg per person and year,
        output of industry in dollars per person and year, and pollution as a multiple of the value in 1970.

    >>> start, config = MODEL.state(), MODEL.Config()
    >>> quantities = indicators(start[None], MODEL.dose(config)[None], config)
    >>> {name: round(float(value[0]), 2) for name, value in quantities.items()}
    {'population': 1600000000.0, 'resources': 1.0, 'food': 277.93, 'output': 41.56, 'pollution': 0.18}
    """
    rows = []
    for y, doses in zip(values, dose):
        population = max(y[0] + y[1] + y[2] + y[3], 1.0)
        resources = y[10] / max(y[12], 1e-9)
        industrial, output, _ = industrial_output(
            config, population, y[4], y[5], resources, y[15], doses[0], doses[4]
        )
        land = max(y[6], 1.0)
        food, *_ = food_per_person(
            config, population, land, y[9], y[16], y[17], industrial, doses[5]
        )
        pollution = y[11] / config.persistent_pollution_in_1970
        rows.append((population, resources, food, output, pollution))
    names = ("population", "resources", "food", "output", "pollution")
    return dict(zip(names, np.array(rows).T))


def upper_bounds(p, start, ranges):
    """Return upper bounds under any doses. Each bound follows from earlier ones, from land to food to people.

    Food from all land limits births, because life expectancy grows at most in proportion to food per person, and
    fecundity at most in proportion to life expectancy. Industry grows at most at its highest rate. All other variables
    are limited by these, or decay from the start.

    Args:
        p: The parameters.
        start: A state, (variables,).
        ranges: {intervention: doses}. Other interventions have the parameters' values.
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
    # The factor of medicine is at most 2, and the factor of crowding at most 1.08; food is counted below.
    max_life = 2.0 * (1.0 + 0.1 * 0.8) * p.normal_life_expectancy
    births = (
        0.5
        * p.max_total_fertility_normal
        / p.reproductive_lifetime
        * max_life
        / 50.0
        * (food / p.subsistence_food_per_capita)
    )
    p1 = max(start[0], births / (0.001 + 0.999 / 15.0))
    p2 = max(start[1], p1 / 15.0 / (0.0008 + 0.9992 / 30.0))
    p3 = max(start[2], p2 / 30.0 / (0.006 + 0.994 / 20.0))
    p4 = max(start[3], p3 / 20.0 / 0.04)
    people = sum((p1, p2, p3, p4))
    icor = low["industrial_capital_output_ratio"]
    consumed = low["fraction_of_industrial_output_allocated_to_consumption_constant"]
    investment = 0.95 / icor * max(0.0, 1.0 - consumed)
    growth = investment - 1.0 / high["average_lifetime_of_industrial_capital"]
    industry = start[4] * np.exp(np.clip(growth * span, 0.0, 600.0))
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
    balance = appearing * 41.0 * 1.4 * p.assimilation_half_life_in_1970
    pollution = max(start[11], balance)
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
    inflows = [1.4 * max_life, output, 0.035 * services, appearing]
    stages = np.maximum(start[18:].reshape(4, 3).max(axis=1), inflows)
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
land_fertility                  kg/(ha year)    yield of land without inputs (LFERT, 121)
nonrenewable_resources          resource units  remaining resources (NR, 129)
persistent_pollution            pollution units  persistent pollution (PPOL, 142)
nonrenewable_resources_initial  resource units  initial resources (NRI, 129.2); constant
effective_health_services_per_capita  dollars/(person year)  (EHSPC, 22)
average_industrial_output_per_capita  dollars/(person year)  (AIOPC, 43)
labor_utilization_fraction_delayed  -               (LUFD, 82)
agricultural_inputs             dollars/year    (AI, 99)
perceived_food_ratio            -               perceived food per person, a multiple of subsistence (PFR, 128)
perceived_life_expectancy_1     years           perceived life expectancy (PLE, 37), stage 1 of 3
perceived_life_expectancy_2     years           perceived life expectancy (PLE, 37), stage 2 of 3
perceived_life_expectancy_3     years           perceived life expectancy (PLE, 37), stage 3 of 3
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
    # Only the levels: the delays start in equilibrium with them.
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
    upper_bounds=upper_bounds,
    complete_state=complete_state,
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
    """Control the use of resources and the pollution of the world in "The Limits to Growth".

    Observation:
        Box(12,), float64, the levels of the model in this order:

        - population_0_to_14, _15_to_44, _45_to_64, _65_and_over: persons
        - industrial_capital, service_capital: dollars (of 1968)
        - arable_land, potentially_arable_land, urban_industrial_land: ha
        - land_fertility: kg/(ha year)
        - nonrenewable_resources: resource units
        - persistent_pollution: pollution units

        The state also has the 17 stages of the model's delays and the initial resources. `observe` can name any of
        `world.model.names`.

    Action:
        Discrete(9), 3 a + b: resource use 0.8, 1 or 1.2 (a = 0, 1, 2) and generation of pollution 0.8, 1 or 1.2 (b = 0,
        1, 2), as multiples of the book's values for a year; 4 changes nothing. With actions="box" Box(2,), both from
        0.8 to 1.2. `interventions` can name six other constants of the model, and wider bounds, as in
        {"land_yield_factor": (1.0, 1.5)}.

    Reward:
        2e-8 people + 1e-11 industrial capital - 5e-7 pollution, for the state after the step,
        - 0.3 (1 - resource use)² - 0.5 (1 - generation of pollution)². The weights are WhyNot's. According to WhyNot,
        they are invented so that all three terms have a similar size in 1900. They are parameters of `config`. Other
        interventions have no cost.

    Start:
        1900, with delays in equilibrium. `initial_state` can have the 12 levels of another world, whose resources are
        then the initial ones, or all 30 variables.

    End:
        Never terminated; truncated at config.end_time, 2100, after decisions of a year.

    Info:
        "time", the year.

    Args:
        dt: Length of the steps of Euler's method, which the book uses, in years: 0.5 by default, as in WhyNot's
            environment, and at most 1.
        reference: "whynot-0.12" has WhyNot's preset and rules. At the start of each timestep the delays are set to the
            equilibrium with their input, and again after its first step, except labour, agricultural inputs and
            perceived food, which are a `dt` late. The fraction of remaining resources is relative to the start of the
            timestep, so resources are never scarce. Crowding affects life expectancy a `dt` late. `env.simulate` is
            then WhyNot's plain run, in which all this happens only once, at its start. Some faults are not restored:
            resources below zero, which WhyNot's environment reaches at step 163 without actions, their consequences,
            NaN, and the shared config.
        preset: "whynot": a normal life expectancy of 32 years instead of the book's 28.
        actions, interventions, observe, arguments: The arguments of `ODE` except the model.

    Source:
        Meadows et al. (1974), Dynamics of Growth in a Finite World. An environment in WhyNot 0.12, in which delays
        start again every year. `pushlab/envs/ode/world3.py` describes a comparison with another implementation, and the
        limits of rates that keep variables from falling below zero.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-World3-v1")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(4)
    >>> round(reward, 3), info, round(float(observation[:4].sum()) / 1e9, 3)
    (22.179, {'time': 1901.0}, 1.609)
    """

    name = "ODE-World3-v1"
    drawing = "limits_to_growth"
    crowding: np.ndarray | None = None  # the crowding in a plain run of WhyNot

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
        begin, end = self.step_times(step)
        y = values.T.copy()
        n_steps = int(np.ceil(self.timestep / self.dt - 1e-9))
        crowding = self.crowding
        is_first = crowding is None or step[0] == 0
        if crowding is None:
            crowding = np.zeros((2, len(values)))
        advance_run(
            y,
            begin,
            end - begin,
            n_steps,
            is_first,
            self._constants,
            dose.T.copy(),
            crowding,
        )
        next_values = y.T.copy()
        rewards = np.empty(len(values))
        reward(values, next_values, dose, self._constants, rewards)
        return next_values, end, rewards

    def simulate(self, env, actions, initial_state=None):
        """Return the trajectory as `ODE.simulate` does; with a reference, a single run of WhyNot's simulator."""
        world = copy(self)
        world.crowding = np.zeros((2, 1))
        return ODE.simulate(world, env, actions, initial_state)
