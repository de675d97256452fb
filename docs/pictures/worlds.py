"""Draw the moving picture of the first page: four worlds side by side, saved as worlds.gif beside this file.

    python docs/pictures/worlds.py                               # half a minute
    python docs/pictures/worlds.py --frames 4 --out some.gif     # shorter, and in another file

Each cell consists of cut-outs of a picture that `pushlab.plots` draws from the frames of a run, below a heading. The
same versions of Matplotlib and Pillow produce the same bytes.
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
from pushlab.agents import EpisodicSemanticAgent, LinUCB
from pushlab.agents.protocol import Agent
from pushlab.plots import style
from pushlab.plots.style import INK, PAPER, TEXT

OUT = Path(__file__).with_name("worlds.gif")
FRAMES = 40
MILLISECONDS = 500
LAST_MILLISECONDS = 2500  # longer, to give time to read the end
# Pixels: width of a cell, height of its picture, between two cells, height of its heading.
CELL = 540
ROOM = 386
GAP = 24
HEAD = 78
SIZE = 2 * CELL + 3 * GAP, 2 * (HEAD + ROOM) + 3 * GAP


def main(arguments=None):
    """Draw the pictures and save them."""
    parser = argparse.ArgumentParser(
        description="Draw the moving picture of four worlds."
    )
    parser.add_argument(
        "--frames",
        type=int,
        default=FRAMES,
        help=f"number of pictures, {FRAMES} by default",
    )
    parser.add_argument("--out", type=Path, default=OUT, help=str(OUT.name))
    args = parser.parse_args(arguments)
    pictures = draw_pictures(args.frames)
    save(pictures, args.out)
    print(f"{args.out}: {len(pictures)} pictures, {args.out.stat().st_size:,} bytes")


# ---------------------------------------------------------------- four runs


class Scripted(Agent):
    """An agent that follows a list of actions."""

    name = "scripted"

    def __init__(self, actions):
        self.actions = list(actions)

    def begin(self, env, seed):
        self.remaining = iter(self.actions)

    def act(self, observation, info, explore=True):
        return next(self.remaining)


def record(name, agent, steps, **arguments):
    """Return the frames of one episode."""
    env = gym.make(name, **arguments)
    _, films = rollout(
        env,
        agent,
        steps=steps,
        seed=7,
        record="frames",
        progress=False,
    )
    return films[0]


def phone():
    """Record LinUCB with Mira, from the time when it has learned a little; one push every second picture."""
    frames = record("pushlab/evalumap2-v0", LinUCB(), 60, user="mira")
    return "A phone and its user", [frames[: 40 + i // 2] for i in range(FRAMES)]


def shelf():
    """Record a user who drifts towards four items in turn.

    The items are all around the user. A user drifts only towards items with a positive engagement.
    """
    angles = np.radians([160, 90, 20, -50, 230])
    items = np.c_[np.cos(angles), np.sin(angles)]
    user = np.array([[-0.6, -0.8]])
    frames = record(
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
    return "A user whose taste drifts", [frames[: 6 + i] for i in range(FRAMES)]


def room():
    """Record an agent with eight slots of memory; one answer every second picture."""
    frames = record("pushlab/RoomEnv-v0", EpisodicSemanticAgent(8), 60)
    return "A room to remember", [frames[: 30 + (i + 1) // 2] for i in range(FRAMES)]


def patient():
    """Record a treatment by fitted Q iteration, after which the patient controls the virus without drugs."""
    table = pd.read_csv(data_dir() / "ode" / "fitted_q_patient.csv")
    actions = table["action"].dropna().astype(int)[:200]
    frames = record(
        "pushlab/ODE-HIV-v0",
        Scripted(actions),
        200,
        initial_state="unhealthy",
        timestep=5,
        config={"end_time": 1000},
    )
    films = [frames[: 45 + 4 * i] for i in range(FRAMES)]
    return "A patient with HIV, treated", films


# ---------------------------------------------------------------- cells


def phone_text(frames):
    """Return the subject, the time and the outcome of the last notification."""
    push = frames[-1]["push"]
    subject = push["notification"]["subject"].capitalize()
    outcome = "opened" if push["opened"] else "dismissed"
    return f"{subject}, {push['context']['time']}: {outcome}"


def shelf_text(frames):
    """Return the last item and its engagement."""
    last = frames[-1]
    engagement = f"{last['reward']:.2f}".replace("-", "−")
    item = last["item_names"][last["action"]].capitalize()
    return f"{item} is shown: engagement {engagement}"


def room_text(frames):
    """Return the last question, its answer and the result."""
    answer = frames[-1]["last_answer"]
    result = "right" if answer["reward"] > 0 else f"no, {answer['right']}"
    text = (answer["answers_by_agent"][0] or "no idea").capitalize()
    return f"{answer['person'].capitalize()}’s {answer['object']}? “{text}”: {result}"


def patient_text(frames):
    """Return the day and the drugs taken."""
    last = frames[-1]
    drugs = []
    for name, drug in last["model"]["interventions"].items():
        if last["doses"][name]:
            drugs.append(drug["label"])
    return f"Day {last['time']:,.0f}: {' and '.join(drugs) or 'no drug'}"


# (run, picture, text below the title, cut-outs) of each cell. A cut-out has left, top, width and height in the picture,
# in hundredths of an inch, and left, top and width in the cell, in pixels.
CELLS = (
    (
        phone,
        plots.phone,
        phone_text,
        [
            ((18, 8, 224, 392), (0, 0, 217)),
            ((264, 70, 306, 164), (232, 6, 308)),
            ((736, 246, 150, 160), (232, 206, 150)),
        ],
    ),
    (shelf, plots.shelf, shelf_text, [((22, 74, 392, 304), (0, 0, 490))]),
    (room, plots.room, room_text, [((22, 74, 496, 334), (0, 0, 540))]),
    (patient, plots.patient, patient_text, [((20, 66, 584, 404), (0, 0, 540))]),
)


def draw_pictures(count):
    """Return all pictures as RGB images."""
    cells = [(*run(), draw, text_of, parts) for run, draw, text_of, parts in CELLS]
    pictures = []
    for i in np.linspace(0, FRAMES - 1, count).astype(int):
        sheet = Image.new("RGB", SIZE, PAPER)
        for place, (title, films, draw, text_of, parts) in enumerate(cells):
            x = GAP + place % 2 * (CELL + GAP)
            y = GAP + place // 2 * (HEAD + ROOM + GAP)
            frames = films[i]
            heading = ImageDraw.Draw(sheet)
            heading.text((x, y), title, INK, font(33, "bold"))
            heading.text((x, y + 42), text_of(frames), TEXT, font(22))
            figure = draw(frames)
            for box, (left, top, width) in parts:
                sheet.paste(cut(figure, box, width), (x + left, y + HEAD + top))
        pictures.append(sheet)
    return pictures


def font(size, weight="normal"):
    """Return a font of this size in pixels."""
    properties = FontProperties(family="DejaVu Sans", weight=weight)
    return ImageFont.truetype(findfont(properties), size)


def cut(figure, box, width):
    """Return the part of a figure in a box (left, top, width, height), drawn for a width in pixels."""
    left, top, box_width, box_height = (side * width / box[2] for side in box)
    dpi = figure.dpi
    figure.set_dpi(100 * width / box[2])
    image = Image.fromarray(style.pixels(figure))
    figure.set_dpi(dpi)
    x = round(left)
    y = round(top)
    return image.crop((x, y, x + round(box_width), y + round(box_height)))


# ---------------------------------------------------------------- the file


def save(pictures, path):
    """Save an endless GIF with one palette; each picture after the first stores only the changes."""
    palette = common_palette(pictures[:: max(1, len(pictures) // 4)])
    first, *rest = [with_palette(picture, palette) for picture in pictures]
    first.save(
        path,
        save_all=True,
        append_images=rest,
        duration=[MILLISECONDS] * len(rest) + [LAST_MILLISECONDS],
        loop=0,
        disposal=1,
    )


def common_palette(pictures):
    """Return 256 colours (256, 3): all colours of the house style, then the most common others."""
    width, height = SIZE
    stack = Image.new("RGB", (width, height * len(pictures)))
    for i, picture in enumerate(pictures):
        stack.paste(picture, (0, i * height))
    house = dict.fromkeys(filter(is_color_like, vars(style).values()))
    values = []
    for colour in house:
        values += [round(255 * part) for part in to_rgb(colour)]
    reduced = stack.quantize(
        256 - len(house), Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
    )
    values += reduced.getpalette()
    return np.array(values[:768]).reshape(-1, 3)


def with_palette(picture, palette):
    """Return a picture with each pixel replaced by the nearest colour of a palette (n, 3).

    Pillow's own search is approximate and tints white.
    """
    packed = np.asarray(picture).astype(np.int64) @ (65536, 256, 1)
    values, places = np.unique(packed, return_inverse=True)
    colours = np.stack([values >> 16, values >> 8 & 255, values & 255], axis=1)
    squares = (colours**2).sum(1)[:, None]
    distances = squares - 2 * colours @ palette.T + (palette**2).sum(1)
    nearest = distances.argmin(axis=1).astype(np.uint8)
    indexed = Image.fromarray(nearest[places].reshape(packed.shape), "P")
    indexed.putpalette(palette.astype(np.uint8).tobytes())
    return indexed


if __name__ == "__main__":
    main()
