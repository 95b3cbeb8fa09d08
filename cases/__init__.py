"""Ready problems: functions of keywords that return a Simulation; each docstring is the recipe and its source."""
from .acoustic_pulse import acoustic_pulse
from .advection_wave import advection_wave
from .dielectric_slab import dielectric_slab
from .isentropic_vortex import isentropic_vortex
from .maxwell_cavity import maxwell_cavity
from .maxwell_sphere import maxwell_sphere
from .supersonic_vortex import supersonic_vortex
from .tm_cavity import tm_cavity
from .tm_obstacles import tm_obstacles

__all__ = ["acoustic_pulse", "advection_wave", "dielectric_slab", "isentropic_vortex", "maxwell_cavity", "maxwell_sphere",
           "supersonic_vortex", "tm_cavity", "tm_obstacles"]
