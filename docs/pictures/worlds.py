"""Draws the moving picture of the first page: four worlds side by side, into worlds.gif beside this file.

    python docs/pictures/worlds.py                               # makes docs/pictures/worlds.gif, half a minute
    python docs/pictures/worlds.py --frames 4 --out some.gif     # a short one, somewhere else

Every cell is cut out of what `pushlab.plots` draws of the frames of a run; the words above it are ours. The same
version of Matplotlib and Pillow makes the same bytes.
"""

import argparse
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
from matplotlib.colors import is_color_like, to_rgb
from matplotlib.font_manager import FontProperties, findfont
from PIL import Image, ImageDraw, ImageFont

from pushlab import data_dir, plots, rollout
from pushlab.agents import BothAgent, LinUCB
from pushlab.agents.protocol import Agent
from pushlab.plots import style as colours
from pushlab.plots.style import INK, PAPER, TEXT

OUT = Path(__file__).with_name("worlds.gif")
FRAMES, MILLISECONDS, LAST = (
    40,
    500,
    2500,
)  # the last picture stays longer, so that the end can be read
CELL, ROOM, GAP, HEAD = (
    540,
    386,
    24,
    78,
)  # pixels: a cell's width, its picture's height, between two, words
SIZE = 2 * CELL + 3 * GAP, 2 * (HEAD + ROOM) + 3 * GAP


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description="Draw the moving picture of four worlds."
    )
    parser.add_argument(
        "--frames", type=int, default=FRAMES, help=f"pictures in it, {FRAMES}"
    )
    parser.add_argument("--out", type=Path, default=OUT, help=str(OUT.name))
    given = parser.parse_args(arguments)
    pictures = moving(given.frames)
    save(pictures, given.out)
    print(f"{given.out}: {len(pictures)} pictures, {given.out.stat().st_size:,} bytes")


# ---------------------------------------------------------------- four runs


class Scripted(Agent):
    """Does what a list says."""

    name = "scripted"

    def __init__(self, actions):
        self.actions = list(actions)

    def begin(self, env, seed):
        self.left = iter(self.actions)

    def act(self, observation, info, explore=True):
        return next(self.left)


def film(name, agent, steps, **arguments):
    """The frames of one episode."""
    env = gym.make(name, **arguments)
    return rollout(env, agent, steps=steps, seed=7, record="frames", progress=False)[1][
        0
    ]


def phone():
    """LinUCB meets Mira, from nothing; a push every second picture, once it has learned a little."""
    frames = film("pushlab/evalumap2-v0", LinUCB(), 60, user="mira")
    return "A phone and its user", [frames[: 40 + at // 2] for at in range(FRAMES)]


def shelf():
    """Five items all around a user; four of them, each a little liked, are shown in turn, and the taste turns to each.

    Only to what is liked at all: from an item with a negative engagement a taste turns away.
    """
    turns = np.radians([160, 90, 20, -50, 230])
    items = np.c_[np.cos(turns), np.sin(turns)]
    user = np.array([[-0.6, -0.8]])
    frames = film(
        "pushlab/RECEnv-v0",
        Scripted(np.repeat([4, 0, 1, 2], 11)),
        44,
        step_per_episode=44,
        n_users=1,
        item_feature_dim=2,
        user_feature_dim=2,
        item_feature_vector=items,
        user_feature_vector=user,
        item_names=("jazz", "sport", "news", "travel", "cooking"),
    )
    return "A user whose taste drifts", [frames[: 6 + at] for at in range(FRAMES)]


def room():
    """An agent with eight slots of memory; an answer every second picture."""
    frames = film("pushlab/RoomEnv-v0", BothAgent(8), 60)
    return "A room to remember", [frames[: 30 + (at + 1) // 2] for at in range(FRAMES)]


def patient():
    """The treatment that fitted Q iteration found: it ends with a patient who holds the virus without drugs."""
    found = pd.read_csv(data_dir() / "ode" / "fitted_q_patient.csv")
    actions = found["action"].dropna().astype(int)[:200]
    frames = film(
        "pushlab/ODE-HIV-v0",
        Scripted(actions),
        200,
        initial_state="unhealthy",
        timestep=5,
        config={"end_time": 1000},
    )
    return "A patient with HIV, treated", [
        frames[: 45 + 4 * at] for at in range(FRAMES)
    ]


# ---------------------------------------------------------------- cells


def said_phone(frames):
    push = frames[-1]["push"]
    what, when = push["notification"]["subject"].capitalize(), push["context"]["time"]
    return f"{what}, {when}: {'opened' if push['opened'] else 'dismissed'}"


def said_shelf(frames):
    last = frames[-1]
    engagement = f"{last['reward']:.2f}".replace("-", "−")
    return f"{last['item_names'][last['action']].capitalize()} is shown: engagement {engagement}"


def said_room(frames):
    asked = frames[-1]["answered"]
    right = "right" if asked["reward"] > 0 else f"no, {asked['right']}"
    said = (asked["said"][0] or "no idea").capitalize()
    return f"{asked['person'].capitalize()}’s {asked['object']}? “{said}”: {right}"


def said_patient(frames):
    now = frames[-1]
    given = [
        drug["words"]
        for name, drug in now["model"]["interventions"].items()
        if now["doses"][name]
    ]
    return f"Day {now['time']:,.0f}: {' and '.join(given) or 'no drug'}"


# Each: its run, its picture, the words below the title, and the pieces (left, top, width, height in the picture's
# hundredths of an inch; left, top, width in the cell's pixels).
CELLS = (
    (
        phone,
        plots.phone,
        said_phone,
        [
            ((18, 8, 224, 392), (0, 0, 217)),
            ((264, 70, 306, 164), (232, 6, 308)),
            ((736, 246, 150, 160), (232, 206, 150)),
        ],
    ),
    (shelf, plots.shelf, said_shelf, [((22, 74, 392, 304), (0, 0, 490))]),
    (room, plots.room, said_room, [((22, 74, 496, 334), (0, 0, 540))]),
    (patient, plots.patient, said_patient, [((20, 66, 584, 404), (0, 0, 540))]),
)


def moving(count):
    """All pictures, as RGB images."""
    cells = [(*run(), draw, said, pieces) for run, draw, said, pieces in CELLS]
    figures = [None] * len(cells)
    pictures = []
    for at in np.linspace(0, FRAMES - 1, count).astype(int):
        sheet = Image.new("RGB", SIZE, PAPER)
        for place, (title, films, draw, said, pieces) in enumerate(cells):
            x, y = (
                GAP + place % 2 * (CELL + GAP),
                GAP + place // 2 * (HEAD + ROOM + GAP),
            )
            words = ImageDraw.Draw(sheet)
            words.text((x, y), title, INK, letters(33, "bold"))
            words.text((x, y + 42), said(films[at]), TEXT, letters(22))
            figures[place] = draw(films[at], figure=figures[place])
            for piece, (left, top, width) in pieces:
                sheet.paste(
                    cut(figures[place], piece, width), (x + left, y + HEAD + top)
                )
        pictures.append(sheet)
    return pictures


def letters(size, weight="normal"):
    return ImageFont.truetype(
        findfont(FontProperties(family="DejaVu Sans", weight=weight)), size
    )


def cut(figure, piece, width):
    """A piece of a figure, drawn at the size at which it is shown."""
    left, top, across, down = (part * width / piece[2] for part in piece)
    usual = figure.dpi
    figure.set_dpi(100 * width / piece[2])
    pixels = Image.fromarray(colours.pixels(figure))
    figure.set_dpi(usual)
    return pixels.crop(
        (round(left), round(top), round(left) + round(across), round(top) + round(down))
    )


# ---------------------------------------------------------------- the file


def save(pictures, path):
    """A GIF with one palette for all pictures, each after the first as what changed, without end."""
    some = pictures[:: max(1, len(pictures) // 4)]
    both = Image.new("RGB", (SIZE[0], SIZE[1] * len(some)))
    for place, picture in enumerate(some):
        both.paste(picture, (0, place * SIZE[1]))
    house = dict.fromkeys(
        value for value in vars(colours).values() if is_color_like(value)
    )  # exact, however rare
    own = [round(255 * part) for colour in house for part in to_rgb(colour)]
    found = both.quantize(
        256 - len(house), Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
    ).getpalette()
    palette = np.array((own + found)[:768]).reshape(-1, 3)
    first, *rest = [with_palette(picture, palette) for picture in pictures]
    durations = [MILLISECONDS] * len(rest) + [LAST]
    first.save(
        path, save_all=True, append_images=rest, duration=durations, loop=0, disposal=1
    )


def with_palette(picture, palette):
    """Each pixel as the nearest colour of the palette (n, 3). Pillow's own search is a rough one, and tints white."""
    packed = np.asarray(picture).astype(np.int64) @ (65536, 256, 1)
    seen, places = np.unique(packed, return_inverse=True)
    colour = np.stack([seen >> 16, seen >> 8 & 255, seen & 255], axis=1)
    far = (colour**2).sum(1)[:, None] - 2 * colour @ palette.T + (palette**2).sum(1)
    indexed = Image.fromarray(
        far.argmin(axis=1).astype(np.uint8)[places].reshape(packed.shape), "P"
    )
    indexed.putpalette(palette.astype(np.uint8).tobytes())
    return indexed


if __name__ == "__main__":
    main()
