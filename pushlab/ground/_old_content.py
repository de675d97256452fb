"""What a function or a module is made of, as a checksum: the key of everything that is kept because it took long.

Compiled loops and the kept results of studies are found again by it, so that an edited line always counts: whatever
they reach is part of it, in whatever file it stands. Comments, a docstring's words and places in a file are not.
"""

import ast
import functools
import hashlib
import re
import sys
import sysconfig
from importlib.metadata import version
from importlib.util import resolve_name
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from gymnasium.envs.registration import registry


class Unknown(ValueError):
    """What a function reaches has a content that cannot be told, so nothing may be kept of it."""


# ---------------------------------------------------------------- a function


def of_function(function: Any, met: dict | None = None) -> str:
    """A checksum (hexadecimal) of a function and of all the functions, tables and numbers that it reaches.

    met   a dict that is filled with the functions on the way, {id: function}

    Where a function is compiled, its options count as well. Functions are followed through every module, and looked at
    as they are now: ask when all is loaded. Raises Unknown for an object that is no function, module, array, number or
    words: its content cannot be told, as of a class.

    >>> def area(radius): return PI * radius ** 2
    >>> area.__globals__["PI"], before = 3.0, of_function(area)
    >>> area.__globals__["PI"] = 3.14
    >>> before == of_function(area)
    False
    """
    met = {} if met is None else met
    try:
        return hashlib.sha256(repr(_parts(function, met, {})).encode()).hexdigest()
    except (RecursionError, AttributeError) as error:
        raise Unknown(
            f"what {function!r} is made of cannot be told: {error}"
        ) from error


PLAIN = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    np.bool_,
    np.number,
    np.dtype,
)


def _parts(thing, met, numbers):
    """What tells a thing from others: numbers and words in tuples, of which repr is the same in every process."""
    function = getattr(
        thing, "py_func", thing
    )  # of a compiled loop, the function that it was
    if isinstance(function, FunctionType) and not _known_by_name(function.__module__):
        if id(function) in numbers:
            return numbers[id(function)]
        numbers[id(function)], met[id(function)] = f"function {len(numbers)}", thing
        names = _names(function.__code__)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        more = [
            *cells,
            *(function.__defaults__ or ()),
            *sorted((function.__kwdefaults__ or {}).items()),
        ]
        options = {
            **getattr(thing, "targetoptions", {}),
            **{
                str(key): str(value)
                for key, value in (getattr(thing, "locals", None) or {}).items()
            },
        }
        return (
            function.__module__,  # where numba looks for it again
            _code(function.__code__, function.__doc__),
            [
                (name, _parts(value, met, numbers))
                for name, value in sorted(options.items())
            ],
            [_parts(part, met, numbers) for part in more],
            [
                (name, _attributes(function.__globals__[name], names, met, numbers))
                for name in names
                if name in function.__globals__
            ],
        )
    if isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
        layout = thing.flags.c_contiguous, thing.flags.f_contiguous
        return (
            str(thing.dtype),
            thing.shape,
            layout,
            hashlib.sha256(thing.tobytes()).hexdigest(),
        )
    if isinstance(thing, tuple | list):
        return (
            type(thing).__name__,
            getattr(thing, "_fields", ()),
            [_parts(part, met, numbers) for part in thing],
        )
    if isinstance(thing, set | frozenset):  # in another order in the next process
        return sorted(repr(_parts(part, met, numbers)) for part in thing)
    if type(thing) in PLAIN or isinstance(thing, np.bool_ | np.number | np.dtype):
        return type(thing).__name__, repr(thing)
    home = (
        getattr(thing, "__module__", None)
        or type(getattr(thing, "__self__", None)).__module__
    )
    if isinstance(
        thing, type | FunctionType | BuiltinFunctionType | np.ufunc
    ) and _known_by_name(home):
        return home, getattr(thing, "__qualname__", getattr(thing, "__name__", ""))
    raise Unknown(f"the content of {thing!r}, a {type(thing).__name__}, cannot be told")


def _attributes(thing, names, met, numbers):
    """The parts of a global; of a module of our own, those of what is asked of it by one of these names."""
    if not isinstance(thing, ModuleType):
        return _parts(thing, met, numbers)
    if _known_by_name(thing.__name__):
        return thing.__name__
    if id(thing) in numbers:
        return numbers[id(thing)]
    numbers[id(thing)] = f"module {thing.__name__}"
    try:
        return [
            (name, _attributes(getattr(thing, name), names, met, numbers))
            for name in names
            if hasattr(thing, name)
        ]
    finally:
        del numbers[id(thing)]  # other names may be asked of it elsewhere


@functools.cache
def _known_by_name(module):
    """Whether a module is Python's own, numpy's or numba's: those change with an installation."""
    root = (module or "").partition(".")[0]
    if root in ("numpy", "numba", "builtins"):
        return True
    file = getattr(sys.modules.get(root), "__file__", None)
    return root in sys.stdlib_module_names and (
        file is None or Path(file).is_relative_to(sysconfig.get_path("stdlib"))
    )


def _names(code):
    """The names that code asks for, and the code within it: globals, and attributes too."""
    return sorted(
        {
            *code.co_names,
            *(
                name
                for part in code.co_consts
                if isinstance(part, CodeType)
                for name in _names(part)
            ),
        }
    )


def _code(code, doc):
    """What code does, without its lines and words of explanation."""
    constants = [
        _code(part, None)
        if isinstance(part, CodeType)
        else sorted(map(repr, part))
        if isinstance(part, frozenset)
        else repr(part)
        for part in code.co_consts
        if doc is None or part != doc
    ]
    return (
        code.co_code,
        code.co_exceptiontable,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_kwonlyargcount,
        code.co_flags,
        constants,
    )


# ---------------------------------------------------------------- modules

PACKAGE = Path(__file__).resolve().parents[1]
NAMED = re.compile(
    r"(pushlab(?:\.\w+)+)(\.|:\w+)?"
)  # a module in a string: "pushlab.envs.push.world:Push"
TABLE = f"{PACKAGE.name}.envs"  # of environments; put together, so that who compiles does not reach all worlds
COUNTED = ("numpy", "scipy", "scikit-learn", "numba")  # packages whose version counts
PICTURES = re.compile(r"pushlab\.plots\b")


def of_modules(*names: str) -> str:
    """A checksum (hexadecimal) of the files of modules of pushlab, and of all its modules that they reach.

    The versions of the packages that numbers come from count as well.

    >>> of_modules("pushlab.metrics.push") == of_modules("pushlab.metrics.rec")
    False
    """
    sources = [_source(name) for name in sorted(reached(*names))]
    return hashlib.sha256(
        "\n".join([*sources, *map(version, COUNTED)]).encode()
    ).hexdigest()


def reached(*names: str) -> set[str]:
    """The modules of pushlab that these reach, themselves among them: a set of names.

    A module reaches what it imports, anywhere in it, and what it names in words: a module that is loaded by its name,
    all modules of a package if the end of the name is filled in later, and the world of an environment's id. Left out
    are pictures, from which no number comes, and what `import pushlab` alone does, since it knows every world.

    sorted(reached("pushlab.envs.stream"))
    ['pushlab.envs.stream', 'pushlab.ground.compiled', 'pushlab.ground.content', 'pushlab.ground.files']
    """
    found, left = set(), list(names)
    while left:
        name = left.pop()
        if name not in found and not PICTURES.match(name):
            found.add(name)
            left += _named_in(name)
    return found


@functools.cache
def _tree(name):
    """The syntax tree of a module, without docstrings."""
    tree = ast.parse(_file(name).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body[0] = ast.Pass()
    return tree


@functools.cache
def _source(name):
    return f"# {name}\n{ast.unparse(_tree(name))}"


@functools.cache
def _named_in(name):
    """The modules that a module names; the table of environments names all worlds, and whoever asks for one of them."""
    if name == TABLE:
        return []
    found, package = (
        set(),
        name if _file(name).name == "__init__.py" else name.rpartition(".")[0],
    )
    if name != PACKAGE.name:  # whoever holds the package itself may ask for any of them
        found |= {_module(place) for place in _offered(name).values()}
    return sorted((found | named_in(_tree(name), package)) - {None})


def named_in(tree: ast.AST, package: str) -> set[str | None]:
    """The modules of pushlab that the code of a module in this package names."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {
                _module(alias.name) for alias in node.names if alias.name != "pushlab"
            }
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            found |= {_module(f"{source}.{alias.name}") for alias in node.names}
        elif isinstance(node, ast.Attribute):
            asked = ast.unparse(node)
            found |= {_module(asked)} if asked.startswith("pushlab.") else set()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= _in_words(node.value)
    return found


def _in_words(text):
    """The modules that a string names, if it is the name of a module, of something in it, or of an environment."""
    if text in registry and (world := registry[text].kwargs.get("world")):
        return set().union(*map(_in_words, (TABLE, registry[text].entry_point, world)))
    match = NAMED.fullmatch(text)
    if not match:
        return set()
    if match[2] == ".":  # the rest is filled in later
        return {
            f"{match[1]}.{file.stem}"
            for file in PACKAGE.joinpath(*match[1].split(".")[1:]).glob("[!_]*.py")
        }
    return {match[1]} if _file(match[1]) else set()


def _module(name):
    """The module that a dotted name is, or that it is something in; None if it is none of pushlab's."""
    if name.partition(".")[0] != "pushlab":
        return None
    package, _, last = name.rpartition(".")
    return name if _file(name) else _module(_offered(package).get(last, package))


@functools.cache
def _offered(package):
    """{name: dotted name of what it is} of what a package loads when it is asked for it, as its stub says."""
    stub = PACKAGE.joinpath(*package.split(".")[1:], "__init__.pyi")
    lines = ast.parse(stub.read_text(encoding="utf-8")).body if stub.is_file() else []
    return {
        alias.name: ".".join(filter(None, (package, line.module, alias.name)))
        for line in lines
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }


def _file(name):
    """The file of a module, or None."""
    at = PACKAGE.joinpath(*name.split(".")[1:])
    return next(
        (
            file
            for file in (at.with_suffix(".py"), at / "__init__.py")
            if file.is_file()
        ),
        None,
    )
