"""Structural causal models over finite variables: abduction, action, prediction.

CoBe, section 1: situate the facts (abduction), intervene (action), follow the effects
(prediction). The package knows nothing of stories; `cobe` builds on it.
"""
