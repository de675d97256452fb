"""What anybody's value, function or class is made of, as a checksum: that of a notebook, a file beside it, a library.

`pushlab.ground.content` tells it of pushlab's own loops and modules; a sweep also runs what others wrote, and has to
notice when they edit it. Code of pushlab counts with all that it reaches; what is written in a notebook counts with the
functions, classes and values that it uses; a file of one's own counts with the files of one's own that it imports; an
installed package counts by its version.
"""

import ast
import datetime as dt
import functools
import hashlib
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import packages_distributions, version
from pathlib import Path, PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pushlab.ground import _old_content as content
from pushlab.ground._old_content import Unknown

OWN = "pushlab"
PLAINER = (
    dt.date,
    dt.time,
    dt.timedelta,
    range,
    slice,
    re.Pattern,
    Fraction,
    Decimal,
)  # repr says all of them
INSTALLED = tuple(
    Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib")
)
# What Python itself puts into a class.
OF_EVERY_CLASS = {
    "__dict__",
    "__weakref__",
    "__doc__",
    "__module__",
    "__firstlineno__",
    "__static_attributes__",
    "__abstractmethods__",
    "_abc_impl",
    "__annotate_func__",
    "__annotations_cache__",
}


def of_value(value: Any) -> str:
    """A checksum (hexadecimal) of a value, with all code that it reaches.

    value   numbers, words, arrays, lists, dicts, functions, classes, `functools.partial`, and objects made of these

    Raises Unknown where it cannot be told, such as of an open file.

    >>> def double(x): return 2 * x
    >>> before = of_value([double, {"a": 1}])
    >>> def double(x): return 3 * x
    >>> before == of_value([double, {"a": 1}])
    False
    """
    try:
        return hashlib.sha256(repr(_told(value, {})).encode()).hexdigest()
    except RecursionError as error:
        raise Unknown(
            f"what {value!r:.60} is made of cannot be told: it goes too deep"
        ) from error


def of_env(name: str) -> str:
    """A checksum of the world of a registered environment's id, or of the version of the package that it is from."""
    import gymnasium as gym

    spec = gym.spec(name)
    ours, how = (
        content._in_words(spec.id),
        [spec.kwargs, spec.max_episode_steps, spec.additional_wrappers],
    )
    entry = (
        spec.entry_point
        if isinstance(spec.entry_point, str)
        else of_value(spec.entry_point)
    )
    return repr(
        (
            content.of_modules(*ours)
            if ours
            else (entry, _module(entry.partition(":")[0])),
            of_value(how),
        )
    )


def _told(value, met):
    """The same in every process: numbers and words in tuples and lists."""
    if type(value) in content.PLAIN or isinstance(
        value, np.number | np.bool_ | np.dtype
    ):
        return type(value).__name__, repr(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return (
            str(value.dtype),
            value.shape,
            hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest(),
        )
    if isinstance(value, PLAINER):
        return type(value).__name__, repr(value)
    if isinstance(value, PurePath):
        return (
            "path",
            str(value),
            hashlib.sha256(Path(value).read_bytes()).hexdigest()
            if Path(value).is_file()
            else "",
        )
    if isinstance(value, np.random.Generator):
        return "generator", repr(value.bit_generator.state)
    if type(value).__module__.partition(".")[0] == "pandas" and hasattr(
        value, "to_numpy"
    ):
        return type(value).__name__, _told(
            [
                getattr(value, part).tolist()
                for part in ("index", "columns")
                if hasattr(value, part)
            ]
            + [value.to_numpy().tolist()],
            met,
        )
    if isinstance(value, list | tuple):
        return type(value).__name__, [_told(part, met) for part in value]
    if isinstance(value, dict):
        return "dict", sorted(
            (repr(_told(key, met)), _told(part, met)) for key, part in value.items()
        )
    if isinstance(value, set | frozenset):
        return "set", sorted(repr(_told(part, met)) for part in value)
    if id(value) not in met:
        met[id(value)] = (
            value,
            f"met {len(met)}",
        )  # for what reaches itself; the value keeps its id
        met[id(value)] = value, _told_of(value, met)
    return met[id(value)][1]


def _told_of(value, met):
    """Of what has code: a function, a class, a module, or an object of a class."""
    if isinstance(value, functools.partial):
        return (
            "partial",
            _told(value.func, met),
            _told(value.args, met),
            _told(value.keywords, met),
        )
    if isinstance(value, MethodType):
        return "method", _told(value.__func__, met), _told(value.__self__, met)
    if isinstance(value, staticmethod | classmethod):
        return type(value).__name__, _told(value.__func__, met)
    if isinstance(value, property):
        return "property", [_told(part, met) for part in (value.fget, value.fset)]
    if isinstance(value, ModuleType):
        return _module(value.__name__)
    value = getattr(
        value, "py_func", value
    )  # of a compiled loop, the function that it was
    if isinstance(value, FunctionType):
        return (
            "function",
            value.__qualname__,
            _module(_home(value)),
            _function(value, met),
        )
    if isinstance(value, type | BuiltinFunctionType | np.ufunc):
        home = _module(_home(value) or "numpy")
        files = isinstance(home, tuple) and isinstance(
            home[0], list
        )  # a file of one's own
        return (
            getattr(value, "__qualname__", value.__name__),
            home,
            _class(value, met)
            if isinstance(value, type) and (home is None or files)
            else None,
        )
    if hasattr(value, "__dict__") and not hasattr(value, "fileno"):
        return "object", _told(type(value), met), _told(vars(value), met)
    raise Unknown(
        f"the content of {value!r:.60}, a {type(value).__name__}, cannot be told"
    )


def _function(function, met):
    """A function's code and values, and where no file holds it what it uses."""
    code = function.__code__
    parts = [
        content._code(code, function.__doc__),
        _told([cell.cell_contents for cell in function.__closure__ or ()], met),
        _told(function.__defaults__ or (), met),
        _told(function.__kwdefaults__ or {}, met),
    ]
    if _module(_home(function)) is None:
        names = content._names(code)
        for name in (name for name in names if name in function.__globals__):
            used = function.__globals__[name]
            ours = (
                isinstance(used, ModuleType) and used.__name__.partition(".")[0] == OWN
            )
            asked = (
                {content._module(f"{used.__name__}.{part}") for part in names}
                - {None, OWN}
                if ours
                else ()
            )
            parts.append(
                (name, content.of_modules(*asked) if ours else _told(used, met))
            )
        parts.append(_said({one for one in _constants(code) if isinstance(one, str)}))
    return parts


def _constants(code: CodeType) -> Iterator[Any]:
    for one in code.co_consts:
        yield from _constants(one) if isinstance(one, CodeType) else [one]


def _class(value, met):
    """A class of a notebook, or of a file as it is loaded: what it is made of."""
    kind = (
        "type" if type(value) is type else _told(type(value), met)
    )  # a metaclass of its own
    return [
        kind,
        [_told(base, met) for base in value.__bases__],
        sorted(
            (name, _told(part, met))
            for name, part in vars(value).items()
            if name not in OF_EVERY_CLASS
        ),
    ]


# ---------------------------------------------------------------- modules


def _home(value):
    """The name of the module that a function or class is in; `python -m name` says which one `__main__` is."""
    name, main = getattr(value, "__module__", None), sys.modules["__main__"]
    if name == "__main__" and hasattr(main, value.__qualname__.partition(".")[0]):
        return getattr(getattr(main, "__spec__", None), "name", name)
    return name


def _module(name: str | None):
    """What a module is: its content or its version; None where no file holds it, as in a notebook."""
    if name in ("__main__", "__mp_main__"):
        return None
    root = (name or "builtins").partition(".")[0]
    if root == OWN:
        return content.of_modules(name) if name != OWN else OWN
    if root in sys.stdlib_module_names or _file(name) is None:
        return (
            root if root in sys.stdlib_module_names else _file(root) and _version(root)
        )
    return _version(root) if _installed(_file(root) or _file(name)) else _files(name)


@functools.cache
def _version(root):
    """An installed package and its version, as far as it has one."""
    return root, [
        version(one) for one in sorted(set(packages_distributions().get(root, ())))
    ]


def _installed(file: Path) -> bool:
    return any(file.is_relative_to(folder) for folder in INSTALLED)


def _file(name):
    """The file of a module that is loaded or could be, or None."""
    module = sys.modules.get(name)
    try:
        found = (
            module.__file__
            if module is not None
            else importlib.util.find_spec(name).origin
        )
        return Path(found).resolve() if Path(found).is_file() else None
    except (AttributeError, ImportError, ValueError, TypeError):
        return None


def _files(name):
    """A module in a file of one's own, and such modules that it imports, and what of pushlab they name."""
    left, sources, ours = [name], {}, set()
    while left:
        one = left.pop()
        file = _file(one) if one not in sources else None
        if file is None:
            continue
        if _installed(file):
            sources[one] = _version(one.partition(".")[0])
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        sources[one] = ast.dump(tree)
        _looked_at[str(file)] = hashlib.sha256(sources[one].encode()).hexdigest()
        package = one if file.name == "__init__.py" else one.rpartition(".")[0]
        ours |= content.named_in(tree, package)
        left += (
            [one.rpartition(".")[0]] if "." in one else []
        )  # the package that it is in
        left += [
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        ]
        for node in (
            node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        ):
            source = content.resolve_name(
                "." * node.level + (node.module or ""), package
            )
            left += [source, *(f"{source}.{alias.name}" for alias in node.names)]
        left = [
            one
            for one in left
            if one.partition(".")[0] not in (OWN, *sys.stdlib_module_names)
        ]
    told = {
        one if one != name else "": hashlib.sha256(
            repr(source).encode()
        ).hexdigest()  # whatever its own name
        for one, source in sources.items()
    }
    return sorted(told.items()), content.of_modules(*ours - {None, OWN})


_looked_at: dict[
    str, str
] = {}  # files of one's own, and what they held when they were last told of
_before: dict[str, str] = {}


def own_files_changed() -> bool:
    """Whether a file of one's own was edited between the last two times that it was told of, since this was asked."""
    changed = any(_before.get(file, now) != now for file, now in _looked_at.items())
    _before.update(_looked_at)
    return changed


def _said(words: Iterable[str]):
    """The modules of pushlab that words name, such as an environment's id."""
    return content.of_modules(*set().union(*(content._in_words(one) for one in words)))
