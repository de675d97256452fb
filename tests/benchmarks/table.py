"""How fast pushlab is, as tables: measures all worlds and writes what it found into docs/speed.md.
`make benchmarks`.

- python tests/benchmarks/table.py: measure and write, some eight minutes on an idle machine
- python tests/benchmarks/table.py --quick: short runs, printed and not written: to try the command
  itself
- python tests/benchmarks/table.py memory: megabytes over steps, printed; see memory.py
- python tests/benchmarks/table.py scale: cells of a sweep a second, into data/scale; see scale.py
- python tests/benchmarks/table.py serve: a class under load, and killed, into data/class; see
  serve.py
- python tests/benchmarks/table.py widgets: milliseconds from a slider's move to the new picture;
  see panels.py
- python tests/benchmarks/table.py classroom: simulated teams on a server, into data/class; see
  classroom.py
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
import scale
import serve
import speed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "speed.md"
BEGIN, END = (
    "<!-- benchmarks: written by make benchmarks -->",
    "<!-- end of benchmarks -->",
)
COPIES = (1, 64, 1024, 16_384)
QUICK = {
    "starts": {"repeats": 1},
    "steps": {"seconds": 0.01, "rounds": 3},
    "batch": {"seconds": 0.02, "rounds": 1},
    "growth": {"seconds": 0.01, "rounds": 1},
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what",
        nargs="?",
        default="speed",
        choices=["speed", "memory", "scale", "serve", "widgets", "classroom"],
    )
    parser.add_argument(
        "names",
        nargs="*",
        help="widgets: only these notebooks, printed and not written",
    )
    parser.add_argument(
        "--quick", action="store_true", help="short runs, nothing written"
    )
    given = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    if given.what == "memory":
        return memory.main(quick=given.quick)
    if given.what == "scale":
        return scale.main()
    if given.what == "serve":
        return serve.main()
    if given.what == "widgets":
        return panels.main(given.names)
    if given.what == "classroom":
        return classroom.main(quick=given.quick)
    block = measured(QUICK if given.quick else {})
    print(block)
    if not given.quick:
        write_between(PAGE, block)
        print(f"Written into {PAGE.name}.", file=sys.stderr)
    return 0


def measured(how):
    """The block for docs/speed.md: a sentence on the machine, and the tables."""
    worlds = cases.newest()
    started = [
        speed.starts(name, **how.get("starts", {}))
        for name in with_progress(worlds, "starts")
    ]
    stepped = [
        speed.steps(name, **how.get("steps", {}))
        for name in with_progress(worlds, "steps")
    ]
    batches = [
        [speed.batch(name, copies, **how.get("batch", {})) for copies in COPIES]
        for name in with_progress(worlds, "batches")
    ]
    sizes = cases.sizes()
    grown = [
        speed.growth(name, first, arguments, **how.get("growth", {}))
        for name, _, first, arguments in with_progress(sizes, "sizes")
    ]
    return "\n\n".join(
        [
            machine(),
            step_table(worlds, stepped),
            *batch_table(worlds, batches),
            "<details><summary>How long they take to start, and how they grow</summary>",
            *start_table(worlds, started),
            growth_table(sizes, grown),
            "</details>",
        ]
    )


def with_progress(things, words):
    """The things one after the other, each named on the error stream before its turn."""
    for thing in things:
        print(
            f"{words}: {thing if isinstance(thing, str) else ' '.join(thing[:2])}",
            file=sys.stderr,
            flush=True,
        )
        yield thing


# ---------------------------------------------------------------- words


def machine(today=None):
    """Where and when it was measured, in a sentence."""
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "numba", "gymnasium")
    )
    today = today or datetime.date.today()
    return filled(
        f"Measured on {today.day} {today:%B %Y} on {processor()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, {packages}, in CPU time:"
    )


def processor():
    """The processor's name, as the system tells it."""
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


def three(number):
    """A number with three digits that count, large ones with commas.

    >>> [three(number) for number in (123456.0, 12.34, 1.234, 0.01234, 9.999)]
    ['123,000', '12.3', '1.23', '0.0123', '10.0']
    """
    number = float(f"{number:.3g}")
    if number >= 100:
        return f"{number:,.0f}"
    places = 2 - int(f"{number:e}".partition("e")[2])
    return f"{number:.{places}f}"


def two(number):
    """A number with two digits that count.

    >>> [two(number) for number in (123.4, 12.34, 1.234, 0.01234)]
    ['120', '12', '1.2', '0.012']
    """
    number = float(f"{number:.2g}")
    if number >= 10:
        return f"{number:,.0f}"
    places = 1 - int(f"{number:e}".partition("e")[2])
    return f"{number:.{places}f}"


def table(head, rows):
    """A Markdown table."""
    lines = ["| " + " | ".join(line) + " |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def filled(words):
    """A paragraph in lines of 120 characters."""
    return "\n".join(textwrap.wrap(words, 120, break_on_hyphens=False))


def short(name):
    return name.removeprefix("pushlab/")


# ---------------------------------------------------------------- tables


def step_table(worlds, found):
    head = [
        "`gym.make` with its default wrappers",
        "steps/s",
        "× the time of an empty environment's step",
        "the original, steps/s",
    ]
    return table(
        head,
        [
            [
                short(name),
                three(one["rate"]),
                two(one["times"]),
                cases.ORIGINALS.get(short(name), ""),
            ]
            for name, one in zip(worlds, found)
        ],
    )


def batch_table(worlds, found):
    head = [
        "`make_vec`, million steps/s (× its floor)",
        *(f"{copies:,} {'copy' if copies == 1 else 'copies'}" for copies in COPIES),
    ]
    rows = [
        [
            short(name),
            *(f"{two(one['rate'] / 1e6)} ({two(one['times'])})" for one in ones),
        ]
        for name, ones in zip(worlds, found)
    ]
    return table(head, rows), filled(
        "The floor draws the random numbers of a step and copies arrays like its "
        "observations, rewards and flags, and does nothing else. Any actions are taken, "
        "and copies that end begin anew."
    )


def start_table(worlds, found):
    numba = sorted(one["numba"] for one in found)[len(found) // 2]
    head = [
        "CPU seconds of a fresh process",
        "to the third step, cold",
        "first batch of 16 after that",
        "to the third step, warm",
        "first batch of 16 after that",
    ]
    rows = [
        [
            short(name),
            *(two(one[key]) for key in ("cold", "cold batch", "warm", "warm batch")),
        ]
        for name, one in zip(worlds, found)
    ]
    return table(head, rows), filled(
        f"Cold: nothing is compiled yet; warm: all of it is kept from an earlier process. "
        f"Imports are counted; `import numba` alone takes {two(numba)}."
    )


def growth_table(sizes, found):
    head = [
        "a step of 64 copies at other sizes",
        "from",
        *(f"× {times}" for times in cases.TIMES[1:]),
    ]
    rows = [
        [
            f"{short(name)}: {what}",
            f"{first:,}",
            *("–" if ratio is None else two(ratio) for ratio in ratios[1:]),
        ]
        for (name, what, first, _), ratios in zip(sizes, found)
    ]
    return table(head, rows)


# ---------------------------------------------------------------- the page


def write_between(path, block):
    """Puts a block between the two marks of a file, which is replaced whole or not at all.

    Raises ValueError if the marks are not there, one each and in order.
    """
    text = path.read_text(encoding="utf-8")
    if (
        text.count(BEGIN) != 1
        or text.count(END) != 1
        or text.index(BEGIN) > text.index(END)
    ):
        raise ValueError(
            f"{path.name} has no place for it: the lines {BEGIN!r} and, below it, {END!r}, once each"
        )
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(f"{before}{BEGIN}\n\n{block}\n\n{END}{after}", encoding="utf-8")
    fresh.replace(path)


if __name__ == "__main__":
    sys.exit(main())
