"""What a function or a module is made of, as a checksum: the key of everything that is kept because it took long.

Compiled loops and the kept results of studies are found again by it, so that an edited line always counts: whatever
they reach is part of it, in whatever file it stands. Comments, docstrings and places in a file are not.
"""

import ast
import functools
import hashlib
import re
import sys
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import numpy as np

# Functions of these are known by name: they change with the package, and that asks for a new installation anyway.
BY_NAME = sys.stdlib_module_names | {"numpy", "numba"}


# ---------------------------------------------------------------- a function

def of_function(function):
    """A checksum (hexadecimal) of a function and of all the functions, tables and numbers that it reaches.

    Where one is compiled, its options count as well. The functions are followed through every module, and looked at as
    they are now: ask when all is loaded.

    >>> def area(radius): return PI * radius ** 2
    >>> area.__globals__["PI"], before = 3.0, of_function(area)
    >>> area.__globals__["PI"] = 3.14
    >>> before == of_function(area)
    False
    """
    return hashlib.sha256(repr(_parts(function, {})).encode()).hexdigest()


def _parts(thing, met):
    """What tells a thing from others: numbers and words in tuples, of which repr is the same in every process."""
    function = getattr(thing, "py_func", thing)                     # of a compiled loop, the function that it was
    if isinstance(function, FunctionType) and function.__module__.partition(".")[0] not in BY_NAME:
        if id(function) in met:
            return met[id(function)]
        met[id(function)] = f"function {len(met)}"
        names = [name for name in _names(function.__code__) if name in function.__globals__]
        inside = [cell.cell_contents for cell in function.__closure__ or ()] + list(function.__defaults__ or ())
        options = _parts(dict(sorted(getattr(thing, "targetoptions", {}).items())), met)
        return (_code(function.__code__, function.__doc__), options, [_parts(part, met) for part in inside],
                [(name, _attributes(function.__globals__[name], _names(function.__code__), met)) for name in names])
    if isinstance(thing, type) and thing.__module__.partition(".")[0] not in BY_NAME:
        return thing.__qualname__, [(name, _parts(part, met)) for name, part in sorted(vars(thing).items())
                                    if isinstance(part, FunctionType)]
    if isinstance(thing, dict):
        return [(repr(name), _parts(part, met)) for name, part in thing.items()]
    if isinstance(thing, np.ndarray):
        return str(thing.dtype), thing.shape, hashlib.sha256(thing.tobytes()).hexdigest()
    if isinstance(thing, set | frozenset):                          # in another order in the next process
        return sorted(map(repr, thing))
    if isinstance(thing, tuple | list):
        return type(thing).__name__, [_parts(part, met) for part in thing]
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))


def _attributes(thing, names, met):
    """The parts of a global; of a module of our own, those of what is asked of it by one of these names."""
    if not isinstance(thing, ModuleType):
        return _parts(thing, met)
    if thing.__name__.partition(".")[0] in BY_NAME:
        return thing.__name__
    return [(name, _attributes(getattr(thing, name), names, met)) for name in names if hasattr(thing, name)]


def _names(code):
    """The names that code asks for, and the code within it: globals, and attributes too."""
    return sorted({*code.co_names, *(name for part in code.co_consts if isinstance(part, CodeType)
                                     for name in _names(part))})


def _code(code, doc):
    """What code does, without its lines and words of explanation."""
    constants = [_code(part, None) if isinstance(part, CodeType)
                 else sorted(map(repr, part)) if isinstance(part, frozenset) else repr(part)
                 for part in code.co_consts if doc is None or part != doc]
    return (code.co_code, code.co_exceptiontable, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
            code.co_argcount, code.co_kwonlyargcount, code.co_flags, constants)


# ---------------------------------------------------------------- modules

PACKAGE = Path(__file__).resolve().parent
NAMED = re.compile(r"(pushlab(?:\.\w+)+)(\.|:\w+)?")         # a module in a string, as in "pushlab.envs.push:Push"
PICTURES = re.compile(r"pushlab\.(plots|widgets)\b")


def of_modules(*names):
    """A checksum (hexadecimal) of the code of modules of pushlab, and of all its modules that they reach.

    >>> of_modules("pushlab.metrics.push") == of_modules("pushlab.metrics.rec")
    False
    """
    return hashlib.sha256("\n".join(_source(name) for name in sorted(reached(*names))).encode()).hexdigest()


def reached(*names):
    """The modules of pushlab that these reach, themselves among them: a set of names.

    A module reaches what it imports, anywhere in it, and what it names in words: a module that is loaded by its name,
    all modules of a package if the end of the name is filled in later, and the world of an environment's id. Left out
    are pictures, from which no number comes, and what `import pushlab` alone does, since it knows every world.

    >>> sorted(reached("pushlab.envs.stream"))
    ['pushlab.compiled', 'pushlab.content', 'pushlab.envs.stream']
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
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return tree


@functools.cache
def _source(name):
    return f"# {name}\n{ast.unparse(_tree(name))}"


@functools.cache
def _named_in(name):
    """The modules that a module names."""
    found, package = set(), name if _file(name).name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            found |= {_module(alias.name) for alias in node.names if alias.name != "pushlab"}
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            found |= {_module(f"{source}.{alias.name}") for alias in node.names}
        elif isinstance(node, ast.Attribute):
            asked = ast.unparse(node)
            found |= {_module(asked)} if asked.startswith("pushlab.") else set()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= _in_words(node.value)
    return sorted(found - {None})


def _in_words(text):
    """The modules that a string names, if it is the name of a module, of something in it, or of an environment."""
    table = import_module(f"{__package__}.envs").TABLE      # not by its name: whoever compiles would reach every world
    worlds = {name: world for name, world, _ in table}
    if text in worlds:
        return {f"{__package__}.envs.shell", *_in_words(worlds[text])}
    match = NAMED.fullmatch(text)
    if not match:
        return set()
    if match[2] == ".":                                     # the rest is filled in later
        return {f"{match[1]}.{file.stem}" for file in PACKAGE.joinpath(*match[1].split(".")[1:]).glob("[!_]*.py")}
    return {match[1]} if _file(match[1]) else set()


def _module(name):
    """The module that a dotted name is, or that it is something in; None if it is none of pushlab's."""
    if name.partition(".")[0] != "pushlab":
        return None
    return name if _file(name) else _module(name.rpartition(".")[0])


def _file(name):
    """The file of a module, or None."""
    at = PACKAGE.joinpath(*name.split(".")[1:])
    return next((file for file in (at.with_suffix(".py"), at / "__init__.py") if file.is_file()), None)
