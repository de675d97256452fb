from .sb3 import to_sb3_vec as to_sb3_vec
