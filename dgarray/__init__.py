"""High-order solvers for wave and conservation-law problems, from array-style Python."""
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from . import checkout as checkout  # first, because the others import from `dgarray.backends`
from . import xarray_accessor
from .launched import processes
from .version import __version__ as __version__
from .wording import choose

if TYPE_CHECKING:          # at run time a name is imported when it is first used, see `__getattr__`
    from .analysis.convergence import eoc
    from .analysis.fourier import Fourier
    from .analysis.integrals import BoundaryIntegral, VolumeIntegral
    from .analysis.ports import Port
    from .analysis.probes import Extrema, Points, SurfaceFields
    from .analysis.riemann import riemann
    from .mesh import Grid, Mesh, box, interval, pml, read_mesh, rectangle, write_mesh
    from .methods import ExponentialFilter, FiniteVolume, GridOperator, Hermite, Method, ModalDG, NodalDG, Operator, TensorDG
    from .output import OutputError
    from .physics.boundary import (
        Sponge,
        absorbing,
        curved_wall,
        far_field,
        incident,
        inflow,
        outflow,
        pec,
        pmc,
        prescribed,
        pressure_outflow,
        pressure_release,
        scattered,
        wall,
    )
    from .physics.dispersion import Debye, Drude, Lorentz, Poles
    from .physics.dispersion_fit import fit
    from .physics.explain import explain
    from .physics.fluxes import (
        central,
        hll,
        hllc,
        hllc_shock_stable,
        hlld,
        hlld_shock_stable,
        kennedy_gruber,
        ranocha,
        roe,
        roe_shock_stable,
        rusanov,
        upwind,
    )
    from .physics.impedance import impedance
    from .physics.incident_fields import current, dipole, gaussian_beam
    from .physics.interface_conditions import resistive_sheet, total_field
    from .physics.laws import MHD, Acoustics, Advection, Euler, Law, Maxwell, TwoFluid
    from .physics.plane_waves import plane_wave
    from .physics.pulses import pulse
    from .run.decayed import decayed
    from .run.failure import SolutionError
    from .run.signals import Interrupted
    from .run.simulation import Simulation

__all__ = [
    "Acoustics", "Advection", "BoundaryIntegral", "Debye", "Drude", "Euler", "ExponentialFilter", "Extrema", "FiniteVolume",
    "Fourier", "Grid", "GridOperator", "Hermite", "Interrupted", "Law", "Lorentz", "MHD", "Maxwell", "Mesh",
    "Method", "ModalDG", "NodalDG", "Operator", "OutputError", "Points", "Poles", "Port", "Simulation", "SolutionError",
    "Sponge", "SurfaceFields", "TensorDG", "TwoFluid", "VolumeIntegral",
    "absorbing", "box", "central", "current", "curved_wall", "decayed", "dipole", "eoc", "explain", "far_field", "fit",
    "gaussian_beam", "hll", "hllc", "hllc_shock_stable", "hlld", "hlld_shock_stable", "impedance", "incident",
    "inflow", "interval", "kennedy_gruber", "outflow", "pec", "plane_wave", "pmc", "pml", "prescribed", "pressure_outflow",
    "pressure_release", "pulse", "ranocha",
    "read_mesh", "rectangle", "resistive_sheet", "riemann", "roe", "roe_shock_stable", "rusanov", "scattered", "total_field",
    "upwind", "wall", "write_mesh",
]

# {name: module} of the names above, and the parts of the package that are reached as `dgarray.mesh` is.
HOMES = {name: module for module, names in {
    "analysis.convergence": "eoc", "analysis.fourier": "Fourier", "analysis.integrals": "BoundaryIntegral VolumeIntegral",
    "analysis.ports": "Port", "analysis.probes": "Extrema Points SurfaceFields", "analysis.riemann": "riemann",
    "mesh": "Grid Mesh box interval pml read_mesh rectangle write_mesh",
    "methods": "ExponentialFilter FiniteVolume GridOperator Hermite Method ModalDG NodalDG Operator TensorDG",
    "output": "OutputError",
    "physics.boundary": "Sponge absorbing curved_wall far_field incident inflow outflow pec pmc prescribed "
                        "pressure_outflow pressure_release scattered wall",
    "physics.dispersion": "Debye Drude Lorentz Poles", "physics.dispersion_fit": "fit",
    "physics.explain": "explain",
    "physics.fluxes": "central hll hllc hllc_shock_stable hlld hlld_shock_stable kennedy_gruber ranocha roe "
                      "roe_shock_stable rusanov upwind",
    "physics.impedance": "impedance",
    "physics.incident_fields": "current dipole gaussian_beam",
    "physics.interface_conditions": "resistive_sheet total_field",
    "physics.plane_waves": "plane_wave",
    "physics.pulses": "pulse",
    "physics.laws": "Acoustics Advection Euler Law MHD Maxwell TwoFluid",
    "run.decayed": "decayed", "run.failure": "SolutionError", "run.signals": "Interrupted", "run.simulation": "Simulation",
}.items() for name in names.split()}
PARTS = {"analysis", "backends", "bench", "cases", "mesh", "methods", "output", "physics", "reference", "run",
         "spaces", "stepping"}

# What a boundary condition is called in other codes: what to write here.
ELSEWHERE = {
    "open": "pressure_release (p = 0, reflects everything) or absorbing (lets waves leave)",
    "free_surface": "pressure_release", "sound_soft": "pressure_release", "sound_hard": "wall", "rigid": "wall",
    "slip_wall": "wall", "reflecting": "wall", "symmetry": "wall", "reflective": "wall", "dirichlet": "prescribed",
    "neumann": "outflow (q+ = q-) or wall", "extrapolation": "outflow", "supersonic_outflow": "outflow",
    "leontovich": "impedance", "surface_impedance": "impedance",
    "silver_mueller": "absorbing", "radiation": "absorbing", "non_reflecting": "absorbing, of a gas far_field",
    "farfield": "far_field", "characteristic": "far_field, of linear laws absorbing",
    "huygens": "total_field", "tfsf": "total_field", "scattered_field": "scattered",
    "periodic": "mesh.periodic(...), a property of the mesh",
}


def deeper(name):
    """Where a name that is not one of dgarray itself is to be found: "dgarray.mesh.polygon", or None."""
    for part in ("mesh", "analysis", "output", "cases"):
        if callable(getattr(import_module(f".{part}", __name__), name, None)):
            return f"dgarray.{part}.{name}"
    defined = re.compile(rf"^(?:def|class) {re.escape(name)}\b", re.MULTILINE)
    modules = (Path(__file__).parent / "analysis").glob("*.py")
    return next((f"dgarray.analysis.{path.stem}.{name}" for path in modules
                 if defined.search(path.read_text(encoding="utf-8"))), None)


def __dir__():
    """The public names, for completion and `dir(dgarray)`."""
    return sorted([*__all__, "__version__", "__doc__"])


if not TYPE_CHECKING:          # to a type checker it would mean that every name exists
    def __getattr__(name):
        """A public name or a part of the package, imported when first used; of a name that does not exist, the nearest."""
        if name in PARTS:
            return import_module(f".{name}", __name__)
        if name in HOMES:
            globals()[name] = found = getattr(import_module(f".{HOMES[name]}", __name__), name)
            return found
        if name.startswith("__") or find_spec(f".{name}", __name__):          # Python asks, then imports the module itself
            raise AttributeError(name)
        if found := deeper(name):
            raise AttributeError(f"dgarray: the name {name!r} does not exist; did you mean {found}?")
        if name in ELSEWHERE:
            raise AttributeError(f"dgarray: the name {name!r} does not exist; write {ELSEWHERE[name]}")
        try:
            choose("dgarray: the name", name, __all__)
        except ValueError as error:
            raise AttributeError(str(error)) from None


xarray_accessor.register()
if processes() > 1:          # what goes wrong in all of them is said once
    import_module(".run.ranks", __name__).handle_errors()
