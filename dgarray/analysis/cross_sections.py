"""Cross-sections of scattering, absorption and extinction over frequency, from the transforms of one pulse's fields.

Time dependence exp(i omega t).  In 2D they are lengths, also called widths.  Bohren & Huffman 1983, sections 3.3 and 3.4.
"""
from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..physics.laws.law import cross, dot
from ..physics.pointwise import at_points
from ..support.wording import choose
from .closed_surface import ClosedSurface
from .farfield import variables_of
from .mirror_images import sign_of
from .record_checks import check_surface, check_wave, check_wave_outside, known, place, refuse_windows, times_length
from .truncated_records import warn_of_rest

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

PER_PERIOD = 8              # samples of the incident field in the shortest period, at first
MOST_SAMPLES = 1 << 16
ACCURACY = 1e-5             # change of its transforms, relative to the largest, at which samples are enough
LEFT = 1e-3                 # share of its largest value that the incident field may have at the ends of the record
LEAST = 1e-6                # incident amplitude, relative to the largest over frequency, below which a frequency is refused
WEAK = 1e-3                 # the same below which it is warned of: errors of the run count a thousandfold there
UNPHYSICAL = 1e-2           # share of the largest width by which one may be negative
SYMMETRIC = 1e-6            # deviation of the incident field from its image, of the largest value, that counts as rounding
TIMES = 513                 # at which the incident field is evaluated for its largest value
SPECTRUM = 1 << 12          # samples of it at most, for its largest amplitude over frequency
BLOCK_VALUES = 1 << 20      # values of the incident field held at once


def cross_sections(fields: xr.Dataset, incident: Callable, formulation: str | None = None, centre: ArrayLike | None = None,
                   degree: int | None = None) -> xr.Dataset:
    """Cross-sections of scattering, absorption and extinction over frequency, by the power through a closed surface.

    C_sca = integral of Re(E_s x H_s*) . n dS / I,          C_abs = -integral of Re(E x H*) . n dS / I,
    C_ext = -integral of Re(E_i x H_s* + E_s x H_i*) . n dS / I,   I = |Re(E_i x H_i*)|,   E = E_i + E_s;
    of acoustics p v* stands for E x H*.  The fields are Fourier transforms, so one pulse serves each frequency that it has.
    C_ext = C_sca + C_abs; of a plane wave it is what the far field in the forward direction gives (optical theorem).

    The body lies inside of the surface, which may be its own; between them and around, the medium has no losses.  Of a body
    without losses C_abs is 0, so |C_abs| / C_ext shows the error of a run.

    fields        Dataset of a record `Fourier(frequencies, boundary=...)` of all variables, without a window, on a boundary or
                  interface around the body, in 2D or 3D; it begins before the incident field reaches the surface, and ends when
                  all fields have left it
    incident      the incident field, a function (x, t) -> state, such as a `plane_wave`: that of the run
    formulation   what the record holds: "scattered", the scattered field alone, as with the boundary condition `scattered` and
                  outside of an interface with `total_field`, or "total", the sum, as with `incident` and inside of it.  By
                  default what the run knows of it, the attribute `field` of the record, and "scattered" where it knows nothing,
                  as with currents as sources
    centre        point (dim) at which the intensity I of the incident field is taken, by default the centroid of the surface;
                  of a plane wave it is the same everywhere
    degree        of the quadrature on each face, 2 order + 4 by default
    Returns a Dataset of scattering, absorption, extinction (frequency), areas, in 2D lengths.
    ValueError where fields lack something or are 0 or have a window; where the surface is not closed, lies in an absorbing
    layer, in a medium that is not uniform or has losses, or beside mirrors of the run whose images are missing; where the
    incident field is a wave of another law or medium, is not symmetric as these mirrors are, has less than 1e-6 of its largest
    amplitude over frequency at one of the frequencies, or is not resolved by 65536 samples; for a formulation or a plane wave
    that is not that of the run, for none where its boundary conditions leave it open, the frequency 0, and another centre.
    Warns where the incident field is at the surface as the record begins or ends, where more than 2e-3 of the largest recorded
    E or H, p or v is left at its end, where the incident amplitude is below 1e-3 of the largest, and where the scattering or
    absorption is negative by more than 1 % of the largest of the three.
    Bohren & Huffman 1983, section 3.4."""
    flow = PowerFlow(fields, incident, formulation, centre, degree)
    found = xr.Dataset({name: flow.cross_section(name) for name in ("scattering", "absorption", "extinction")})
    warn_of_negative(found)
    return found


def warn_of_negative(found):
    """Warn where a body would scatter or absorb less than nothing."""
    size = np.max([np.abs(part.values) for part in found.values()], axis=0)
    for name in ("scattering", "absorption"):
        share = found[name].values / np.where(size > 0, size, 1.0)
        if share.min() < -UNPHYSICAL:
            worst = int(np.argmin(share))
            warnings.warn(f"{name} is {found[name].values[worst]:.3g} at the frequency {found.frequency.values[worst]:g}, "
                          f"{-100 * share[worst]:.3g} % of the largest of the three below 0: the record, the incident field or "
                          "the run's resolution is not right there", stacklevel=3)


def scattering_cross_section(fields: xr.Dataset, incident: Callable, formulation: str | None = None,
                             centre: ArrayLike | None = None, degree: int | None = None) -> xr.DataArray:
    """Cross-section of scattering (frequency), integral of Re(E_s x H_s*) . n dS / I; arguments as of `cross_sections`."""
    return PowerFlow(fields, incident, formulation, centre, degree).cross_section("scattering")


def absorption_cross_section(fields: xr.Dataset, incident: Callable, formulation: str | None = None,
                             centre: ArrayLike | None = None, degree: int | None = None) -> xr.DataArray:
    """Cross-section of absorption (frequency), -integral of Re(E x H*) . n dS / I; arguments as of `cross_sections`."""
    return PowerFlow(fields, incident, formulation, centre, degree).cross_section("absorption")


def extinction_cross_section(fields: xr.Dataset, incident: Callable, formulation: str | None = None,
                             centre: ArrayLike | None = None, degree: int | None = None) -> xr.DataArray:
    """Cross-section of extinction (frequency), -integral of Re(E_i x H_s* + E_s x H_i*) . n dS / I; arguments as of
    `cross_sections`."""
    return PowerFlow(fields, incident, formulation, centre, degree).cross_section("extinction")


class PowerFlow:
    """The power through a closed surface; arguments as of `cross_sections`.

    Fields are {variable: (frequency, face, point)}."""

    def __init__(self, fields, incident, formulation, centre, degree):
        if not callable(incident):
            raise ValueError(f"incident={incident!r} is not allowed; give the incident field, a function of x and t such as "
                             "dgarray.plane_wave(...)")
        check_wave(fields, incident)
        self.formulation = formulation_of(fields, formulation)
        self.names = variables_of(fields)
        self.surface = ClosedSurface(fields, self.names, degree)
        check_surface(fields)
        refuse_windows(fields)
        check_wave_outside(fields, incident, self.names)
        if len(np.ravel(fields.attrs.get("time_span", ()))) != 2:
            raise ValueError("the fields lack the attribute time_span, the first and last time of the transform, as "
                             "ds.dg.record(...) gives it")
        check_record(fields, self.names, self.surface.frequencies)
        self.centre = self.centroid if centre is None else np.asarray(centre, float)
        if self.centre.shape != (self.surface.dim,):
            raise ValueError(f"centre={centre!r} is not allowed; it must be a point with {self.surface.dim} coordinates")
        self.transform = Transform(incident, self.names, fields.attrs["time_span"], self.surface.frequencies)
        some = np.column_stack([self.centre, self.surface.x[:, ::max(1, self.surface.x.shape[1] // 8), 0]])
        check_symmetry(fields, self.transform, some)
        self.transform.warn_if_cut_off(some)
        self.check_spectrum()
        self.transform.resolve(some)

    @property
    def centroid(self):
        """Mean position of the surface, (dim,)."""
        return np.sum(self.surface.x * self.surface.weights, axis=(1, 2)) / self.surface.weights.sum()

    @cached_property
    def recorded(self):
        return {name: self.surface.values(name) for name in self.names}

    @cached_property
    def incident(self):
        x = self.surface.x
        values = self.transform(x.reshape(len(x), -1))
        return {name: each.reshape(-1, *x.shape[1:]) for name, each in zip(self.names, values)}

    @cached_property
    def scattered(self):
        if self.formulation == "scattered":
            return self.recorded
        return {name: self.recorded[name] - self.incident[name] for name in self.names}

    @cached_property
    def total(self):
        if self.formulation == "total":
            return self.recorded
        return {name: self.recorded[name] + self.incident[name] for name in self.names}

    @cached_property
    def intensity(self):
        """I (frequency,). Raises ValueError for a frequency without power."""
        power = self.power(self.transform(self.centre[:, None])[:, :, 0])
        self.refuse_weak(np.sqrt(power / (power.max() or 1.0)), self.surface.frequencies)
        return power

    def power(self, values):
        """|Re(E x H*)| (frequency,) of transforms (variable, frequency) at one point."""
        of_wave = dict(zip(self.names, values))
        return np.sqrt(sum(np.square(c) for c in self.density(of_wave, of_wave)))

    def check_spectrum(self):
        """Refuse frequencies that the incident field does not have, and warn of those of which it has little.

        It is sampled at the centre until the upper half of its spectrum is empty, which a field that is cut off never is."""
        f, count = self.surface.frequencies, TIMES - 1
        while True:
            band, values = self.transform.spectrum(self.centre[:, None], count)
            power = self.power(values)
            resolved = 0 < power.max() >= power[len(power) // 2:].max() / LEAST**2
            if resolved or count >= SPECTRUM:
                break
            count *= 2
        if not power.max():          # of a short pulse perhaps no sample; `intensity` decides
            return
        inside, share = f <= band[-1] / 2, np.zeros(len(f))
        found = self.power(self.transform.sums(self.centre[:, None], count, f[inside])[:, :, 0])
        share[inside] = np.sqrt(found / power.max())
        known = inside | resolved
        self.refuse_weak(share[known], f[known])
        if known.any() and share[known].min() < WEAK:
            worst = int(np.argmin(share[known]))
            warnings.warn(f"the incident field has {share[known][worst]:.2g} of its largest amplitude over frequency at the "
                          f"frequency {f[known][worst]:g}, where errors of the run count as much more; take another pulse, "
                          "or frequencies that it has", stacklevel=4)

    @staticmethod
    def refuse_weak(share, frequencies):
        """Raise ValueError for a frequency with less than the least share of the largest amplitude."""
        poor = np.flatnonzero(~(share > LEAST))
        if len(poor):
            raise ValueError(f"the incident field has no power at the frequency {frequencies[poor[0]]:g}; choose frequencies "
                             "of the pulse, and a centre where the field is")

    def density(self, one, other):
        """Re(E_one x H_other*), of acoustics Re(p_one v_other*), a tuple of components."""
        if "p" in self.names:
            return tuple((one["p"] * np.conj(other[name])).real for name in self.names[1:])
        E, H = ([field.get(letter + axis, 0.0) for axis in "xyz"] for letter, field in (("E", one), ("H", other)))
        return tuple(np.real(c) for c in cross(E, [np.conj(c) for c in H])[:self.surface.dim])

    def through(self, one, other):
        """The integral of `density` . n over the surface, (frequency,)."""
        surface = self.surface
        return np.sum(dot(surface.normals, self.density(one, other)) * surface.weights, axis=(1, 2))

    def cross_section(self, name):
        """One of them as a DataArray (frequency)."""
        if name == "scattering":
            power = self.through(self.scattered, self.scattered)
        elif name == "absorption":
            power = -self.through(self.total, self.total)
        else:
            power = -self.through(self.incident, self.scattered) - self.through(self.scattered, self.incident)
        words = f"{name} {'cross-section' if self.surface.dim == 3 else 'width'}"
        return xr.DataArray(power / self.intensity, {"frequency": self.surface.fields["frequency"].variable}, ("frequency",),
                            name, {"long_name": words} | times_length("1", self.surface.fields, self.surface.dim - 1))


def formulation_of(fields, formulation):
    """The kind of field in the record, "scattered" or "total". Raises ValueError where the run says that it is the other."""
    known = fields.attrs.get("field")
    if formulation is None and known is None and "incident" in fields.attrs:
        raise ValueError(f"the boundary conditions of the run do not say whether {place(fields)} holds the scattered or the "
                         "total field; give formulation=, or a record on one side of them")
    if formulation is None:
        return known or "scattered"
    choose("formulation", formulation, ("scattered", "total"))
    if known not in (None, formulation):
        raise ValueError(f"formulation={formulation!r} is not allowed, because the record at {fields.attrs.get('boundary')!r} "
                         f"holds the {known} field, as the boundary conditions of its run say; leave it out")
    return formulation


def check_symmetry(fields, transform, x):
    """Raise ValueError where the incident field at points x (dim, point) is not its own image in the mirrors whose images the
    fields have."""
    times = np.linspace(transform.first, transform.last, TIMES)
    for axis, plane in (known(fields, "images") or {}).items():
        there = np.where(np.arange(len(x))[:, None] == "xyz".index(axis), -x, x)
        signs = np.array([sign_of(name, axis, plane) for name in transform.names])[:, None]
        here, image = (np.array([transform.at(points, t) for t in times]) for points in (x, there))
        if np.abs(here - signs * image).max() > SYMMETRIC * np.abs(here).max():
            raise ValueError(f"the incident field is not symmetric as the mirror {axis} = 0 ({plane!r}) of the run needs; on "
                             "a part of a problem take a wave that is, such as one along the plane, with E along or across it")


def check_record(fields, names, frequencies):
    """Refuse the frequency 0 and a record of nothing, and warn of one that ends while there is something left."""
    if not frequencies.all():
        raise ValueError("the frequency 0 is not allowed; cross-sections are those of waves, with frequencies above 0")
    if not any(np.any(fields[name].values) for name in names):
        raise ValueError("the fields of the record are 0 everywhere: nothing has entered in its run; give it the incident "
                         "field, such as boundary={'skin': dgarray.total_field(incident), ...}")
    warn_of_rest(fields[list(names)], stacklevel=4)


class Transform:
    """Fourier transforms of a field (x, t) -> state at points over a span of time, by the recorder's trapezoidal rule."""

    def __init__(self, field, names, span, frequencies):
        self.field, self.names, self.frequencies = field, names, frequencies
        self.first, self.last = map(float, span)
        periods = (self.last - self.first) * np.abs(frequencies).max()
        self.intervals = 1 << max(4, int(np.ceil(np.log2(PER_PERIOD * max(periods, 1.0)))))

    def warn_if_cut_off(self, x):
        """Warn where the field at points x (dim, point) is there as the record begins or ends."""
        times = np.linspace(self.first, self.last, TIMES)
        history = np.abs([self.at(x, t) for t in times]).max(axis=(1, 2))
        for t, size, words in ((self.first, history[0], "already has {}; let it come later"),
                               (self.last, history[-1], "still has {}; run until it has passed")):
            if size > LEFT * history.max():
                share = f"{size / history.max():.2g} of its largest value"
                warnings.warn(f"at t = {t:g}, where the record begins or ends, the incident field at the surface "
                              + words.format(share), stacklevel=4)

    def resolve(self, x):
        """Take as many samples as the transforms at points x (dim, point) need. Raises ValueError if these are too many."""
        if self.intervals > MOST_SAMPLES:
            raise ValueError(f"the frequency {self.frequencies.max():g} is too high for a record of the length "
                             f"{self.last - self.first:g}: its periods need more than {MOST_SAMPLES} samples")
        before = self(x)
        while True:
            self.intervals *= 2
            found = self(x)
            largest = np.abs(found).max(axis=(1, 2), keepdims=True)
            if np.all(np.abs(found - before) <= ACCURACY * np.maximum(largest, ACCURACY * largest.max())):
                break
            if self.intervals >= MOST_SAMPLES:
                raise ValueError(f"{MOST_SAMPLES} samples from t = {self.first:g} to {self.last:g} do not resolve the incident "
                                 "field in time; it must be smooth and finite")
            before = found

    def at(self, x, t):
        """The field at x (dim, point) and the time t, (variable, point)."""
        found = at_points(self.field, tuple(x), t, len(self.names), "the incident field", self.names)
        return np.array([np.broadcast_to(c, x.shape[1:]) for c in found], float)

    def spectrum(self, x, count):
        """Frequencies up to count / 2 a span, and the transforms there (variable, frequency) at the one point x (dim, 1)."""
        times, step = np.linspace(self.first, self.last, count, endpoint=False, retstep=True)
        values = np.array([self.at(x, t)[:, 0] for t in times])
        return np.fft.rfftfreq(count, step), step * np.fft.rfft(values, axis=0).T

    def __call__(self, x):
        """(variable, frequency, point) at x (dim, point)."""
        return self.sums(x, self.intervals, self.frequencies)

    def sums(self, x, intervals, frequencies):
        """Transforms (variable, frequency, point) at x (dim, point) by so many intervals of time, at these frequencies."""
        times, step = np.linspace(self.first, self.last, intervals + 1, retstep=True)
        weights = np.full(len(times), step)
        weights[[0, -1]] /= 2
        phases = weights * np.exp(-2j * np.pi * np.multiply.outer(frequencies, times))
        total = np.zeros((len(frequencies), len(self.names) * x.shape[1]), complex)
        rows = max(1, BLOCK_VALUES // total.shape[1])
        for first in range(0, len(times), rows):
            some = slice(first, first + rows)
            values = np.array([self.at(x, t).ravel() for t in times[some]])
            total.real += phases[:, some].real @ values
            total.imag += phases[:, some].imag @ values
        return total.reshape(-1, len(self.names), x.shape[1]).swapaxes(0, 1)
