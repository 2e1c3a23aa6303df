"""Any RSS or Atom feed, by its address."""

from collections.abc import Mapping, Sequence

from contrafact.corpus.sources.base import Get, Page, Request, base_url
from contrafact.corpus.sources.feeds import read_feed
from contrafact.errors import InputError

__all__ = ["Rss"]


class Rss:
    """Feeds, each with the pages that it links to.

    Args:
        addresses: Where the feeds are.

    Raises:
        InputError: No address, or one that is not ``https://`` (nor on the loopback interface).
    """

    name = "rss"
    headers: Mapping[str, str] = {}
    one_host = False

    def __init__(self, addresses: Sequence[str]) -> None:
        if not addresses:
            raise InputError("no feed is named", hint="give its address: news fetch rss https://…")
        for address in addresses:
            base_url(address, "", "")
        self._addresses = addresses

    def first(self) -> list[Request]:
        """Return one request a feed."""
        return [Request(address, address, {}, {"found_by": address}) for address in self._addresses]

    def read(self, request: Request, get: Get) -> Page:
        """Ask for a feed, or its next page, and read its entries."""
        return read_feed(get(request), request)
