"""The icons: strokes and filled shapes in a box from -1 to 1, y down."""

import numpy as np


def arc(
    x: float, y: float, radius: float, start: float, stop: float, steps: int = 24
) -> list[tuple]:
    """Points of a circle's arc, angles in degrees, clockwise on the sheet."""
    turn = np.radians(np.linspace(start, stop, steps))
    return list(zip(x + radius * np.cos(turn), y + radius * np.sin(turn)))


def ring(x: float, y: float, radius: float) -> list[tuple]:
    return arc(x, y, radius, 0, 360, 32)


def frame(x: float, y: float, width: float, height: float) -> list[tuple]:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)]


ICONS = {
    "day": [
        ("stroke", frame(-0.85, -0.7, 1.7, 1.6)),
        ("stroke", [(-0.85, -0.2), (0.85, -0.2)]),
        ("stroke", [(-0.4, -1), (-0.4, -0.55)]),
        ("stroke", [(0.4, -1), (0.4, -0.55)]),
    ],
    "time": [
        ("stroke", ring(0, 0, 0.95)),
        ("stroke", [(0, -0.55), (0, 0), (0.4, 0.25)]),
    ],
    "place": [
        (
            "stroke",
            [*arc(0, -0.25, 0.7, 150, 390), (0, 1), arc(0, -0.25, 0.7, 150, 390)[0]],
        ),
        ("stroke", ring(0, -0.25, 0.22)),
    ],
    "activity": [
        (
            "stroke",
            [(-1, 0.1), (-0.5, 0.1), (-0.2, -0.8), (0.25, 0.85), (0.5, 0.1), (1, 0.1)],
        )
    ],
    "noise": [
        ("stroke", [(x, -h), (x, h)])
        for x, h in ((-0.8, 0.25), (-0.4, 0.6), (0, 0.95), (0.4, 0.5), (0.8, 0.25))
    ],
    "proximity": [
        ("fill", ring(0, 0.75, 0.18)),
        ("stroke", arc(0, 0.75, 0.75, 220, 320)),
        ("stroke", arc(0, 0.75, 1.35, 222, 318)),
    ],
    "ringer": [
        (
            "stroke",
            [
                (-0.85, 0.5),
                (-0.6, 0.2),
                *arc(0, -0.2, 0.6, 180, 360),
                (0.6, 0.2),
                (0.85, 0.5),
                (-0.85, 0.5),
            ],
        ),
        ("stroke", arc(0, 0.55, 0.3, 20, 160)),
    ],
    "vibrate": [
        ("stroke", frame(-0.4, -0.8, 0.8, 1.6)),
        ("stroke", [(-0.75, -0.5), (-0.95, -0.17), (-0.75, 0.17), (-0.95, 0.5)]),
        ("stroke", [(0.75, -0.5), (0.95, -0.17), (0.75, 0.17), (0.95, 0.5)]),
    ],
    "battery": [
        ("stroke", frame(-0.95, -0.5, 1.65, 1.0)),
        ("stroke", [(0.98, -0.18), (0.98, 0.18)]),
    ],
    "charging": [
        (
            "stroke",
            [
                (0.2, -1),
                (-0.55, 0.15),
                (0.05, 0.15),
                (-0.2, 1),
                (0.55, -0.2),
                (-0.05, -0.2),
                (0.2, -1),
            ],
        )
    ],
    "headphones": [
        ("stroke", [(-0.8, 0.35), *arc(0, 0, 0.8, 180, 360), (0.8, 0.35)]),
        ("fill", frame(-1, 0.2, 0.42, 0.75)),
        ("fill", frame(0.58, 0.2, 0.42, 0.75)),
    ],
    "music": [
        ("stroke", [(-0.35, 0.65), (-0.35, -0.8), (0.75, -1), (0.75, 0.45)]),
        ("fill", ring(-0.62, 0.68, 0.3)),
        ("fill", ring(0.48, 0.48, 0.3)),
    ],
    "lock": [
        ("stroke", frame(-0.7, -0.1, 1.4, 1.0)),
        ("stroke", [(-0.42, -0.1), *arc(0, -0.45, 0.42, 180, 360), (0.42, -0.1)]),
    ],
    "apps": [
        ("stroke", frame(x, y, 0.68, 0.68))
        for x in (-0.85, 0.17)
        for y in (-0.85, 0.17)
    ],
    "light": [("stroke", ring(0, 0, 0.42))]
    + [("stroke", [(0.68 * x, 0.68 * y), (x, y)]) for x, y in ring(0, 0, 1)[::4]],
    "count": [("stroke", [(x - 0.1, -0.85), (x - 0.3, 0.85)]) for x in (-0.25, 0.65)]
    + [("stroke", [(-0.85, y), (0.85, y)]) for y in (-0.35, 0.35)],
    "feature": [("stroke", [(-0.9, y), (0.9, y)]) for y in (-0.5, 0.5)]
    + [("fill", ring(-0.3, -0.5, 0.3)), ("fill", ring(0.35, 0.5, 0.3))],
    "check": [("stroke", [(-0.5, 0.05), (-0.12, 0.42), (0.55, -0.4)])],
    "cross": [
        ("stroke", [(-0.4, -0.4), (0.4, 0.4)]),
        ("stroke", [(0.4, -0.4), (-0.4, 0.4)]),
    ],
    "minus": [("stroke", [(-0.45, 0), (0.45, 0)])],
    "hands": [("stroke", [(0, -0.5), (0, 0.05), (0.38, 0.26)])],
    "eye": [
        ("stroke", arc(0, 1.0, 1.4, 225, 315)),
        ("stroke", arc(0, -1.0, 1.4, 45, 135)),
        ("fill", ring(0, 0, 0.3)),
    ],
}


def _strokes(parts):
    """All strokes of an icon as one line, the pen lifted in between by a row of NaN."""
    rows = [
        row
        for kind, points in parts
        if kind == "stroke"
        for row in (*points, (np.nan, np.nan))
    ]
    return np.array(rows[:-1], float).reshape(-1, 2)


PENS = {
    name: (_strokes(parts), [np.array(p, float) for kind, p in parts if kind == "fill"])
    for name, parts in ICONS.items()
}
