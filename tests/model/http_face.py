"""The same calls through HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import httpx

from tests.model.faces import Found, Outcomes, Rows, Values, as_json


class Refused(Exception):
    """The service answered with an error."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(f"{status}: {problem}")
        self.status = status


JSON = {"Content-Type": "application/json"}


class Http:
    """The service, with a key of the tenant."""

    name = "http"

    def __init__(self, service: httpx.Client) -> None:
        self.service = service

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._answer(self.service.post(path, content=as_json(body), headers=JSON))

    def _answer(self, answer: httpx.Response) -> Any:
        if not answer.is_success:
            raise Refused(answer.status_code, answer.text)
        return answer.json()

    def remember(self, drafts: Sequence[Values], now: datetime) -> list[tuple[int, str]]:
        stored = self.post("/v1/memories/batch", {"drafts": drafts, "now": now})
        return [(one["id"], one["outcome"]) for one in stored]

    def record(self, items: Sequence[Values], now: datetime) -> int:
        accesses = [
            {"memory" if name == "memory_id" else name: item[name] for name in item} for item in items
        ]
        return int(self.post("/v1/accesses", {"accesses": accesses, "now": now})["count"])

    def link(self, source: int, target: int, relation: str, weight: float, now: datetime) -> bool:
        body = {"source": source, "target": target, "relation": relation, "weight": weight, "now": now}
        return bool(self.post("/v1/links", body)["changed"])

    def supersede(self, old: int, new: int, now: datetime) -> bool:
        return bool(self.post("/v1/supersede", {"old": old, "new": new, "now": now})["changed"])

    def forget(self, memory: int, hard: bool, now: datetime) -> bool:
        asked = {"hard": str(hard).lower(), "now": now.isoformat()}
        return bool(self._answer(self.service.delete(f"/v1/memories/{memory}", params=asked))["changed"])

    def pin(self, memory: int, pinned: bool, now: datetime) -> bool:
        method = "PUT" if pinned else "DELETE"
        answer = self.service.request(method, f"/v1/pins/{memory}", params={"now": now.isoformat()})
        return bool(self._answer(answer)["changed"])

    def judge(self, verdict: str, search: int, ids: Sequence[int], now: datetime) -> int:
        body = {"search_id": search, "memories": list(ids), "now": now}
        return int(self.post(f"/v1/feedback/{verdict}", body)["count"])

    def search(self, request: Values, now: datetime) -> Found:
        asked = request if request.get("log", True) else {**request, "now": now}
        result = self.post("/v1/search", asked)
        return result["search_id"], result["hits"]

    def list(self, wanted: Values, order: str, limit: int, now: datetime) -> Rows:
        asked: Values = {"order": order, "limit": limit, "now": now.isoformat()}
        for name, value in wanted.items():
            asked[name] = value.isoformat() if isinstance(value, datetime) else value
        if "metadata" in asked:
            asked["metadata"] = json.dumps(asked["metadata"])
        listed = self._answer(self.service.get("/v1/memories", params=asked))
        return [dict(one) for one in listed]

    def get(self, memory: int, now: datetime) -> Values:
        answer = self.service.get(f"/v1/memories/{memory}", params={"now": now.isoformat()})
        return dict(self._answer(answer))

    def status(self, now: datetime) -> Values:  # noqa: ARG002 (the service asks by its own clock)
        return dict(self._answer(self.service.get("/v1/status")))

    def edit(self, memory: int, fields: Values, now: datetime) -> str:
        url, asked = f"/v1/memories/{memory}", {"now": now.isoformat()}
        answer = self.service.patch(url, params=asked, content=as_json(fields), headers=JSON)
        return str(self._answer(answer)["outcome"])

    def versions(self, memory: int) -> Rows:
        return list(self._answer(self.service.get(f"/v1/versions/{memory}", params={"limit": 1001})))

    def diff(self, memory: int, earlier: int, later: int | None) -> Rows:
        asked = {"earlier": earlier} if later is None else {"earlier": earlier, "later": later}
        return list(self._answer(self.service.get(f"/v1/differences/{memory}", params=asked)))

    def restore(self, memory: int, version: int, now: datetime) -> str:
        body = as_json({"version": version, "now": now})
        answer = self.service.put(f"/v1/versions/{memory}", content=body, headers=JSON)
        return str(self._answer(answer)["outcome"])

    def changes(self, since: str | None, limit: int, kinds: Sequence[Any] | None) -> Rows:
        asked: Values = {"limit": limit}
        asked |= {name: value for name, value in (("since", since), ("kinds", kinds)) if value is not None}
        return list(self._answer(self.service.get("/v1/changes", params=asked)))

    def change_cursor(self) -> str:
        return str(self._answer(self.service.get("/v1/changes/cursor"))["cursor"])

    def plan_dedupe(self, now: datetime) -> Values:
        return dict(self.post("/v1/plans/dedupe", {"now": now}))

    def apply(self, plan: int, now: datetime) -> Outcomes:
        url, asked = f"/v1/plans/{plan}/apply", {"now": now.isoformat()}
        outcome = self._answer(self.service.post(url, params=asked))
        return {one["id"]: (one["outcome"], one["note"]) for one in outcome["results"]}

    def undo(self, plan: int, now: datetime) -> int:
        url, asked = f"/v1/plans/{plan}/undo", {"now": now.isoformat()}
        return int(self._answer(self.service.post(url, params=asked))["restored"])
