"""What stock kube-scheduler writes to its log about one pod: the score of every node that it found feasible."""

import re
from pathlib import Path
from typing import Final

LOG_ARGUMENTS: Final = ("--vmodule=schedule_one=10",)
"""Beside its normal log: one line for every node and pod, from the file that adds the scores up."""
_SCORE = re.compile(
    r"Calculated node's final score for pod\" pod=\"(?P<pod>[^\"]+)\" node=\"(?P<node>[^\"]+)\" score=(?P<score>-?\d+)"
)


def final_scores(lines: str, pod: str) -> dict[str, int]:
    """Return the total score of every node for a pod (`namespace/name`); none where one node or none was feasible.

    Of several attempts the last counts.
    """
    found = ((match["node"], int(match["score"])) for match in _SCORE.finditer(lines) if match["pod"] == pod)
    return dict(found)


class LogTail:
    """Reads what a log gets from now on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = path.stat().st_size

    def read(self) -> str:
        """Return what was added since the tail was made."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            return file.read().decode("utf-8", "replace")
