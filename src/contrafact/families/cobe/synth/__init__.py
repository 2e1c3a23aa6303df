"""Stories whose right and wrong answers are proven: drawn from causal models, written in English.

CoBe, sections 3.1 and 3.2. A plot is a small causal model over the events of a scene; a draw is a
situation of it, an intervention, a proof of what follows, and texts that assert what the proof
says, or differ from it in a known way.
"""
