from .estimators import Estimate as Estimate
from .estimators import direct_method as direct_method
from .estimators import doubly_robust as doubly_robust
from .estimators import (
    doubly_robust_with_shrinkage as doubly_robust_with_shrinkage,
)
from .estimators import effective_sample_size as effective_sample_size
from .estimators import importance_sampling as importance_sampling
from .estimators import magic as magic
from .estimators import naive as naive
from .estimators import per_decision as per_decision
from .estimators import self_normalised as self_normalised
from .estimators import switch_doubly_robust as switch_doubly_robust
from .logs import Episodes as Episodes
from .logs import action_probabilities as action_probabilities
from .logs import cross_fitted_values as cross_fitted_values
from .logs import episodes_from_log as episodes_from_log
from .logs import linear as linear
from .logs import off_policy as off_policy
from .logs import quadratic as quadratic
