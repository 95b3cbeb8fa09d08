"""The Taylor series of Hermite's method for a system with constant coefficients, as the fewest sums of shifted coefficients.

With b_0 = R and b_s = tau / s L b_(s-1) the solution after the time tau is the sum of all b_s: the same as algorithm 4 of
Vargas et al. 2016, but b_s can take the place of b_(s-1).  Coefficients are weighted, g_j = product of j_k! / 4^j_k, so that

    L:  w_i[j] = sum over terms (i, k, m, a) of 4 a w_m[j + e_k] + sum over decay (i, m, b) of b w_m[j]

has no factor that depends on j.  Where variables are of two kinds and each depends on the other kind only (pressure and
velocity; electric and magnetic field), L L of one kind makes two stages at once, and the other kind is found where it is
wanted.
"""
from itertools import product
from math import factorial

import numpy as np

LENGTH = 0.25          # weights j! LENGTH^j: between 0.09 and 92 up to j = 13, so that float32 holds products of three


def weights(count):
    """g_j for j below count."""
    return np.array([factorial(j) * LENGTH ** j for j in range(count)])


class Recursion:
    """The sums for a law's terms: each is {variable: {(shift, variable): coefficient}}, shift = (x, y, z).

    stride   stages that `step` makes at once: 1, or 2 with two kinds
    kept     variables with a series of their own, rest: the others
    step     b_s of kept variables from b_(s - stride), to be multiplied with tau / s (and tau / (s - 1))
    begin    with two kinds: b_1 of kept variables from b_0 of the rest, times tau
    gain     with two kinds: the rest from tau times the sum of all b_s / (s + 1) of kept variables, s < stages: L
             is applied once, whatever the number of stages"""

    def __init__(self, tables, variant="monolithic"):
        self.dim, self.variables, self.order = tables.dim, tables.variables, tables.order
        single = {i: {} for i in range(self.variables)}
        for i, k, m, a in tables.terms:
            add(single[i], tuple(int(axis == k) for axis in range(self.dim)), m, a / LENGTH)
        for i, m, b in tables.decay:
            add(single[i], (0,) * self.dim, m, b)
        self.stride, self.kept, self.rest = 1, tuple(range(self.variables)), ()
        self.step, self.begin, self.gain = single, {}, {}
        kinds = two_kinds(single) if variant == "monolithic" and self.dim > 1 else None
        if kinds:
            kept = min(kinds, key=lambda some: size(squared(single, some)))
            if kept and size(squared(single, kept)) <= size(single):
                self.stride, self.kept = 2, tuple(kept)
                self.rest = tuple(i for i in range(self.variables) if i not in kept)
                self.step = squared(single, kept)
                self.begin, self.gain = ({i: single[i] for i in some} for some in (self.kept, self.rest))

    def factor(self, tau, stage):
        """The factor of `step` for b_s, s the stage; of `begin`, b_1, tau."""
        return tau / max(stage, 1) * (tau / (stage - 1) if self.stride == 2 and stage > 1 else 1)

    def bounds(self, stages, pruned):
        """(needed, degree): later stages than s need j with sum max(0, j_k - N) <= needed - s of its coefficients, and those
        with sum j_k > degree - s are zero where nothing decays."""
        most = 2 * self.dim * (2 * self.order + 2) + stages
        decays = any(not any(shift) for terms in self.step.values() for shift, _ in terms)
        return stages if pruned else most, self.dim * (2 * self.order + 1) if pruned and not decays else most

    def lengths(self, stage, stages, pruned):
        """How many coefficients of a kept variable a stage finds in each row of x: {(j_y, j_z): count}."""
        n, m = self.order + 1, 2 * self.order + 2
        needed, degree = self.bounds(stages, pruned)
        found = {}
        for j in rows(m, self.dim):
            left, total = needed - stage - sum(max(0, i - n + 1) for i in j), degree - stage - sum(j)
            if left >= 0 and total >= 0:
                found[j] = min(m, n + left, total + 1)
        return found


def rows(length, dim):
    """(j_y, j_z), as many as there are axes beside x, in the order in which they lie in memory."""
    return [j[::-1] for j in product(range(length), repeat=dim - 1)]


def add(sums, shift, variable, a):
    sums[shift, variable] = sums.get((shift, variable), 0.0) + a


def size(sums):
    """Number of products."""
    return sum(len(terms) for terms in sums.values())


def two_kinds(single):
    """(one kind, the other) where each variable depends on the other kind only; else None."""
    kind = {}
    for first in single:
        kind.setdefault(first, 0)
        changed = True
        while changed:
            changed = False
            for i, terms in single.items():
                for _, m in terms:
                    for a, b in ((i, m), (m, i)):
                        if a in kind and b not in kind:
                            kind[b], changed = 1 - kind[a], True
    if any(kind[i] == kind[m] for i, terms in single.items() for _, m in terms):
        return None
    return tuple([i for i in single if kind[i] == one] for one in (0, 1))


def scalar(step):
    """{shift: coefficient} of the s with M M = s M, s the same for all variables, where there is one, as there is of the curl
    of the curl: then M^k = s^(k - 1) M.  Else None."""
    twice = {i: {} for i in step}
    for i, terms in step.items():
        for (shift, m), a in terms.items():
            for (further, l), b in step[m].items():
                add(twice[i], tuple(map(sum, zip(shift, further))), l, a * b)
    for i, terms in step.items():
        for (shift, m), a in terms.items():
            if sum(k == m for _, k in terms) == 1:                  # one term, by which the other can be divided
                s = {tuple(x - y for x, y in zip(further, shift)): b / a for (further, k), b in twice[i].items() if k == m}
                break
        else:
            continue
        break
    else:
        return None
    for i, terms in step.items():
        for (shift, m), a in terms.items():
            for further, b in s.items():
                add(twice[i], tuple(map(sum, zip(shift, further))), m, -a * b)
    most = max((abs(b) for b in s.values()), default=0) * max(abs(a) for terms in step.values() for a in terms.values())
    exact = all(abs(a) <= 1e-12 * most for terms in twice.values() for a in terms.values())
    return s if s and exact and min(map(min, s)) >= 0 else None


def squared(single, kept):
    """L L of some variables."""
    result = {i: {} for i in kept}
    for i in kept:
        for (shift, m), a in single[i].items():
            for (further, l), b in single[m].items():
                add(result[i], tuple(map(sum, zip(shift, further))), l, a * b)
    return result
