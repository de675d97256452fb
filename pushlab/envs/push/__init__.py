"""`pushlab/push-v0`: show, dismiss or put off each arriving notification."""
