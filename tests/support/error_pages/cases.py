"""Messages of docs/errors/cases.md."""
from pathlib import Path

from mistakes.files import NASTY, file, nasty, triangle_file
from mistakes.kinds import Wrong, case
from mistakes.stores import stores

TITLE = "Cases and scripts"
ABOUT = "scripts that do not run, keywords of cases, meshes that do not fit a case"
GROUPS = {}

GROUPS["Cases and scripts"] = [
    Wrong("A missing script", "run case.py", "no such file"),
    Wrong("A misspelt name of a script", "run csae.py", "no such file .did you mean 'case.py'", text="x = 1\n"),
    Wrong("A script without its suffix", "run case", "did you mean 'case.py'", text="x = 1\n"),
    Wrong("A mesh in place of a case", "run slab.msh", "mesh file, not a case; .*--mesh slab.msh", prepare=file("slab.msh")),
    Wrong("A mesh in place of a case, not there", "run slab.msh", "there is no such file; a case is a name"),
    Wrong("A file that is no case", "run notes.txt", "is a file, but no case", prepare=file("notes.txt")),
    Wrong("An output in place of a case", "run flat.zarr", "output of a run, .*--restart flat.zarr", prepare=stores("flat")),
    Wrong("A folder in place of a case", "run runs", "is a folder, not a case", prepare=lambda: Path("runs").mkdir()),
    Wrong("A script without a case to describe", "list case.py", "no function case", text="x = 1\n"),
    Wrong("A script without a case", "run case.py", "no function case", text="x = 1\n"),
    Wrong("A script that Python cannot read", "run case.py", r"case.py:1", text="def case(:\n"),
    Wrong("A script that raises", "run case.py", "IndexError: .*case.py:2", text="def case():\n    return [][1]\n"),
    Wrong("A script that raises an error without words", "run case.py", "ValueError.*case.py:2",
          text="def case():\n    raise ValueError\n"),
    Wrong("A script that opens a missing file", "run case.py", "data.csv: No such file.*case.py:2",
          text="def case():\n    return open('data.csv')\n"),
    Wrong("A script that ends the process", "run case.py", r"sys.exit\('bye'\)",
          text="import sys\n\ndef case():\n    sys.exit('bye')\n"),
    Wrong("A case that returns something else", "run case.py", "must return a dgarray.Simulation",
          text="def case():\n    return 1\n"),
    Wrong("A library that is not installed", "run case.py", "No module named 'pandsa'", text="import pandsa\n"),
    Wrong("A misspelt name of the package", "run case.py", "did you mean 'pec'",
          text="import dgarray as dg\n\ndef case():\n    return dg.pecc\n"),
    Wrong("A misspelt name", "run case.py", "did you mean 'np'",
          text="import numpy as np\n\ndef case():\n    return npp.pi\n"),
    Wrong("A misspelt keyword", "run case.py", "did you mean 'boundary'",
          text="import dgarray as dg\n\ndef case():\n    return dg.Simulation(1, 2, 3, boundry=dg.wall)\n"),
    Wrong("A misspelt method", "run case.py", "did you mean 'refined'",
          text="import dgarray as dg\n\ndef case():\n    return dg.rectangle().refind()\n"),
    Wrong("A keyword that the script's case does not have", "run case.py --order 3", "--order: .*in case.py: case\\(\\)",
          script="until=1"),
    case("No end time", "until=None", "give --until"),
    Wrong("A record called probes", "run case.py --probe 0.5,0.5", "a record 'probes' already",
          script="record={'probes': dg.Extrema()}"),
    case("Results that are not a function", "results=3", "results=3 is not allowed; it must be a function of the dataset"),
    case("A wall's normal that does not exist", "boundary=dg.curved_wall('splin')", "allowed: spline, or a function of x"),
    case("Results that are not a dict", "results=lambda ds: 1.0", "must be a dict"),
    Wrong("A case in another dimension than the mesh", "run maxwell_cavity --mesh flat.msh", "this case is 3D",
          prepare=nasty("good_tri_4x4", "flat.msh")),
    Wrong("A mesh that does not fit a case", "run tm_cavity --mesh unit.msh", "does not fill",
          prepare=nasty("good_tri_4x4", "unit.msh")),
    Wrong("A mesh without a region of the case", "run dielectric_slab --mesh unit.msh", "'slab' is not in the mesh",
          prepare=nasty("good_tri_4x4", "unit.msh")),
    Wrong("An invalid dimension", "run advection_wave --set dim=4", "1, 2 or 3"),
    Wrong("Mode zero", "run maxwell_cavity --set m=0", "m and n must be at least 1"),
    Wrong("An unknown polarisation", "run dielectric_slab --set polarisation=tm", "allowed: TM, TE"),
    Wrong("A wave that does not enter the slab", "run dielectric_slab --set angle=95", "below 90 degrees"),
    Wrong("A zero wave number", "run maxwell_sphere --set ka=0", "positive number"),
    Wrong("A negative level", "run maxwell_sphere --set level=-1", "whole number, 0 or more"),
    Wrong("A value that is not a number", "run tm_cavity --set cells=ten", "--set cells: 'ten' is not .*a number, such as 3"),
    Wrong("A switch that is not true or false", "run hermite_cavity --set derivatives=perhaps", "give true or false"),
    Wrong("A fractional number of cells", "run tm_cavity --set cells=1.5", "cells must be whole numbers from 1"),
    Wrong("Half a mode", "run tm_cavity --set m=0.5", "m=0.5 is not allowed; it must be a whole number, 1 or more"),
    Wrong("Zero waves", "run advection_wave --set waves=0", "waves=0 is not allowed; it must be a whole number, 1 or more"),
    Wrong("A speed that is not finite", "run advection_wave --set speed=1e400", "speed=inf is not .* a finite number"),
    Wrong("A pulse without width", "run acoustic_pulse --set half_width=0", "must be a finite number above 0"),
    Wrong("Zero thickness", "run kelvin_helmholtz --set thickness=0", "thickness=0 is not allowed; .*above 0"),
    Wrong("A zero perturbation", "run kelvin_helmholtz --set push=0", "push=0 is not allowed; .*above 0"),
    Wrong("A vortex without cells", "run isentropic_vortex --set cells=0", "cells=0 is not .* whole number, 1 or"),
    Wrong("Cells that are a list", "run sod --set cells=[1,2]", r"cells=\[1, 2\] is not allowed; it must be a whole number"),
    Wrong("Waves that are a list", "run shu_osher --set waves=[1,2]", "waves=.* is not allowed; it must be a finite number"),
    Wrong("A channel without elements", "run double_mach --set elements=0", "elements=0 is not allowed; .*3 or more"),
    Wrong("A channel with too much jitter", "run double_mach --set jitter=0.7", "jitter=0.7 is not allowed; .* 0 to 0.5"),
    Wrong("A tunnel without elements", "run forward_step --set elements=0", "elements=0 is not allowed; .*3 or more"),
    Wrong("A negative level of the rings", "run cylinder_flow --set level=-1", "level=-1 is not .* whole number, 0 or"),
    Wrong("Half a level", "run supersonic_vortex --set level=1.5", "level=1.5 is not .* whole number, 0 or"),
    Wrong("A lens without permittivity", "run tm_obstacles --set eps=0", "eps=0 is not allowed; .*above 0"),
    Wrong("A wave without frequency", "run dielectric_slab --set frequency=0", "frequency=0 is not allowed; .*above 0"),
    Wrong("A cavity without width", "run maxwell_cavity --set width=0", "width=0 is not allowed; .*above 0"),
    Wrong("A mesh that is not this tube", "run shu_osher --mesh unit.msh", r"does not fill \[-5, 5\] x \.\.\.",
          prepare=nasty("good_tri_4x4", "unit.msh")),
    Wrong("A tube with other boundaries", "run sod --mesh unit.msh", "boundary 'inlet' .*allowed: left, right",
          prepare=lambda: Path("unit.msh").write_text((NASTY / "good_tri_4x4.msh").read_text().replace('"left"', '"inlet"'))),
    Wrong("A mesh that is not this channel", "run double_mach --mesh mine.vtu", "boundary 'behind' does not exist in mine.vtu",
          prepare=triangle_file("mine.vtu")),
    Wrong("A mesh that is not a box", "run isentropic_vortex --mesh mine.vtu", "does not fill a box along the axes",
          prepare=triangle_file("mine.vtu")),
    Wrong("A mesh that does not fit the wavelength", "run advection_wave --mesh mine.vtu",
          "sides of 1.5, 1; .*must be multiples of 1",
          prepare=triangle_file("mine.vtu", [(0, 0, 0), (1.5, 0, 0), (0, 1, 0), (1.5, 1, 0)],
                                [("triangle", [[0, 1, 3], [0, 3, 2]])])),
    Wrong("A boundary that is not a sphere", "run case.py", "not a closed sphere", text="""import dgarray as dg
from dgarray.cases import maxwell_sphere
from dataclasses import replace

def case():
    mesh = dg.box()
    return maxwell_sphere(mesh=replace(mesh, boundaries={"sphere": mesh.boundaries["left"], "outer": mesh.boundaries["right"]}))
"""),
]
