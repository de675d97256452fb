"""`pushlab/RoomEnv-v0`: where are people's things?"""
