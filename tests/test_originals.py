"""Names of the originals are ours, or an error says ours. test_docs.py runs the scripts in docs/from_*.md."""

import gymnasium as gym
import pytest

# Parameters in the Config classes of WhyNot 0.12.
WHYNOT = {
    "ODE-HIV-v0": "lambda_1 lambda_2 d_1 d_2 k_1 k_2 f delta m_1 m_2 N_T c rho_1 rho_2 lambda_E b_E K_B d_E K_D "
    "delta_E epsilon_1 epsilon_2 start_time end_time delta_t rtol atol",
    "ODE-LotkaVolterra-v1": "rabbit_growth rabbit_death fox_death fox_growth start_time end_time delta_t",
    "ODE-Opioid-v0": "nonmedical_incidence illicit_incidence nonmedical_to_oud oud_to_illicit nonmedical_to_illicit "
    "nonmedical_overdose oud_overdose illicit_overdose nonmedical_exit oud_exit illicit_exit start_time end_time "
    "delta_t",
    "ODE-Zika-v0": "lambda_h mu_h varphi_h phi nu alpha_h delta_h c kappa beta_a beta_s beta_1 beta_2 epsilon rho "
    "lambda_v mu_v alpha_v theta tau treated_bednet_use condom_use treatment_of_infected indoor_spray_use start_time "
    "end_time delta_t rtol atol",
    "ODE-World3-v1": "industrial_capital_output_ratio average_lifetime_of_industrial_capital "
    "fraction_of_industrial_output_allocated_to_consumption_constant average_lifetime_of_service_capital "
    "service_capital_output_ratio land_yield_factor nonrenewable_resource_usage_factor "
    "persistent_pollution_generation_factor start_time end_time delta_t",
    "Credit-v0": "changeable_features epsilon theta l2_penalty memory base_state start_time end_time delta_t",
}


@pytest.mark.parametrize("name", WHYNOT)
def test_a_parameter_of_whynot_is_ours_or_the_error_says_ours(name):
    for parameter in WHYNOT[name].split():
        expected = rf"'{parameter}' is .* here|config: (parameter )?{parameter} must be"
        with pytest.raises(ValueError, match=expected):
            gym.make(f"pushlab:pushlab/{name}", config={parameter: object()})


MESSAGES = [
    ("RoomEnv-v0", {"num_agents": 2}, "its arguments: room_size, .*mean 'n_agents'?"),
    ("RoomEnv-v0", {"probs": {}}, "no argument 'probs'; .* is p_commonsense, "),
    ("RECEnv-v0", {"n_item": 2}, "no argument 'n_item'; .*; did you mean 'n_items'?"),
    ("ODE-HIV-v0", {"initial_state": {"free_virus": 1.0}}, "'free_virus' is V here"),
    ("ODE-Zika-v0", {"initial_state": {"exposed_mosquitos": 1.0}}, "_mosquitoes'?"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), MESSAGES)
def test_an_unknown_argument_or_variable_gets_our_name(name, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        gym.make(f"pushlab:pushlab/{name}", **arguments)


def test_max_step_ends_an_episode_as_in_room_env():
    for encoding in ("text", "index"):
        arguments = {"max_step": 3, "n_agents": 2, "encoding": encoding}
        env = gym.make("pushlab:pushlab/RoomEnv-v0", **arguments)
        envs = gym.make_vec("pushlab:pushlab/RoomEnv-v0", num_envs=2, **arguments)
        env.reset(seed=0)
        envs.reset(seed=0)
        for is_over in (False, False, True):
            assert env.step(env.action_space.sample())[3] == is_over
            assert (envs.step(envs.action_space.sample())[3] == is_over).all()
