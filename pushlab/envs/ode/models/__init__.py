"""Dynamical models, a file each: parameters, equations, sources, nothing else."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.ground.arguments import demand, in_short, number, numbers, one_of

if TYPE_CHECKING:
    import pandas as pd

MODELS = (
    "hiv",
    "lotka_volterra",
    "opioid",
    "world3",
    "zika",
)  # modules of this package; each has a `MODEL`
MOST = 1e15  # of a parameter, and of a variable where an episode begins: beyond it sums are no numbers


def parameter(value: Any, unit: str = "", meaning: str = "") -> Any:
    """A field of a Config: its default, the unit it is in, and what it stands for."""
    return field(default=value, metadata={"unit": unit, "meaning": meaning})


@dataclass(frozen=True)
class Variable:
    """A state variable. `edges` are where `bins=True` cuts its range."""

    name: str
    unit: str
    meaning: str
    edges: tuple = ()


@dataclass(frozen=True)
class Intervention:
    """A parameter that an action may set: the options of a Discrete action, the bounds of a Box."""

    name: str
    words: str
    options: tuple
    bounds: tuple


@dataclass(frozen=True)
class Model:
    """What a dynamical model has to say; see `hiv.py` for one.

    Config         frozen dataclass of parameters, with start_time and end_time among them
    variables      the state, in the order of every array
    initial_states  named states, the first of which is the default
    derivative     inlined function (time (n,), y (variables, n), constants (1,) records, dose (interventions, n),
                   slope): fills slope (variables, n)
    reward         inlined function (values (n, variables), dose (n, interventions), constants, earned): fills
                   earned (n,) for the states after a step; with (before, values, …) it sees those before it too
    upper          function (config, start (variables,)) → a bound for each variable that no dose lets it pass
    interventions  what actions may set; a parameter of the same name in Config is what it is set to without one
    presets        named sets of parameters
    signed         names of parameters that may be below 0, as changes of a rate may; rates themselves may not, for no
                   bound would hold
    logarithmic    whether states span orders of magnitude, so that pictures and goals take their logarithms
    goal           {variable: value} to be reached, for the goal-based environment
    settled        function (config, levels) → the whole state (variables,), for a model whose last variables are delays
                   that start in equilibrium: its named states, and whoever gives one, need only give the levels
    indicators     function (values (n, variables), dose (n, interventions), config) → {name: (n,)}, what pictures show
                   that is reckoned from the state
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
    upper: Callable
    interventions: tuple
    source: str
    presets: dict = field(default_factory=dict)
    signed: tuple = ()
    logarithmic: bool = False
    goal: dict = field(default_factory=dict)
    settled: Callable | None = None
    indicators: Callable | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the state variables, in their order."""
        return tuple(variable.name for variable in self.variables)

    def config(self, changes: Any = None, preset: str | None = None) -> Any:
        """The parameters, with those of a preset and then those of `changes` (a dict, or a Config) in their place.

        >>> load_model("hiv").config({"R2": 2000.0}).R2
        2000.0
        """
        own = self.Config()
        demand(
            changes is None or isinstance(changes, (Mapping, self.Config)),
            f"config is None, a dict of parameters of {self.name}, or its Config; got {in_short(changes)}",
        )
        changes = dict(
            vars(changes) if isinstance(changes, self.Config) else changes or {}
        )
        for name in changes:
            one_of(f"config: a parameter of {self.name}", name, vars(own))
        chosen = self.presets.get(
            one_of(f"preset of {self.name}", preset, (None, *self.presets)), {}
        )
        config = replace(own, **chosen | changes)
        least = dict.fromkeys(("start_time", "end_time", *self.signed), -MOST)
        least |= {item.name: min(0, item.bounds[0]) for item in self.interventions}
        for name, value in vars(config).items():
            number(f"config: parameter {name}", value, least.get(name, 0), MOST)
        demand(
            config.end_time > config.start_time,
            f"config: end_time comes after start_time ({config.start_time}); got {config.end_time}",
        )
        return config

    def constants(self, config: Any) -> np.ndarray:
        """The parameters as an array (1,) of one record, which the model's functions read by name."""
        records = np.array(
            [tuple(vars(config).values())],
            dtype=[(name, np.float64) for name in vars(config)],
        )
        # Plain Python reads `p.k_1` of a recarray alone, compiled code of both, but of this one sooner.
        return (
            records
            if hasattr(self.derivative, "py_func")
            else records.view(np.recarray)
        )

    def dose(self, config: Any = None) -> np.ndarray:
        """What the interventions are set to without an action, (interventions,); None for the default parameters."""
        return np.array(
            [
                getattr(config or self.Config(), item.name)
                for item in self.interventions
            ],
            np.float64,
        )

    def parameters(self, config: Any = None) -> "pd.DataFrame":
        """A DataFrame of the parameters: name, value, unit, meaning."""
        import pandas as pd

        config = config or self.Config()
        return pd.DataFrame(
            [
                {
                    "parameter": item.name,
                    "value": getattr(config, item.name),
                    **item.metadata,
                }
                for item in fields(config)
            ]
        ).set_index("parameter")

    def told(
        self, config: Any = None, held: Collection[str] | None = None
    ) -> dict[str, Any]:
        """Return what pictures need of the model, a plain dict: the "model" of frames.

        name, title, time_unit  Of the model.
        logarithmic             Whether states span orders of magnitude.
        variables               {name: meaning and unit}.
        interventions           {name: {"words": a short name, "own": the dose of doing nothing, "reach": how far from
                                it a dose can go, "held": whether the agent sets it}}.

        Args:
            config: The parameters, to which interventions return; None for the default ones.
            held: Names of the interventions that the agent sets; None for all.
        """
        own = vars(config or self.Config())
        return {
            "name": self.name,
            "title": self.title,
            "time_unit": self.time_unit,
            "logarithmic": self.logarithmic,
            "variables": {
                item.name: f"{item.meaning or item.name}, {item.unit}"
                for item in self.variables
            },
            "interventions": {
                item.name: {
                    "words": item.words,
                    "own": own[item.name],
                    "held": held is None or item.name in held,
                    "reach": max(abs(bound - own[item.name]) for bound in item.bounds),
                }
                for item in self.interventions
            },
        }

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the variables that a state has to give: all, but the delays of a model that settles them."""
        return (
            self.names[: len(next(iter(self.initial_states.values())))]
            if self.settled
            else self.names
        )

    def state(
        self, state: Any = None, config: Any = None, called: str = "initial_state"
    ) -> np.ndarray:
        """A state as an array (variables,): None for the default, a name, a dict by variable, or numbers in order.

        `config` is what a model that settles its delays settles them with; None for the default parameters. `called` is
        the name of the argument, for errors.
        """
        called = f"{called} of {self.name}"
        if state is None:
            state = next(iter(self.initial_states))
        order = ", ".join(self.levels)
        if isinstance(state, str):
            state = self.initial_states[one_of(called, state, self.initial_states)]
        if isinstance(state, dict):
            demand(
                set(state) in (set(self.names), set(self.levels)),
                f"{called} has the variables {order}; got {in_short(list(state))}",
            )
            state = [state[name] for name in self.names if name in state]
        values = numbers(called, state, of=f"in the order {order}")
        whole = values.shape == (len(self.names),)
        demand(
            (whole or values.shape == (len(self.levels),))
            and (values >= 0).all()
            and (values <= MOST).all(),
            f"{called} is {len(self.levels)} numbers from 0 to {MOST:g}, in the order {order}; "
            f"got {in_short(state)}",
        )
        return values if whole else self.settled(config or self.Config(), values)

    def edges(
        self, observe: Collection[str], bins: Any
    ) -> dict[str, np.ndarray] | None:
        """{variable: increasing edges} of the variables observed: the model's own where bins is True, or bins itself.

        None where bins is None or False. Raises ValueError for edges of other variables, or that do not increase.
        """
        if bins is None or bins is False:
            return None
        if bins is True:
            bins = {
                variable.name: variable.edges
                for variable in self.variables
                if variable.name in observe
            }
        demand(
            isinstance(bins, Mapping),
            f"bins is None, True or {{variable: edges}}; got {in_short(bins)}",
        )
        demand(
            set(bins) == set(observe),
            f"bins gives edges for each variable observed, {', '.join(observe)}; got {in_short(list(bins))}",
        )
        edges = {
            name: numbers(f"bins: the edges of {name}", bins[name]) for name in observe
        }
        for name, values in edges.items():
            demand(
                values.ndim == 1 and len(values) and (np.diff(values) > 0).all(),
                f"bins: the edges of {name} are numbers that increase; got {in_short(bins[name])}",
            )
        return edges


def load_model(model: str | Model) -> Model:
    """A Model by its name, or the Model itself."""
    if isinstance(model, Model):
        return model
    return import_module(
        f"pushlab.envs.ode.models.{one_of('model', model, MODELS)}"
    ).MODEL
