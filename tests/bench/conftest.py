"""The benches are a package next to the tests, not an installed one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
