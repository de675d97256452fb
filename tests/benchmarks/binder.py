"""What an image for Binder holds and what its visitors wait for: sizes, first outputs, memory;
docs/binder.md.

- python tests/benchmarks/binder.py sizes: MB of each installed package, the largest first, of this
  environment
- python tests/benchmarks/binder.py first: seconds to notebook 0's first output and to its end, cold
  and warm
- python tests/benchmarks/binder.py memory: MB at most and CPU seconds of the kernel of each
  notebook

Tables in Markdown. Another environment is measured by its own Python.
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
MOST = 20


def sizes():
    """Rows (MB, package, version) of what is installed; files only, without what Python compiles of them later."""
    rows = {}
    for one in distributions():
        files = {
            one.locate_file(file) for file in one.files or () if file.suffix != ".pyc"
        }
        held = sum(Path(file).lstat().st_size for file in files if Path(file).is_file())
        rows[one.metadata["Name"]] = (held / 1e6, one.metadata["Name"], one.version)
    return sorted(rows.values(), reverse=True)


def opened(notebook, until_output):
    """In a process of its own: runs a notebook, or its cells until one shows something, and tells what that took."""
    import resource

    import nbformat
    from nbclient import NotebookClient

    book, began = nbformat.read(notebook, as_version=4), time.perf_counter()
    if until_output:
        first = next(i for i, cell in enumerate(book.cells) if cell.get("outputs"))
        book.cells = book.cells[: first + 1]
    NotebookClient(
        book,
        timeout=None,
        startup_timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(notebook.parent)}},
    ).execute()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        time.perf_counter() - began,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1024,
    )


def run(notebook, until_output=False):
    """(wall seconds, CPU seconds, MB at most of the largest process) of a notebook's kernel, from its start."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(opened, notebook, until_output).result()


def first():
    """Rows of notebook 0, with nothing compiled and after `pushlab warm`, and a sentence on that command."""
    book, rows = ROOT / "notebooks" / "00_start_here.ipynb", []

    def add(name, until, cache):
        os.environ["PUSHLAB_CACHE"] = cache
        wall, cpu, _ = run(book, until)
        rows.append((name, f"{wall:.1f}", f"{cpu:.1f}"))

    for name, until in (("first output, cold", True), ("whole notebook, cold", False)):
        with tempfile.TemporaryDirectory() as cache:
            add(name, until, cache)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PUSHLAB_CACHE"], began = cache, time.perf_counter()
        subprocess.run(
            [sys.executable, "-P", "-m", "pushlab", "warm"],
            check=True,
            capture_output=True,
        )
        kept = (
            sum(
                path.stat().st_size for path in Path(cache).rglob("*") if path.is_file()
            )
            / 1e6
        )
        warmed = f"`pushlab warm` took {time.perf_counter() - began:.0f} s and keeps {kept:.0f} MB"
        add("first output, warm", True, cache)
        add("whole notebook, warm", False, cache)
    return rows, warmed


def table(head, rows):
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def main(what):
    print(
        f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n"
    )
    if what == "sizes":
        rows = sizes()
        table(
            ["MB", "package"],
            [
                (f"{held:.1f}", f"{name} {version}")
                for held, name, version in rows[:MOST]
            ],
        )
        print(f"\n{sum(row[0] for row in rows):.0f} MB in {len(rows)} packages")
    elif what == "first":
        rows, warmed = first()
        table(["notebook 0", "seconds", "CPU seconds"], rows)
        print(f"\n{warmed}")
    else:
        # A copy, as notebooks write files beside themselves.
        with tempfile.TemporaryDirectory() as copy:
            folder = shutil.copytree(ROOT / "notebooks", Path(copy) / "notebooks")
            told = [
                (path.stem, *run(path)) for path in sorted(folder.glob("[0-9]*.ipynb"))
            ]
        table(
            ["notebook", "MB at most", "CPU seconds"],
            [(name, f"{most:.0f}", f"{cpu:.0f}") for name, _, cpu, most in told],
        )


if __name__ == "__main__":
    main(sys.argv[1])
