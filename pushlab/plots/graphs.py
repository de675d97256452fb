"""A causal graph: variables as boxes, and an arrow from each to those that it moves."""

from collections.abc import Collection, Iterable, Mapping

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from pushlab.ground.arguments import demand
from pushlab.plots.palette import BLUE, INK, LEAD, LINE, ORANGE, PAPER, SOFT, TEXT, deep
from pushlab.plots.sheet import MARGIN, Stage, Words, house_style, plain, text_width


@house_style()
def causal_graph(
    arrows: Iterable[tuple[str, str]],
    places: Mapping[str, tuple[float, float]],
    treatment: str = "",
    outcome: str = "",
    hidden: Collection[str] = (),
    title: Words = None,
    lead: str = "",
    figure: Figure | None = None,
) -> Figure:
    """Who moves whom: a box a variable, the treatment blue, the outcome orange, what nobody recorded dashed.

    arrows    pairs (cause, effect)
    places    {variable: (x, y)} of the boxes' middles, each from 0 to 1, to the right and downwards
    hidden    variables that are not recorded
    returns   Figure, 7.4 x 4 inches
    """
    stage, boxes = Stage(740, 400, figure), {}
    shift = stage.heading(plain(title or "What moves what"), lead, title_lines=1)
    for name, (x, y) in places.items():
        width, colour = (
            text_width(name, LEAD, "bold") + 28,
            {treatment: BLUE, outcome: ORANGE}.get(name),
        )
        middle = (
            MARGIN + width / 2 + x * (740 - 2 * MARGIN - width),
            116 + shift + y * (400 - 116 - shift - 52),
        )
        boxes[name] = (
            middle,
            stage.box(
                middle[0] - width / 2,
                middle[1] - 18,
                width,
                36,
                8,
                PAPER if name in hidden else SOFT,
                colour or (TEXT if name in hidden else LINE),
                2.4 if colour else 1.4,
                (0, (3, 2)) if name in hidden else "-",
            ),
        )
        stage.text(
            *middle,
            plain(name),
            colour=deep(colour) if colour else INK,
            weight="bold",
            align="center",
        )
    for cause, effect in arrows:
        demand(
            cause in boxes and effect in boxes,
            f"places leaves out {effect if cause in boxes else cause!r}",
        )
        (start, box), (end, other) = boxes[cause], boxes[effect]
        stage.ax.add_artist(
            FancyArrowPatch(
                start,
                end,
                patchA=box,
                patchB=other,
                shrinkA=3,
                shrinkB=3,
                lw=1.8,
                arrowstyle="-|>",
                mutation_scale=15,
                color=TEXT,
                zorder=4,
            )
        )
    return stage.figure
