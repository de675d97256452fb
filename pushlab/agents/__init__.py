"""Small reference agents with one protocol; `__init__.pyi` lists them, and each is loaded at its first use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
