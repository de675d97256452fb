"""The EvalUMAP challenges: choose a whole notification for each context of a user's life."""

import numpy as np

from pushlab.compiled import compiled
from pushlab.datasets import load_user
from pushlab.envs.world import World
from pushlab.metrics.push import POINTS
from pushlab.users import SimulatedUser


@compiled
def push_each(row, action, draws, sheet, starts, arrived, points, probability, opened, actual, reward):
    """Pushes one notification at each copy's row: the user opens it if a uniform number falls below the probability.

    row (n,) which context; action (n, features) codes; draws (n, 2), the second for the actual notification.
    sheet (contexts, codes) holds what each code adds to the log-odds in each context, and arrived (contexts,) how
    likely the actual notification is opened. The last four arrays (n,) are filled.
    """
    for i in range(len(row)):
        moment, log_odds = row[i], 0.0
        for feature in range(len(starts)):
            log_odds += sheet[moment, starts[feature] + action[i, feature]]
        probability[i] = 1 / (1 + np.exp(-log_odds))
        opened[i] = draws[i, 0] < probability[i]
        actual[i] = draws[i, 1] < arrived[moment]
        reward[i] = points[int(actual[i]), int(opened[i])]


class EvalUMAP1(World):
    """Choose a notification for every context of a user's three test months, having learned from three before.

    Observation  MultiDiscrete, int64: the codes of the context that now waits for a notification, in the order of
                 `world.observation_names`: a component a feature (day, time, activity, noise, batteryLevel, charging,
                 headphonesIn, musicActive, proximity, ringerMode; place takes a 0/1 component for each TYPE_* tag).
                 `world.schema.context.decode_one(observation)` gives the words.
    Action       MultiDiscrete, int64: the codes of a whole notification (postingApp, category, numberOfUpdates,
                 subject, priority, ongoing, visibility); `world.schema.notification.encode_one({...})` makes one.
    Reward       points of the challenge, comparing what the user does now with what became of the actual
                 notification: opened→opened +1, dismissed→dismissed 0, dismissed→opened +2, opened→dismissed -1
    Start        the first context of the period; chance begins with the user's answer
    End          terminated after the last context (the last observation repeats it); never truncated
    Info         after a step: "opened" and "actual", bool; "probability" of opening what was sent; and "best", the
                 highest probability that any notification of the catalogue reaches in that context, where the true
                 user is known (a senseless combination, outside the catalogue, may now and then reach more)
    Arguments    user     name of a shipped user, a folder, or a User
                 period   "test" (default), "history" or any other period of the user
                 judge    a SimulatedUser; by default the true one of a shipped user, else a logistic regression
                          fitted to the history
                 actual   "recorded" (default): the actual notification met what the data say; "judge": the judge
                          decides that too, from its own uniform number
    Source       the EvalUMAP 2019 and 2020 challenges (Fraser, Yousuf and Conlan), and their environment gym-push

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/evalumap1-v0", user="mira")
    >>> observation, info = env.reset(seed=7)
    >>> env.unwrapped.world.schema.context.decode_one(observation)["day"]
    '0'
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> sorted(info)
    ['actual', 'best', 'opened', 'probability']
    """

    name = "evalumap1-v0"
    uniforms = 2

    def __init__(self, user="mira", period="test", judge=None, actual="recorded"):
        if actual not in ("recorded", "judge"):
            raise ValueError(f"actual is 'recorded' or 'judge'; got {actual!r}")
        self.user = load_user(user)
        if period not in self.user.periods:
            raise ValueError(f"user {self.user.name} has the periods {', '.join(self.user.periods)}; got {period!r}")
        self.period = self.user.periods[period]
        self.schema = self.period.schema
        self.judge = judge if judge is not None else SimulatedUser.of(self.user)
        contexts, self._length = self.period.context_codes, len(self.period)
        # One row more than there are contexts: what is observed once the last one has had its notification.
        self._contexts = np.concatenate([contexts, contexts[-1:]])
        base, self._sheet = self.judge.sheet(contexts)
        self._sheet[:, :self.schema.notification.sizes[0]] += base[:, None]     # every notification has a first feature
        self._arrived = (self.period.opened.astype(float) if actual == "recorded"       # 1 and 0: certain
                         else self.judge.probability(contexts, self.period.notification_codes))
        self._best = (self.judge.best_probability(contexts, self.user.catalogue_codes)
                      if self.judge.name == "truth" else None)
        self.observation_space, self.action_space = self.schema.context.space, self.schema.notification.space
        self.observation_names, self.action_names = self.schema.context.components, self.schema.notification.components
        self.action_choices = [(feature.name, list(feature.words)) for feature in self.schema.notification]

    def __len__(self):
        return self._length

    @property
    def task(self):
        """What the lifelong metrics call this world: each user is a task of its own."""
        return f"{self.name}:{self.user.name}"

    def initial(self, draws, options):
        return {"row": np.zeros(len(draws), np.int64)}

    def advance(self, state, action, draws):
        row = state["row"]
        n = len(row)
        probability, reward = np.empty(n), np.empty(n)
        opened, actual = np.empty(n, np.bool_), np.empty(n, np.bool_)
        push_each(row, action, draws, self._sheet, self.schema.notification.starts, self._arrived, POINTS,
                  probability, opened, actual, reward)
        outcome = {"row": row, "action": action, "opened": opened, "actual": actual, "probability": probability,
                   "reward": reward}
        if self._best is not None:
            outcome["best"] = self._best[row]
        return {"row": row + 1}, outcome

    def observe(self, state):
        return self._contexts[state["row"]]

    def terminated(self, state):
        return state["row"] == self._length

    def info(self, state, outcome):
        if outcome is None:
            return {}
        return {key: outcome[key] for key in ("opened", "actual", "probability", "best") if key in outcome}

    def frame(self, state, outcome, at=0):
        row = int(state["row"][at])
        return {"env": self.name, "user": self.user.name, "step": row, "of": len(self),
                "context": self.schema.context.decode_one(self._contexts[row]),
                "push": None if outcome is None else self._pushed(outcome, at),
                "labels": {**self.schema.context.labels(), **self.schema.notification.labels()}}

    def _pushed(self, outcome, at):
        best = outcome["best"][at].item() if "best" in outcome else None
        return {"context": self.schema.context.decode_one(self._contexts[outcome["row"][at]]),
                "notification": self.schema.notification.decode_one(outcome["action"][at]), "best": best,
                **{key: outcome[key][at].item() for key in ("opened", "actual", "reward", "probability")}}

    @staticmethod
    def picture(frames, **more):
        from pushlab.plots import phone

        return phone(frames, **more)
