"""The equations of World3: table functions, the rates of all levels, delays, and the runs of WhyNot.

Source: Meadows, Behrens, Meadows, Naill, Randers & Zahn (1974), Dynamics of Growth in a Finite World, Wright-Allen
Press. Numbers in parentheses refer to its equations. The authors drew the tables by hand, as points joined by
straight lines; each has its name and number in the book. Some tables have a number before and one after the policy
year. They are written once if the values are equal. `world3.py` describes the source of the numbers.
"""

import numpy as np

from pushlab.utils.compiled import compiled_helper, compiled_numeric, inlined

# ---------------------------------------------------------------- table functions


def table(text: str) -> np.ndarray:
    """Return a table as an array: the first argument, the distance between arguments, and the values.

    Args:
        text: "first argument to last argument: values", for evenly spaced arguments.
    """
    arguments, values = text.split(": ")
    first, last = map(float, arguments.split(" to "))
    points = [float(value) for value in values.split()]
    return np.array([first, (last - first) / (len(points) - 1), *points])


@compiled_numeric
def lookup(points, argument):
    """Return the interpolated value of a table; beyond its ends, the first or the last value.

    >>> float(lookup(FECUNDITY, 35.0)), float(lookup(FECUNDITY, -5.0)), float(lookup(FECUNDITY, 500.0))
    (0.7, 0.0, 1.1)
    """
    n_intervals = len(points) - 3
    position = (argument - points[0]) / points[1]
    if position >= n_intervals:
        return points[n_intervals + 2]
    if not position > 0.0:
        return points[2]
    interval = int(position)
    difference = points[interval + 3] - points[interval + 2]
    return points[interval + 2] + (position - interval) * difference


# Population
MORTALITY_0_TO_14 = table(
    "20 to 80: 0.0567 0.0366 0.0243 0.0155 0.0082 0.0023 0.0010"
)  # M1, 4
MORTALITY_15_TO_44 = table(
    "20 to 80: 0.0266 0.0171 0.0110 0.0065 0.0040 0.0016 0.0008"
)  # M2, 8
MORTALITY_45_TO_64 = table(
    "20 to 80: 0.0562 0.0373 0.0252 0.0171 0.0118 0.0083 0.0060"
)  # M3, 12
MORTALITY_65_AND_OVER = table("20 to 80: 0.13 0.11 0.09 0.07 0.06 0.05 0.04")  # M4, 16
LIFETIME_FROM_FOOD = table("0 to 5: 0 1 1.2 1.3 1.35 1.4")  # LMF, 20
HEALTH_SERVICES = table("0 to 2000: 0 20 50 95 140 175 200 220 230")  # HSAPC, 21
LIFETIME_FROM_HEALTH_BEFORE_1940 = table("0 to 100: 1 1.1 1.4 1.6 1.7 1.8")  # LMHS1, 24
LIFETIME_FROM_HEALTH_SINCE_1940 = table("0 to 100: 1 1.4 1.6 1.8 1.95 2.0")  # LMHS2, 25
URBAN_FRACTION = table("0 to 16e9: 0 0.2 0.4 0.5 0.58 0.65 0.72 0.78 0.80")  # FPU, 26
CROWDING_FROM_INDUSTRY = table(
    "0 to 1600: 0.5 0.05 -0.1 -0.08 -0.02 0.05 0.1 0.15 0.2"
)  # CMI, 27
LIFETIME_FROM_POLLUTION = table(
    "0 to 100: 1.0 0.99 0.97 0.95 0.90 0.85 0.75 0.65 0.55 0.40 0.20"
)  # LMP, 29
FECUNDITY = table("0 to 80: 0.0 0.2 0.4 0.6 0.8 0.9 1.0 1.05 1.1")  # FM, 34
CHILDREN_FOR_PERCEIVED_LIFE = table(
    "0 to 80: 3.0 2.1 1.6 1.4 1.3 1.2 1.1 1.05 1.0"
)  # CMPLE, 36
FAMILY_SIZE_NORM = table("0 to 800: 1.25 1 0.9 0.8 0.75")  # SFSN, 39
FAMILY_RESPONSE = table("-0.2 to 0.2: 0.5 0.6 0.7 0.85 1.0")  # FRSN, 41
FERTILITY_CONTROL = table("0 to 3: 0.75 0.85 0.90 0.95 0.98 0.99 1.0")  # FCE, 45
SERVICES_FOR_FERTILITY_CONTROL = table(
    "0 to 10: 0.0 0.005 0.015 0.025 0.030 0.035"
)  # FSAFC, 48

# Capital
INDICATED_SERVICES = table(
    "0 to 1600: 40 300 640 1000 1220 1450 1650 1800 2000"
)  # ISOPC, 61 and 62
OUTPUT_TO_SERVICES = table("0 to 2: 0.3 0.2 0.1 0.05 0")  # FIOAS, 64 and 65
JOBS_PER_INDUSTRIAL_CAPITAL = table(
    "50 to 800: 0.00037 0.00018 0.00012 0.00009 0.00007 0.00006"
)  # JPICU, 75
JOBS_PER_SERVICE_CAPITAL = table(
    "50 to 800: 0.0011 0.0006 0.00035 0.0002 0.00015 0.00015"
)  # JPSCU, 77
JOBS_PER_HECTARE = table("2 to 30: 2 0.5 0.4 0.3 0.27 0.24 0.2 0.2")  # JPH, 79
CAPITAL_UTILIZATION = table("1 to 11: 1.0 0.9 0.7 0.3 0.1 0.1")  # CUF, 83

# Agriculture
INDICATED_FOOD = table(
    "0 to 1600: 230 480 690 850 970 1070 1150 1210 1250"
)  # IFPC, 90 and 91
OUTPUT_TO_AGRICULTURE = table("0 to 2.5: 0.4 0.2 0.1 0.025 0 0")  # FIOAA, 94 and 95
DEVELOPMENT_COST = table(
    "0 to 1: 100000 7400 5200 3500 2400 1500 750 300 150 75 50"
)  # DCPH, 97
YIELD_FROM_CAPITAL = table(
    "0 to 1000: 1 3 3.8 4.4 4.9 5.4 5.7 6 6.3 6.6 6.9 7.2 7.4 7.6 7.8 8 8.2 8.4 8.6 8.8 9 9.2 9.4 9.6 9.8 10"
)  # LYMC, 102
YIELD_FROM_AIR_POLLUTION = table("0 to 30: 1 1 0.7 0.4")  # LYMAP, 106 and 107
INPUTS_TO_LAND_DEVELOPMENT = table(
    "0 to 2: 0 0.05 0.15 0.30 0.50 0.70 0.85 0.95 1"
)  # FIALD, 108
MARGINAL_YIELD_FROM_CAPITAL = table(
    "0 to 600: 0.075 0.03 0.015 0.011 0.009 0.008 0.007 0.006 0.005 0.005 0.005 0.005 0.005 0.005 0.005 0.005"
)  # MLYMC, 111
LAND_LIFE_FROM_YIELD = table(
    "0 to 9: 1.2 1 0.63 0.36 0.16 0.055 0.04 0.025 0.015 0.01"
)  # LLMY, 114 and 115
URBAN_LAND_PER_PERSON = table(
    "0 to 1600: 0.005 0.008 0.015 0.025 0.04 0.055 0.07 0.08 0.09"
)  # UILPC, 117
FERTILITY_LOSS = table("0 to 30: 0 0.1 0.3 0.5")  # LFDR, 122
FERTILITY_RECOVERY_TIME = table("0 to 0.1: 20 13 8 4 2 2")  # LFRT, 125
INPUTS_TO_LAND_MAINTENANCE = table("0 to 4: 0 0.04 0.07 0.09 0.10")  # FALM, 126

# Resources and pollution
RESOURCE_USE = table("0 to 1600: 0 0.85 2.6 4.4 5.4 6.2 6.8 7 7")  # PCRUM, 132
CAPITAL_TO_RESOURCES = table(
    "0 to 1: 1 0.9 0.7 0.5 0.2 0.1 0.05 0.05 0.05 0.05 0.05"
)  # FCAOR, 135 and 136
HALF_LIFE_FROM_POLLUTION = table("1 to 1001: 1 11 21 31 41")  # AHLM, 145

# ---------------------------------------------------------------- rates


@compiled_helper
def industrial_output(p, population, ic, sc, resources_left, labor, icor, scor):
    """Return industrial output, output per person, and services per person, in dollars a year.

    Equations 49-51, 70-72, 134.
    """
    to_resources = lookup(CAPITAL_TO_RESOURCES, resources_left)
    utilization = lookup(CAPITAL_UTILIZATION, labor)
    industrial = ic * (1.0 - to_resources) * utilization / icor
    return industrial, industrial / population, sc * utilization / scor / population


@compiled_helper
def food_per_person(
    p, population, land, fertility, inputs, perceived_food, industrial, yield_factor
):
    """Return kg of food per person, inputs per hectare, kg per hectare, and the fraction of inputs for maintenance.

    Equations 87, 88, 101-107, 126.
    """
    to_maintenance = lookup(INPUTS_TO_LAND_MAINTENANCE, perceived_food)
    per_hectare = inputs * (1.0 - to_maintenance) / land
    pollution = lookup(
        YIELD_FROM_AIR_POLLUTION, industrial / p.industrial_output_in_1970
    )
    from_capital = lookup(YIELD_FROM_CAPITAL, per_hectare)
    land_yield = yield_factor * fertility * from_capital * pollution
    food = land_yield * land * p.land_fraction_harvested * (1.0 - p.processing_loss)
    return food / population, per_hectare, land_yield, to_maintenance


@inlined
def set_delay(y, slope, first, i, value, delay):
    """Set the slopes of the three stages of a delay of `value`; each stage delays it by a third."""
    third = delay / 3.0
    slope[first, i] = (value - y[first, i]) / third
    slope[first + 1, i] = (y[first, i] - y[first + 1, i]) / third
    slope[first + 2, i] = (y[first + 1, i] - y[first + 2, i]) / third


@inlined
def derivative(time, y, constants, dose, slope):
    """Fill `slope` with the rates of all levels and stages, for every copy."""
    fill_rates(time, y, constants, dose, slope, np.empty((2, 0)))


@compiled_numeric
def fill_rates(time, y, constants, dose, slope, crowding):
    """Fill `slope` with the rates of all levels and stages, for every copy i.

    Args:
        time, y, constants, dose, slope: As in `Model.derivative`.
        crowding: Factor of life expectancy, (2, copies). The first row replaces the current factor, which fills the
            second row. If the array is empty, the current factor is used.
    """
    p = constants[0]
    for i in range(y.shape[1]):
        p1 = y[0, i]
        p2 = y[1, i]
        p3 = y[2, i]
        p4 = y[3, i]
        ic = y[4, i]
        sc = y[5, i]
        arable = y[6, i]
        potential = y[7, i]
        urban = y[8, i]
        fertility = y[9, i]
        resources = y[10, i]
        pollution = y[11, i]
        health = y[13, i]
        average_output = y[14, i]
        labor = y[15, i]
        inputs = y[16, i]
        perceived_food = y[17, i]
        perceived_life = y[20, i]
        delayed_output = y[23, i]
        control = y[26, i]
        appearing = y[29, i]
        population = max(p1 + p2 + p3 + p4, 1.0)
        land = max(arable, 1.0)
        pollution_index = pollution / p.persistent_pollution_in_1970
        resources_left = resources / max(y[12, i], 1e-9)
        industrial, output_per_capita, services_per_capita = industrial_output(
            p, population, ic, sc, resources_left, labor, dose[0, i], dose[4, i]
        )
        food_per_capita, per_hectare, land_yield, to_maintenance = food_per_person(
            p,
            population,
            land,
            fertility,
            inputs,
            perceived_food,
            industrial,
            dose[5, i],
        )
        food_ratio = food_per_capita / p.subsistence_food_per_capita
        usage = lookup(RESOURCE_USE, output_per_capita) * population

        # life expectancy (19-29)
        urban_fraction = lookup(URBAN_FRACTION, population)
        from_industry = lookup(CROWDING_FROM_INDUSTRY, output_per_capita)
        from_crowding = 1.0 - from_industry * urban_fraction
        if crowding.shape[1] > 0:
            crowding[1, i] = from_crowding
            from_crowding = crowding[0, i]
        from_health = (
            lookup(LIFETIME_FROM_HEALTH_SINCE_1940, health)
            if time[i] >= p.health_policy_year
            else lookup(LIFETIME_FROM_HEALTH_BEFORE_1940, health)
        )
        life_expectancy = (
            p.normal_life_expectancy
            * lookup(LIFETIME_FROM_FOOD, food_ratio)
            * from_health
            * lookup(LIFETIME_FROM_POLLUTION, pollution_index)
            * from_crowding
        )

        # children per woman (32-48)
        max_children = p.max_total_fertility_normal * lookup(FECUNDITY, life_expectancy)
        change = output_per_capita - average_output
        response = lookup(FAMILY_RESPONSE, change / max(average_output, 1e-9))
        norm = lookup(FAMILY_SIZE_NORM, delayed_output)
        family = p.desired_completed_family_size_normal * response * norm
        desired = family * lookup(CHILDREN_FOR_PERCEIVED_LIFE, perceived_life)
        effective = lookup(FERTILITY_CONTROL, control)
        children = min(
            max_children, max_children * (1.0 - effective) + desired * effective
        )
        need = lookup(SERVICES_FOR_FERTILITY_CONTROL, max_children / desired - 1.0)

        # people (2-16, 30)
        births = children * p2 * 0.5 / p.reproductive_lifetime
        m1 = lookup(MORTALITY_0_TO_14, life_expectancy)
        m2 = lookup(MORTALITY_15_TO_44, life_expectancy)
        m3 = lookup(MORTALITY_45_TO_64, life_expectancy)
        m4 = lookup(MORTALITY_65_AND_OVER, life_expectancy)
        at_15 = p1 * (1.0 - m1) / 15.0
        at_45 = p2 * (1.0 - m2) / 30.0
        at_65 = p3 * (1.0 - m3) / 20.0
        slope[0, i] = births - p1 * m1 - at_15
        slope[1, i] = at_15 - p2 * m2 - at_45
        slope[2, i] = at_45 - p3 * m3 - at_65
        slope[3, i] = at_65 - p4 * m4

        # capital (52-69): industry receives the remaining output
        target_services = lookup(INDICATED_SERVICES, output_per_capita)
        target_food = lookup(INDICATED_FOOD, output_per_capita)
        to_services = lookup(OUTPUT_TO_SERVICES, services_per_capita / target_services)
        to_food = lookup(OUTPUT_TO_AGRICULTURE, food_per_capita / target_food)
        to_industry = 1.0 - to_food - to_services - dose[2, i]
        slope[4, i] = industrial * to_industry - ic / dose[1, i]
        slope[5, i] = industrial * to_services - sc / dose[3, i]

        # land (85, 86, 92-125): the yield cancels in the ratio of the two productivities
        undeveloped = potential / p.potentially_arable_land_total
        cost = lookup(DEVELOPMENT_COST, undeveloped)
        productivity_of_development = 1.0 / (cost * p.social_discount)
        productivity_of_inputs = (
            p.average_lifetime_of_agricultural_inputs
            * lookup(MARGINAL_YIELD_FROM_CAPITAL, per_hectare)
            / lookup(YIELD_FROM_CAPITAL, per_hectare)
        )
        to_development = lookup(
            INPUTS_TO_LAND_DEVELOPMENT,
            productivity_of_development / productivity_of_inputs,
        )
        investment = industrial * to_food
        developed = min(investment * to_development / cost, potential)
        life_of_land = p.average_life_of_land_normal * lookup(
            LAND_LIFE_FROM_YIELD, land_yield / p.inherent_land_fertility
        )
        per_person = lookup(URBAN_LAND_PER_PERSON, output_per_capita)
        missing = per_person * population - urban
        built = (
            min(max(missing, 0.0), arable) / p.urban_industrial_land_development_time
        )
        recovery_time = lookup(FERTILITY_RECOVERY_TIME, to_maintenance)
        recovered = (p.inherent_land_fertility - fertility) / recovery_time
        slope[6, i] = developed - arable / life_of_land - built
        slope[7, i] = -developed
        slope[8, i] = built
        slope[9, i] = recovered - fertility * lookup(FERTILITY_LOSS, pollution_index)

        # resources and pollution (129-146)
        slope[10, i] = -min(usage * dose[6, i], resources)
        half_life = (
            lookup(HALF_LIFE_FROM_POLLUTION, pollution_index)
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
        ) * dose[7, i]

        # delays, and jobs (73-79)
        jobs = (
            ic * lookup(JOBS_PER_INDUSTRIAL_CAPITAL, output_per_capita)
            + sc * lookup(JOBS_PER_SERVICE_CAPITAL, services_per_capita)
            + land * lookup(JOBS_PER_HECTARE, per_hectare)
        )
        labor_force = max((p2 + p3) * p.labor_force_participation_fraction, 1.0)
        services = lookup(HEALTH_SERVICES, services_per_capita)
        to_inputs = investment * (1.0 - to_development)
        slope[13, i] = (services - health) / p.health_services_impact_delay
        slope[14, i] = change / p.income_expectation_averaging_time
        slope[15, i] = (
            jobs / labor_force - labor
        ) / p.labor_utilization_fraction_delay_time
        slope[16, i] = (to_inputs - inputs) / p.average_lifetime_of_agricultural_inputs
        slope[17, i] = (food_ratio - perceived_food) / p.food_shortage_perception_delay
        set_delay(y, slope, 18, i, life_expectancy, p.lifetime_perception_delay)
        set_delay(y, slope, 21, i, output_per_capita, p.social_adjustment_delay)
        for_control = need * services_per_capita
        set_delay(y, slope, 24, i, for_control, p.health_services_impact_delay)
        set_delay(y, slope, 27, i, made, p.persistent_pollution_transmission_delay)


# ---------------------------------------------------------------- delays in equilibrium

MAX_ROUNDS = (
    1000  # delays depend on each other; the book's world needs about thirty rounds
)
CONVERGED = 1e-13  # relative change in the last round


@compiled_helper
def fill_delays(y, slope, constants):
    """Set all stages of each delay to its input, computed from the slope of the first stage."""
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


@compiled_helper
def set_first_guess(y):
    """Set all delays to the book's first guess: 5e9 dollars of inputs, and sufficient food and labour."""
    for i in range(y.shape[1]):
        y[12, i] = y[10, i]
        for v in range(13, len(y)):
            y[v, i] = 0.0
        y[15, i] = 1.0
        y[16, i] = 5e9
        y[17, i] = 1.0


@compiled_numeric
def settle(y, time, constants, dose):
    """Set the delays of states y (variables, n) to the equilibrium with the levels, under a dose (interventions, n).

    The delays depend on each other, so the book starts from a guess of three. This function starts from the same guess
    and repeats steps of half the distance until nothing changes; full steps can oscillate. The initial resources are
    set to the current ones.
    """
    slope = np.empty(y.shape)
    set_first_guess(y)
    for _ in range(MAX_ROUNDS):
        derivative(time, y, constants, dose, slope)
        previous = y.copy()
        fill_delays(y, slope, constants)
        has_converged = True
        for v in range(len(y)):
            for i in range(y.shape[1]):
                y[v, i] = 0.5 * (previous[v, i] + y[v, i])
                change = abs(y[v, i] - previous[v, i])
                has_converged = has_converged and change <= CONVERGED * abs(y[v, i])
        if has_converged:
            break


# ---------------------------------------------------------------- the runs of WhyNot 0.12

# WhyNot's simulator, a JavaScript program by Brian Hayes, sets the delays to the equilibrium with their input before
# the first step, and again after it. Three delays are excepted, whose input is computed later in the step: labour,
# agricultural inputs and perceived food. It computes the effect of crowding on life expectancy (28) before crowding
# (26, 27), so each step uses the crowding of the previous step. WhyNot's environment makes each timestep a separate
# run. The delays therefore have little effect, and resources are never scarce, since the remaining fraction is relative
# to the start of each timestep.

ROUNDS = 99  # number in WhyNot's simulator before the first step; the delays can still oscillate
LATE_ROUNDS = 3  # health affects life expectancy, which affects fertility control


@compiled_numeric
def replace_zero_inputs(y):
    """Replace agricultural inputs and perceived food of 0 by the first guess, as WhyNot's simulator does."""
    for i in range(y.shape[1]):
        y[16, i] = y[16, i] if y[16, i] != 0.0 else 5e9
        y[17, i] = y[17, i] if y[17, i] != 0.0 else 1.0


@inlined
def restore_late_delays(y, late):
    """Restore the three late delays. Loops are used because numba compiles assignments to slices slowly."""
    for v in range(3):
        for i in range(y.shape[1]):
            y[15 + v, i] = late[v, i]


@compiled_numeric
def fill_early_delays(y, time, constants, dose, slope, crowding):
    """Set all delays except the three late ones to the equilibrium with their input."""
    late = y[15:18].copy()
    for _ in range(LATE_ROUNDS):
        fill_rates(time, y, constants, dose, slope, crowding)
        fill_delays(y, slope, constants)
        restore_late_delays(y, late)


@compiled_numeric
def start_run(y, time, constants, dose, slope, crowding):
    """Set the delays of states y (variables, n) at the start of a run. The late delays are a round ahead."""
    set_first_guess(y)
    crowding[0] = 1.0
    for _ in range(ROUNDS):
        fill_rates(time, y, constants, dose, slope, crowding)
        crowding[0] = crowding[1]
        fill_delays(y, slope, constants)
        replace_zero_inputs(y)
    fill_early_delays(y, time, constants, dose, slope, crowding)


@compiled_numeric
def advance_run(y, time, length, n_steps, is_first, constants, dose, crowding):
    """Advance states y (variables, n) by Euler's method, in place.

    Args:
        time: Start time, (n,).
        length: Number of years, (n,).
        n_steps: Number of steps.
        is_first: Whether a run starts here.
        constants: The parameters by name, a record array (1,).
        dose: Doses, (interventions, n).
        crowding: See `fill_rates`, (2, n); the same array in all calls of a run.
    """
    now = time.copy()
    slope = np.empty(y.shape)
    if is_first:
        start_run(y, now, constants, dose, slope, crowding)
    for step in range(n_steps):
        fill_rates(now, y, constants, dose, slope, crowding)
        crowding[0] = crowding[1]
        filled = y.copy()
        fill_delays(filled, slope, constants)
        replace_zero_inputs(filled)
        for i in range(y.shape[1]):
            for v in range(len(y)):
                y[v, i] += length[i] / n_steps * slope[v, i]
            now[i] = time[i] + (step + 1) * length[i] / n_steps
        if is_first and step == 0:
            restore_late_delays(y, filled[15:18])
            fill_early_delays(y, now, constants, dose, slope, crowding)
