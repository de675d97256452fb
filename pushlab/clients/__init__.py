"""Tools of other people: environments, agents and logs in the form in which they take them; each loaded when asked for.

`__init__.pyi` lists what there is. Nothing here is needed by pushlab itself, and no library is imported before a
function that hands something to it is called; `pip install 'pushlab[rl]'` brings most of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
