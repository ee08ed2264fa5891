"""How late the event loop is: what is due waits for whatever holds the loop."""

import asyncio

STEP_SECONDS = 0.25


class LoopLag:
    """Measures, for as long as `run` runs."""

    def __init__(self) -> None:
        self._most = 0.0

    def take(self) -> float:
        """Return the longest delay, in seconds, since somebody asked last."""
        most, self._most = self._most, 0.0
        return most

    async def run(self) -> None:
        """Sleep, and see how much too long."""
        now = asyncio.get_running_loop().time
        while True:
            due = now() + STEP_SECONDS
            await asyncio.sleep(STEP_SECONDS)
            self._most = max(self._most, now() - due)
