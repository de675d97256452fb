"""The experiment that each simulator comes with: what `Experiment` needs to know. All of it can be changed.

Confounders are what a person in charge would look at: those who are worse off are treated, the weakest patients, the
towns with the most infected, the most polluted worlds. So the treated end up worse although treatment helps. Among
rabbits and foxes and for credit it is the other way round in one respect or the other.
"""

# What `Experiment` is given for each simulator where one does not say it oneself.
EXPERIMENTS = {
    "hiv": {
        "treatment": {"epsilon_1": 0.7}, "span": 25.0, "start": "unhealthy",
        "spread": {"T1": 0.3, "T1*": 0.3, "T2": 0.3, "T2*": 0.3, "V": 0.3, "E": 0.8},
        "outcome": "log10 E", "noise": 0.02,
        "confounder": "E", "strength": -1.0,
        "mediator": "log10 E", "halfway": 5.0,
        "words": "RT inhibitor for 25 days; outcome: effectors then"},
    "lotka_volterra": {
        "treatment": {"fox_growth": 0.4}, "span": 2.0, "after": 4.0,
        "spread": 0.2, "logarithms": True,
        "outcome": "foxes", "noise": 1.0, "cost": 6.5,
        "confounder": "rabbits", "strength": 0.8,
        "mediator": "rabbits", "halfway": 1.0,
        "words": "foxes' growth held at 0.4 for 2; outcome: foxes after 4"},
    "opioid": {
        "treatment": {"misuse_reduction": 0.113}, "span": 10.0, "start": "2015",
        "spread": {"nonmedical_users": 0.3, "oud_users": 0.3, "illicit_users": 0.6}, "logarithms": True,
        "outcome": "overdose_deaths / 1000", "better": "lower", "noise": 10.0,
        "confounder": "illicit_users",
        "mediator": "illicit_users", "halfway": 5.0,
        "world": {"config": {"start_time": 2015.0, "end_time": 2030.0}},
        "words": "11.3 % less new misuse a year; outcome: deaths from 2015 to 2025, thousands"},
    "zika": {
        "treatment": {"indoor_spray_use": 0.2}, "span": 20.0,
        "spread": {"susceptible_humans": 0.1, "asymptomatic_humans": 0.3, "symptomatic_humans": 0.3,
                   "recovered_humans": 0.3, "susceptible_mosquitoes": 0.2, "exposed_mosquitoes": 0.4,
                   "infectious_mosquitoes": 0.4}, "logarithms": True,
        "outcome": "symptomatic_humans", "better": "lower", "noise": 10.0, "cost": 30.0,
        "confounder": "asymptomatic_humans",
        "mediator": "infectious_mosquitoes", "halfway": 2.0,
        "words": "a fifth of the houses sprayed for 20 days; outcome: people ill on day 20"},
    "world3": {
        "treatment": {"persistent_pollution_generation_factor": 0.5}, "begin": 75.0, "span": 75.0,
        "spread": 0.1, "logarithms": True,
        "covariates": ("population_15_to_44", "industrial_capital", "service_capital", "arable_land",
                       "nonrenewable_resources", "persistent_pollution"),
        "outcome": "population_* / 1e9", "noise": 0.1, "cost": 0.25,
        "confounder": "persistent_pollution", "strength": 0.8,
        "hidden": ("persistent_pollution", "industrial_capital", "service_capital"),
        "mediator": "persistent_pollution", "halfway": 10.0,
        "world": {"solver": "euler", "dt": 0.5},
        "words": "half the pollution from 1975 on; outcome: people in 2050, billions"},
    "credit": {
        "treatment": {"published": "trained on the past"}, "span": 1.0,
        "outcome": "approved",
        "confounder": "age", "hidden": ("age", "RevolvingUtilizationOfUnsecuredLines"),
        "mediator": "RevolvingUtilizationOfUnsecuredLines", "halfway": 0.5,
        "words": "knows the published score; outcome: approved or not"},
}
