"""Load the scripts in studies/, which isn't a package."""

import importlib.util
from pathlib import Path

STUDIES = Path(__file__).resolve().parents[1] / "studies"


def load_script(name):
    """Return the script studies/<name>.py as a module, without running its command."""
    spec = importlib.util.spec_from_file_location(name, STUDIES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
