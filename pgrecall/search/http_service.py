"""What the embedder, the reranker and the language model behind HTTP have in common."""

from __future__ import annotations

import re
from typing import Self

import httpx

from pgrecall.search.http_endpoint import Endpoint, parse_address

_VERSIONED = re.compile(r"/v\d+$")


def address_of(url: str, prefix: str, path: str, version: str) -> httpx.URL:
    """The address of a service: ``url`` with ``path``, after ``version`` if ``url`` ends with none.

    ``prefix`` is that of its settings; a URL that ends with the path is left as it is.

    Raises:
        InvalidInput: it is not http or https, or names no host.
    """
    address = parse_address(url, prefix)
    begun = address.path.rstrip("/")
    if not begun.endswith(path):
        begun += path if _VERSIONED.search(begun) else version + path
    return address.copy_with(path=begun)


class HttpService:
    """One model behind an endpoint; connections are kept until ``close()``, and threads may share it."""

    name: str
    _endpoint: Endpoint

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown!r}, {self.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def shown(self) -> str:
        """Its address without login and query."""
        return self._endpoint.shown

    def close(self) -> None:
        """Closes its connections; it cannot be used again."""
        self._endpoint.close()
