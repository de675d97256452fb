"""`pushlab/push-v0`: show, dismiss or defer each arriving notification."""
