"""A class that plays the challenges on its lecturer's machine: teams, private users, a server, a board."""
