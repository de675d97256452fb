from .book import Book as Book
from .folder import close_class as close_class
from .folder import new_class as new_class
from .folder import new_token as new_token
from .refusal import Refusal as Refusal
from .refusal import Team as Team
from .room import Room as Room
