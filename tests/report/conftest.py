"""A made-up study of headlines, for reports."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.browser import axe, chromium

__all__ = ["axe", "chromium"]

_MADE_UP = Path(__file__).parents[1] / "support" / "made_up_headlines.py"


@pytest.fixture(scope="session")
def study() -> Any:
    spec = importlib.util.spec_from_file_location("made_up_headlines", _MADE_UP)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.Study()
