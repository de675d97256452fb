"""Dynamical models: parameters, variables, interventions and equations. `load_model` returns a simulator's model."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, make_dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pushlab.utils.arguments import (
    ORIGINAL_NAMES,
    require,
    short_repr,
    validate_array,
    validate_choice,
    validate_number,
)

if TYPE_CHECKING:
    import pandas as pd

SIMULATORS = ("hiv", "lotka_volterra", "opioid", "world3", "zika")
MAX_VALUE = 1e15  # of a parameter, and of a variable in an initial state


class Variable(NamedTuple):
    """A state variable.

    Attributes:
        name: Name of the variable.
        unit: Unit of its values.
        meaning: Description of the variable.
    """

    name: str
    unit: str
    meaning: str


class Intervention(NamedTuple):
    """A parameter that an action can set.

    Attributes:
        name: Name of the parameter.
        label: Label in pictures and names of actions.
        bounds: Smallest and largest dose of a Box action.
        options: Doses of a Discrete action; by default the bounds.
    """

    name: str
    label: str
    bounds: tuple
    options: tuple = ()


@dataclass(frozen=True)
class Model:
    """A dynamical model; see `pushlab.envs.ode.hiv` for an example.

    Attributes:
        name: Name of the model.
        title: Title in pictures.
        time_unit: Unit of time.
        timestep: Default time between decisions.
        Config: Frozen dataclass of parameters, among them start_time and end_time.
        variables: State variables, in the order of arrays.
        initial_states: Named states; the first is the default.
        derivative: Inlined function (time (n,), y (variables, n), constants (1,) records, dose (interventions, n),
            slope) that fills slope (variables, n).
        reward: Inlined function (before (n, variables), values (n, variables), dose (n, interventions), constants,
            rewards) that fills the rewards (n,), from the states before and after a step.
        upper_bounds: Function (config, start (variables,), ranges) that returns an upper bound of each variable under
            any doses in ranges, {intervention: doses}.
        interventions: Interventions that actions can set. The parameter of the same name in Config is the dose without
            an action.
        presets: Named sets of parameters.
        signed: Names of parameters that can be negative, such as changes of a rate.
        dt: Length of Euler's steps; None is the adaptive solver.
        logarithmic: Whether states span orders of magnitude. Pictures and goals then use logarithms.
        goal: {variable: value} to reach, for the environment with a goal.
        complete_state: Function (config, levels) that returns a complete state (variables,) from the first variables,
            for a model whose other variables follow from these at the start. Named states then have the first variables
            only.
        indicators: Function (values (n, variables), dose (n, interventions), config) that returns quantities for
            pictures, {name: (n,)}.
    """

    name: str
    title: str
    time_unit: str
    timestep: float
    Config: type
    variables: tuple
    initial_states: dict
    derivative: Callable
    reward: Callable
    upper_bounds: Callable
    interventions: tuple
    presets: dict = field(default_factory=dict)
    signed: tuple = ()
    dt: float | None = None
    logarithmic: bool = False
    goal: dict = field(default_factory=dict)
    complete_state: Callable | None = None
    indicators: Callable | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the state variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the variables that an initial state needs: all, unless the model has `complete_state`."""
        return self.names[: len(next(iter(self.initial_states.values())))]

    def config(self, changes: Any = None, preset: str | None = None) -> Any:
        """Return the parameters, updated by a preset and then by `changes`, a dict or a Config.

        >>> load_model("hiv").config({"R2": 2000.0}).R2
        2000.0
        """
        config = updated_config(self.name, self.Config(), self.presets, changes, preset)
        signed = ("start_time", "end_time", *self.signed)
        for name, value in vars(config).items():
            minimum = -MAX_VALUE if name in signed else 0
            validate_number(f"config: parameter {name}", value, minimum, MAX_VALUE)
        require(
            config.end_time > config.start_time,
            f"config: end_time must be after start_time ({config.start_time}); got {config.end_time}",
        )
        return config

    def constants(self, config: Any) -> np.ndarray:
        """Return the parameters as one record (1,), which the model's functions read by name.

        It also has `log_NAME`, the natural logarithm of 1 + NAME, for each signed parameter.
        """
        values = dict(vars(config))
        with np.errstate(all="ignore"):  # a change can be -1
            for name in self.signed:
                values[f"log_{name}"] = np.log1p(values[name])
        records = np.array(
            [tuple(values.values())], [(name, np.float64) for name in values]
        )
        # Plain Python needs a recarray to read attributes; compiled code is faster with a plain record.
        if hasattr(self.derivative, "py_func"):
            return records
        return records.view(np.recarray)

    def dose(self, config: Any) -> np.ndarray:
        """Return the doses without an action, (interventions,)."""
        doses = [getattr(config, item.name) for item in self.interventions]
        return np.array(doses, np.float64)

    def parameters(self) -> pd.DataFrame:
        """Return a DataFrame of the parameters: name, value, unit, meaning."""
        import pandas as pd

        rows = [
            {"parameter": item.name, "value": item.default, **item.metadata}
            for item in fields(self.Config)
        ]
        return pd.DataFrame(rows).set_index("parameter")

    def plot_metadata(
        self, config: Any = None, controlled: Collection[str] | None = None
    ) -> dict[str, Any]:
        """Return a description of the model for pictures: the entry "model" of frames.

        - `name`, `title`, `time_unit`, `logarithmic`: Attributes of the model.
        - `variables`: {name: meaning and unit}.
        - `interventions`: {name: description}, with `label`, the label; `default_dose`, the dose without an
          action; `max_dose_deviation`, the largest difference from it; and `is_controlled`, whether the agent sets it.

        Args:
            config: The parameters; None for the default ones.
            controlled: Names of the interventions that the agent sets; None for all.
        """
        parameters = vars(config or self.Config())
        interventions = {}
        for item in self.interventions:
            dose = parameters[item.name]
            interventions[item.name] = {
                "label": item.label,
                "default_dose": dose,
                "is_controlled": controlled is None or item.name in controlled,
                "max_dose_deviation": max(abs(bound - dose) for bound in item.bounds),
            }
        return {
            "name": self.name,
            "title": self.title,
            "time_unit": self.time_unit,
            "logarithmic": self.logarithmic,
            "variables": {
                item.name: f"{item.meaning or item.name}, {item.unit}"
                for item in self.variables
            },
            "interventions": interventions,
        }

    def state(self, state: Any = None, config: Any = None) -> np.ndarray:
        """Return a state as an array (variables,).

        Args:
            state: None for the default, a name, {variable: value}, or numbers in the order of the variables.
            config: Parameters for `complete_state`; None for the default ones.

        Raises:
            ValueError: The name is unknown, or variables are missing, unknown or out of range.
        """
        argument = f"initial_state of {self.name}"
        if state is None:
            state = next(iter(self.initial_states))
        if isinstance(state, str):
            state = self.initial_states[
                validate_choice(argument, state, self.initial_states)
            ]
        order = ", ".join(self.levels)
        if isinstance(state, dict):
            for name in state:
                validate_choice(
                    f"{argument}: a variable", name, self.names, ORIGINAL_NAMES
                )
            require(
                set(state) in (set(self.names), set(self.levels)),
                f"{argument} needs the variables {order}; got {short_repr(list(state))}",
            )
            state = [state[name] for name in self.names if name in state]
        values = validate_array(argument, state, description=f"in the order {order}")
        has_valid_shape = values.shape in ((len(self.names),), (len(self.levels),))
        require(
            has_valid_shape and ((values >= 0) & (values <= MAX_VALUE)).all(),
            f"{argument} must be {len(self.levels)} numbers from 0 to {MAX_VALUE:g}, in the order {order}; "
            f"got {short_repr(state)}",
        )
        if len(values) == len(self.names):
            return values
        return self.complete_state(config or self.Config(), values)


def load_model(model: str | Model) -> Model:
    """Return the model of a simulator by its name; a Model is returned as it is."""
    if isinstance(model, Model):
        return model
    name = validate_choice("model", model, SIMULATORS)
    return import_module(f"pushlab.envs.ode.{name}").MODEL


def updated_config(
    name: str, config: Any, presets: Mapping, changes: Any, preset: str | None
) -> Any:
    """Return a Config, updated by a preset and then by `changes`, a dict; another Config replaces it."""
    validate_choice(f"preset of {name}", preset, (None, *presets))
    if isinstance(changes, type(config)):
        return changes
    require(
        changes is None or isinstance(changes, Mapping),
        f"config must be None, a dict of parameters of {name}, or its Config; got {short_repr(changes)}",
    )
    valid_names = [item.name for item in fields(config)]
    for parameter in changes or {}:
        validate_choice(
            f"config: a parameter of {name}", parameter, valid_names, ORIGINAL_NAMES
        )
    return replace(config, **{**presets.get(preset, {}), **(changes or {})})


def whynot_preset(reference: str | None, preset: str | None) -> str | None:
    """Return the preset; with a reference, None becomes "whynot"."""
    validate_choice("reference", reference, (None, "whynot-0.12"))
    return "whynot" if preset is None and reference else preset


# ---------------------------------------------------------------- tables of data


def read_table(text: str) -> list[list[str]]:
    """Return the rows of a table in text.

    A line is a row. Cells are separated by two blanks or more; "-" is an empty cell.

    >>> read_table('''
    ... k_1  8e-7  -  infection of type 1 cells
    ... ''')
    [['k_1', '8e-7', '', 'infection of type 1 cells']]
    """
    lines = filter(None, map(str.strip, text.splitlines()))
    return [
        ["" if cell == "-" else cell for cell in re.split(r"\s{2,}", line)]
        for line in lines
    ]


def read_variables(text: str) -> tuple[Variable, ...]:
    """Return the variables in a table with the columns name, unit, meaning."""
    return tuple(Variable(*cells) for cells in read_table(text))


def read_interventions(text: str) -> tuple[Intervention, ...]:
    """Return the interventions in a table with the columns name, label, lower bound, upper bound, options."""
    interventions = []
    for name, label, low, high, cell in read_table(text):
        options = tuple(map(float, cell.split()))
        bounds = (float(low), float(high))
        interventions.append(Intervention(name, label, bounds, options))
    return tuple(interventions)


def config_class(module: str, name: str, text: str) -> type:
    """Return a frozen dataclass with the parameters in a table with the columns name, value, unit and meaning.

    Args:
        module, name: Module and name of the class, which pickling of its instances needs.
        text: The table.
    """
    columns = []
    for parameter, value, unit, meaning in read_table(text):
        metadata = {"unit": unit, "meaning": meaning}
        column = field(default=float(value), metadata=metadata)
        columns.append((parameter, float, column))
    config = make_dataclass(name, columns, frozen=True)
    config.__module__ = module
    return config
