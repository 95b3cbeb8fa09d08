"""Ports of waveguides: launch a mode through a cross-section, and the scattering parameters over frequency from what runs record.

Behind a port the guide goes on into an absorbing layer.  Its interface has its normal out of the device, so that a record on it sees
the fields on the device's side.  Time dependence exp(i omega t), as in the recorders.  Pozar 2012, chapters 3 and 4.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ..physics.boundary import pec
from ..physics.laws.law import shown
from ..wording import choose
from .closed_surface import RecordedSurface
from .guide_modes import Mode, given_mode, modes

if TYPE_CHECKING:
    from ..mesh import Mesh
    from ..physics.laws import Law

LEAST = 1e-6          # amplitude of the wave into the device, as a share of that out of it, below which nothing enters


@dataclass(frozen=True, eq=False, repr=False)
class Port:
    """A port of a waveguide: a mode at an interface of the mesh.

        mesh = mesh.with_interfaces({"one": ("device", "feed")})          # the normal points out of the device
        one = Port(mesh, law, "one")
        Simulation(mesh, law, method, {"one": one.launch(pulse), "default": pec}, record={"one": Fourier(f, boundary="one")})

    mesh, law   of the problem; Maxwell in 2D or 3D, with one medium without losses and dispersion at the port
    name        of the interface, a plane cross-section of the guide from wall to wall
    mode        number of the mode by cutoff, from 1, or a `Mode`, such as one of `modes` or `given_mode`
    walls       of the guide, as of `modes`; by default pec
    label       of the port in the scattering parameters, by default its name; give one where an interface has several ports
    ValueError as of `modes`, and for a mode of another interface."""

    mesh: Mesh
    law: Law
    name: str
    mode: int | Mode = 1
    walls: Any = pec
    label: str | None = None

    def __post_init__(self):
        mode = self.mode
        if not isinstance(mode, Mode):
            if not (isinstance(mode, Integral) and mode >= 1):
                raise ValueError(f"mode={mode!r} is not allowed; give its number, from 1, or a Mode")
            mode = modes(self.mesh, self.law, self.name, int(mode), self.walls)[-1]
        if mode.section.name != self.name:
            raise ValueError(f"port {self.name!r}: the mode is one of the interface {mode.section.name!r}")
        object.__setattr__(self, "mode", mode)
        object.__setattr__(self, "label", self.name if self.label is None else self.label)

    def __repr__(self):
        return f"<Port {self.label!r}: mode {self.mode.name} at {self.name!r}, cutoff {self.mode.cutoff:.6g}>"

    def launch(self, pulse: Callable) -> Launch:
        """The condition at the interface that launches the mode, into the device and backward, where the layer absorbs it.

        pulse   function of time f(t) -> number; of frequencies below the cutoff it should have little.  The amplitude of E of the
                launched mode, E = V e, is V(f) = f^(f) / 2 of a mode TE, and Z(f) f^(f) / 2 of others, f^ the transform of the pulse
        ValueError for a pulse that is no function."""
        if not callable(pulse):
            raise ValueError(f"pulse={pulse!r} is not allowed; give a function of time that returns a number")
        return Launch(self, pulse)

    def waves(self, record: xr.Dataset) -> xr.Dataset:
        """The waves into and out of the device, a = (V + Z I) / (2 sqrt(Z)) and b = (V - Z I) / (2 sqrt(Z)), over frequency.

        V = integral of E . e dS,   I = integral of H . h dS,   so that (|a|^2 - |b|^2) / 2 is the power that enters

        record    Dataset of a record `Fourier(frequencies, boundary=name)` at the interface, all components of E and H in it
        Returns a Dataset of a and b (frequency,), nan at frequencies that are not above the cutoff.
        ValueError where the record lacks something, and at frequencies of which none is above the cutoff."""
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
        values = {"a": (V + Z * current) / (2 * np.sqrt(Z)), "b": (V - Z * current) / (2 * np.sqrt(Z))}
        return xr.Dataset({name: ("frequency", values[name], {"long_name": text}) for name, text in long.items()},
                          {"frequency": surface.fields["frequency"].variable})


@dataclass(frozen=True, eq=False, repr=False)
class Launch:
    """The condition at the interface of a port that launches its mode; `Port.launch` makes it.

    Across the interface the fields jump, device less feed: of a mode TE n x [E] is that of e f(t), a magnetic current, and [H] = 0; of
    others n x [H] is that of h f(t), a current, and [E] = 0.  So the power at the cutoff, where waves do not leave, goes to 0."""

    port: Port
    pulse: Callable

    def __repr__(self):
        return f"{self.port!r}.launch({shown(self.pulse)})"

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


NAMES = tuple(f"jump{i}" for i in range(6))


def s_parameters(runs: Mapping[str, xr.Dataset], ports: Sequence[Port]) -> xr.DataArray:
    """The scattering parameters S(frequency, out, into), from one run with each excited port.

    S_ij = b_i / a_j,   a_j of the wave into the device at the port j that the run excites, b_i of that out of it at port i

    runs    {label of the excited port: Dataset of the run}.  The record at each port, `Fourier(frequencies, boundary=name)`, has the
            name of its interface
    ports   the `Port`s, excited or not
    Returns a DataArray, complex, with the labels of the ports as coordinates, `into` those excited.  The planes of reference are the
    interfaces.  S is nan at frequencies that are not above the cutoffs of both modes.
    ValueError for labels that are not those of ports, or those of several, records that are missing or differ in their frequencies, a
    port where no wave enters, as where its interface has its normal into the device, and as of `Port.waves`.
    Pozar 2012, section 4.3."""
    known = {port.label: port for port in ports}
    if len(known) < len(ports):
        raise ValueError(f"ports have the labels {', '.join(port.label for port in ports)}; each must have its own, Port(..., label=...)")
    if not isinstance(runs, Mapping) or not runs:
        raise ValueError("runs must be {label of the excited port: Dataset of the run}, at least one")
    columns = []
    for label, dataset in runs.items():
        choose("runs: port", label, known)
        waves = {name: port.waves(dataset.dg.record(port.name)) for name, port in known.items()}
        a, b = waves[label].a, waves[label].b
        if not float(abs(a).max()) > LEAST * float(abs(b).max()):
            raise ValueError(f"port {label!r}: no wave enters the device; either the run does not excite it, or its interface has the "
                             "normal into the device: name it as with_interfaces({...: (region of the device, region of the feed)})")
        columns.append(xr.concat([(each.b / a).assign_coords(out=name) for name, each in waves.items()], "out", join="exact"))
    result = xr.concat([column.assign_coords(into=label) for column, label in zip(columns, runs)], "into", join="exact")
    result = result.transpose("frequency", "out", "into").rename("S")
    result.attrs = {"long_name": "scattering parameter"}
    return result
