"""The equations of World3, a function a sector, and its delays; `world3.py` says where they are from.

The numbers in brackets are those of the equations of Dynamics of Growth in a Finite World (1974).
"""

import numpy as np

from pushlab.envs.ode.models import world3_tables as tables
from pushlab.envs.ode.models.world3_tables import lookup
from pushlab.ground.compiled import compiled_numeric, inlined, inner

# ---------------------------------------------------------------- sectors, each as the book has them


@inner
def find_output(
    p,
    population,
    industrial_capital,
    service_capital,
    resources_left,
    utilization,
    icor,
    scor,
):
    """Industrial output, the same a head, and services a head, all in dollars a year; 49-51, 70-72, 134."""
    to_resources = lookup(tables.CAPITAL_TO_RESOURCES, resources_left)
    industrial = industrial_capital * (1.0 - to_resources) * utilization / icor
    return (
        industrial,
        industrial / population,
        service_capital * utilization / scor / population,
    )


@inner
def find_food(
    p, population, land, fertility, inputs, perceived_food, industrial, yield_factor
):
    """(kg a head, inputs a hectare, kg a hectare, share of inputs that maintains land); 87, 88, 101-107, 126."""
    to_maintenance = lookup(tables.INPUTS_TO_LAND_MAINTENANCE, perceived_food)
    per_hectare = inputs * (1.0 - to_maintenance) / land
    pollution = lookup(
        tables.YIELD_FROM_AIR_POLLUTION, industrial / p.industrial_output_in_1970
    )
    land_yield = (
        yield_factor
        * fertility
        * lookup(tables.YIELD_FROM_CAPITAL, per_hectare)
        * pollution
    )
    food = land_yield * land * p.land_fraction_harvested * (1.0 - p.processing_loss)
    return food / population, per_hectare, land_yield, to_maintenance


@inlined
def find_development(p, potential_land, per_hectare):
    """(dollars to develop a hectare, share of agricultural investment that goes there); 97, 108-111.

    The yield of land stands in both productivities of the book, and drops out of their ratio.
    """
    cost = lookup(
        tables.DEVELOPMENT_COST, potential_land / p.potentially_arable_land_total
    )
    of_development = 1.0 / (cost * p.social_discount)
    of_inputs = (
        p.average_lifetime_of_agricultural_inputs
        * lookup(tables.MARGINAL_YIELD_FROM_CAPITAL, per_hectare)
        / lookup(tables.YIELD_FROM_CAPITAL, per_hectare)
    )
    return cost, lookup(tables.INPUTS_TO_LAND_DEVELOPMENT, of_development / of_inputs)


@inlined
def find_jobs(
    industrial_capital,
    service_capital,
    land,
    output_per_capita,
    services_per_capita,
    per_hectare,
):
    """Persons wanted for work; 73-79."""
    return (
        industrial_capital
        * lookup(tables.JOBS_PER_INDUSTRIAL_CAPITAL, output_per_capita)
        + service_capital * lookup(tables.JOBS_PER_SERVICE_CAPITAL, services_per_capita)
        + land * lookup(tables.JOBS_PER_HECTARE, per_hectare)
    )


@inlined
def find_life_expectancy(
    p, time, food_per_capita, health, from_crowding, pollution_index
):
    """Years; 19-25, 29."""
    from_food = lookup(
        tables.LIFETIME_FROM_FOOD, food_per_capita / p.subsistence_food_per_capita
    )
    from_health = (
        lookup(tables.LIFETIME_FROM_HEALTH_SINCE_1940, health)
        if time >= p.health_policy_year
        else lookup(tables.LIFETIME_FROM_HEALTH_BEFORE_1940, health)
    )
    from_pollution = lookup(tables.LIFETIME_FROM_POLLUTION, pollution_index)
    return (
        p.normal_life_expectancy
        * from_food
        * from_health
        * from_pollution
        * from_crowding
    )


@inlined
def find_fertility(
    p,
    life_expectancy,
    perceived_life,
    output_per_capita,
    average_output,
    delayed_output,
    control,
    services_per_capita,
):
    """(children a woman, dollars a head for fertility control); 32-48."""
    highest = p.max_total_fertility_normal * lookup(tables.FECUNDITY, life_expectancy)
    expectation = (output_per_capita - average_output) / max(average_output, 1e-9)
    family = (
        p.desired_completed_family_size_normal
        * lookup(tables.FAMILY_RESPONSE, expectation)
        * lookup(tables.FAMILY_SIZE_NORM, delayed_output)
    )
    desired = family * lookup(tables.CHILDREN_FOR_PERCEIVED_LIFE, perceived_life)
    effective = lookup(tables.FERTILITY_CONTROL, control)
    children = min(highest, highest * (1.0 - effective) + desired * effective)
    for_control = (
        lookup(tables.SERVICES_FOR_FERTILITY_CONTROL, highest / desired - 1.0)
        * services_per_capita
    )
    return children, for_control


# ---------------------------------------------------------------- all of it


@inlined
def set_delay(y, slope, first, i, source, delay):
    """Slopes of the three stages of a delay, each a third of it long."""
    third = delay / 3.0
    slope[first, i] = (source - y[first, i]) / third
    slope[first + 1, i] = (y[first, i] - y[first + 1, i]) / third
    slope[first + 2, i] = (y[first + 1, i] - y[first + 2, i]) / third


@inlined
def derivative(time, y, constants, dose, slope):
    """The rates of all levels and stages, for every copy."""
    find_rates(time, y, constants, dose, slope, np.empty((2, 0)))


@compiled_numeric
def find_rates(time, y, constants, dose, slope, crowding):
    """The rates for every copy i; in brackets equations of the book.

    crowding    (2, copies), what crowding leaves of life expectancy: the first row is used in the place of what the
                state says, with which the second is filled. Empty, as it should be, the state has its say
    """
    p, told = constants[0], crowding.shape[1] > 0
    for i in range(y.shape[1]):
        icor, alic, to_consumption, alsc = (
            dose[0, i],
            dose[1, i],
            dose[2, i],
            dose[3, i],
        )
        scor, yield_factor, usage_factor, pollution_factor = (
            dose[4, i],
            dose[5, i],
            dose[6, i],
            dose[7, i],
        )
        p1, p2, p3, p4, ic, sc = y[0, i], y[1, i], y[2, i], y[3, i], y[4, i], y[5, i]
        arable, potential, urban, fertility, resources = (
            y[6, i],
            y[7, i],
            y[8, i],
            y[9, i],
            y[10, i],
        )
        pollution, first_resources = y[11, i], y[12, i]
        health, average_output, labor, inputs, perceived_food = (
            y[13, i],
            y[14, i],
            y[15, i],
            y[16, i],
            y[17, i],
        )
        perceived_life, delayed_output, control, appearing = (
            y[20, i],
            y[23, i],
            y[26, i],
            y[29, i],
        )
        population, land = max(p1 + p2 + p3 + p4, 1.0), max(arable, 1.0)
        pollution_index = pollution / p.persistent_pollution_in_1970

        resources_left, utilization = (
            resources / max(first_resources, 1e-9),
            lookup(tables.CAPITAL_UTILIZATION, labor),
        )
        industrial, output_per_capita, services_per_capita = find_output(
            p, population, ic, sc, resources_left, utilization, icor, scor
        )
        food_per_capita, per_hectare, land_yield, to_maintenance = find_food(
            p,
            population,
            land,
            fertility,
            inputs,
            perceived_food,
            industrial,
            yield_factor,
        )
        development_cost, to_development = find_development(p, potential, per_hectare)
        from_crowding = (
            1.0
            - lookup(tables.CROWDING_FROM_INDUSTRY, output_per_capita)  # (26-28)
            * lookup(tables.URBAN_FRACTION, population)
        )
        if told:
            crowding[1, i] = from_crowding
            from_crowding = crowding[0, i]
        life_expectancy = find_life_expectancy(
            p, time[i], food_per_capita, health, from_crowding, pollution_index
        )
        children, for_control = find_fertility(
            p,
            life_expectancy,
            perceived_life,
            output_per_capita,
            average_output,
            delayed_output,
            control,
            services_per_capita,
        )
        usage = lookup(tables.RESOURCE_USE, output_per_capita) * population

        # people (2-16, 30)
        births = children * p2 * 0.5 / p.reproductive_lifetime
        m1 = lookup(tables.MORTALITY_0_TO_14, life_expectancy)
        m2 = lookup(tables.MORTALITY_15_TO_44, life_expectancy)
        m3 = lookup(tables.MORTALITY_45_TO_64, life_expectancy)
        m4 = lookup(tables.MORTALITY_65_AND_OVER, life_expectancy)
        at_15, at_45, at_65 = (
            p1 * (1.0 - m1) / 15.0,
            p2 * (1.0 - m2) / 30.0,
            p3 * (1.0 - m3) / 20.0,
        )
        slope[0, i] = births - p1 * m1 - at_15
        slope[1, i] = at_15 - p2 * m2 - at_45
        slope[2, i] = at_45 - p3 * m3 - at_65
        slope[3, i] = at_65 - p4 * m4

        # capital (52-69): what is left of the output is invested in industry
        enough_services = lookup(tables.INDICATED_SERVICES, output_per_capita)
        enough_food = lookup(tables.INDICATED_FOOD, output_per_capita)
        to_services = lookup(
            tables.OUTPUT_TO_SERVICES, services_per_capita / enough_services
        )
        to_food = lookup(tables.OUTPUT_TO_AGRICULTURE, food_per_capita / enough_food)
        slope[4, i] = (
            industrial * (1.0 - to_food - to_services - to_consumption) - ic / alic
        )
        slope[5, i] = industrial * to_services - sc / alsc

        # land (85, 86, 92-125)
        investment = industrial * to_food
        developed = min(investment * to_development / development_cost, potential)
        life_of_land = p.average_life_of_land_normal * lookup(
            tables.LAND_LIFE_FROM_YIELD, land_yield / p.inherent_land_fertility
        )
        wanted = (
            lookup(tables.URBAN_LAND_PER_PERSON, output_per_capita) * population - urban
        )
        built = min(max(wanted, 0.0), arable) / p.urban_industrial_land_development_time
        slope[6, i] = developed - arable / life_of_land - built
        slope[7, i] = -developed
        slope[8, i] = built
        slope[9, i] = (p.inherent_land_fertility - fertility) / lookup(
            tables.FERTILITY_RECOVERY_TIME, to_maintenance
        ) - fertility * lookup(tables.FERTILITY_LOSS, pollution_index)

        # resources and pollution (129-146)
        slope[10, i] = -min(usage * usage_factor, resources)
        half_life = (
            lookup(tables.HALF_LIFE_FROM_POLLUTION, pollution_index)
            * p.assimilation_half_life_in_1970
        )
        slope[11, i] = appearing - pollution / (half_life * 1.4)
        slope[12, i] = 0.0
        made = (
            usage
            * p.fraction_of_resources_as_persistent_material
            * p.industrial_materials_emission_factor
            * p.industrial_materials_toxicity_index
            + per_hectare
            * land
            * p.fraction_of_inputs_as_persistent_material
            * p.agricultural_materials_toxicity_index
        ) * pollution_factor

        # delays
        jobs = find_jobs(
            ic, sc, land, output_per_capita, services_per_capita, per_hectare
        )
        labor_force = max((p2 + p3) * p.labor_force_participation_fraction, 1.0)
        slope[13, i] = (
            lookup(tables.HEALTH_SERVICES, services_per_capita) - health
        ) / p.health_services_impact_delay
        slope[14, i] = (
            output_per_capita - average_output
        ) / p.income_expectation_averaging_time
        slope[15, i] = (
            jobs / labor_force - labor
        ) / p.labor_utilization_fraction_delay_time
        slope[16, i] = (
            investment * (1.0 - to_development) - inputs
        ) / p.average_lifetime_of_agricultural_inputs
        slope[17, i] = (
            food_per_capita / p.subsistence_food_per_capita - perceived_food
        ) / p.food_shortage_perception_delay
        set_delay(y, slope, 18, i, life_expectancy, p.lifetime_perception_delay)
        set_delay(y, slope, 21, i, output_per_capita, p.social_adjustment_delay)
        set_delay(y, slope, 24, i, for_control, p.health_services_impact_delay)
        set_delay(y, slope, 27, i, made, p.persistent_pollution_transmission_delay)


# ---------------------------------------------------------------- delays in equilibrium

MOST_ROUNDS = 1000  # the delays feed each other; in the book's world they agree after some thirty rounds
AGREED = 1e-13  # relative change of a round at which they do


@inner
def fill_delays(y, slope, constants):
    """Sets every stage (…, copies) to what its delay is fed; the slope of the first one at y tells what that is."""
    p = constants[0]
    for i in range(y.shape[1]):
        y[13, i] += p.health_services_impact_delay * slope[13, i]
        y[14, i] += p.income_expectation_averaging_time * slope[14, i]
        y[15, i] += p.labor_utilization_fraction_delay_time * slope[15, i]
        y[16, i] += p.average_lifetime_of_agricultural_inputs * slope[16, i]
        y[17, i] += p.food_shortage_perception_delay * slope[17, i]
        y[18, i] += p.lifetime_perception_delay / 3.0 * slope[18, i]
        y[21, i] += p.social_adjustment_delay / 3.0 * slope[21, i]
        y[24, i] += p.health_services_impact_delay / 3.0 * slope[24, i]
        y[27, i] += p.persistent_pollution_transmission_delay / 3.0 * slope[27, i]
        for first in (18, 21, 24, 27):
            y[first + 1, i] = y[first + 2, i] = y[first, i]


@inner
def guess_first(y):
    """What the book starts from before it knows: 5e9 dollars of inputs, food and labour as they should be."""
    for i in range(y.shape[1]):
        y[12, i] = y[10, i]
        for v in range(13, len(y)):
            y[v, i] = 0.0
        y[15, i], y[16, i], y[17, i] = 1.0, 5e9, 1.0


@compiled_numeric
def settle(y, time, constants, dose):
    """Puts the delays of states y (variables, n) in equilibrium with the levels under a dose (interventions, n).

    The book starts three of them from a guess, since each hangs on the others. So does this, and goes half of the way
    until nothing changes; all of it at once may swing to and fro. The resources left are counted from here on.
    """
    slope = np.empty(y.shape)
    guess_first(y)
    for _ in range(MOST_ROUNDS):
        derivative(time, y, constants, dose, slope)
        before, agreed = y.copy(), True
        fill_delays(y, slope, constants)
        for v in range(len(y)):
            for i in range(y.shape[1]):
                y[v, i] = 0.5 * (before[v, i] + y[v, i])
                agreed = agreed and abs(y[v, i] - before[v, i]) <= AGREED * abs(y[v, i])
        if agreed:
            break


# ---------------------------------------------------------------- what the charts of the book show


@compiled_numeric
def find_indicators(values, dose, constants, shown):
    """Fills shown (n, 5) for states (n, variables) and doses (n, interventions).

    In this order: persons, share of the resources left, kg of food a head and year, dollars of industrial output a head
    and year, and persistent pollution as a multiple of that of 1970.
    """
    p = constants[0]
    for i in range(len(values)):
        population = max(values[i, 0] + values[i, 1] + values[i, 2] + values[i, 3], 1.0)
        resources_left = values[i, 10] / max(values[i, 12], 1e-9)
        utilization = lookup(tables.CAPITAL_UTILIZATION, values[i, 15])
        industrial, output_per_capita, _ = find_output(
            p,
            population,
            values[i, 4],
            values[i, 5],
            resources_left,
            utilization,
            dose[i, 0],
            dose[i, 4],
        )
        food_per_capita, _, _, _ = find_food(
            p,
            population,
            max(values[i, 6], 1.0),
            values[i, 9],
            values[i, 16],
            values[i, 17],
            industrial,
            dose[i, 5],
        )
        shown[i, 0], shown[i, 1], shown[i, 2] = (
            population,
            resources_left,
            food_per_capita,
        )
        shown[i, 3], shown[i, 4] = (
            output_per_capita,
            values[i, 11] / p.persistent_pollution_in_1970,
        )
