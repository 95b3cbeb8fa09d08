"""Ports of waveguides: launch a mode through a cross-section, and scattering parameters over frequency from what runs record.

Behind a port the guide goes on into an absorbing layer.  The normal of its interface points out of the device, so that a record
on it has the fields on the device's side.  Time dependence exp(i omega t), as in the recorders.  Pozar 2012, chapters 3 and 4.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..mesh.interfaces import other_side
from ..physics.boundary import pec
from ..physics.declared import Formula
from ..physics.laws.law import shown
from ..support.keywords import Keywords
from ..support.wording import choose
from .closed_surface import RecordedSurface
from .guide_modes import Mode, modes
from .guide_sections import check_wall
from .record_checks import known, place, refuse_layers
from .record_origin import MIRRORS, closed_behind, named, walls_of
from .truncated_records import warn_of_rest

if TYPE_CHECKING:
    from ..mesh import Mesh
    from ..physics.laws import Law

LEAST = 0.1          # of the waves out of the ports, what must enter at the one that is excited; without gain it is at least 1


@dataclass(frozen=True, eq=False, repr=False)
class Port(Keywords):
    """A port of a waveguide: a mode at an interface of the mesh.

        mesh = mesh.with_interfaces({"one": ("device", "feed")})          # the normal points out of the device
        one = Port(mesh, law, "one")
        Simulation(mesh, law, method, {"one": one.launch(pulse), "default": pec}, record={"one": Fourier(f, boundary="one")})

    mesh, law   of the problem; Maxwell in 2D or 3D, with one medium without losses and dispersion at the port
    name        of the interface, a plane cross-section of the guide from wall to wall
    mode        number of the mode by cutoff, from 1, or a `Mode`, such as one of `modes` or `given_mode`
    walls       of the guide, as of `modes`; by default those that a run's boundary conditions are at the port's edges: what it
                launches, and what `waves` and `s_parameters` find, is the mode with this number between these walls, while
                the attribute `mode` is the one between walls of pec.  A run with other walls than those given is refused
    label       of the port in the scattering parameters, by default its name; give one where an interface has several ports
    ValueError as of `modes`, and for a mode of another interface."""

    mesh: Mesh
    law: Law
    name: str
    mode: Any = 1
    walls: Any = None
    label: Any = None
    _number: Any = field(init=False, repr=False, compare=False)
    _between: dict = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        mode = self.mode
        object.__setattr__(self, "_number", None if isinstance(mode, Mode) or self.walls is not None else mode)
        object.__setattr__(self, "_between", {})          # {walls of a run: the port between them}
        if not isinstance(mode, Mode):
            if not (isinstance(mode, Integral) and not isinstance(mode, bool) and mode >= 1):
                raise ValueError(f"mode={mode!r} is not allowed; give its number, from 1, or a Mode")
            mode = modes(self.mesh, self.law, self.name, int(mode), pec if self.walls is None else self.walls)[-1]
        if mode.section.name != self.name:
            raise ValueError(f"port {self.name!r}: the mode is one of the interface {mode.section.name!r}")
        object.__setattr__(self, "mode", mode)
        object.__setattr__(self, "label", self.name if self.label is None else self.label)

    def __repr__(self):
        return f"<Port {self.label!r}: mode {self.mode.name} at {self.name!r}, cutoff {self.mode.cutoff:.6g}>"

    def launch(self, pulse: Callable) -> Launch:
        """The condition at the interface that launches the mode, into the device and backward, where the layer absorbs it.

        pulse   function of time f(t) -> number, which should have little at frequencies up to the cutoff.  The launched mode is
                E = V e with V = F / 2 of a mode TE, and Z F / 2 of others, F the transform of the pulse
        ValueError for a pulse that is no function."""
        if not callable(pulse):
            raise ValueError(f"pulse={pulse!r} is not allowed; give a function of time that returns a number")
        return Launch(self, pulse)

    def between_walls(self, walls: dict[str, str]) -> Port:
        """The port between the walls of a run, {boundary at which its section ends: "pec" or "pmc"}.

        ValueError for other conditions, and where the port has a mode between other walls."""
        for boundary, kind in walls.items():
            check_wall(self.name, boundary, kind)
        own = self.mode.section.walls
        if own == walls:
            return self
        if self._number is None:
            given, there = (", ".join(f"{name!r}: {kind}" for name, kind in each.items()) for each in (own, walls))
            raise ValueError(f"port {self.label!r} has the walls {given}, but the run has {there}; give those of the run, or "
                             "leave walls out")
        key = tuple(sorted(walls.items()))
        if key not in self._between:
            self._between[key] = replace(self, mode=self._number, walls={name: MIRRORS[kind] for name, kind in walls.items()})
        return self._between[key]

    def of_record(self, record: xr.Dataset) -> Port:
        """The port in the run of a record. ValueError where the record, by its attributes, is not one of this port."""
        if record.attrs.get("boundary", self.name) != self.name:
            raise ValueError(f"port {self.label!r}: {place(record)} is not at its interface {self.name!r}")
        refuse_layers(record)
        medium = known(record, "medium")
        if medium is not None:
            own = {"eps": self.mode.eps, "mu": self.mode.mu}
            there = medium if isinstance(medium, dict) else {}
            if not all(np.isclose(there.get(name, np.nan), value, rtol=1e-6, atol=0) for name, value in own.items()):
                shown_there = ", ".join(f"{name}={there[name]:.6g}" for name in own) if there else medium
                raise ValueError(f"port {self.label!r} is in a medium with eps={own['eps']:.6g}, mu={own['mu']:.6g}, but at "
                                 f"{place(record)} the run has {shown_there}; give the port the law of the run")
        if record.attrs.get("behind") == "closed":
            raise ValueError(WRONG_WAY.format(self.label))
        walls = known(record, "walls")
        return self.between_walls(walls) if walls else self

    def waves(self, record: xr.Dataset) -> xr.Dataset:
        """The waves into and out of the device, a = (V + Z I) / (2 sqrt(Z)) and b = (V - Z I) / (2 sqrt(Z)), over frequency.

        V = integral of E . e dS,   I = integral of H . h dS,   so that (|a|^2 - |b|^2) / 2 is the power that enters

        record    Dataset of a record `Fourier(frequencies, boundary=name)` at the interface, all components of E and H in it
        Returns a Dataset of a and b (frequency,), nan at frequencies that are not above the cutoff.
        ValueError where the record lacks something or is not one of this port, where the normal of the interface points to the
        device, and at frequencies of which none is above the cutoff.  Warns where the record ends while more than 2e-3 of its
        largest E or H is left."""
        warn_of_rest(record, stacklevel=2)
        return self.of_record(record)._waves(record)

    def _waves(self, record):
        """`waves` of a record whose end has been checked."""
        surface = RecordedSurface(record, self.law.variables)
        f = surface.frequencies
        if not (f > self.mode.cutoff).any():
            raise ValueError(f"port {self.label!r}: the frequencies from {f.min():g} to {f.max():g} are not above the cutoff "
                             f"{self.mode.cutoff:g} of the mode {self.mode.name}, which does not propagate")
        V, current = (sum(np.sum(surface.values(field + axis) * profile * surface.weights, axis=(1, 2))
                          for axis, profile in zip("xyz", profiles) if field + axis in self.law.variables)
                      for field, profiles in zip("EH", self.mode.fields(tuple(surface.x))))
        Z = self.mode.impedance(f)
        long = {"a": "wave into the device", "b": "wave out of the device"}
        with np.errstate(invalid="ignore"):          # nan where the mode does not propagate
            values = {"a": (V + Z * current) / (2 * np.sqrt(Z)), "b": (V - Z * current) / (2 * np.sqrt(Z))}
        return xr.Dataset({name: ("frequency", values[name], {"long_name": text}) for name, text in long.items()},
                          {"frequency": surface.fields["frequency"].variable})


@dataclass(frozen=True, eq=False, repr=False)
class Launch(Formula):
    """The condition at the interface of a port that launches its mode; `Port.launch` makes it.

    Across the interface the fields jump, device less feed:

        TE            [E] = e f(t), [H] = 0, a magnetic surface current
        TM and TEM    [H] = h f(t), [E] = 0, an electric one

    With the other current the amplitude would be infinite at the cutoff, where waves do not leave."""

    port: Port
    pulse: Callable
    settled: bool = False          # whether the port is the one between the walls of a problem
    course = property(lambda self: self.pulse)

    def __repr__(self):
        return f"{self.port!r}.launch({shown(self.pulse)})"

    def in_problem(self, mesh, name, boundary):
        """The condition at the interface `name` of a problem with these boundary conditions."""
        if self.settled or mesh.structured or name not in mesh.interfaces:
            return self
        if name != self.port.name:
            raise ValueError(f"boundary {name!r}: {self!r} is one of the interface {self.port.name!r}")
        rows = mesh.interfaces[name]
        if closed_behind(mesh, rows, boundary):
            raise ValueError(WRONG_WAY.format(self.port.label))
        walls = {wall: named(condition) for wall, condition in walls_of(mesh, rows, boundary).items()}
        return Launch(self.port.between_walls(walls) if walls else self.port, self.pulse, True)

    def check(self, mesh, left, right, law):
        law = law.of_layers or law
        if repr(law) != repr(self.port.law):
            raise ValueError(f"{self.port!r} is one of the law {self.port.law!r}, but the problem has {law!r}; give the port "
                             "that one")

    def profiles(self, x):
        """The jump of the state at points x of the interface, for f = 1, {name: values}."""
        e, h = self.port.mode.fields(x)
        jump = (e, 0 * h) if self.port.mode.kind == "TE" else (0 * e, h)
        return dict(zip(NAMES, self.port.law.state(*jump)))

    def between(self, l, r, t, p):
        """The states that the device (left) and the feed (right) see across the interface: r + jump, l - jump."""
        f = self.pulse(t)
        jump = tuple(getattr(p, name) * f for name in NAMES[:len(l)])
        return tuple(a + b for a, b in zip(r, jump)), tuple(a - b for a, b in zip(l, jump))


WRONG_WAY = ("port {!r}: the normal of the interface points to cells between walls alone, while waves may leave on the other "
             "side; it must point out of the device, with_interfaces({{name: (region of the device, region of the feed)}}), to "
             "a guide that ends in an absorbing layer")
NAMES = tuple(f"jump{i}" for i in range(6))


def s_parameters(runs: dict[str, xr.Dataset], ports: Sequence[Port]) -> xr.DataArray:
    """The scattering parameters S(frequency, out, into), from one run with each excited port.

    S_ij = b_i / a_j,   a_j of the wave into the device at the port j that the run excites, b_i of that out of it at port i

    runs    {label of the excited port: Dataset of the run}.  The record at each port, `Fourier(frequencies, boundary=name)`,
            has the name of its interface
    ports   each a `Port`, excited or not
    Returns a DataArray, complex, with the labels of the ports as coordinates, `into` those excited.  The planes of reference
    are the interfaces.  S is nan at frequencies that are not above the cutoffs of both modes.
    ValueError for labels that are not those of ports, or those of several, records that are missing or differ in their
    frequencies, a run that does not excite its port, an interface whose normal points to other ports, and as of `Port.waves`.
    Warns of each run whose records end while more than 2e-3 of the largest E or H at its ports is left.
    Pozar 2012, section 4.3."""
    known = {port.label: port for port in ports}
    if len(known) < len(ports):
        labels = ", ".join(port.label for port in ports)
        raise ValueError(f"ports have the labels {labels}; each must have its own, Port(..., label=...)")
    if not isinstance(runs, dict) or not runs:
        raise ValueError("runs must be {label of the excited port: Dataset of the run}, at least one")
    check_normals(ports)
    columns = []
    for label, dataset in runs.items():
        choose("runs: port", label, known)
        records = {port.name: dataset.dg.record(port.name) for port in ports}
        warn_of_rest(*records.values(), stacklevel=2)
        waves = {name: port.of_record(records[port.name])._waves(records[port.name]) for name, port in known.items()}
        a = waves[label].a
        if not float(abs(a).max()) > LEAST * max(float(abs(each.b).max()) for each in waves.values()):
            raise ValueError(f"port {label!r}: no wave enters the device there; its run must have the condition that `launch` "
                             "of the port makes")
        columns.append(xr.concat([(each.b / a).assign_coords(out=name) for name, each in waves.items()], "out", join="exact"))
    result = xr.concat([column.assign_coords(into=label) for column, label in zip(columns, runs)], "into", join="exact")
    result = result.transpose("frequency", "out", "into").rename("S")
    result.attrs = {"long_name": "scattering parameter"}
    return result


def check_normals(ports):
    """Raise ValueError where other ports lie behind a port, to where its normal points."""
    mesh = ports[0].mesh
    faces = {port.name: mesh.named(port.name) for port in ports}
    inner = mesh.neighbour_face >= 0
    for left in faces.values():
        inner[tuple(left.T)] = inner[tuple(other_side(mesh.neighbours, left).T)] = False
    cell, face = np.nonzero(inner)
    graph = coo_array((np.ones(len(cell)), (cell, mesh.neighbour_cell[cell, face])), shape=2 * (mesh.cell_count,))
    part = connected_components(graph, directed=False)[1]
    for name, left in faces.items():
        behind = part[other_side(mesh.neighbours, left)[:, 0]]
        others = [other for other, rows in faces.items() if other != name and np.isin(part[rows[:, 0]], behind).any()]
        if others:
            raise ValueError(f"port {name!r}: the normal of the interface points to the port {others[0]!r}; it must point out "
                             "of the device, with_interfaces({name: (region of the device, region of the feed)})")
