"""The table functions of World3: what the model's authors drew by hand, as points joined by straight lines.

Source: Meadows, Behrens, Meadows, Naill, Randers & Zahn (1974), Dynamics of Growth in a Finite World, Wright-Allen
Press; each table stands under its name and the number of its equation there. A table with a number for before and one
for after the policy year stands once where the book gives both the same values.
"""

from collections.abc import Sequence

import numpy as np

from pushlab.ground.compiled import compiled_numeric


def table(first: float, last: float, values: Sequence[float]) -> np.ndarray:
    """The points of a table, evenly apart, as one array: the first argument, the distance between two, the values."""
    return np.array([first, (last - first) / (len(values) - 1), *values])


@compiled_numeric
def lookup(points, argument):
    """The value of a table, which goes on as its first or last value beyond its ends.

    >>> float(lookup(FECUNDITY, 35.0)), float(lookup(FECUNDITY, -5.0)), float(lookup(FECUNDITY, 500.0))
    (0.7, 0.0, 1.1)
    """
    last = len(points) - 3  # the number of stretches between points
    place = (argument - points[0]) / points[1]
    if place >= last:
        return points[last + 2]
    if not place > 0.0:
        return points[2]
    before = int(place)
    return points[before + 2] + (place - before) * (
        points[before + 3] - points[before + 2]
    )


# Population
MORTALITY_0_TO_14 = table(
    20, 80, [0.0567, 0.0366, 0.0243, 0.0155, 0.0082, 0.0023, 0.0010]
)  # M1, 4
MORTALITY_15_TO_44 = table(
    20, 80, [0.0266, 0.0171, 0.0110, 0.0065, 0.0040, 0.0016, 0.0008]
)  # M2, 8
MORTALITY_45_TO_64 = table(
    20, 80, [0.0562, 0.0373, 0.0252, 0.0171, 0.0118, 0.0083, 0.0060]
)  # M3, 12
MORTALITY_65_AND_OVER = table(
    20, 80, [0.13, 0.11, 0.09, 0.07, 0.06, 0.05, 0.04]
)  # M4, 16
LIFETIME_FROM_FOOD = table(0, 5, [0, 1, 1.2, 1.3, 1.35, 1.4])  # LMF, 20
HEALTH_SERVICES = table(0, 2000, [0, 20, 50, 95, 140, 175, 200, 220, 230])  # HSAPC, 21
LIFETIME_FROM_HEALTH_BEFORE_1940 = table(
    0, 100, [1, 1.1, 1.4, 1.6, 1.7, 1.8]
)  # LMHS1, 24
LIFETIME_FROM_HEALTH_SINCE_1940 = table(
    0, 100, [1, 1.4, 1.6, 1.8, 1.95, 2.0]
)  # LMHS2, 25
URBAN_FRACTION = table(
    0, 16e9, [0, 0.2, 0.4, 0.5, 0.58, 0.65, 0.72, 0.78, 0.80]
)  # FPU, 26
CROWDING_FROM_INDUSTRY = table(
    0, 1600, [0.5, 0.05, -0.1, -0.08, -0.02, 0.05, 0.1, 0.15, 0.2]
)  # CMI, 27
LIFETIME_FROM_POLLUTION = table(
    0, 100, [1.0, 0.99, 0.97, 0.95, 0.90, 0.85, 0.75, 0.65, 0.55, 0.40, 0.20]
)  # LMP, 29
FECUNDITY = table(0, 80, [0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.05, 1.1])  # FM, 34
CHILDREN_FOR_PERCEIVED_LIFE = table(
    0, 80, [3.0, 2.1, 1.6, 1.4, 1.3, 1.2, 1.1, 1.05, 1.0]
)  # CMPLE, 36
FAMILY_SIZE_NORM = table(0, 800, [1.25, 1, 0.9, 0.8, 0.75])  # SFSN, 39
FAMILY_RESPONSE = table(-0.2, 0.2, [0.5, 0.6, 0.7, 0.85, 1.0])  # FRSN, 41
FERTILITY_CONTROL = table(0, 3, [0.75, 0.85, 0.90, 0.95, 0.98, 0.99, 1.0])  # FCE, 45
SERVICES_FOR_FERTILITY_CONTROL = table(
    0, 10, [0.0, 0.005, 0.015, 0.025, 0.030, 0.035]
)  # FSAFC, 48

# Capital
INDICATED_SERVICES = table(
    0, 1600, [40, 300, 640, 1000, 1220, 1450, 1650, 1800, 2000]
)  # ISOPC, 61 and 62
OUTPUT_TO_SERVICES = table(0, 2, [0.3, 0.2, 0.1, 0.05, 0])  # FIOAS, 64 and 65
JOBS_PER_INDUSTRIAL_CAPITAL = table(
    50, 800, [0.00037, 0.00018, 0.00012, 0.00009, 0.00007, 0.00006]
)  # JPICU, 75
JOBS_PER_SERVICE_CAPITAL = table(
    50, 800, [0.0011, 0.0006, 0.00035, 0.0002, 0.00015, 0.00015]
)  # JPSCU, 77
JOBS_PER_HECTARE = table(2, 30, [2, 0.5, 0.4, 0.3, 0.27, 0.24, 0.2, 0.2])  # JPH, 79
CAPITAL_UTILIZATION = table(1, 11, [1.0, 0.9, 0.7, 0.3, 0.1, 0.1])  # CUF, 83

# Agriculture
INDICATED_FOOD = table(
    0, 1600, [230, 480, 690, 850, 970, 1070, 1150, 1210, 1250]
)  # IFPC, 90 and 91
OUTPUT_TO_AGRICULTURE = table(0, 2.5, [0.4, 0.2, 0.1, 0.025, 0, 0])  # FIOAA, 94 and 95
DEVELOPMENT_COST = table(
    0, 1, [100000, 7400, 5200, 3500, 2400, 1500, 750, 300, 150, 75, 50]
)  # DCPH, 97
YIELD_FROM_CAPITAL = table(
    0,
    1000,
    [
        1,
        3,
        3.8,
        4.4,
        4.9,
        5.4,
        5.7,
        6,
        6.3,
        6.6,
        6.9,
        7.2,
        7.4,
        7.6,
        7.8,
        8,
        8.2,
        8.4,
        8.6,
        8.8,
        9,
        9.2,
        9.4,
        9.6,
        9.8,
        10,
    ],
)  # LYMC, 102
YIELD_FROM_AIR_POLLUTION = table(0, 30, [1, 1, 0.7, 0.4])  # LYMAP, 106 and 107
INPUTS_TO_LAND_DEVELOPMENT = table(
    0, 2, [0, 0.05, 0.15, 0.30, 0.50, 0.70, 0.85, 0.95, 1]
)  # FIALD, 108
MARGINAL_YIELD_FROM_CAPITAL = table(
    0,
    600,
    [
        0.075,
        0.03,
        0.015,
        0.011,
        0.009,
        0.008,
        0.007,
        0.006,
        0.005,
        0.005,
        0.005,
        0.005,
        0.005,
        0.005,
        0.005,
        0.005,
    ],
)  # MLYMC, 111
LAND_LIFE_FROM_YIELD = table(
    0, 9, [1.2, 1, 0.63, 0.36, 0.16, 0.055, 0.04, 0.025, 0.015, 0.01]
)  # LLMY, 114 and 115
URBAN_LAND_PER_PERSON = table(
    0, 1600, [0.005, 0.008, 0.015, 0.025, 0.04, 0.055, 0.07, 0.08, 0.09]
)  # UILPC, 117
FERTILITY_LOSS = table(0, 30, [0, 0.1, 0.3, 0.5])  # LFDR, 122
FERTILITY_RECOVERY_TIME = table(0, 0.1, [20, 13, 8, 4, 2, 2])  # LFRT, 125
INPUTS_TO_LAND_MAINTENANCE = table(0, 4, [0, 0.04, 0.07, 0.09, 0.10])  # FALM, 126

# Resources and pollution
RESOURCE_USE = table(0, 1600, [0, 0.85, 2.6, 4.4, 5.4, 6.2, 6.8, 7, 7])  # PCRUM, 132
CAPITAL_TO_RESOURCES = table(
    0, 1, [1, 0.9, 0.7, 0.5, 0.2, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05]
)  # FCAOR, 135 and 136
HALF_LIFE_FROM_POLLUTION = table(1, 1001, [1, 11, 21, 31, 41])  # AHLM, 145
