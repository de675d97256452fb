"""The icons: strokes and filled shapes in a box from -1 to 1, y down."""

import numpy as np


def arc(x: float, y: float, radius: float, start: float, stop: float, steps: int = 24) -> list[tuple]:
    """Points of a circle's arc, angles in degrees, clockwise on the sheet."""
    turn = np.radians(np.linspace(start, stop, steps))
    return list(zip(x + radius * np.cos(turn), y + radius * np.sin(turn)))


def ring(x: float, y: float, radius: float) -> list[tuple]:
    return arc(x, y, radius, 0, 360, 32)


def frame(x: float, y: float, width: float, height: float) -> list[tuple]:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)]


ICONS = {
    "day": [("stroke", frame(-.85, -.7, 1.7, 1.6)), ("stroke", [(-.85, -.2), (.85, -.2)]),
            ("stroke", [(-.4, -1), (-.4, -.55)]), ("stroke", [(.4, -1), (.4, -.55)])],
    "time": [("stroke", ring(0, 0, .95)), ("stroke", [(0, -.55), (0, 0), (.4, .25)])],
    "place": [("stroke", [*arc(0, -.25, .7, 150, 390), (0, 1), arc(0, -.25, .7, 150, 390)[0]]),
              ("stroke", ring(0, -.25, .22))],
    "activity": [("stroke", [(-1, .1), (-.5, .1), (-.2, -.8), (.25, .85), (.5, .1), (1, .1)])],
    "noise": [("stroke", [(x, -h), (x, h)]) for x, h in ((-.8, .25), (-.4, .6), (0, .95), (.4, .5), (.8, .25))],
    "proximity": [("fill", ring(0, .75, .18)), ("stroke", arc(0, .75, .75, 220, 320)),
                  ("stroke", arc(0, .75, 1.35, 222, 318))],
    "ringer": [("stroke", [(-.85, .5), (-.6, .2), *arc(0, -.2, .6, 180, 360), (.6, .2), (.85, .5), (-.85, .5)]),
               ("stroke", arc(0, .55, .3, 20, 160))],
    "vibrate": [("stroke", frame(-.4, -.8, .8, 1.6)), ("stroke", [(-.75, -.5), (-.95, -.17), (-.75, .17), (-.95, .5)]),
                ("stroke", [(.75, -.5), (.95, -.17), (.75, .17), (.95, .5)])],
    "battery": [("stroke", frame(-.95, -.5, 1.65, 1.0)), ("stroke", [(.98, -.18), (.98, .18)])],
    "charging": [("stroke", [(.2, -1), (-.55, .15), (.05, .15), (-.2, 1), (.55, -.2), (-.05, -.2), (.2, -1)])],
    "headphones": [("stroke", [(-.8, .35), *arc(0, 0, .8, 180, 360), (.8, .35)]),
                   ("fill", frame(-1, .2, .42, .75)), ("fill", frame(.58, .2, .42, .75))],
    "music": [("stroke", [(-.35, .65), (-.35, -.8), (.75, -1), (.75, .45)]),
              ("fill", ring(-.62, .68, .3)), ("fill", ring(.48, .48, .3))],
    "lock": [("stroke", frame(-.7, -.1, 1.4, 1.0)),
             ("stroke", [(-.42, -.1), *arc(0, -.45, .42, 180, 360), (.42, -.1)])],
    "apps": [("stroke", frame(x, y, .68, .68)) for x in (-.85, .17) for y in (-.85, .17)],
    "light": [("stroke", ring(0, 0, .42))] + [("stroke", [(.68 * x, .68 * y), (x, y)]) for x, y in ring(0, 0, 1)[::4]],
    "count": [("stroke", [(x - .1, -.85), (x - .3, .85)]) for x in (-.25, .65)]
             + [("stroke", [(-.85, y), (.85, y)]) for y in (-.35, .35)],
    "feature": [("stroke", [(-.9, y), (.9, y)]) for y in (-.5, .5)]
               + [("fill", ring(-.3, -.5, .3)), ("fill", ring(.35, .5, .3))],
    "check": [("stroke", [(-.5, .05), (-.12, .42), (.55, -.4)])],
    "cross": [("stroke", [(-.4, -.4), (.4, .4)]), ("stroke", [(.4, -.4), (-.4, .4)])],
    "minus": [("stroke", [(-.45, 0), (.45, 0)])],
    "hands": [("stroke", [(0, -.5), (0, .05), (.38, .26)])],
    "eye": [("stroke", arc(0, 1.0, 1.4, 225, 315)), ("stroke", arc(0, -1.0, 1.4, 45, 135)), ("fill", ring(0, 0, .3))],
}


def _strokes(parts):
    """All strokes of an icon as one line, the pen lifted in between by a row of NaN."""
    rows = [row for kind, points in parts if kind == "stroke" for row in (*points, (np.nan, np.nan))]
    return np.array(rows[:-1], float).reshape(-1, 2)


PENS = {name: (_strokes(parts), [np.array(p, float) for kind, p in parts if kind == "fill"])
        for name, parts in ICONS.items()}
