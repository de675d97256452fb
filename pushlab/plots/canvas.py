"""Pixels, sooner: a Matplotlib canvas that keeps the letters it has set, and PNG files packed lightly.

What it draws is what Matplotlib's own canvas draws, pixel by pixel; a test holds that.
"""

import struct
import zlib

import numpy as np
from matplotlib import rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.font_manager import findfont


class _Recorder:
    """Stands for Agg while one text is drawn, and notes its letters: (bitmap, x, y, angle)."""

    def __init__(self, agg):
        self.agg, self.letters = agg, []

    def __getattr__(self, name):
        return getattr(self.agg, name)

    def draw_text_image(self, bitmap, x, y, angle, gc):
        self.letters.append((np.array(bitmap), x, y, angle))
        self.agg.draw_text_image(bitmap, x, y, angle, gc)


class _Renderer(RendererAgg):
    """Agg that keeps the letters of words: those that stand where they stood before are set and not shaped anew.

    Words are most of a picture's time, and from one picture of a widget to the next most of them stay.
    """

    kept: dict[tuple, list] = {}  # shared by all sheets; the same pixels whoever asks

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        more = (
            (mtext.get_fontfeatures(), mtext.get_language())
            if hasattr(mtext, "get_fontfeatures")
            else None
        )
        style = (
            findfont(prop),
            rcParams["text.hinting"],
            rcParams["text.hinting_factor"],
        )
        key = (
            s,
            x,
            y,
            angle,
            hash(prop),
            style,
            self.height,
            self.dpi,
            gc.get_antialiased(),
            more,
        )
        if ismath or key not in self.kept:
            agg = self._renderer
            self._renderer = _Recorder(agg)
            try:
                super().draw_text(gc, x, y, s, prop, angle, ismath, mtext)
                letters = self._renderer.letters
            finally:
                self._renderer = agg
            if not ismath:
                if len(self.kept) >= 4096:
                    self.kept.clear()
                self.kept[key] = letters
            return
        for bitmap, left, bottom, turned in self.kept[key]:
            self._renderer.draw_text_image(bitmap, left, bottom, turned, gc)


class Canvas(FigureCanvasAgg):
    """The canvas of a sheet."""

    def get_renderer(self) -> RendererAgg:
        width, height = self.get_width_height(physical=True)
        renderer = getattr(self, "renderer", None)
        if not isinstance(renderer, _Renderer) or (
            renderer.width,
            renderer.height,
            renderer.dpi,
        ) != (width, height, self.figure.dpi):
            self.renderer = _Renderer(width, height, self.figure.dpi)
        return self.renderer


def png_file(pixels: np.ndarray, dpi: float) -> bytes:
    """Pixels (height, width, 3 or 4) as a file: rows as they are, packed lightly, half the time of Pillow's."""
    height, width, depth = pixels.shape
    rows = np.zeros(
        (height, 1 + width * depth), np.uint8
    )  # a row begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    metre = round(dpi / 0.0254)
    parts = {
        b"IHDR": struct.pack(">2I5B", width, height, 8, {3: 2, 4: 6}[depth], 0, 0, 0),
        b"pHYs": struct.pack(">2IB", metre, metre, 1),
        b"IDAT": zlib.compress(rows.tobytes(), 1),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part))
        + name
        + part
        + struct.pack(">I", zlib.crc32(name + part))
        for name, part in parts.items()
    )
