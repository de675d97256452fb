"""The tests of the notebooks share modules of this folder, and the checks that the notebooks import."""

import sys
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
sys.path[:0] = [str(Path(__file__).parent), str(NOTEBOOKS / "checks")]
collect_ignore = ["wrong"]  # cells of notebooks, not modules
