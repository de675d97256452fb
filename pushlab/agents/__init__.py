"""Small reference agents behind one protocol; `__init__.pyi` lists them, each loaded when it is first asked for."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
