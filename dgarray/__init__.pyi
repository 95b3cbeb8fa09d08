"""The public names of dgarray, each once: type checkers read them here, and so does `__init__.py`."""
from . import (
    analysis as analysis,
    backends as backends,
    bench as bench,
    cases as cases,
    mesh as mesh,
    methods as methods,
    output as output,
    physics as physics,
    reference as reference,
    run as run,
    spaces as spaces,
    stepping as stepping,
)
from .analysis.convergence import eoc as eoc
from .analysis.fourier import Fourier as Fourier
from .analysis.integrals import BoundaryIntegral as BoundaryIntegral, VolumeIntegral as VolumeIntegral
from .analysis.ports import Port as Port
from .analysis.probes import Extrema as Extrema, Points as Points, SurfaceFields as SurfaceFields
from .analysis.riemann import riemann as riemann
from .mesh import (
    Grid as Grid,
    Mesh as Mesh,
    box as box,
    interval as interval,
    pml as pml,
    read_mesh as read_mesh,
    rectangle as rectangle,
    write_mesh as write_mesh,
)
from .methods import (
    ExponentialFilter as ExponentialFilter,
    FiniteVolume as FiniteVolume,
    GridOperator as GridOperator,
    Hermite as Hermite,
    Method as Method,
    ModalDG as ModalDG,
    NodalDG as NodalDG,
    Operator as Operator,
    TensorDG as TensorDG,
)
from .output import OutputError as OutputError
from .physics.boundary import (
    Sponge as Sponge,
    absorbing as absorbing,
    curved_wall as curved_wall,
    incident as incident,
    outflow as outflow,
    pec as pec,
    pmc as pmc,
    prescribed as prescribed,
    pressure_release as pressure_release,
    scattered as scattered,
    wall as wall,
)
from .physics.dispersion import Debye as Debye, Drude as Drude, Lorentz as Lorentz, Poles as Poles
from .physics.dispersion_fit import fit as fit
from .physics.explain import explain as explain
from .physics.fluxes import (
    central as central,
    hll as hll,
    hllc as hllc,
    hllc_shock_stable as hllc_shock_stable,
    hlld as hlld,
    hlld_shock_stable as hlld_shock_stable,
    kennedy_gruber as kennedy_gruber,
    ranocha as ranocha,
    roe as roe,
    roe_shock_stable as roe_shock_stable,
    rusanov as rusanov,
    upwind as upwind,
)
from .physics.gas_boundary import far_field as far_field, inflow as inflow, pressure_outflow as pressure_outflow
from .physics.impedance import impedance as impedance
from .physics.incident_fields import current as current, dipole as dipole, gaussian_beam as gaussian_beam
from .physics.interface_conditions import resistive_sheet as resistive_sheet, total_field as total_field
from .physics.laws import (
    MHD as MHD,
    Acoustics as Acoustics,
    Advection as Advection,
    Euler as Euler,
    Law as Law,
    Maxwell as Maxwell,
    TwoFluid as TwoFluid,
)
from .physics.plane_waves import plane_wave as plane_wave
from .physics.pulses import pulse as pulse
from .run.decayed import decayed as decayed
from .run.failure import SolutionError as SolutionError
from .run.gradients.design import design as design
from .run.gradients.gradient import Gradient as Gradient
from .run.gradients.objective import objective as objective
from .run.signals import Interrupted as Interrupted
from .run.simulation import Simulation as Simulation

__version__: str
