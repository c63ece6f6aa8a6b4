# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The arithmetic of the tables."""

import random
import statistics

SURE_FROM = 8  # samples: of fewer the bootstrap says nothing
RESAMPLES = 5000


def summary(values):
    """Median, lowest and highest; the spread is (highest - lowest) / median. None if empty."""
    if not values:
        return None
    median = statistics.median(values)
    return {"median": median, "min": min(values), "max": max(values),
            "spread": (max(values) - min(values)) / median if median else None}


def ratio(ours, theirs):
    """Of samples that were taken in turn, in the same run: summary(), or None if there are none."""
    values = {sample["run"]: sample["value"] for sample in theirs}
    ratios = [sample["value"] / values[sample["run"]] for sample in ours
              if values.get(sample["run"])]
    found = summary(ratios)
    if len(ratios) >= SURE_FROM:
        found["sure"] = interval(ratios)
    return found


def interval(values):
    """In which the median lies with 95 %, by a bootstrap; the same for the same values."""
    pick = random.Random(1)
    medians = sorted(statistics.median(pick.choices(values, k=len(values)))
                     for _ in range(RESAMPLES))
    return [medians[RESAMPLES // 40], medians[-RESAMPLES // 40 - 1]]


def verdict(value, floor, goal):
    """Larger is better."""
    if value is None or floor is None:
        return None
    if value >= goal:
        return "goal"
    return "floor" if value >= floor else "below"


def verdict_error(value, floor, goal):
    """Smaller is better."""
    if value is None:
        return None
    if value <= goal:
        return "goal"
    return "floor" if value <= floor else "below"


def bound_by_load(samples):
    """Whether a receiver took all that it was offered, which says nothing about its limit."""
    return any("offered" in s for s in samples) \
        and all(s["value"] >= 0.99 * s["offered"] for s in samples)


def datagrams(before, after, payload=None, headers=42):
    """How many datagrams a device received between two readings of its counters.

    A GSO packet that nothing has segmented yet counts as one packet, but with the bytes of its
    headers once and of all its payloads. With `payload` None each packet is one.
    """
    packets = after["rx_packets"] - before["rx_packets"]
    if payload is None:
        return packets
    size = after["rx_bytes"] - before["rx_bytes"]
    return (size - headers * packets) / payload


def rate_error(count, seconds, intended):
    """Relative; positive if too fast."""
    return count / seconds / intended - 1


def search_lossless(trial, start, step=0.9, refine=2, least=1000):
    """The highest rate without loss: down from `start` by `step`, then halving the last step.

    trial(rate) returns (received per second, lost share). Returns the received rate of the best
    trial without loss and the rate asked for, or (None, None).
    """
    rate, bad = start, None
    while rate >= least:
        received, lost = trial(rate)
        if not lost:
            break
        rate, bad = rate * step, rate
    else:
        return None, None
    best = (received, rate)
    for _ in range(refine if bad else 0):
        middle = (best[1] + bad) / 2
        received, lost = trial(middle)
        if lost:
            bad = middle
        else:
            best = (max(received, best[0]), middle)
    return best
