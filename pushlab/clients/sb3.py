"""stable-baselines3 and sb3-contrib: a native batch as their VecEnv, and their algorithms as agents."""
