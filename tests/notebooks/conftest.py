"""Put this folder and the notebooks' checks on the path: the tests share their modules."""

import sys
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(NOTEBOOKS), str(NOTEBOOKS / "checks")]
collect_ignore = ["wrong"]  # cells of notebooks, not modules
