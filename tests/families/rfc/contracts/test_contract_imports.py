"""What a check loads."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_a_check_that_asks_spacy_does_not_load_pytorch():
    code = (
        "import sys; from contrafact.families.rfc.contracts import check_pair; "
        "found = check_pair('flipping', 'Sales rose 4%.', 'Sales fell 4%. John Marlow left.'); "
        "assert found.violations and 'spacy' in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
