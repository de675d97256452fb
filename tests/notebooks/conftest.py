"""The tests of the notebooks share modules of this folder, which are no part of pushlab."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
collect_ignore = ["wrong"]       # cells of notebooks, no modules
