# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The arithmetic of the tables."""

import statistics
from math import comb

LEVEL = 0.95  # of an interval
NOISE = 0.20  # an interval wider than this part of its median says too little


def interval(values):
    """Returns [low, high] that contain the true median with a probability of LEVEL, or None.

    Both are values of the sample. The true median lies outside the k-th lowest and k-th highest of
    n values with a probability of 2 * P(Binomial(n, 1/2) < k), whatever the distribution. Fewer
    than six values have no such interval.
    """
    n, outside, k = len(values), 0, 0
    while k < n and outside + comb(n, k) <= (1 - LEVEL) / 2 * 2 ** n:
        outside += comb(n, k)
        k += 1
    return [sorted(values)[k - 1], sorted(values)[n - k]] if k else None


def summary(values):
    """Returns the median and its interval, or None if there are no values."""
    if not values:
        return None
    median, ends = statistics.median(values), interval(values)
    return {"median": median, "interval": ends,
            "noise": not ends or ends[1] - ends[0] > NOISE * abs(median)}


def ratio(ours, theirs, smaller_is_better=False):
    """Returns summary() of the ratios of samples from the same turn; above 1 is better for ours."""
    values = {sample["turn"]: sample["value"] for sample in theirs}
    pairs = [(sample["value"], values[sample["turn"]]) for sample in ours
             if values.get(sample["turn"]) and sample["value"]]
    return summary([b / a if smaller_is_better else a / b for a, b in pairs])


def verdict(found, goal):
    """Compares an interval with a goal: reached, missed, or open if the goal is inside."""
    if goal is None or not found or not found["interval"]:
        return None
    low, high = found["interval"]
    return "reached" if low >= goal else "missed" if high < goal else "open"


def datagrams(packets, size, payload=None, headers=42):
    """Returns how many datagrams a device received in so many packets with so many bytes.

    A GSO packet that has not been segmented counts as one packet, with the bytes of its headers
    once and of all its payloads. With `payload` None each packet is one datagram.
    """
    return packets if payload is None else (size - headers * packets) / payload
