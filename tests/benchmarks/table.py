"""Measure the speed of all environments and write it as tables into docs/speed.md: `make benchmarks`.

- python tests/benchmarks/table.py: measure and write, about eight minutes on an idle machine
- python tests/benchmarks/table.py --quick: short runs, only printed, to try the command itself
- python tests/benchmarks/table.py memory: memory of long runs, only printed; see memory.py
- python tests/benchmarks/table.py scale: throughput of sweeps, into data/scale; see scale.py
- python tests/benchmarks/table.py serve: a class's server under load, into data/class; see serve.py
- python tests/benchmarks/table.py widgets: response times of widgets; see panels.py
- python tests/benchmarks/table.py classroom: simulated teams on a server, into data/class; see classroom.py
- python tests/benchmarks/table.py rehearsal: a class whose server is killed, into data/class; see rehearsal.py
"""

import argparse
import datetime
import os
import platform
import sys
import textwrap
import warnings
from importlib.metadata import version
from pathlib import Path

import cases
import classroom
import memory
import panels
import rehearsal
import scale
import serve
import speed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "speed.md"
BEGIN = "<!-- benchmarks: written by make benchmarks -->"
END = "<!-- end of benchmarks -->"
COPIES = (1, 64, 1024, 16_384)
QUICK = {
    "starts": {"repeats": 1},
    "steps": {"seconds": 0.01, "rounds": 3},
    "batch": {"seconds": 0.02, "rounds": 1},
    "growth": {"seconds": 0.01, "rounds": 1},
}


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "measurement",
        nargs="?",
        default="speed",
        choices="speed memory scale serve widgets classroom rehearsal".split(),
    )
    parser.add_argument(
        "names",
        nargs="*",
        help="widgets: measure only these notebooks, without writing files",
    )
    parser.add_argument(
        "--quick", action="store_true", help="short runs, without writing files"
    )
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    if options.measurement == "memory":
        return memory.main(quick=options.quick)
    if options.measurement == "scale":
        return scale.main()
    if options.measurement == "serve":
        return serve.main()
    if options.measurement == "widgets":
        return panels.main(options.names)
    if options.measurement == "classroom":
        return classroom.main(quick=options.quick)
    if options.measurement == "rehearsal":
        return rehearsal.main(quick=options.quick)
    block = measure(QUICK if options.quick else {})
    print(block)
    if not options.quick:
        write_between(PAGE, block)
        print(f"Written into {PAGE.name}.", file=sys.stderr)
    return 0


def measure(options):
    """Return the block for docs/speed.md: a sentence about the machine, and the tables.

    Args:
        options: Arguments of the functions of `speed`, {function: {argument: value}}.
    """
    worlds = cases.newest()
    sizes = cases.sizes()
    starts = []
    steps = []
    batches = []
    growth = []
    for name in with_progress(worlds, "starts"):
        starts.append(speed.starts(name, **options.get("starts", {})))
    for name in with_progress(worlds, "steps"):
        steps.append(speed.steps(name, **options.get("steps", {})))
    for name in with_progress(worlds, "batches"):
        arguments = options.get("batch", {})
        batches.append([speed.batch(name, copies, **arguments) for copies in COPIES])
    for name, _, first, arguments in with_progress(sizes, "sizes"):
        ratios = speed.growth(name, first, arguments, **options.get("growth", {}))
        growth.append(ratios)
    return "\n\n".join(
        [
            machine(),
            step_table(worlds, steps),
            *batch_table(worlds, batches),
            "<details><summary>How long they take to start, and how they grow</summary>",
            *start_table(worlds, starts),
            growth_table(sizes, growth),
            "</details>",
        ]
    )


def with_progress(items, label):
    """Yield the items, and print each one to stderr before."""
    for item in items:
        name = item if isinstance(item, str) else " ".join(item[:2])
        print(f"{label}: {name}", file=sys.stderr, flush=True)
        yield item


# ---------------------------------------------------------------- text


def machine(today=None):
    """Return the date, the machine and the versions of a measurement as a sentence."""
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "numba", "gymnasium")
    )
    today = today or datetime.date.today()
    return wrapped(
        f"Measured on {today.day} {today:%B %Y} on {processor()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, {packages}, in CPU time:"
    )


def processor():
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [
        line.partition(":")[2].strip()
        for line in lines
        if line.startswith("model name")
    ]
    return names[0] if names else platform.processor() or platform.machine()


def format3(number):
    """Format a number with three significant digits and thousands separators.

    >>> [format3(number) for number in (123456.0, 12.34, 1.234, 0.01234, 9.999)]
    ['123,000', '12.3', '1.23', '0.0123', '10.0']
    """
    number = float(f"{number:.3g}")
    if number >= 100:
        return f"{number:,.0f}"
    places = 2 - int(f"{number:e}".partition("e")[2])
    return f"{number:.{places}f}"


def format2(number):
    """Format a number with two significant digits.

    >>> [format2(number) for number in (123.4, 12.34, 1.234, 0.01234)]
    ['120', '12', '1.2', '0.012']
    """
    number = float(f"{number:.2g}")
    if number >= 10:
        return f"{number:,.0f}"
    places = 1 - int(f"{number:e}".partition("e")[2])
    return f"{number:.{places}f}"


def table(head, rows):
    """Return a Markdown table."""
    lines = ["| " + " | ".join(line) + " |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def wrapped(text):
    """Wrap a paragraph at 120 characters."""
    return "\n".join(textwrap.wrap(text, 120, break_on_hyphens=False))


def short(name):
    """Return an environment's id without the package."""
    return name.removeprefix("pushlab/")


# ---------------------------------------------------------------- tables


def step_table(worlds, results):
    """Return the table of steps through gym.make."""
    head = [
        "`gym.make` with its default wrappers",
        "steps/s",
        "× the time of an empty environment's step",
        "the original, steps/s",
    ]
    rows = []
    for name, result in zip(worlds, results):
        rows.append(
            [
                short(name),
                format3(result["rate"]),
                format2(result["times"]),
                cases.ORIGINALS.get(short(name), ""),
            ]
        )
    return table(head, rows)


def batch_table(worlds, results):
    """Return the table of batches, and a paragraph that explains it.

    Args:
        results: A list for each environment, with a result for each of COPIES.
    """
    head = [
        "`make_vec`, million steps/s (× its floor)",
        *(f"{copies:,} {'copy' if copies == 1 else 'copies'}" for copies in COPIES),
    ]
    rows = []
    for name, batches in zip(worlds, results):
        row = [short(name)]
        for result in batches:
            row.append(f"{format2(result['rate'] / 1e6)} ({format2(result['times'])})")
        rows.append(row)
    return table(head, rows), wrapped(
        "The floor draws the random numbers of a step and copies arrays like its "
        "observations, rewards and flags, and does nothing else. Actions are "
        "arbitrary, and a copy whose episode ends starts the next one."
    )


def start_table(worlds, results):
    """Return the table of starts, and a paragraph that explains it."""
    numba_times = sorted(result["numba"] for result in results)
    numba = numba_times[len(results) // 2]
    head = [
        "CPU seconds of a fresh process",
        "to the third step, cold",
        "first batch of 16 after that",
        "to the third step, warm",
        "first batch of 16 after that",
    ]
    rows = []
    for name, result in zip(worlds, results):
        keys = ("cold", "cold batch", "warm", "warm batch")
        rows.append([short(name), *(format2(result[key]) for key in keys)])
    return table(head, rows), wrapped(
        f"Cold: nothing is compiled yet; warm: all of it is kept from an earlier process. "
        f"Imports are counted; `import numba` alone takes {format2(numba)}."
    )


def growth_table(sizes, results):
    """Return the table of steps at other sizes."""
    head = [
        "a step of 64 copies at other sizes",
        "from",
        *(f"× {factor}" for factor in cases.FACTORS[1:]),
    ]
    rows = []
    for (name, unit, first, _), ratios in zip(sizes, results):
        cells = ["–" if ratio is None else format2(ratio) for ratio in ratios[1:]]
        rows.append([f"{short(name)}: {unit}", f"{first:,}", *cells])
    return table(head, rows)


# ---------------------------------------------------------------- the page


def write_between(path, block):
    """Write a block between the two marks of a file. The file is replaced atomically.

    Raises:
        ValueError: The file doesn't have both marks once, in this order.
    """
    text = path.read_text(encoding="utf-8")
    has_marks = text.count(BEGIN) == text.count(END) == 1
    if not has_marks or text.index(BEGIN) > text.index(END):
        raise ValueError(
            f"{path.name} needs the lines {BEGIN!r} and, below it, {END!r}, once each"
        )
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(f"{before}{BEGIN}\n\n{block}\n\n{END}{after}", encoding="utf-8")
    fresh.replace(path)


if __name__ == "__main__":
    sys.exit(main())
