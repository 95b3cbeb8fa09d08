"""Ready problems: functions of keywords that return a Simulation. Each docstring gives the equations and their source."""
from .acoustic_pulse import acoustic_pulse
from .advection_wave import advection_wave
from .aircraft import aircraft
from .alfven_wave import alfven_wave
from .ball_cavity import ball_cavity
from .beam_lens import beam_lens
from .bend import bend
from .current_sheet import current_sheet
from .cylinder_flow import cylinder_flow
from .dielectric_slab import dielectric_slab
from .dipole import dipole
from .disc_cavity import disc_cavity
from .double_mach import double_mach
from .field_loop import field_loop
from .forward_step import forward_step
from .graded_medium import graded_medium
from .helium_bubble import helium_bubble
from .hermite_acoustics import hermite_acoustics
from .hermite_advection import hermite_advection
from .hermite_cavity import hermite_cavity
from .hermite_lens import hermite_lens
from .hex_cavity import hex_cavity
from .hex_pml import hex_pml
from .hex_zones import hex_zones
from .inversion import inversion
from .isentropic_vortex import isentropic_vortex
from .kelvin_helmholtz import kelvin_helmholtz
from .lens_design import lens_design
from .linear_waves import linear_waves
from .maxwell_cavity import maxwell_cavity
from .maxwell_sphere import maxwell_sphere
from .mhd_blast import mhd_blast
from .mhd_kelvin_helmholtz import mhd_kelvin_helmholtz
from .mhd_quads import mhd_quads
from .mhd_rotor import mhd_rotor
from .mhd_tubes import brio_wu, ryu_jones
from .mie_sphere import mie_sphere
from .orszag_tang import orszag_tang
from .room import room
from .scattering_cylinder import scattering_cylinder
from .shock_bubble import shock_bubble
from .shu_osher import shu_osher
from .slab_spectrum import slab_spectrum
from .sod import sod
from .sod_grid import sod_grid
from .supersonic_vortex import supersonic_vortex
from .taylor_green import taylor_green
from .tm_cavity import tm_cavity
from .tm_obstacles import tm_obstacles
from .vortex_curved import vortex_curved

__all__ = ["acoustic_pulse", "advection_wave", "aircraft", "alfven_wave", "ball_cavity", "beam_lens", "bend", "brio_wu",
           "current_sheet", "cylinder_flow", "dielectric_slab", "dipole", "disc_cavity", "double_mach", "field_loop",
           "forward_step", "graded_medium", "helium_bubble", "hermite_acoustics", "hermite_advection", "hermite_cavity",
           "hermite_lens", "hex_cavity", "hex_pml", "hex_zones", "inversion", "isentropic_vortex", "kelvin_helmholtz",
           "lens_design", "linear_waves", "maxwell_cavity", "maxwell_sphere", "mhd_blast", "mhd_kelvin_helmholtz", "mhd_quads",
           "mhd_rotor", "mie_sphere", "orszag_tang", "room", "ryu_jones", "scattering_cylinder", "shock_bubble", "shu_osher",
           "slab_spectrum", "sod", "sod_grid", "supersonic_vortex", "taylor_green", "tm_cavity", "tm_obstacles",
           "vortex_curved"]
