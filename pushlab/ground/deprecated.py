"""How something public says that it is going: one form of warning, for all that docs/versions.md promises."""

import warnings


def deprecated(what: str, instead: str, since: str, until: str, level: int = 3) -> None:
    """Warns whoever called what is going, and says what takes its place and when it goes.

    what     a function, parameter, option or file format, as a user writes it
    instead  what to write from now on
    since    the first version that warns
    until    the version in which it will be gone; a test demands that it then is
    level    of the caller to be named, as `warnings.warn` counts: 3 is whoever called the function that calls this

    A FutureWarning, as those for people who run programs are: Python hides a DeprecationWarning outside of `__main__`.

    >>> def open_share(log):
    ...     deprecated("open_share(log)", "open_rate(log)", since="0.8", until="0.10")
    ...     return 0.5
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     share = open_share(None)
    >>> print(told[0].message)
    open_share(log) is deprecated since pushlab 0.8 and goes in 0.10: use open_rate(log)
    """
    warnings.warn(
        f"{what} is deprecated since pushlab {since} and goes in {until}: use {instead}",
        FutureWarning,
        stacklevel=level,
    )
