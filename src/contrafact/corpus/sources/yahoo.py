"""Yahoo Finance's headline feed, by ticker: title, summary, day and address of recent articles.

RFC-BENCH, section 2.2.1 and appendix B. The feed holds a stock's newest articles only, so a window
is filled by fetching again and again (``--add``) while it passes.
"""

import re
from collections.abc import Mapping, Sequence

from contrafact.corpus.sources.base import Get, Page, Request, base_url
from contrafact.corpus.sources.feeds import read_feed
from contrafact.errors import InputError

__all__ = ["BASE_VARIABLE", "Yahoo"]

BASE_VARIABLE = "YAHOO_BASE_URL"
_USUAL = "https://feeds.finance.yahoo.com"
_TICKER = re.compile(r"[A-Z0-9^][A-Z0-9.=^-]{0,14}")


class Yahoo:
    """One feed per ticker.

    Args:
        tickers: Stocks, as Yahoo spells them.
        base: The service's address; else that in the environment, else the public one.

    Raises:
        InputError: A ticker that is none.
    """

    name = "yahoo"
    headers: Mapping[str, str] = {}
    one_host = True

    def __init__(self, tickers: Sequence[str], *, base: str | None = None) -> None:
        self._tickers = list(dict.fromkeys(ticker.strip().upper() for ticker in tickers))
        for ticker in self._tickers:
            if not _TICKER.fullmatch(ticker):
                raise InputError(f"'{ticker}' is not a ticker", hint="give symbols such as AAPL")
        self._url = base_url(base, BASE_VARIABLE, _USUAL) + "/rss/2.0/headline"

    def first(self) -> list[Request]:
        """Return one request a ticker."""
        return [
            Request(
                ticker,
                self._url,
                {"s": ticker, "region": "US", "lang": "en-US"},
                {"ticker": ticker, "found_by": ticker},
            )
            for ticker in self._tickers
        ]

    def read(self, request: Request, get: Get) -> Page:
        """Ask for a ticker's feed and read its entries."""
        return read_feed(get(request), request)
