"""How late the event loop is."""

import asyncio
import time

from longshore.scheduling.lag import STEP_SECONDS, LoopLag


async def test_what_holds_the_loop_shows_once():
    lag = LoopLag()
    task = asyncio.create_task(lag.run())
    await asyncio.sleep(0.01)
    time.sleep(STEP_SECONDS + 0.5)
    await asyncio.sleep(0.01)
    assert lag.take() >= 0.4
    assert lag.take() == 0.0
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
