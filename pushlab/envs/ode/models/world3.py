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

from dataclasses import dataclass

import numpy as np

from pushlab.envs.ode.models import Intervention, Model, Variable, parameter
from pushlab.envs.ode.models.world3_equations import derivative, find_indicators, settle
from pushlab.ground.compiled import inlined


@dataclass(frozen=True)
class World3Config:
    """The constants of the book: first those that an action may set, then the others, the reward's and the clock's."""

    industrial_capital_output_ratio: float = parameter(
        3.0, "years", "capital for a yearly dollar of output (ICOR, 51)"
    )
    average_lifetime_of_industrial_capital: float = parameter(
        14.0, "years", "(ALIC, 54)"
    )
    fraction_of_industrial_output_allocated_to_consumption_constant: float = parameter(
        0.43, "", "(FIOACC, 58)"
    )
    average_lifetime_of_service_capital: float = parameter(20.0, "years", "(ALSC, 69)")
    service_capital_output_ratio: float = parameter(
        1.0, "years", "capital for a yearly dollar of services (SCOR, 72)"
    )
    land_yield_factor: float = parameter(
        1.0, "", "technology's multiple of the yield of land (LYF, 104)"
    )
    nonrenewable_resource_usage_factor: float = parameter(
        1.0, "", "multiple of the resources used (NRUF, 131)"
    )
    persistent_pollution_generation_factor: float = parameter(
        1.0, "", "multiple of the pollution made (PPGF, 138)"
    )

    normal_life_expectancy: float = parameter(28.0, "years", "(LEN, 19.1)")
    subsistence_food_per_capita: float = parameter(
        230.0, "kg/(person year)", "(SFPC, 20)"
    )
    health_services_impact_delay: float = parameter(20.0, "years", "(HSID, 22 and 46)")
    health_policy_year: float = parameter(
        1940.0, "year", "from which medicine helps more (IPHST, 23)"
    )
    reproductive_lifetime: float = parameter(30.0, "years", "(RLT, 30)")
    max_total_fertility_normal: float = parameter(12.0, "children", "(MTFN, 33)")
    lifetime_perception_delay: float = parameter(20.0, "years", "(LPD, 37)")
    desired_completed_family_size_normal: float = parameter(
        4.0, "children", "(DCFSN, 38)"
    )
    social_adjustment_delay: float = parameter(20.0, "years", "(SAD, 40)")
    income_expectation_averaging_time: float = parameter(3.0, "years", "(IEAT, 43)")
    labor_force_participation_fraction: float = parameter(0.75, "", "(LFPF, 80)")
    labor_utilization_fraction_delay_time: float = parameter(
        2.0, "years", "(LUFDT, 82)"
    )
    potentially_arable_land_total: float = parameter(3.2e9, "ha", "(PALT, 84)")
    land_fraction_harvested: float = parameter(0.7, "", "(LFH, 87)")
    processing_loss: float = parameter(0.1, "", "of food (PL, 87)")
    average_lifetime_of_agricultural_inputs: float = parameter(
        2.0, "years", "(ALAI, 100)"
    )
    industrial_output_in_1970: float = parameter(7.9e11, "dollars/year", "(IO70, 106)")
    social_discount: float = parameter(0.07, "1/year", "(SD, 109)")
    average_life_of_land_normal: float = parameter(6000.0, "years", "(ALLN, 112)")
    inherent_land_fertility: float = parameter(
        600.0, "kg/(ha year)", "(ILF, 114 and 124)"
    )
    urban_industrial_land_development_time: float = parameter(
        10.0, "years", "(UILDT, 119)"
    )
    food_shortage_perception_delay: float = parameter(2.0, "years", "(FSPD, 128)")
    fraction_of_resources_as_persistent_material: float = parameter(
        0.02, "", "(FRPM, 139)"
    )
    industrial_materials_emission_factor: float = parameter(0.1, "", "(IMEF, 139)")
    industrial_materials_toxicity_index: float = parameter(
        10.0, "pollution units/resource unit", "(IMTI, 139)"
    )
    fraction_of_inputs_as_persistent_material: float = parameter(
        0.001, "", "(FIPM, 140)"
    )
    agricultural_materials_toxicity_index: float = parameter(
        1.0, "pollution units/dollar", "(AMTI, 140)"
    )
    persistent_pollution_transmission_delay: float = parameter(
        20.0, "years", "(PPTD, 141)"
    )
    persistent_pollution_in_1970: float = parameter(
        1.36e8, "pollution units", "(PPOL70, 143)"
    )
    assimilation_half_life_in_1970: float = parameter(1.5, "years", "(AHL70, 146)")

    worth_of_people: float = parameter(2e-8, "1/person", "in the reward")
    worth_of_industrial_capital: float = parameter(1e-11, "1/dollar", "in the reward")
    cost_of_pollution: float = parameter(5e-7, "1/pollution unit", "in the reward")
    cost_of_resource_change: float = parameter(
        0.3, "", "in the reward, of a usage factor one away from 1, squared"
    )
    cost_of_pollution_change: float = parameter(
        0.5, "", "in the reward, of a generation factor one away, squared"
    )
    start_time: float = parameter(1900.0, "year", "when an episode begins")
    end_time: float = parameter(2100.0, "year", "when an episode ends")


@inlined
def reward(values, dose, constants, earned):
    """Many people and much capital are good, pollution is bad, and turning the two factors of the book costs."""
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
    """The state (variables,) whose first variables are `levels` (12,) and whose delays are in equilibrium with them."""
    y = np.zeros((len(MODEL.variables), 1))
    y[: len(levels), 0] = levels
    settle(
        y,
        np.array([float(config.start_time)]),
        MODEL.constants(config),
        MODEL.dose(config)[:, None],
    )
    return y[:, 0]


INDICATORS = ("population", "resources", "food", "output", "pollution")


def indicators(values, dose=None, config=None):
    """What the charts of the book show, of states (n, variables) under doses (n, interventions), by name.

    population in persons, resources as the share that is left, food in kg a head and year, output of industry in
    dollars a head and year, pollution as a multiple of that of 1970; arrays (n,). None is the book's dose and config.

    >>> {name: round(float(value[0]), 2) for name, value in indicators(MODEL.state()[None]).items()}
    {'population': 1600000000.0, 'resources': 1.0, 'food': 277.93, 'output': 41.56, 'pollution': 0.18}
    """
    config = config or World3Config()
    dose = (
        np.repeat(MODEL.dose(config)[None], len(values), axis=0)
        if dose is None
        else dose
    )
    shown = np.empty((len(values), len(INDICATORS)))
    find_indicators(
        np.ascontiguousarray(values),
        np.ascontiguousarray(dose),
        MODEL.constants(config),
        shown,
    )
    return dict(zip(INDICATORS, shown.T))


# ---------------------------------------------------------------- what no run can pass


def upper(config, start, ranges=None):
    """What the state cannot pass under any dose: bounds that follow one from another, from land to food to people.

    ranges      {intervention: values}, to be stayed within where others keep the config's; None allows all bounds

    Births are at most so many children as the food of all land can keep alive, wherever the people stand, since life
    expectancy grows at most like food per head, and fecundity at most like life expectancy. Industry grows at most at
    its best rate, and once it wants nine times the labour there is, at that of a tenth of its capital at work: the
    labour it feels is what it wants averaged over two years, which is the 2 in the factor. All else is at most fed by
    these, or decays from where it starts.
    """
    p = config
    ranges = (
        {item.name: item.bounds for item in MODEL.interventions}
        if ranges is None
        else ranges
    )
    low, high = (
        {
            item.name: pick(*ranges.get(item.name, ()), own, own)
            for item in MODEL.interventions
            for own in [getattr(p, item.name)]
        }
        for pick in (min, max)
    )
    span = p.end_time - p.start_time
    land, fertility = start[6] + start[7], max(start[9], p.inherent_land_fertility)
    food = (
        high["land_yield_factor"]
        * fertility
        * 10.0
        * land
        * p.land_fraction_harvested
        * (1.0 - p.processing_loss)
    )
    food = max(food, 1.0)
    longest = (
        2.0 * (1.0 + 0.1 * 0.8) * p.normal_life_expectancy
    )  # but for food; 2.0 by medicine
    births = (
        0.5
        * p.max_total_fertility_normal
        / p.reproductive_lifetime
        * longest
        / 50.0
        * (food / p.subsistence_food_per_capita)
    )
    ages = [max(start[0], births / (0.001 + 0.999 / 15.0))]
    ages.append(max(start[1], ages[0] / 15.0 / (0.0008 + 0.9992 / 30.0)))
    ages.append(max(start[2], ages[1] / 30.0 / (0.006 + 0.994 / 20.0)))
    ages.append(max(start[3], ages[2] / 20.0 / 0.04))
    people, workers = (
        sum(ages),
        max(1.0, p.labor_force_participation_fraction * (ages[1] + ages[2])),
    )

    best = (
        0.95
        / low["industrial_capital_output_ratio"]
        * max(
            0.0,
            1.0
            - low["fraction_of_industrial_output_allocated_to_consumption_constant"],
        )
    )
    wear = 1.0 / high["average_lifetime_of_industrial_capital"]
    growth, felt = max(0.0, best - wear), p.labor_utilization_fraction_delay_time
    crowded = (1.0 + felt * growth) * 9.0 / 0.6 * workers / 0.00006
    industry = max(start[4] * np.exp(felt * growth), crowded) * np.exp(
        max(0.0, 0.1 * best - wear) * span
    )
    industry = min(industry, start[4] * np.exp(min(600.0, growth * span)))
    output = 0.95 * industry / low["industrial_capital_output_ratio"]
    service = max(start[5], 0.3 * output * high["average_lifetime_of_service_capital"])
    services = service / low["service_capital_output_ratio"]
    inputs = max(start[16], 0.4 * output)
    made = high["persistent_pollution_generation_factor"] * (
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
    pollution = max(
        start[11], appearing * 41.0 * 1.4 * p.assimilation_half_life_in_1970
    )
    jobs = 0.00037 * industry + 0.0011 * service + 2.0 * max(land, 1.0)
    return np.array(
        [
            *ages,
            industry,
            service,
            land,
            start[7],
            start[8] + land,
            fertility,
            start[10],
            pollution,
            start[12],
            max(start[13], 230.0),
            max(start[14], output),
            max(start[15], jobs),
            inputs,
            max(start[17], food / p.subsistence_food_per_capita),
            *[max(1.4 * longest, *start[18:21])] * 3,
            *[max(output, *start[21:24])] * 3,
            *[max(0.035 * services, *start[24:27])] * 3,
            *[appearing] * 3,
        ]
    )


# ---------------------------------------------------------------- the model


def _stages(name, unit, meaning, edges):
    """The three stages of a delay as variables."""
    return tuple(
        Variable(f"{name}_{stage}", unit, f"{meaning}, stage {stage} of 3", edges)
        for stage in (1, 2, 3)
    )


MODEL = Model(
    name="world3",
    title="World3",
    time_unit="year",
    timestep=1.0,
    Config=World3Config,
    variables=(
        Variable(
            "population_0_to_14",
            "persons",
            "people of 0 to 14 years (P1, 2)",
            (5e8, 1e9, 1.5e9, 2e9),
        ),
        Variable(
            "population_15_to_44",
            "persons",
            "people of 15 to 44 years (P2, 6)",
            (1e9, 1.5e9, 2e9, 2.5e9),
        ),
        Variable(
            "population_45_to_64",
            "persons",
            "people of 45 to 64 years (P3, 10)",
            (2.5e8, 5e8, 7.5e8, 1e9),
        ),
        Variable(
            "population_65_and_over",
            "persons",
            "people of 65 years and more (P4, 14)",
            (1e8, 2e8, 3e8, 5e8),
        ),
        Variable(
            "industrial_capital",
            "dollars",
            "industrial capital (IC, 52)",
            (5e11, 1e12, 2e12, 5e12),
        ),
        Variable(
            "service_capital",
            "dollars",
            "service capital (SC, 67)",
            (3e11, 6e11, 1e12, 2e12),
        ),
        Variable(
            "arable_land", "ha", "arable land (AL, 85)", (1e9, 1.25e9, 1.5e9, 2e9)
        ),
        Variable(
            "potentially_arable_land",
            "ha",
            "land that could be made arable (PAL, 86)",
            (5e8, 1e9, 1.5e9, 2e9),
        ),
        Variable(
            "urban_industrial_land",
            "ha",
            "land of towns and industry (UIL, 120)",
            (1e7, 2.5e7, 5e7, 1e8),
        ),
        Variable(
            "land_fertility",
            "kg/(ha year)",
            "yield of land left to itself (LFERT, 121)",
            (150.0, 300.0, 500.0),
        ),
        Variable(
            "nonrenewable_resources",
            "resource units",
            "resources left (NR, 129)",
            (1e11, 2.5e11, 5e11, 7.5e11),
        ),
        Variable(
            "persistent_pollution",
            "pollution units",
            "persistent pollution (PPOL, 142)",
            (1e8, 5e8, 1e9, 2e9),
        ),
        Variable(
            "nonrenewable_resources_initial",
            "resource units",
            "resources that those left are a fraction of (NRI, 129.2); constant",
            (5e11, 1.5e12),
        ),
        Variable(
            "effective_health_services_per_capita",
            "dollars/(person year)",
            "(EHSPC, 22)",
            (20.0, 40.0, 60.0, 80.0),
        ),
        Variable(
            "average_industrial_output_per_capita",
            "dollars/(person year)",
            "(AIOPC, 43)",
            (50.0, 100.0, 200.0, 400.0),
        ),
        Variable(
            "labor_utilization_fraction_delayed", "", "(LUFD, 82)", (0.5, 1.0, 2.0)
        ),
        Variable(
            "agricultural_inputs", "dollars/year", "(AI, 99)", (1e10, 3e10, 1e11, 3e11)
        ),
        Variable(
            "perceived_food_ratio",
            "",
            "food per head as perceived, in subsistences (PFR, 128)",
            (0.5, 1.0, 1.5, 2.0),
        ),
        *_stages(
            "perceived_life_expectancy",
            "years",
            "life expectancy as perceived (PLE, 37)",
            (30.0, 40.0, 50.0, 60.0),
        ),
        *_stages(
            "delayed_industrial_output_per_capita",
            "dollars/(person year)",
            "(DIOPC, 40)",
            (50.0, 100.0, 200.0, 400.0),
        ),
        *_stages(
            "fertility_control_facilities_per_capita",
            "dollars/(person year)",
            "(FCFPC, 46)",
            (0.5, 1.0, 2.0, 3.0),
        ),
        *_stages(
            "persistent_pollution_appearance_rate",
            "pollution units/year",
            "(PPAPR, 141)",
            (2e7, 5e7, 1e8, 2e8),
        ),
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
    presets={"whynot": {"normal_life_expectancy": 32.0}},
    interventions=(
        Intervention(
            "industrial_capital_output_ratio", "capital per output", (3.0,), (2.0, 5.0)
        ),
        Intervention(
            "average_lifetime_of_industrial_capital",
            "lifetime of industry",
            (14.0,),
            (7.0, 28.0),
        ),
        Intervention(
            "fraction_of_industrial_output_allocated_to_consumption_constant",
            "consumption",
            (0.43,),
            (0.2, 0.8),
        ),
        Intervention(
            "average_lifetime_of_service_capital",
            "lifetime of services",
            (20.0,),
            (10.0, 40.0),
        ),
        Intervention(
            "service_capital_output_ratio", "capital per service", (1.0,), (0.5, 2.0)
        ),
        Intervention("land_yield_factor", "land yield", (1.0,), (0.5, 2.0)),
        Intervention(
            "nonrenewable_resource_usage_factor",
            "resource use",
            (0.8, 1.0, 1.2),
            (0.0, 2.0),
        ),
        Intervention(
            "persistent_pollution_generation_factor",
            "pollution made",
            (0.8, 1.0, 1.2),
            (0.0, 2.0),
        ),
    ),
    source="Meadows et al. (1974), Dynamics of Growth in a Finite World",
)
