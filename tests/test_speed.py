"""Speed as a ratio to a peer in the same process, so that a slow or busy machine changes nothing: a guard, not a benchmark."""

from __future__ import annotations

from benchmarks.speed import OBJECTS, steps

N, TURNS = 1000, 4
# Twice and more of what `python -m benchmarks.speed` finds; LOF's brute force makes these small sizes its best case.
LARGEST = {"badac: evidence": 0.6, "badac: anomaly": 3.0, "badac: rank": 4.0}


def test_new_objects_cost_no_more_than_a_few_times_lof() -> None:
    wanted = {*LARGEST, "LOF"}
    found = [step for step in steps(N, exact=False) if step.name in wanted]
    for turn in range(TURNS):
        for step in found:
            if step.what == OBJECTS or turn == 0:
                step.run()
    times = {step.name: step.seconds for step in found if step.what == OBJECTS}
    for name, most in LARGEST.items():
        assert times[name] < most * times["LOF"], (name, times)
