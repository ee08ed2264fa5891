"""The API server's audit log: who wrote what, counted by the server itself.

The server is told to log one line for every write that it has answered, and nothing of its content.
"""

from collections import Counter
from pathlib import Path

import msgspec

_POLICY = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    verbs: [create, update, patch, delete]
  - level: None
"""


class _User(msgspec.Struct, frozen=True):
    username: str


class _Target(msgspec.Struct, frozen=True):
    resource: str = ""
    subresource: str = ""


class _Line(msgspec.Struct, frozen=True, rename="camel"):
    stage: str
    verb: str
    user: _User
    object_ref: _Target = _Target()


def audit_arguments(folder: Path) -> list[str]:
    """Return what an API server is told so that it keeps an audit log in the cluster's folder."""
    policy = folder / "config" / "audit.yaml"
    policy.write_text(_POLICY)
    return [f"--audit-policy-file={policy}", f"--audit-log-path={audit_log(folder)}", "--audit-log-maxsize=10240"]


def audit_log(folder: Path) -> Path:
    """Return the path of the log."""
    return folder / "logs" / "audit.jsonl"


def count_writes(log: Path, since_bytes: int = 0) -> dict[str, Counter[str]]:
    """Return how often each user wrote, by what was done, such as `create pods/binding`."""
    found: dict[str, Counter[str]] = {}
    decoder = msgspec.json.Decoder(_Line)
    with log.open("rb") as file:
        file.seek(since_bytes)
        for text in file:
            if not text.endswith(b"\n"):
                break  # it is being written
            line = decoder.decode(text)
            if line.stage == "ResponseComplete":
                target = line.object_ref
                what = "/".join(part for part in (target.resource, target.subresource) if part)
                found.setdefault(line.user.username, Counter())[f"{line.verb} {what}"] += 1
    return found
