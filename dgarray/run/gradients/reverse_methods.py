"""The methods whose runs have derivatives: who goes back over their steps, where parameters change, and what they refuse."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...methods.dg.method import DG
from ...methods.finite_volume.method import FiniteVolume
from ...methods.hermite.method import Hermite
from .parameter_places import Everywhere, OfCells, OfElements
from .reciprocal_steps import reciprocal_steps
from .reverse_half_steps import ReverseHalfSteps
from .reverse_steps import ReverseSteps, check_method
from .reverse_sweeps import ReverseSweeps, check_sweeps


class Reverse(NamedTuple):
    """How the runs of a family of methods go back.

    steps    (operator, parameters, elements, points, by_node) -> `ReverseSteps`, or what offers the same
    places   (simulation) -> the places of a parameter, see `dgarray.run.gradients.parameter_places`
    check    (operator of the run, names of the parameters by each place) raises NotDifferentiable for what a step does that has
             no derivative"""

    steps: Callable
    places: Any
    check: Callable


def of_dg(operator, parameters, elements, points, by_node):
    reciprocal = None if points or by_node else reciprocal_steps(operator, parameters, elements)
    return reciprocal or ReverseSteps(operator, parameters, points, by_node)


def nothing(operator, by_place):
    """What a method refuses."""


FAMILIES = {
    DG: Reverse(of_dg, OfElements, lambda operator, _: check_method(operator)),
    FiniteVolume: Reverse(lambda operator, parameters, *_: ReverseSweeps(operator, parameters), OfCells, check_sweeps),
    Hermite: Reverse(lambda operator, parameters, *_: ReverseHalfSteps(operator, parameters), Everywhere, nothing)}


def reverse_of(method):
    """The `Reverse` of a method. Raises ValueError where there is none."""
    for family, found in FAMILIES.items():
        if isinstance(method, family):
            return found
    raise ValueError(f"gradients are for NodalDG, ModalDG, TensorDG, FiniteVolume and Hermite, not for {method!r}")
