"""A causal graph: variables as boxes, and an arrow from each to those that it affects."""

from collections.abc import Collection, Iterable, Mapping

from matplotlib.figure import Figure

from pushlab.plots.style import (
    BLUE,
    INK,
    LINE,
    ORANGE,
    PAPER,
    SOFT,
    TEXT,
    chart,
    deep,
    house_style,
)


@house_style()
def causal_graph(
    arrows: Iterable[tuple[str, str]],
    places: Mapping[str, tuple[float, float]],
    treatment: str = "",
    outcome: str = "",
    hidden: Collection[str] = (),
    title: str = "",
    lead: str = "",
) -> Figure:
    """Draw a box a variable: the treatment blue, the outcome orange, unrecorded ones dashed.

    Args:
        arrows: Pairs (cause, effect).
        places: Middle (x, y) of each box, from 0 to 1, to the right and downwards.
        hidden: Variables that are not recorded.
    """
    ax = chart(title or "Causes and effects", lead, size=(7.4, 4))
    ax.set(xlim=(-0.04, 1.04), ylim=(1.1, -0.1))
    ax.set_axis_off()
    boxes = {}
    for name, (x, y) in places.items():
        box = {"boxstyle": "round,pad=0.8", "fc": SOFT, "ec": LINE, "lw": 1.4}
        words = INK
        if name in hidden:
            box |= {"fc": PAPER, "ec": TEXT, "ls": (0, (3, 2))}
        if name in (treatment, outcome):
            colour = BLUE if name == treatment else ORANGE
            box |= {"ec": colour, "lw": 2.4}
            words = deep(colour)
        look = {"ha": "center", "va": "center", "weight": "bold", "color": words}
        boxes[name] = ax.text(x, y, name, bbox=box, **look)
    for cause, effect in arrows:
        arrow = {
            "arrowstyle": "-|>",
            "patchA": boxes[cause].get_bbox_patch(),
            "patchB": boxes[effect].get_bbox_patch(),
            "shrinkA": 3,
            "shrinkB": 3,
            "color": TEXT,
            "lw": 1.8,
            "mutation_scale": 15,
        }
        ax.annotate("", places[effect], places[cause], arrowprops=arrow)
    return ax.figure
