"""A pulse of the fundamental mode runs through a bend of a waveguide with a post: scattering parameters, 2D TM Maxwell."""
import numpy as np

from dgarray import Fourier, Maxwell, Port, Simulation, TensorDG, pec, pml
from dgarray.analysis.ports import s_parameters
from dgarray.support.wording import choose

from .common import case_mesh, check_numbers
from .meshes.bent_guide import bent_guide

CUTOFF = 0.5                          # of the fundamental mode of a guide of the width 1
BAND = np.linspace(1.2, 1.9, 29) * CUTOFF
CENTRE = 1.55 * CUTOFF                # of the pulse
WIDTH = 2.2                           # of the pulse: at the ends of the band its transform is 0.2 of its largest value
HALF_PULSE = 4.0                      # widths from its centre to where it has fallen below 2e-7
LAYER = 1.25                          # thickness of the matched layers


def bend(order=4, cells=4, post=0.1, along=0.1, across=-0.2, port="one", until=60.0, every=None, mesh=None, start="projection"):
    """A pulse of the fundamental mode runs through a bend of a waveguide with a conducting post: scattering parameters.

    Method: TensorDG on quadrilaterals, curved in the bend, of degree 4 or the order.

    The axis of the guide, whose walls are 1 apart, turns by 90 degrees around a circle of the radius 4 / pi.  In the bend a
    round post stands from wall to wall in z (an H-plane bend of a rectangular guide).  A port launches the mode with Ez a sine
    across the guide, by a Gaussian pulse around 1.55 of its cutoff frequency.  `Fourier` records the fields at both ports over
    the band from 1.2 to 1.9 of the cutoff, in which no other mode propagates.  Behind the ports are perfectly matched layers.

    cells   across the guide, an even number from 4
    post    radius of the post; along, across: where it is, from the middle of the bend along the axis, and to the left of it
    port    the one that is excited, "one" or "two"
    mesh    a file with the boundaries "left" and "right" at the ends, on sides of the box around the mesh, and the interfaces
            "one" and "two" near them, 1 wide, whose normals point to the ends
    Pozar 2012, sections 4.3 and 4.6.
    results: the largest and the least |S| of reflection and of transmission over the band, and the largest deviation of the sum
    of their squares from 1 (nothing is lost).  `parameters` gives S at each frequency; S12 = S21 of runs with both ports.
    Raises ValueError for other arguments, a post that does not fit, and a mesh without ports."""
    choose("port", port, ("one", "two"))
    check_numbers(above=0, until=until)
    mesh = case_mesh(mesh, lambda: bent_guide(cells, post, along, across, min(order, 4)), 2)
    mesh = pml(mesh, LAYER, cells=5, boundary=("left", "right"))
    law = Maxwell(2)
    ports = {name: Port(mesh, law, name) for name in ("one", "two")}

    def results(dataset):
        S = abs(s_parameters({port: dataset}, list(ports.values())).isel(into=0))
        reflection, transmission = (S.sel(out=name) for name in (port, "two" if port == "one" else "one"))
        return {"largest_reflection": float(reflection.max()), "least_reflection": float(reflection.min()),
                "largest_transmission": float(transmission.max()), "least_transmission": float(transmission.min()),
                "power_error": float(abs(reflection**2 + transmission**2 - 1).max())}

    return Simulation(mesh, law, TensorDG(order, start=start), boundary={port: ports[port].launch(pulse), "default": pec},
                      until=until, every=every, case="bend", results=results,
                      record={name: Fourier(BAND, boundary=name) for name in ports})


def pulse(t):
    """Gaussian pulse f(t)."""
    s = t - HALF_PULSE * WIDTH
    return np.exp(-(s / WIDTH)**2) * np.sin(2 * np.pi * CENTRE * s)


def parameters(runs, simulation):
    """The scattering parameters S(frequency, out, into) of runs of `bend`, {excited port: Dataset}; simulation: one of them."""
    return s_parameters(runs, [Port(simulation.mesh, simulation.law, name) for name in ("one", "two")])
