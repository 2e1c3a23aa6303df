import json
import re
import subprocess
import sys
from importlib.resources import files

import pytest

from contrafact.families import rfc
from contrafact.families.rfc.contracts.directional_cues import cue_words
from contrafact.families.rfc.contracts.pair import Side
from contrafact.families.rfc.contracts.vocabulary import AtWords, pattern_at_words, read_toml

ODD = (
    "Drop-off, drops off; dropoff.",
    "The contract's contracts for a multi-year contract with defence firms",
    "RAISED CAPITAL in the fall of 2024, ra\u0131sed \u017fanctions, \u212aickbacks",
    "x_fraud fraud_x e-fraud 2fraud fraud2 anti-fraud’s",
)


def texts():
    lines = (files(rfc) / "samples" / "contract_pairs_tuning.jsonl").read_text("utf-8").splitlines()
    return [*ODD, *(json.loads(line)["rewritten"] for line in lines[::3])]


@pytest.mark.parametrize("name", ["events", "crimes", "other_senses"])
def test_at_words_only_expressions_that_cannot_begin_there_are_passed_over(name):
    if name == "other_senses":
        expressions, end = read_toml("directional_cues.toml")[name]["phrases"], ""
        quick = cue_words().other_senses
    else:
        expressions, end = read_toml("patterns.toml")[name], r"(?!\w)"
        quick = pattern_at_words(name)
    every = re.compile(rf"(?<!\w)(?=[^\W_])(?:{'|'.join(expressions)}){end}", re.IGNORECASE)
    found = 0
    for text in texts():
        spans = [match.span() for match in Side(text).at_words(quick)]
        assert spans == [match.span() for match in every.finditer(text)], text
        found += len(spans)
    assert found > 2


def test_openings_that_are_not_plain_are_tried_at_every_word():
    odd = AtWords([r"\w+ed off", "(?:very )?odd", "[ab]c", "cut(?:s)? it", "if?f x"])
    assert odd.numbers("odd") == (0, 1, 2)
    assert odd.numbers("cuts") == (0, 2, 3)
    assert odd.numbers("iff") == (0, 2, 4)
    assert odd.numbers("if") == (0, 2, 4)
    assert odd.numbers("oddly") == (0, 1, 2)


def test_a_check_that_asks_spacy_does_not_load_pytorch():
    code = (
        "import sys; from contrafact.families.rfc.contracts import check_pair; "
        "found = check_pair('flipping', 'Sales rose 4%.', 'Sales fell 4%. John Marlow left.'); "
        "assert found.violations and 'spacy' in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
