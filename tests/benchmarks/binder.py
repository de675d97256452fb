"""Measure the image for Binder: sizes of packages, time to the first output, and memory; see docs/binder.md.

- python tests/benchmarks/binder.py sizes: MB of each installed package, the largest first
- python tests/benchmarks/binder.py first: seconds to notebook 0's first output and to its end, cold and warm
- python tests/benchmarks/binder.py memory: maximum MB and CPU seconds of the kernel of each notebook

Prints Markdown tables. To measure another environment, run its Python.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import distributions
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_ROWS = 20


def sizes():
    """Return rows (MB, package, version) of all installed packages, without compiled Python files."""
    rows = {}
    for distribution in distributions():
        name = distribution.metadata["Name"]
        sources = [f for f in distribution.files or () if f.suffix != ".pyc"]
        paths = {Path(distribution.locate_file(file)) for file in sources}
        size = sum(path.lstat().st_size for path in paths if path.is_file())
        rows[name] = (size / 1e6, name, distribution.version)
    return sorted(rows.values(), reverse=True)


def execute(path, until_output):
    """Run a notebook, or its cells until the first output, and measure it; needs a process of its own.

    Returns:
        Wall seconds, CPU seconds, and maximum MB of the largest process.
    """
    import resource

    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    start = time.perf_counter()
    if until_output:
        has_output = [bool(cell.get("outputs")) for cell in notebook.cells]
        first = has_output.index(True)
        notebook.cells = notebook.cells[: first + 1]
    NotebookClient(
        notebook,
        timeout=None,
        startup_timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        time.perf_counter() - start,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
    )


def run(path, until_output=False):
    """Run `execute` in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(execute, path, until_output).result()


def first():
    """Return rows for notebook 0 with an empty cache and after `pushlab warm`, and a sentence on that command."""
    notebook = ROOT / "notebooks" / "00_start_here.ipynb"
    rows = []

    def add(name, until_output, cache):
        os.environ["PUSHLAB_CACHE"] = cache
        wall, cpu, _ = run(notebook, until_output)
        rows.append((name, f"{wall:.1f}", f"{cpu:.1f}"))

    for name, until_output in (
        ("first output, cold", True),
        ("whole notebook, cold", False),
    ):
        with tempfile.TemporaryDirectory() as cache:
            add(name, until_output, cache)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PUSHLAB_CACHE"] = cache
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-P", "-m", "pushlab", "warm"],
            check=True,
            capture_output=True,
        )
        elapsed = time.perf_counter() - start
        sentence = (
            f"`pushlab warm` took {elapsed:.0f} s and keeps {folder_size(cache):.0f} MB"
        )
        add("first output, warm", True, cache)
        add("whole notebook, warm", False, cache)
    return rows, sentence


def folder_size(folder):
    """Return the size of all files in a folder, in MB."""
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files) / 1e6


def memory():
    """Return rows (notebook, maximum MB, CPU seconds)."""
    # Run a copy, because notebooks write files into their folder.
    with tempfile.TemporaryDirectory() as copy:
        folder = shutil.copytree(ROOT / "notebooks", Path(copy) / "notebooks")
        rows = []
        for path in sorted(folder.glob("[0-9]*.ipynb")):
            _, cpu, megabytes = run(path)
            rows.append((path.stem, f"{megabytes:.0f}", f"{cpu:.0f}"))
    return rows


def print_table(head, rows):
    """Print a Markdown table."""
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def main(measurement):
    """Print the tables of a measurement: "sizes", "first" or "memory"."""
    version = sys.version.split()[0]
    print(f"Python {version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    if measurement == "sizes":
        rows = sizes()
        largest = [(f"{mb:.1f}", f"{name} {v}") for mb, name, v in rows[:MAX_ROWS]]
        print_table(["MB", "package"], largest)
        print(f"\n{sum(row[0] for row in rows):.0f} MB in {len(rows)} packages")
    elif measurement == "first":
        rows, sentence = first()
        print_table(["notebook 0", "seconds", "CPU seconds"], rows)
        print(f"\n{sentence}")
    else:
        print_table(["notebook", "MB at most", "CPU seconds"], memory())


if __name__ == "__main__":
    main(sys.argv[1])
