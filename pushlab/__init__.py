"""pushlab: personalised notifications and sequential decisions, as environments, metrics and notebooks.

Importing it registers the environments and little else; what is heavy is loaded where it is first used. The names that
a person uses are listed in `__init__.pyi` beside this file.

>>> import pushlab
>>> pushlab.__version__, "rollout" in dir(pushlab)
('0.5.0', True)
"""

import lazy_loader

from pushlab.envs import register_all

__version__ = "0.5.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

register_all()
