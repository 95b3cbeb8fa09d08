"""Few of many combinations, in which every two values occur together that do in any."""
from itertools import combinations

import numpy as np


def pairs_of(candidates):
    """(candidate, pair of positions) numbers, equal where two candidates share a pair of values."""
    columns = [np.unique(np.array(column), return_inverse=True)[1] for column in zip(*candidates)]
    found, start = [], 0
    for a, b in combinations(columns, 2):
        found.append(start + a * (b.max() + 1) + b)
        start = found[-1].max() + 1
    return np.stack(found, axis=1)


def cover(candidates, cost):
    """Some of the candidates, tuples of values, that hold every pair of values at two positions that any of them holds.

    One after the other the one with the most new pairs for the cube root of its cost, a function of a candidate, because pairs
    that are left for later need a run each; then those without which nothing is missing are left out, the dearest first."""
    pairs, costs = pairs_of(candidates), np.array([cost(each) for each in candidates])
    missing, chosen = np.zeros(pairs.max() + 1, bool), []
    missing[pairs] = True
    while missing.any():
        chosen.append(int(np.argmax(missing[pairs].sum(axis=1) / costs ** (1 / 3))))
        missing[pairs[chosen[-1]]] = False
    times = np.bincount(pairs[chosen].ravel())
    for each in sorted(chosen, key=lambda k: -costs[k]):
        if times[pairs[each]].min() > 1:
            times[pairs[each]] -= 1
            chosen.remove(each)
    return [candidates[k] for k in chosen]
