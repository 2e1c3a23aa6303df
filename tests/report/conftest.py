"""A made-up study of headlines, for reports."""

from tests.support.browser import axe, chromium
from tests.support.made_up_headlines import study

__all__ = ["axe", "chromium", "study"]
