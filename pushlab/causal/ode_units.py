"""Units of an experiment with a dynamical model: both potential outcomes of all of them as one batch."""

import numpy as np

from pushlab.causal.units import Units
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world import ODE
from pushlab.ground.arguments import demand, is_number

LEAST = 1e-12       # below which a logarithm is that of this
REACH = 3.0         # deviations from the start beyond which no unit begins
OPTIONS = ("config", "preset", "solver", "dt", "tolerance")     # of the simulator, that an experiment may give


def check(experiment):
    """ValueError says which field of the experiment does not suit the model."""
    model, known = load_model(experiment.model), [item.name for item in load_model(experiment.model).interventions]
    demand(isinstance(experiment.treatment, dict) and experiment.treatment,
            f"treatment is a dict of interventions of {model.name} ({', '.join(known)}); got {experiment.treatment!r}")
    for name, value in experiment.treatment.items():
        demand(name in known, f"{model.name} has the interventions {', '.join(known)}; got {name!r}")
        low, high = model.interventions[known.index(name)].bounds
        demand(is_number(value) and low <= value <= high, f"{name} lies from {low} to {high}; got {value!r}")
    model.state(experiment.start)
    for name in (experiment.confounder, *(experiment.covariates or ()), *(experiment.hidden or ())):
        demand(name in model.names, f"{model.name} has the variables {', '.join(model.names)}; got {name!r}")
    _spread(experiment, model)
    for name in experiment.world:
        demand(name in OPTIONS, f"world has {', '.join(OPTIONS)}; got {name!r}")
    for name in ("halfway", "span", "measured") if experiment.outcome == "return" else ():
        steps = getattr(experiment, name) / model.timestep
        demand(abs(steps - round(steps)) < 1e-9, f"rewards are added up by whole timesteps of {model.timestep:g}, so "
                                                  f"{name} is some of these; got {getattr(experiment, name)!r}")
    for quantity in (experiment.outcome, experiment.mediator):
        demand(isinstance(quantity, str), f"outcome and mediator are named; got {quantity!r}")
        if quantity != "return" or quantity is experiment.mediator:
            _parts(quantity, model)


def prepare(experiment):
    """The Model."""
    return load_model(experiment.model)


def _spread(experiment, model):
    """Of the variables that a state has to give, (levels,)."""
    spread = experiment.spread
    if isinstance(spread, dict):
        for name in spread:
            demand(name in model.levels, f"{model.name} begins with the variables {', '.join(model.levels)}; got "
                                          f"{name!r}")
        spread = [spread.get(name, 0.0) for name in model.levels]
    values = np.broadcast_to(np.asarray(spread, np.float64), (len(model.levels),))
    demand(np.isfinite(values).all() and (values >= 0).all() and values.any(),
            f"spread is a number above 0, or numbers by variable; got {experiment.spread!r}")
    return values


def _parts(quantity, model):
    """Columns of the state that a quantity such as "log10 A + I / 1000" adds up, the divisor, whether it is a log."""
    words, _, divisor = quantity.removeprefix("log10 ").partition(" / ")
    columns = []
    for name in words.split(" + "):
        begins = name.endswith("*") and name not in model.names
        found = [at for at, one in enumerate(model.names) if one == name or begins and one.startswith(name[:-1])]
        demand(found, f"{model.name} has the variables {', '.join(model.names)}; got {quantity!r}")
        columns += found
    try:
        number = float(divisor or 1)
    except ValueError:
        number = 0.0
    demand(number != 0 and np.isfinite(number), f"a quantity is divided by a number other than 0; got {quantity!r}")
    return columns, number, quantity.startswith("log10 ")


def _measure(quantity, values, model):
    columns, divisor, logarithm = _parts(quantity, model)
    total = values[:, columns].sum(axis=1) / divisor
    return np.log10(np.maximum(total, LEAST)) if logarithm else total


def _in_logarithms(experiment):
    chosen = experiment.logarithms
    return load_model(experiment.model).logarithmic if chosen is None else chosen


def column(experiment, variable):
    """A variable as the covariates call it."""
    return f"log10 {variable}" if _in_logarithms(experiment) else variable


def names(experiment):
    """The covariates that are seen."""
    chosen = experiment.covariates or load_model(experiment.model).levels
    return [column(experiment, name) for name in chosen]


def begin(experiment, n, rng):
    """All variables of `n` units at the moment of the decision, a DataFrame."""
    return _table(experiment, _decision(experiment, n, rng))


def units(experiment, n, rng):
    """`n` Units."""
    model = load_model(experiment.model)
    values = _decision(experiment, n, rng)
    both = np.vstack([values, values])
    doses = {name: np.repeat([np.nan, value], n) for name, value in experiment.treatment.items()}
    moments = sorted({experiment.halfway, experiment.span, experiment.measured} - {0.0})
    moments = [moment for moment in moments if moment <= experiment.measured]
    now, earned = 0.0, np.zeros(2 * n)
    for moment in moments:
        both, reward = _flow(experiment, both, now, moment, doses if now < experiment.span else {})
        earned, now = earned + reward, moment
        if moment == experiment.halfway:
            mediators = _measure(experiment.mediator, both, model)
    outcomes = earned if experiment.outcome == "return" else _measure(experiment.outcome, both, model)
    return Units(_table(experiment, values), outcomes.reshape(2, n).T, mediators.reshape(2, n).T)


def _table(experiment, values):
    import pandas as pd

    model = load_model(experiment.model)
    values = np.log10(np.maximum(values, LEAST)) if _in_logarithms(experiment) else values
    return pd.DataFrame(values, columns=[column(experiment, name) for name in model.names])


def _decision(experiment, n, rng):
    """States (n, variables) at the moment of the decision."""
    model = load_model(experiment.model)
    levels = model.state(experiment.start)[:len(model.levels)]
    values = levels * np.exp(_spread(experiment, model) * _normal(rng, (n, len(levels))))
    if model.settled is not None:
        config = _config(experiment)
        values = np.array([model.settled(config, row) for row in values])
    if experiment.begin:
        values, _ = _flow(experiment, values, -experiment.begin, 0.0, {})
    return values


def _normal(rng, shape):
    """Standard normal numbers between -REACH and REACH: no unit is so far from the others that it is alone."""
    from scipy.special import ndtr, ndtri

    return ndtri(ndtr(-REACH) + rng.random(shape) * (ndtr(REACH) - ndtr(-REACH)))


def _flow(experiment, values, since, until, doses):
    """States (n, variables) at `until`, of those at `since`, times counted from the decision; and rewards added up."""
    world = _world(experiment, since, until)
    dose = np.repeat(world._dose[None], len(values), axis=0)
    for name, given in doses.items():
        at = [item.name for item in world.model.interventions].index(name)
        dose[:, at] = np.where(np.isnan(given), dose[:, at], given)
    earned = np.zeros(len(values))
    for step in range(world.steps):
        values, _, reward = world.flow(values, np.full(len(values), step), dose)
        earned += reward
    return values, earned


def _config(experiment):
    return load_model(experiment.model).config(experiment.world.get("config"), experiment.world.get("preset"))


def _world(experiment, since, until):
    """The simulator from one time to another; its steps matter only where rewards are added up."""
    model, config = load_model(experiment.model), _config(experiment)
    options = {name: value for name, value in experiment.world.items() if name not in ("config", "preset")}
    decision = config.start_time + experiment.begin
    changes = {item: getattr(config, item) for item in config.__dataclass_fields__}
    changes |= {"start_time": decision + since, "end_time": decision + until}
    timestep = min(model.timestep, until - since) if experiment.outcome == "return" else until - since
    return ODE(model, config=changes, timestep=timestep, actions="box", **options)
