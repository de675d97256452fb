"""The table of environments; `import pushlab` registers them with Gymnasium."""

# id, world, what it is in a few words. A world's docstring is the environment's page.
TABLE = (
    ("pushlab/evalumap1-v0", "pushlab.envs.evalumap:EvalUMAP1",
     "choose a whole notification for each context of a user's quarter, having learned from history"),
    ("pushlab/evalumap2-v0", "pushlab.envs.evalumap:EvalUMAP2",
     "the same from a cold start, learning from each answer"),
)


def register_all():
    """Registers every id of the table; strings as entry points keep the import light."""
    from gymnasium.envs.registration import register, registry

    for name, world, _ in TABLE:
        if name not in registry:
            register(name, entry_point="pushlab.envs.shell:Env", vector_entry_point="pushlab.envs.shell:VectorEnv",
                     kwargs={"world": world})
