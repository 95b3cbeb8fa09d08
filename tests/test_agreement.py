"""Digests of what ranks were given: equal for equal values, others for others."""
from functools import partial

import numpy as np
import pytest

from dgarray.run.rank_consistency import digest


def scaled(x, factor):
    return factor * x


class Start:
    def __init__(self, width):
        self.width = width

    def values(self, x):
        return x / self.width


class Slotted:
    __slots__ = "width",

    def __init__(self, width):
        self.width = width


def reading(values):
    return lambda x: x * values


MADE = {"number": lambda a: a, "array": lambda a: np.array([a]), "objects": lambda a: np.array([Start(a), None]),
        "set": lambda a: {a, "b"}, "partial": lambda a: partial(scaled, factor=a), "method": lambda a: Start(a).values,
        "slots": Slotted, "key": lambda a: {Start(a): 1}, "value": lambda a: {"a": a},
        "closure": reading, "closure over a method": lambda a: reading(Start(a).values),
        "constant": lambda a: eval(f"lambda x: {a} * x"), "inner constant": lambda a: eval(f"lambda x: [{a} * y for y in x]"),
        "name": lambda a: eval("lambda x: np.sin(x)" if a == 1 else "lambda x: np.cos(x)", {"np": np}),
        "default": lambda a: eval(f"lambda x, *, a={a}: x")}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_digests_tell_values_apart(made):
    assert digest(made(1.0)) == digest(made(1.0)) != digest(made(2.0))


def test_copies_are_equal_to_one_object_and_what_holds_itself_has_an_end():
    one = np.arange(3.0)
    assert digest([one, one]) == digest([one, one.copy()]) != digest([one, one + 1])

    def again(x):
        return again(x - 1.0) if x > 0 else x
    assert digest(again) == digest(again) != digest(scaled)
