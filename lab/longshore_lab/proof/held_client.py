"""A client whose bindings can be held back, so that something can happen between a decision and its binding."""

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from longshore.kube.client import Client
from longshore.kube.errors import Unreachable


class HeldClient(Client):
    """As long as it holds, no binding leaves the machine; everything else does."""

    is_holding = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.targets: dict[str, str] = {}
        """Where the binding of every held pod was to go last, by the binding's path."""
        self.tried_at: dict[str, float] = {}
        """When a binding to each node was tried last, by the monotonic clock."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        timeout_seconds: float = 30.0,
    ) -> bytes:
        """Send a request, unless it is a binding that is held."""
        if path.endswith("/binding") and self.is_holding:
            content = msgspec.json.decode(body) if isinstance(body, bytes) else msgspec.to_builtins(body)
            node = self.targets[path] = content["target"]["name"]
            self.tried_at[node] = time.monotonic()
            raise Unreachable("bindings are held back", was_sent=False)
        return await super().request(
            method, path, query=query, body=body, content_type=content_type, timeout_seconds=timeout_seconds
        )
