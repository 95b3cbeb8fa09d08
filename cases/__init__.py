"""Ready problems: functions of keywords that return a Simulation. Each docstring gives the equations and their source."""
from .acoustic_pulse import acoustic_pulse
from .advection_wave import advection_wave
from .cylinder_flow import cylinder_flow
from .dielectric_slab import dielectric_slab
from .double_mach import double_mach
from .forward_step import forward_step
from .hermite_acoustics import hermite_acoustics
from .hermite_advection import hermite_advection
from .hermite_cavity import hermite_cavity
from .hermite_lens import hermite_lens
from .isentropic_vortex import isentropic_vortex
from .kelvin_helmholtz import kelvin_helmholtz
from .maxwell_cavity import maxwell_cavity
from .maxwell_sphere import maxwell_sphere
from .shu_osher import shu_osher
from .sod import sod
from .supersonic_vortex import supersonic_vortex
from .tm_cavity import tm_cavity
from .tm_obstacles import tm_obstacles

__all__ = ["acoustic_pulse", "advection_wave", "cylinder_flow", "dielectric_slab", "double_mach", "forward_step",
           "hermite_acoustics", "hermite_advection", "hermite_cavity", "hermite_lens",
           "isentropic_vortex", "kelvin_helmholtz", "maxwell_cavity", "maxwell_sphere", "shu_osher", "sod",
           "supersonic_vortex", "tm_cavity", "tm_obstacles"]
