"""`longshore/Placement-v0` behind a pipe, for a process whose Python cannot hold both longshore and its learner.

Reads requests from stdin and answers on stdout, in the order of `proxy.py` beside this file:

    first line in   JSON: the arguments of the environment         out  JSON: shape of an observation, number of actions
    then            R + seed as int64, or -1 for none              out  an answer
                    S + action as int64                            out  an answer

An answer is the reward as float64, one byte for the end of the episode, the mask as bytes, the rows as float32.
"""

import json
import struct
import sys
from typing import Any

import gymnasium
import numpy as np

import longshore.simulator.gym  # noqa: F401 - registers the environment

REQUEST, ANSWER = struct.Struct("<cq"), struct.Struct("<d?")


def serve(source: Any, sink: Any) -> None:
    """Answer until the other side closes the pipe."""
    env = gymnasium.make("longshore/Placement-v0", **json.loads(source.readline()))
    shape, actions = env.observation_space.shape, int(env.action_space.n)
    sink.write(json.dumps({"shape": shape, "actions": actions}).encode() + b"\n")
    sink.flush()
    while request := source.read(REQUEST.size):
        kind, number = REQUEST.unpack(request)
        if kind == b"R":
            rows, info = env.reset(seed=None if number < 0 else number)
            reward, is_over = 0.0, False
        else:
            rows, reward, is_over, _, info = env.step(number)
        sink.write(ANSWER.pack(reward, is_over) + np.asarray(info["action_mask"], np.uint8).tobytes() + rows.tobytes())
        sink.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
