"""The errors that a person can meet at the command line, each provoked; docs/errors.md is written from what they say.

    python tests/support/errors.py            writes docs/errors.md anew

`GROUPS` holds rows Wrong(title, command, words, ...); `provoke` runs one in the current folder and gives its line and status.
"""
import contextlib
import errno
import io
import os
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import meshio
import numba
import numpy as np
from dgarray.backends import gpu

import dgarray as dg
from dgarray.cli import main
from dgarray.output.checksums import sealed, unsealed

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "errors.md"
NASTY = ROOT / "tests" / "data" / "nasty"
FAST = ("--backend", "numpy", "--kernels", "array", "--threads", "1")

SCRIPT = """import numpy as np
import dgarray as dg

{before}

def case():
    given = {{"mesh": dg.rectangle(cells=(2, 2)), "law": dg.Acoustics(dim=2), "method": dg.NodalDG(order=1),
             "boundary": dg.wall, "until": 0.01}}
    return dg.Simulation(**given | {changes})
"""


@dataclass(frozen=True)
class Wrong:
    """One mistake: what is typed, and words (a regular expression) that the answer must have.

    script    what differs in case.py from a problem without mistakes: arguments of dg.Simulation, or with `text` all of it
    before    text of case.py before the case
    prepare   function that makes what the command needs in the current folder; it may return a context manager
    hide      (regular expression, text): what depends on the machine is shown as this"""

    title: str
    command: str
    words: str
    status: int = 2
    script: str = ""
    before: str = ""
    text: str = ""
    prepare: object = None
    hide: tuple = field(default=("$^", ""))


def case(title, script, words, before="", **more):
    """A mistake in a script."""
    return Wrong(title, "run case.py", words, script=script, before=before, **more)


def results(title, expression, words, **more):
    """A mistake in what a script does with its dataset, reached by the case's `results`."""
    return case(title, f"results=lambda ds: {{'x': {expression}}}", words, **more)


def on_grid(title, changes, words, **more):
    """A mistake in a script with Hermite's method on a grid."""
    return case(title, f"{{'mesh': dg.Grid((0, 0), (1, 1), (4, 4)), 'method': dg.Hermite(1)}}, {changes}", words, **more)


@cache
def stored():
    """Folder with runs to look at: flat.zarr (2D), thick.zarr (3D), line.zarr (1D), nodes.zarr (on a 2D grid)."""
    folder = Path(tempfile.mkdtemp())
    meshes = {"flat": dg.rectangle(cells=(2, 2)), "thick": dg.box(cells=(1, 1, 1)), "line": dg.interval(cells=4)}
    for name, mesh in meshes.items():
        record = {"ears": dg.Points([mesh.points.mean(axis=0)]), "walls": dg.SurfaceFields("left")}
        dg.Simulation(mesh, dg.Acoustics(mesh.dim), dg.NodalDG(1), dg.wall, until=0.1, backend="numpy", kernels="array",
                      threads=1, dt=0.05, record=record).run(out=folder / f"{name}.zarr")
    dg.Simulation(dg.Grid((0, 0), (1, 1), (4, 4)), dg.Acoustics(2), dg.Hermite(1), dg.wall, until=0.1, backend="numpy",
                  kernels="array", threads=1).run(out=folder / "nodes.zarr")
    return folder


def stores(*names):
    def prepare():
        for name in names:
            shutil.copytree(stored() / f"{name}.zarr", f"{name}.zarr")
    return prepare


def nasty(name, to=None):
    return lambda: shutil.copy(NASTY / f"{name}.msh", to or f"{name}.msh")


def file(name, text=""):
    def prepare():
        Path(name).write_text(text)
    return prepare


def triangle_file(name, points=((0, 0, 0), (1, 0, 0), (0, 1, 0)), cells=(("triangle", [[0, 1, 2]]),)):
    def prepare():
        with contextlib.redirect_stdout(io.StringIO()):
            meshio.write_points_cells(name, np.array(points, float), [(kind, np.array(c)) for kind, c in cells])
    return prepare


def solid(name, moved=None, **cells):
    """A mesh file with one cell for each type, of corners of the unit cube; moved: (corner, its place)."""
    points = [(x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
    if moved:
        points[moved[0]] = moved[1]
    return triangle_file(name, points, [(kind, [corners]) for kind, corners in cells.items()])


def without(*modules):
    """Without these libraries."""
    return lambda: mock.patch.dict(sys.modules, dict.fromkeys(modules))


def gpu_libraries(*installed):
    """With these libraries for a GPU, others not, and without an NVIDIA driver."""
    def no_driver(name):
        raise OSError(name)
    return lambda: mock.patch.multiple(
        "dgarray.backends.gpu", DRIVER="libcuda.so.1", find_spec=lambda name: name in installed or None,
        ctypes=SimpleNamespace(CDLL=no_driver))


def gpu_in_simulator():
    """With a GPU, and numba's variable for its simulator set."""
    array = SimpleNamespace(get=lambda: np.arange(gpu.THREADS))
    cupy = SimpleNamespace(__version__="14.2.0", zeros=lambda count: array)
    simulator = SimpleNamespace(config=SimpleNamespace(ENABLE_CUDASIM=1))
    stack = contextlib.ExitStack()
    for patch in (mock.patch.dict(sys.modules, cupy=cupy), mock.patch.object(numba, "cuda", simulator, create=True),
                  mock.patch.multiple(gpu, find_spec=lambda name: name, driver=lambda: (13000, None), _working=set(),
                                      _unusable=lambda *given: None, by_cupy=lambda *given: None,
                                      installed=lambda name: "0.30.4")):
        stack.enter_context(patch)
    return stack


def both(*prepares):
    def prepare():
        stack = contextlib.ExitStack()
        for each in prepares:
            made = each()
            if hasattr(made, "__enter__"):
                stack.enter_context(made)
        return stack
    return prepare


def read_only(folder="."):
    """A folder that cannot be written to, also for root, whom permissions do not stop."""
    place, real = Path(folder).resolve(), os.access

    def access(path, mode, **more):
        return False if mode == os.W_OK and Path(path).resolve() == place else real(path, mode, **more)
    return mock.patch("os.access", access)


@contextlib.contextmanager
def no_space(limit=20_000):
    """Files may not grow beyond so many bytes, as under a quota."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def full_at(part):
    """The disk is full when a file of the store is written whose path has this part."""
    from dgarray.output.files import Files
    real = Files._replace

    def replace(self, path, content):
        if part in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, path, content)
    return mock.patch.object(Files, "_replace", replace)


def stopped_by(number):
    """The signal comes when the first checkpoint has been written."""
    def send():
        while not list(Path("out.zarr").glob("checkpoints/*.npz")):
            time.sleep(0.01)
        os.kill(os.getpid(), number)
    return lambda: threading.Thread(target=send, daemon=True).start()


def broken_table(text="x"):
    """A tuning table that somebody has spoiled, in the cache folder."""
    Path("tuning.json").write_text(text)
    return mock.patch.dict(os.environ, DGARRAY_CACHE=os.getcwd())


def little_memory():
    return mock.patch("dgarray.backends.arrays.host_free", lambda: 2**20)


def run(*arguments):
    """Write out.zarr by this run."""
    said, status = call(["run", *arguments, "--quiet", "--out", "out.zarr", *FAST])
    assert status == 0, said


def going_on(changes, before=""):
    """A store of another problem than case.py defines."""
    def prepare():
        Path("other.py").write_text(SCRIPT.format(before=before, changes=f"dict({changes})"))
        run("other.py")
    return prepare


def gone():
    """A run on a mesh file that is not there any more."""
    shutil.copy(NASTY / "good_tri_4x4.msh", "mine.msh")
    run("advection_wave", "--mesh", "mine.msh", "--order", "1", "--until", "0.1")
    Path("mine.msh").unlink()


def changed(change):
    """A store of case.py whose metadata have been changed."""
    going_on("")()
    metadata = Path("out.zarr/zarr.json")
    group, arrays = unsealed(metadata.read_bytes(), metadata)
    change(arrays)
    metadata.write_bytes(sealed(group, arrays))


def cut_short():
    def change(arrays):
        arrays["time"]["shape"][0] = 1
    changed(change)


def robbed():
    changed(lambda arrays: arrays.pop("p"))


def damaged():
    stores("flat")()
    for checkpoint in Path("flat.zarr/checkpoints").glob("*.npz"):
        checkpoint.write_bytes(b"damaged")


def flipped(*names):
    """The run flat.zarr, with one bit flipped in each of these files."""
    def prepare():
        stores("flat")()
        for name in names:
            flip(Path("flat.zarr") / name)
    return prepare


def flip(file, byte=-9, bit=3):
    content = bytearray(file.read_bytes())
    content[byte] ^= 1 << bit
    file.write_bytes(content)


def no_root():
    stores("flat")()
    Path("flat.zarr/zarr.json").write_text("{")


def foreign():
    import xarray
    with warnings.catch_warnings(action="ignore"):
        xarray.Dataset({"a": ("x", [1.0])}).to_zarr("flat.zarr", zarr_format=3)


def mesh_of(cells="(1, 1)", **names):
    return f"mesh=dg.rectangle(cells={cells})"


SU2 = """NDIME= 2
NELEM= 1
5 0 1 2 0
NPOIN= 3
0.0 0.0 0
1.0 0.0 1
0.0 1.0 2
NMARK= 1
MARKER_TAG= wall
MARKER_ELEMS= 1
3 0 1
MARKER_TAG= lost
"""
FREE = r"only [\d.]+", "only 12.3"
DIGEST = r"\b[0-9a-f]{8}\b", "89abcdef"
INITIAL = "def initial(x):\n    return {}"
COLLAPSE = """class Burgers(dg.Law):
    dim, variables = 1, ("u",)

    def flux(self, q, n):
        return (q[0] ** 2 / 2 * n[0],)

    def wave_speed(self, q, n):
        return np.abs(q[0] * n[0])"""
BURGERS = "mesh=dg.interval(cells=4), law=Burgers(), boundary=dg.outflow, "

GROUPS = {}

GROUPS["The command line"] = [
    Wrong("No command", "", "give a command: list, run"),
    Wrong("A misspelt command", "rum tm_cavity", "did you mean 'run'"),
    Wrong("A misspelt option", "run tm_cavity --ordr 3", "allowed: .*--order.*did you mean '--order'"),
    Wrong("An option of another command", "plot out.zarr Ez --order 3", "--order does not exist"),
    Wrong("No case", "run", "required: CASE"),
    Wrong("A word too many", "list all", "no place for 'all'"),
    Wrong("An option without its value", "run tm_cavity --order", "--order needs a value"),
    Wrong("No whole number", "run tm_cavity --order two", "'two' is not a whole number"),
    Wrong("No number", "run tm_cavity --until soon", "'soon' is not a number"),
    Wrong("A misspelt case", "run tm_cavty", "did you mean 'tm_cavity'"),
    Wrong("A misspelt keyword of a case", "run tm_cavity --set cels=3", "did you mean 'cells'"),
    Wrong("A keyword without a value", "run tm_cavity --set cells", "NAME=VALUE"),
    Wrong("A keyword given twice", "run tm_cavity --order 2 --set order=3", "both; give one|given both"),
    Wrong("A misspelt backend", "run tm_cavity --backend nunpy", "did you mean 'numpy'"),
    Wrong("A GPU where there is none", "run tm_cavity --backend cupy", "CuPy is not installed", prepare=without("cupy")),
    Wrong("A GPU without the compiler of its kernels", "run tm_cavity --backend cupy", "numba-cuda is not installed",
          prepare=gpu_libraries("cupy")),
    Wrong("A GPU without a driver", "run tm_cavity --backend cupy", "no NVIDIA driver .*was looked for.*install driver",
          prepare=gpu_libraries("cupy", "numba_cuda")),
    Wrong("A GPU with kernels that do not run", "run tm_cavity --backend cupy", "NUMBA_ENABLE_CUDASIM is set.*unset it",
          prepare=gpu_in_simulator),
    Wrong("Misspelt kernels", "run tm_cavity --kernels fussed", "did you mean 'fused'"),
    Wrong("A misspelt dtype", "run tm_cavity --dtype flaot32", "did you mean 'float32'"),
    Wrong("No threads", "run tm_cavity --threads 0", "whole number from 1"),
    Wrong("More threads than there are", "run tm_cavity --threads 10000", "this process may use", hide=(r"use \d+", "use 8")),
    Wrong("Threads on a GPU", "run tm_cavity --backend cupy --threads 2", "for the CPU"),
    Wrong("A misspelt stepper", "run tm_cavity --stepper rk44", "did you mean 'rk4'"),
    Wrong("A time that is not positive", "run tm_cavity --until -1", "until=-1.0 .*positive"),
    Wrong("No interval", "run tm_cavity --every 0", "every=0.0 .*positive"),
    Wrong("No step", "run tm_cavity --dt nan", "dt=nan .*positive"),
    Wrong("No Courant number", "run tm_cavity --cfl 0", "cfl=0.0 .*positive"),
    Wrong("No tolerance of a steady state", "run tm_cavity --steady 0", "steady=0.0 .*positive"),
    Wrong("A steady state that changes too much", "run tm_cavity --steady 2", "steady=2.0 is not .* share below 1"),
    Wrong("A misspelt limiter", "run sod --set limiter=vertx",
          "allowed: barth-jespersen, barth-jespersen-vertices, vertex, auto, none"),
    Wrong("No interval between checkpoints", "run tm_cavity --checkpoint 0", "checkpoint=0.0 .*positive"),
    Wrong("No model time between checkpoints", "run tm_cavity --checkpoint-every -1", "checkpoint_every=-1.0 .*positive"),
    Wrong("An order that there is not", "run tm_cavity --order 11", "1 to 10"),
    Wrong("A misspelt start", "run tm_cavity --set start=interpolate", "did you mean 'interpolation'"),
    Wrong("A probe with too few numbers", "run tm_cavity --probe 0.5", "give 2 numbers"),
    Wrong("A probe that is no number", "run tm_cavity --probe here,there", "give 2 numbers"),
    Wrong("A probe outside the mesh", "run tm_cavity --probe 5,5", "outside the mesh"),
    Wrong("A misspelt variable of --live", "run tm_cavity --live --live-variable Exz", "did you mean 'Ez'"),
    Wrong("A variable of --live without --live", "run tm_cavity --live-variable Ez", "without --live"),
    Wrong("A live picture in no folder", "run tm_cavity --live nowhere/a.png", "nowhere"),
    Wrong("A dump of another kind", "run tm_cavity --dump-on-error bad.txt", "'.txt'; allowed: .vtu, .png"),
    Wrong("A dump in no folder", "run tm_cavity --dump-on-error nowhere/bad.vtu", "nowhere"),
    Wrong("JSON in no folder", "run tm_cavity --json nowhere/r.json", "nowhere"),
    Wrong("JSON to a folder", "run tm_cavity --json .", "this is a folder"),
    Wrong("The order of eoc", "eoc tm_cavity --set order=3", "give --orders"),
    Wrong("No range of orders", "eoc tm_cavity --orders a-b", "1-5 or a list"),
    Wrong("An order that is not reached", "eoc tm_cavity --orders 1-11", "order=11 is not allowed"),
    Wrong("An order that the case does not have", "eoc isentropic_vortex --orders 1-9", "order=7 is not allowed for ModalDG"),
    Wrong("A stepper that the last order does not have", "eoc tm_cavity --orders 1-2 --stepper rk2", "rk2"),
    Wrong("One level", "eoc tm_cavity --levels 1", "at least 2"),
    Wrong("No exact solution", "eoc case.py --orders 1", "no exact solution",
          text=SCRIPT.format(before="", changes="{}").replace("case()", "case(order)")),
    Wrong("A misspelt case of bench", "bench tm_cavty", "did you mean 'tm_cavity'"),
    Wrong("Nothing to compare with", "bench --compare old.json", "cannot be read"),
    Wrong("No JSON to compare with", "bench --compare old.json", "no JSON", prepare=file("old.json", "x")),
    Wrong("No benchmark to compare with", "bench --compare old.json", "no benchmark", prepare=file("old.json", "{}")),
    Wrong("A GPU to measure where there is none", "bench --backend cupy", "CuPy is not installed", prepare=without("cupy")),
    Wrong("A backend that bench does not know", "bench --backend cuda", "allowed: numpy, cupy"),
    Wrong("Orders of bench on the CPU", "bench --orders 2", "--orders is for --backend cupy"),
    Wrong("Orders and a case of bench", "bench tm_cavity --backend cupy --orders 2", "leave out one of both"),
    Wrong("An order that bench cannot have", "bench --backend cupy --orders 9-11", "1 to 10"),
    Wrong("A dtype that bench cannot have", "bench --backend cupy --dtype float16", "allowed: float64, float32"),
    Wrong("A first contact with an option of bench", "bench --first-contact contact --quick", "leave out --quick"),
    Wrong("A first contact with a case", "bench tm_cavity --first-contact contact", "leave out tm_cavity"),
    Wrong("A first contact in a file", "bench --first-contact old.json", "give a folder", prepare=file("old.json")),
    Wrong("A first contact without time", "bench --first-contact contact --budget 0", "positive number"),
    Wrong("A budget without a first contact", "bench --budget 100", "give both"),
    Wrong("A GPU to tune for where there is none", "tune", "CuPy is not installed", prepare=without("cupy")),
    Wrong("A misspelt case of tune", "tune tm_cavty", "did you mean 'tm_cavity'"),
    Wrong("A misspelt law of tune", "tune --law maxwel-3d", "did you mean 'maxwell-3d'"),
    Wrong("A law and a case to tune for", "tune tm_cavity --law maxwell-3d", "leave out"),
    Wrong("An order that tune cannot have", "tune --orders 9-11", "1 to 10"),
    Wrong("A dtype that tune cannot have", "tune --dtype float16", "allowed: float64, float32"),
    Wrong("A broken tuning table", "tune", "tuning.json cannot be read.*correct it or delete it", prepare=broken_table),
    Wrong("No tuning table", "tune", "tuning.json is no tuning table", prepare=lambda: broken_table("[]")),
]

GROUPS["Cases and scripts"] = [
    Wrong("A script that is not there", "run case.py", "no such file"),
    Wrong("A mesh in place of a case", "run slab.msh", "a mesh goes to --mesh", prepare=file("slab.msh")),
    Wrong("A script without a case", "run case.py", "no function case", text="x = 1\n"),
    Wrong("A script that Python cannot read", "run case.py", r"case.py:1", text="def case(:\n"),
    Wrong("A script that raises", "run case.py", "IndexError: .*case.py:2", text="def case():\n    return [][1]\n"),
    Wrong("A script that raises an error without words", "run case.py", "ValueError.*case.py:2",
          text="def case():\n    raise ValueError\n"),
    Wrong("A script that opens a file which is not there", "run case.py", "data.csv: No such file.*case.py:2",
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
    Wrong("A keyword that the script's case does not have", "run case.py --order 3", "--order: .*in case 'case'",
          script="until=1"),
    case("No end", "until=None", "give --until"),
    Wrong("A record called probes", "run case.py --probe 0.5,0.5", "a record 'probes' already",
          script="record={'probes': dg.Extrema()}"),
    case("Results that are no function", "results=3", "results=3 is not allowed; it must be a function of the dataset"),
    case("A wall's normal that does not exist", "boundary=dg.curved_wall('splin')", "allowed: spline, or a function of x"),
    case("Results that are no dict", "results=lambda ds: 1.0", "must be a dict"),
    Wrong("A case in another dimension than the mesh", "run maxwell_cavity --mesh flat.msh", "this case is 3D",
          prepare=nasty("good_tri_4x4", "flat.msh")),
    Wrong("A mesh that does not fit a case", "run tm_cavity --mesh unit.msh", "does not fill",
          prepare=nasty("good_tri_4x4", "unit.msh")),
    Wrong("A mesh without a region of the case", "run dielectric_slab --mesh unit.msh", "'slab' is not in the mesh",
          prepare=nasty("good_tri_4x4", "unit.msh")),
    Wrong("No dimension", "run advection_wave --set dim=4", "1, 2 or 3"),
    Wrong("No mode", "run maxwell_cavity --set m=0", "m and n must be at least 1"),
    Wrong("No polarisation", "run dielectric_slab --set polarisation=tm", "allowed: TM, TE"),
    Wrong("A wave past the slab", "run dielectric_slab --set angle=95", "below 90 degrees"),
    Wrong("No wave number", "run maxwell_sphere --set ka=0", "positive number"),
    Wrong("No level", "run maxwell_sphere --set level=-1", "whole number, 0 or more"),
    Wrong("A number that is none", "run tm_cavity --set cells=ten", "--set cells: 'ten' is not .*a number, such as 3"),
    Wrong("A switch that is none", "run sod --set positivity=perhaps", "give true or false"),
    Wrong("No whole number of cells", "run tm_cavity --set cells=1.5", "cells must be whole numbers from 1"),
    Wrong("Half a mode", "run tm_cavity --set m=0.5", "m=0.5 is not allowed; it must be a whole number, 1 or more"),
    Wrong("No waves", "run advection_wave --set waves=0", "waves=0 is not allowed; it must be a whole number, 1 or more"),
    Wrong("A speed that is not finite", "run advection_wave --set speed=1e400", "speed=inf is not .* a finite number"),
    Wrong("A pulse without width", "run acoustic_pulse --set half_width=0", "must be a finite number above 0"),
    Wrong("No thickness", "run kelvin_helmholtz --set thickness=0", "thickness=0 is not allowed; .*above 0"),
    Wrong("Nothing that grows", "run kelvin_helmholtz --set push=0", "push=0 is not allowed; .*above 0"),
    Wrong("A vortex without cells", "run isentropic_vortex --set cells=0", "cells=0 is not .* whole number, 1 or"),
    Wrong("Cells that are a list", "run sod --set cells=[1,2]", r"cells=\[1, 2\] is not allowed; it must be a whole number"),
    Wrong("Waves that are a list", "run shu_osher --set waves=[1,2]", "waves=.* is not allowed; it must be a finite number"),
    Wrong("A channel without elements", "run double_mach --set elements=0", "elements=0 is not allowed; .*3 or more"),
    Wrong("A channel of tangled triangles", "run double_mach --set jitter=0.7", "jitter=0.7 is not allowed; .* 0 to 0.5"),
    Wrong("A tunnel without elements", "run forward_step --set elements=0", "elements=0 is not allowed; .*3 or more"),
    Wrong("No level of the rings", "run cylinder_flow --set level=-1", "level=-1 is not .* whole number, 0 or"),
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
    Wrong("A mesh that is no box", "run isentropic_vortex --mesh mine.vtu", "does not fill a box along the axes",
          prepare=triangle_file("mine.vtu")),
    Wrong("A mesh without room for the wave", "run advection_wave --mesh mine.vtu", "sides of 1.5, 1; .*must be multiples of 1",
          prepare=triangle_file("mine.vtu", [(0, 0, 0), (1.5, 0, 0), (0, 1, 0), (1.5, 1, 0)],
                                [("triangle", [[0, 1, 3], [0, 3, 2]])])),
    Wrong("A sphere that is none", "run case.py", "no closed sphere", text="""import dgarray as dg
from dgarray.cases import maxwell_sphere
from dataclasses import replace

def case():
    mesh = dg.box()
    return maxwell_sphere(mesh=replace(mesh, boundaries={"sphere": mesh.boundaries["left"], "outer": mesh.boundaries["right"]}))
"""),
]

GROUPS["Meshes"] = [
    Wrong("No file", "info mine.msh", "no such file"),
    Wrong("No mesh file", "run tm_cavity --mesh mine.msh", "mine.msh: no such file"),
    Wrong("A folder", "run tm_cavity --mesh .", "is a folder"),
    Wrong("An empty file", "info mine.msh", "file is empty", prepare=nasty("empty_0_bytes", "mine.msh")),
    Wrong("Another suffix", "info mine.xyz", "no reader for .xyz; allowed: ", prepare=file("mine.xyz", "1")),
    Wrong("A format that is not read", "info mine.obj", "convert it to Gmsh", prepare=file("mine.obj", "v 0 0 0")),
    Wrong("Half of a TetGen mesh", "info mine.node", "need mine.ele", prepare=file("mine.node", "1 3 0 0\n")),
    Wrong("No Gmsh file", "info mine.msh", "MeshFormat is missing", prepare=nasty("not_a_mesh", "mine.msh")),
    Wrong("A damaged file", "info mine.vtu", "not a readable vtu file", prepare=file("mine.vtu", "<VTK")),
    Wrong("A Gmsh file of another version", "info mine.msh", "not known", prepare=nasty("version_99", "mine.msh")),
    Wrong("A file that is cut off", "info mine.msh", "cut off", prepare=nasty("truncated_mid_elements", "mine.msh")),
    Wrong("No cells", "info mine.msh", "no cells", prepare=nasty("empty_no_elements_v22", "mine.msh")),
    Wrong("Points only", "info mine.vtu", "points, but no cells", prepare=triangle_file("mine.vtu", cells=[("vertex", [[0]])])),
    Wrong("Cells of two types", "info mine.msh", "in one mesh are not supported", prepare=nasty("mixed_tri_quad", "mine.msh")),
    Wrong("Prisms", "info mine.vtu", "'wedge' are not supported; .*--split",
          prepare=solid("mine.vtu", wedge=[0, 1, 2, 4, 5, 6])),
    Wrong("Nothing to split", "run tm_cavity --split", "--split is given without --mesh; give both"),
    Wrong("A folder to split", "info flat.zarr --split", "--split is for mesh files", prepare=stores("flat")),
    Wrong("Cells that cannot be split", "info mine.vtu --split", "'polygon' cannot be cut into simplices; allowed: triangle",
          prepare=triangle_file("mine.vtu", cells=[("polygon", [[0, 1, 2]])])),
    Wrong("Cells of several orders to split", "info mine.vtu --split", "several orders in one mesh", prepare=triangle_file(
        "mine.vtu", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (1.5, 0, 0), (2, 0, 0), (1.5, 0.5, 0), (1, 0.5, 0)],
        [("quad", [[0, 1, 2, 3]]), ("triangle6", [[1, 5, 2, 4, 6, 7]])])),
    Wrong("A cell too warped to be split", "info mine.vtu --split", "cannot be split into tetrahedra .* less warped",
          prepare=solid("mine.vtu", (6, (0.1, 0.1, -0.5)), hexahedron=list(range(8)))),
    Wrong("Concave cells", "info mine.msh", "concave, twisted", prepare=nasty("quad_concave", "mine.msh")),
    Wrong("Folded curved cells", "info mine.vtu", "folded or degenerate", prepare=triangle_file("mine.vtu", [
        (0, 0, 0), (1, 0, 0), (0, 1, 0), (0.5, 0.6, 0), (0.5, 0.5, 0), (0, 0.5, 0)], [("triangle6", [[0, 1, 2, 3, 4, 5]])])),
    Wrong("A surface in space", "info mine.msh", "no volume cells", prepare=nasty("curved_surface_in_3d", "mine.msh")),
    Wrong("Coordinates that are not finite", "info mine.msh", "must be finite", prepare=nasty("nan_coordinate", "mine.msh")),
    Wrong("A node twice in a cell", "info mine.msh", "a node twice", prepare=nasty("repeated_node_in_element", "mine.msh")),
    Wrong("Flat cells", "info mine.msh", "have no area", prepare=nasty("degenerate_zero_area", "mine.msh")),
    Wrong("A cell twice", "info mine.msh", "three neighbours", prepare=nasty("duplicate_element", "mine.msh")),
    Wrong("Cells that overlap", "info mine.vtu", "overlap", prepare=triangle_file(
        "mine.vtu", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.2, 0.9, 0)], [("triangle", [[0, 1, 2], [0, 1, 3]])])),
    Wrong("Hanging nodes", "info mine.msh", "nonconforming interface", prepare=nasty("nonconforming_interface", "mine.msh")),
    Wrong("A boundary beside the mesh", "info mine.msh", "boundary 'ghost'",
          prepare=nasty("boundary_line_not_on_mesh", "mine.msh")),
    Wrong("A node that there is not", "info mine.vtu", "node that does not exist", prepare=triangle_file(
        "mine.vtu", cells=[("triangle", [[0, 1, 7]])])),
    case("Bounds in the wrong order", "mesh=dg.rectangle((0, 0), (1, -1))", "must be below"),
    case("No name of a file", "mesh=dg.read_mesh(3)", r"read_mesh\(3\) is not allowed; give the name of a mesh file"),
    case("Bounds that are no numbers", "mesh=dg.interval('a', 1)", "lower='a' is not allowed; it must be a number"),
    case("A side without cells", "mesh=dg.rectangle(cells=(0, 2))", "whole numbers from 1"),
    case("Too many counts", "mesh=dg.rectangle(cells=(1, 2, 3))", "one value or 2"),
    case("A misspelt diagonal", "mesh=dg.rectangle(diagonal='rigth')", "did you mean 'right'"),
    case("Points moved too far", "mesh=dg.interval(perturb=0.5)", r"\[0, 0.5\)"),
    case("A misspelt shape", "mesh=dg.rectangle(shape='quadrilatral')", "did you mean 'quadrilateral'"),
    case("A diagonal of quadrilaterals", "mesh=dg.rectangle(diagonal='left', shape='quadrilateral')", "only triangles"),
    case("Quadrilaterals for a method on triangles", "mesh=dg.rectangle(shape='quadrilateral')", "not on quadrilateral cells"),
    case("A map that turns cells over", "mesh=dg.rectangle().mapped(lambda x: (-x[0], x[1]))", "keeps the orientation"),
    case("A map that parts periodic boundaries",
         "mesh=dg.rectangle(periodic=True).mapped(lambda x: (x[0], x[1] + x[0] * x[1]))", "do not match any more"),
    case("Points moved over one another", "mesh=dg.rectangle(perturb=0.49)", "cells over"),
    case("A misspelt boundary to be periodic", "mesh=dg.rectangle().periodic(('left', 'rigth'))", "did you mean 'right'"),
    case("A pair that is none", "mesh=dg.rectangle().periodic('left', 'right')", "takes pairs"),
    case("A boundary periodic with itself", "mesh=dg.rectangle().periodic(('left', 'left'))", "with itself"),
    case("Boundaries that do not match", "mesh=dg.rectangle(cells=(2, 3)).periodic(('left', 'top'))", "do not match"),
    case("Arrays without cells", "mesh=dg.mesh.from_arrays([(0, 0)], np.empty((0, 3)))", "there are no cells"),
    case("Arrays that do not fit", "mesh=dg.mesh.from_arrays([(0, 0)], [[0, 1]])", "do not fit"),
    Wrong("SU2 markers without cells", "info mine.su2", "markers do not fit", prepare=file("mine.su2", SU2)),
    Wrong("A region to be periodic", "run case.py", "is a region",
          script="mesh=dg.read_mesh('mine.msh').periodic(('domain', '1'))",
          prepare=nasty("good_tri_4x4", "mine.msh")),
]

GROUPS["The problem"] = [
    case("No mesh", "mesh='cavity.msh'", "give a mesh"),
    case("No law", "law=dg.Acoustics", "give a law"),
    case("No method", "method=4", "give a method"),
    case("A law without all its parts", "law=Mine()", "has no flux", "class Mine(dg.Law):\n    dim, variables = 2, ('u',)"),
    case("A law without a wave speed", "law=Mine()", "has no wave_speed",
         "class Mine(dg.Law):\n    dim, variables = 2, ('u',)\n\n    def flux(self, q, n):\n        return (q[0] * n[0],)"),
    case("A law in another dimension", "law=dg.Acoustics(dim=3)", "the law has 3"),
    case("No dimension", "law=dg.Maxwell(dim=4)", "1, 2 or 3"),
    case("No polarisation", "law=dg.Maxwell(dim=2, polarisation='TEM')", "allowed: TM, TE"),
    case("A parameter out of bounds", "law=dg.Acoustics(density=-1.0)", "must be positive"),
    case("A parameter that is no number", "law=dg.Acoustics(density='heavy')", "give a number"),
    case("A misspelt parameter", "law=dg.Acoustics(densty=1.0)", "did you mean 'density'"),
    case("A misspelt region", "mesh=dg.read_mesh('mine.msh'), law=dg.Acoustics(density={'doman': 1.0})",
         "did you mean 'domain'", prepare=nasty("good_tri_4x4", "mine.msh")),
    case("A region without a value", "law=dg.Acoustics(density={})", "without a value"),
    case("Regions that overlap", "mesh=halves, law=dg.Acoustics(density={'a': 1.0, 'b': 2.0})", "two values",
         "from dataclasses import replace\nhalves = replace(dg.rectangle(cells=(1, 1)), "
         "regions={'a': np.array([0, 1]), 'b': np.array([1])})"),
    case("A parameter of other things than x", "law=dg.Acoustics(density=lambda x, y: 1.0)", "asks for y; allowed: x"),
    case("Velocities of another dimension", "law=dg.Advection((1, 2), dim=3)", "has 2 components"),
    case("A velocity without a dimension", "law=dg.Advection(lambda x: (1.0, 0.0))", "needs dim"),
    case("A velocity with too few components", "law=dg.Advection(lambda x: (1.0,), dim=2)",
         "returns 1 component; it must return 2"),
    case("An order that there is not", "method=dg.NodalDG(order=2.5)", "1 to 10"),
    case("A misspelt family of a law", "law=Mine()", "family 'curll' .*did you mean 'curl'",
         "class Mine(dg.Acoustics):\n    family = 'curll'"),
    case("A law whose flux has too few components", "law=Mine()", "law's flux returns 1 component;",
         "class Mine(dg.Acoustics):\n    def flux(self, q, n):\n        return (q[0] * n[0],)"),
    case("A law that asks for what there is not", "law=Mine()", "asks for 'y'; allowed",
         "class Mine(dg.Acoustics):\n    def flux(self, q, n, y):\n        return q"),
    case("A misspelt parameter in a law", "law=Mine()", "did you mean 'rho'",
         "class Mine(dg.Acoustics):\n    def wave_speed(self, n, m):\n        return m.rhoo"),
    case("A wave speed that is no number", "law=Mine()", "must return numbers",
         "class Mine(dg.Acoustics):\n    def wave_speed(self, n):\n        return Ellipsis"),
    case("A flux that is no function", "flux='upwind'", "flux='upwind'"),
    case("A misspelt flux", "flux=dg.upwnd", "did you mean 'upwind'"),
    case("A flux that is a boundary condition", "flux=dg.wall", "flux=wall asks for q, n, law; it must be"),
    case("A flux that gives no flux", "flux=lambda law: 3", "returns 3; it must return a function"),
    case("A flux out of its range", "flux=lambda law: dg.upwind(law, alpha=2)", "between 0"),
    case("No boundary conditions", "boundary=None", "have no condition"),
    case("A boundary condition that is none", "boundary='wall'", "give one condition or a dict"),
    case("A misspelt boundary", "boundary={'lefft': dg.wall}", "did you mean 'left'"),
    case("A boundary that is left out", "boundary={'left': dg.wall}", "have no condition"),
    case("No condition at a boundary", "boundary={'left': 'wall'}", "is not a condition"),
    case("A condition that was not made", "law=dg.Euler(2), boundary=dg.far_field",
         r"far_field makes a condition, it is none; call it: dgarray.far_field\(g\)"),
    case("A far field with too few components", "law=dg.Euler(2), boundary=dg.far_field(lambda x, t: (1.0, 0.0, 1.0))",
         "state of far_field returns 3 components; it must return 4: rho, rho_u, rho_v, E"),
    case("A far field that is no gas", "law=dg.Euler(2), boundary=dg.far_field(lambda x, t: (1.0, 3.0, 0.0, 1.0))",
         r"not admissible at .* = \(1, 3, 0, 1\); law.conservative makes it of rho, u, v, p"),
    case("A prescribed state that is not finite", "boundary=dg.prescribed(lambda x, t: (np.nan, 0.0, 0.0))",
         "state of prescribed is not finite at"),
    case("An outflow against no pressure", "law=dg.Euler(2), boundary=dg.pressure_outflow(lambda x, t: -1.0)",
         "pressure of pressure_outflow is not positive at"),
    case("Two conditions at a face", "mesh=twice, boundary={'left': dg.wall, 'west': dg.outflow, 'default': dg.wall}",
         "share faces",
         "from dataclasses import replace\nmesh = dg.rectangle(cells=(1, 1))\n"
         "twice = replace(mesh, boundaries={**mesh.boundaries, 'west': mesh.boundaries['left']})"),
    case("A condition of another law", "boundary=dg.pec", "needs a law of Maxwell type"),
    case("A condition of acoustics", "law=dg.Maxwell(dim=2)", "needs a law of Acoustics, Euler or MHD type"),
    case("A condition that asks for what there is not", "boundary=mirror", "asks for 'normal'",
         "def mirror(q, normal):\n    return q"),
    case("A condition with too few components", "boundary=mirror", "returns 1 component; it must return 3: p, vx, vy",
         "def mirror(q):\n    return (q[0],)"),
    case("A condition that returns nothing", "boundary=mirror", "returns None", "def mirror(q):\n    q[0]"),
    case("A condition that returns a text", "boundary=mirror", "returns 'a'; it must return numbers",
         "def mirror(q):\n    return 'a', 'b', 'c'"),
    case("A condition with a branch", "boundary=mirror", "use np.where instead of if",
         "def mirror(q):\n    return q if q[0] > 0 else (-q[0], q[1], q[2])"),
    case("A function of NumPy that is not compiled", "boundary=mirror", "np.arcsinh is not supported",
         "def mirror(q):\n    return np.arcsinh(q[0]), q[1], q[2]"),
    case("A sum by NumPy", "boundary=mirror", "np.sum is not supported", "def mirror(q):\n    return np.sum(q[0]), q[1], q[2]"),
    case("A reduction by NumPy", "boundary=mirror", "np.add.reduce is not supported",
         "def mirror(q):\n    return np.add.reduce(q[0]), q[1], q[2]"),
    case("The math module", "boundary=mirror", "use np.sqrt, not math.sqrt",
         "import math\n\ndef mirror(q):\n    return math.sqrt(q[0]), q[1], q[2]"),
    case("An entry of a component", "boundary=mirror", "without length or entries",
         "def mirror(q):\n    return q[0][0], q[1], q[2]"),
    case("An attribute of a component", "boundary=mirror", "'.real' of a value",
         "def mirror(q):\n    return q[0].real, q[1], q[2]"),
    case("An array of components", "boundary=mirror", "cannot go into a NumPy array",
         "def mirror(q):\n    return np.array(q[0]), q[1], q[2]"),
    case("An array in a formula", "boundary=mirror", "an array of shape",
         "def mirror(q):\n    return q[0] * np.ones(3), q[1], q[2]"),
    case("A complex number in a formula", "boundary=mirror", "neither a real number",
         "def mirror(q):\n    return q[0] * 1j, q[1], q[2]"),
    case("Numbers joined by &", "boundary=mirror", "are for comparisons", "def mirror(q):\n    return q[0] & q[1], q[1], q[2]"),
    case("A root of a comparison", "boundary=mirror", "only comparisons",
         "def mirror(q):\n    return np.sqrt(q[0] > 0), q[1], q[2]"),
    case("A value kept from an earlier call", "boundary=mirror", "kept from an earlier call",
         "kept = []\n\ndef mirror(q):\n    kept.append(q[0])\n    return kept[0] + q[1], q[1], q[2]"),
    case("A wall without a normal", "boundary=dg.curved_wall(lambda x: (0.0, 0.0))", "normal of curved_wall is zero"),
    case("A normal along the wall", "boundary=dg.curved_wall(lambda x: (1.0, 0.0))", "neither tangential"),
    case("An incident wave that is no function", "boundary=dg.incident(1.0)", "give a tuple of finite numbers"),
    case("A wave that goes nowhere", "boundary=dg.incident(dg.plane_wave(dg.Acoustics(2), (1, 1), 1.0, np.sin))",
         "unit vector"),
    case("A wave in two media", "boundary=dg.incident(dg.plane_wave(dg.Acoustics(2, density={'a': 1.0}), (1, 0), 1.0, np.sin))",
         "uniform medium"),
    case("A wave in another medium than its boundary",
         "boundary=dg.incident(dg.plane_wave(dg.Acoustics(2, density=2.0), (1, 0), 1.0, np.sin))", "but at the boundary"),
    case("A wave along its field", "boundary=dg.incident(dg.plane_wave(dg.Maxwell(3), (0, 0, 1), (0, 0, 1), np.sin))",
         "normal to"),
    case("A wave of the other polarisation", "boundary=dg.incident(dg.plane_wave(dg.Maxwell(2), (1, 0), (0, 1, 0), np.sin))",
         "the law has Hx, Hy, Ez"),
    case("An initial state that is no function", "initial=0.0", "must be a function"),
    case("An initial state with too few components", "initial=initial", "returns 2 components", INITIAL.format("0.0, 0.0")),
    case("An initial state of other things than x", "initial=initial", "asks for 'y'",
         "def initial(x, y):\n    return 0.0, 0.0, 0.0"),
    case("An initial state with a branch", "initial=initial", "initial, case.py:4. decides a branch .*use np.where",
         "def initial(x):\n    return (1.0, 0.0, 0.0) if x[0] > 0.5 else (0.0, 0.0, 0.0)"),
    case("An initial state of another shape", "initial=initial", r"component p has the shape \(7,\); it must be a number or",
         INITIAL.format("np.zeros(7), 0.0, 0.0")),
    case("An initial state that is an array", "initial=initial", "as a tuple, not as an array", INITIAL.format("np.zeros(3)")),
    case("An exact solution with a branch", "exact=exact", "exact, case.py:4. decides a branch",
         "def exact(x, t):\n    return (1.0, 0.0, 0.0) if x[0] > 0.5 else (0.0, 0.0, 0.0)"),
    case("An initial state that is complex", "initial=initial", "is complex", INITIAL.format("1j * x[0], 0.0, 0.0")),
    case("An initial state that is not finite", "initial=initial", "initial state is not finite",
         INITIAL.format("0 * x[0] + np.nan, 0.0, 0.0")),
    case("An initial state that raises", "initial=initial", "IndexError.*case.py", INITIAL.format("x[2], 0.0, 0.0")),
    case("A source with too few components", "source=lambda x: (1.0,)", "source .*returns 1 component;"),
    case("An exact solution with too few components", "exact=lambda x, t: (1.0,)", "exact solution .*returns 1 component;"),
    case("No Courant number in a script", "cfl=None", "cfl=None .*positive"),
    case("Limits that do not exist", "method=dg.ModalDG(1, limiter='vertx')",
         "allowed: barth-jespersen, barth-jespersen-vertices, vertex, None"),
    case("Threads that are no number", "backend='numpy', threads='two'", "threads='two' is not allowed; it must be a whole"),
    case("A misspelt stepper", "stepper='lsrk45'", "did you mean 'lsrk54'"),
    Wrong("A misspelt option in replace", "run case.py", "did you mean 'boundary'", text="""import dgarray as dg

def case():
    sim = dg.Simulation(dg.rectangle(), dg.Acoustics(2), dg.NodalDG(1), dg.wall)
    return sim.replace(boundry=dg.outflow)
"""),
    Wrong("A restart without a store", "run case.py", "restart=True needs out=", text="""import dgarray as dg

def case():
    sim = dg.Simulation(dg.rectangle(), dg.Acoustics(2), dg.NodalDG(1), dg.wall)
    return sim.run(until=1.0, restart=True)
"""),
    case("A variable twice", "law=Mine(), boundary=dg.outflow", "each once", """class Mine(dg.Acoustics):
    def __init__(self):
        super().__init__(2)
        self.variables = ("p", "v", "v")"""),
    case("A variable with a taken name", "law=Mine(), boundary=dg.outflow", "is taken", """class Mine(dg.Acoustics):
    def __init__(self):
        super().__init__(2)
        self.variables = ("time", "vx", "vy")"""),
    Wrong("A boundary condition to explain without its law", "run case.py", "is explained for a law",
          text="""import dgarray as dg

def case():
    dg.explain(lambda q: q)
"""),
    Wrong("Nothing to explain", "run case.py", "cannot be explained", text="""import dgarray as dg

def case():
    dg.explain("Maxwell")
"""),
]

GROUPS["Hermite's method on grids"] = [
    on_grid("A grid that ends before it begins", "mesh=dg.Grid(1, 0)", "must be below upper"),
    on_grid("A grid without cells", "mesh=dg.Grid(0, 1, 0)", "whole numbers from 1"),
    on_grid("A grid of other cells than axes", "mesh=dg.Grid((0, 0), (1, 1), (4,))", "one value or 2"),
    on_grid("A grid that is partly periodic, misspelt", "mesh=dg.Grid(periodic='x')", "True or False"),
    on_grid("A mesh in place of a grid", "mesh=dg.rectangle()", "give e.g. dgarray.Grid"),
    on_grid("A grid in place of a mesh", "method=dg.NodalDG(1)", "works on meshes"),
    on_grid("A grid in another dimension", "law=dg.Acoustics(3)", "the law has 3"),
    on_grid("A law that is not linear", "law=dg.Euler(2)", "needs a linear law"),
    on_grid("A parameter by region", "law=dg.Acoustics(2, sound_speed={'glass': 2.0})", "a grid has no regions"),
    on_grid("No order", "method=dg.Hermite(7)", "from 0 to 6"),
    on_grid("No stages", "method=dg.Hermite(1, stages=0)", "from 1 to 100"),
    on_grid("A misspelt variant", "method=dg.Hermite(1, variant='colapsed')", "did you mean 'collapsed'"),
    on_grid("A variant that the law does not allow", "method=dg.Hermite(1, variant='collapsed')", "is not possible"),
    on_grid("A numerical flux", "flux=dg.upwind", "has no numerical flux"),
    on_grid("A source", "source=lambda x: (0.0,) * 3", "takes no source"),
    on_grid("A stepper", "stepper='rk4'", "by a Taylor series"),
    on_grid("A step too long", "cfl=1.2", "above 1.*force=True"),
    on_grid("A step by hand that is too long", "dt=1.0, until=2.0", "largest stable step.*force=True"),
    on_grid("A misspelt side", "boundary={'lefft': dg.wall}", "did you mean 'left'"),
    on_grid("Sides without a condition", "boundary={'left': dg.wall}", "sides 'right', 'bottom', 'top' of the grid have no"),
    on_grid("A condition that is no wall", "boundary=dg.absorbing", "is no wall that mirrors"),
    on_grid("A sponge without a width", "boundary=dg.Sponge(0)", "positive length"),
    on_grid("A sponge that reflects all", "boundary=dg.Sponge(0.1, reflection=1)", "above 0 and below 1"),
    case("A sponge on a mesh", "boundary=dg.Sponge(0.1)", "give one condition"),
]

GROUPS["Records"] = [
    case("Records without names", "record=dg.Extrema()", "give a dict"),
    case("A record that is none", "record={'a': 'Extrema'}", "is not a recorder"),
    case("A name that is no word", "record={'my ears': dg.Extrema()}", "letters, digits and _"),
    case("A name that is taken", "record={'time': dg.Extrema()}", "the dataset has"),
    case("No number of steps", "record={'a': dg.Extrema(every=0)}", "whole number from 1, in steps"),
    case("A misspelt variable", "record={'a': dg.Extrema(variables='vX')}", "did you mean 'vx'"),
    case("No variables", "record={'a': dg.Extrema(variables=())}", "at least one"),
    case("Points that are no numbers", "record={'a': dg.Points('here')}", "give numbers"),
    case("Points of another dimension", "record={'a': dg.Points([(0, 0, 0)])}", r"must be \(point, 2\)"),
    case("Points outside the mesh", "record={'a': dg.Points([(0.5, 0.5), (2, 0)])}", "point 1 at .*outside the mesh"),
    case("A variable called as a coordinate", "law=Mine(), boundary=dg.outflow, record={'a': dg.Points([(0.5, 0.5)])}",
         "called as a coordinate",
         'class Mine(dg.Acoustics):\n    def __init__(self):\n        super().__init__(2)\n'
         '        self.variables = ("point", "vx", "vy")'),
    case("A misspelt boundary", "record={'a': dg.SurfaceFields('lefft')}", "did you mean 'left'"),
    case("No boundary", "record={'a': dg.SurfaceFields(())}", "has no face"),
    case("A boundary and points", "record={'a': dg.Fourier(1.0, boundary='left', points=[(0, 0)])}", "one of them"),
    case("A frequency that is no number", "record={'a': dg.Fourier('high')}", "finite numbers, at least one"),
    case("A start that is no number", "record={'a': dg.Fourier(1.0, start=(1, 2))}", "a finite number"),
    case("A window that is no function", "record={'a': dg.Fourier(1.0, window=1.0)}", "a function of t"),
    case("A window that is not finite", "record={'a': dg.Fourier(1.0, window=lambda t: np.nan)}", "finite number"),
    case("Names without a function", "record={'a': dg.VolumeIntegral(names='b')}", "without a function"),
    case("An integrand that is no function", "record={'a': dg.VolumeIntegral(1.0)}", "must be a function"),
    case("A component whose name is no word", "record={'a': dg.VolumeIntegral(lambda q: q[0], names='b c')}",
         "letters, digits"),
    case("Too many names", "record={'a': dg.VolumeIntegral(lambda q: q[0], names=('b', 'c'))}", "returns 1 component, but"),
    case("An integrand of other things", "record={'a': dg.BoundaryIntegral('left', lambda q, y: y)}", "asks for 'y'"),
    case("An integrand that is no number", "record={'a': dg.VolumeIntegral(lambda q: np.ones(5))}",
         "real number at every point"),
    case("No degree", "record={'a': dg.VolumeIntegral(lambda q: q[0], degree=0)}", "degree=0"),
]

GROUPS["The run and its output"] = [
    Wrong("An output that exists", "run tm_cavity --out flat.zarr", "--restart .*--overwrite", prepare=stores("flat")),
    Wrong("An output that is no store", "run tm_cavity --out notes --overwrite", "not a zarr store",
          prepare=lambda: Path("notes").mkdir()),
    Wrong("An output in no folder", "run tm_cavity --out nowhere/out.zarr", "the folder .*nowhere does not exist"),
    Wrong("An output in a file", "run tm_cavity --out notes.txt/out.zarr", "cannot be written to", prepare=file("notes.txt")),
    Wrong("A folder that is read-only", "run tm_cavity --out out.zarr", "cannot be written to", prepare=read_only),
    Wrong("JSON in a folder that is read-only", "run tm_cavity --json r.json", "cannot be written to", prepare=read_only),
    Wrong("A compression that does not exist", "run tm_cavity --out out.zarr --compress zst", "allowed: zstd.*did you mean"),
    Wrong("Compression of no output", "run tm_cavity --compress zstd", "is for a store; give --out"),
    Wrong("No space for the first snapshot", "run tm_cavity --out out.zarr", "File too large", 1,
          prepare=lambda: no_space(2_000)),
    Wrong("No space for a snapshot", "run tm_cavity --order 1 --until 0.1 --out out.zarr",
          "snapshot of t = 0.1 cannot.*snapshot of t = 0, is intact", 1,
          prepare=lambda: full_at("/Ez/c/1/")),
    Wrong("No space for a record", "run tm_cavity --order 1 --until 0.1 --out out.zarr --probe 0,0", "record 'probes' .*kept",
          1,
          prepare=lambda: full_at("/probes_Ez/c/0")),
    Wrong("No space for a record at the end", "run case.py --out out.zarr", "record 'a' cannot be written", 1,
          script="record={'a': dg.Fourier(1.0, points=[(0.5, 0.5)])}", prepare=lambda: full_at("/a_p/")),
    Wrong("No space for a checkpoint", "run tm_cavity --order 5 --until 0.1 --out out.zarr", "checkpoint cannot be written", 1,
          prepare=lambda: no_space(20_000)),
    Wrong("No space for the JSON", "run tm_cavity --order 1 --until 0.1 --json r.json", "r.json.*File too large", 1,
          prepare=lambda: (call(["run", "tm_cavity", "--order", "1", "--until", "0.1", *FAST]), no_space(500))[1]),
    Wrong("Ctrl-C", "run tm_cavity --order 1 --until 1e6 --out out.zarr", "stopped by Ctrl-C .*--restart", 130,
          prepare=stopped_by(signal.SIGINT),
          hide=(r"t = .*?\)", "t = 12.3 (step 456)")),
    Wrong("SIGTERM", "run tm_cavity --order 1 --until 1e6 --out out.zarr", "stopped by SIGTERM .*--restart", 143,
          prepare=stopped_by(signal.SIGTERM),
          hide=(r"t = .*?\)", "t = 12.3 (step 456)")),
    Wrong("Too little memory", "run tm_cavity --order 8 --set cells=20", "needs .* of memory, but only", prepare=little_memory,
          hide=(r"needs [\d.]+ (.*goes to ).*?; take", r"needs 48 \1time step 42.1 MiB, ...; take")),
    Wrong("A mesh that does not fit", "run tm_cavity --set cells=1000000", "2e.12 cells, .* take fewer", hide=FREE),
    Wrong("Triangles that do not fit", "run double_mach --set elements=1000000000000", "polygon would have 1e.12", hide=FREE),
    Wrong("A level that does not fit", "run cylinder_flow --set level=30", r"rings\(30\) would have", hide=FREE),
    Wrong("A refinement that does not fit", "run maxwell_sphere --set level=30", "mesh at level=30 would have", hide=FREE),
    Wrong("No memory", "run case.py", "not enough memory", 1, text="import numpy as np\n\ndef case():\n    np.ones(10**16)\n"),
    case("A dtype of a store", "dtype='float16'", "allowed: float64, float32"),
]

GROUPS["Restart"] = [
    Wrong("Two stores", "run tm_cavity --restart a.zarr --out b.zarr", "leave out --out"),
    Wrong("To replace and to go on", "run tm_cavity --restart a.zarr --overwrite", "leave out --overwrite"),
    Wrong("Nothing to go on with", "run tm_cavity --restart out.zarr", "no output to go on with"),
    Wrong("A mesh file that has gone", "run advection_wave --mesh mine.msh --restart out.zarr", "mine.msh: no such file",
          prepare=gone),
    Wrong("Another mesh", "run case.py --restart out.zarr", "differs in the mesh", script="until=0.02", hide=DIGEST,
          prepare=going_on("mesh=dg.rectangle(cells=(1, 1))")),
    Wrong("Another law", "run case.py --restart out.zarr", "differs in the law: Acoustics", script="until=0.02",
          prepare=going_on("law=dg.Acoustics(density=2.0)")),
    Wrong("Another order", "run case.py --restart out.zarr", "differs in the method", script="until=0.02",
          prepare=going_on("method=dg.NodalDG(order=2)")),
    Wrong("Other coefficients", "run case.py --restart out.zarr", "differs in the coefficients of the law",
          script="law=law, until=0.02",
          before="def rho(x):\n    return 1 + x[0]\n\nlaw = dg.Acoustics(density=rho)",
          hide=DIGEST, prepare=going_on("law=law", "def rho(x):\n    return 2 + x[0]\n\nlaw = dg.Acoustics(density=rho)")),
    Wrong("Other records", "run case.py --restart out.zarr", "differs in the records", script="until=0.02",
          prepare=going_on("record={'a': dg.Extrema()}")),
    Wrong("Fewer snapshots than the checkpoint knows", "run case.py --restart out.zarr", "1 instead of 2",
          script="until=0.02", prepare=cut_short),
    Wrong("An array that is not there any more", "run case.py --restart out.zarr", "holds no array 'p'", script="until=0.02",
          prepare=robbed),
    Wrong("All checkpoints damaged", "run tm_cavity --restart flat.zarr", "no checkpoint that can be read", prepare=damaged),
    Wrong("A bit that has flipped in the times", "run case.py --restart out.zarr", "out.zarr/time/c/0 is damaged",
          script="until=0.02", prepare=lambda: (going_on("")(), flip(Path("out.zarr/time/c/0"), 2))[0]),
    Wrong("Another compression", "run case.py --restart out.zarr --compress zstd", "out.zarr is not compressed, and goes on so",
          script="until=0.02", prepare=going_on("")),
]

GROUPS["Looking at results"] = [
    Wrong("Nothing there", "info out.zarr", "no such file"),
    Wrong("No output", "plot out.zarr Ez", "no output of a run"),
    Wrong("No output, but a mesh", "plot mine.msh Ez", "no output of a run", prepare=file("mine.msh")),
    Wrong("A folder of other things", "info notes", "no output of a run", prepare=lambda: Path("notes").mkdir()),
    Wrong("Metadata that are damaged", "info flat.zarr", "flat.zarr/zarr.json is damaged: it is no JSON", prepare=no_root),
    Wrong("A bit that has flipped in the metadata", "info flat.zarr", "flat.zarr/zarr.json is damaged: its checksum",
          prepare=flipped("zarr.json")),
    Wrong("A bit that has flipped in a snapshot", "plot flat.zarr p", "flat.zarr/p/c/1/0/0 is damaged: its checksum",
          prepare=flipped("p/c/1/0/0")),
    Wrong("A chunk that is not there any more", "export flat.zarr", "flat.zarr/vx/c/1/0/0 is damaged: it is missing",
          prepare=lambda: (stores("flat")(), Path("flat.zarr/vx/c/1/0/0").unlink())[0]),
    Wrong("All files checked, one damaged", "info flat.zarr --check", "flat.zarr/p/c/1/0/0 is damaged: its checksum",
          prepare=flipped("p/c/1/0/0")),
    Wrong("A mesh has no checksums", "info good_tri_4x4.msh --check", "--check is for the output of a run",
          prepare=nasty("good_tri_4x4")),
    Wrong("A store of another program", "info flat.zarr", "not one of dgarray", prepare=foreign),
    Wrong("A misspelt variable", "plot flat.zarr vX", "did you mean 'vx'", prepare=stores("flat")),
    Wrong("A field of a gas in other runs", "plot flat.zarr pressure", "it has: p, vx, vy", prepare=stores("flat")),
    Wrong("A time after the end", "plot flat.zarr p --time 5", "it has t = 0 to 0.1", prepare=stores("flat")),
    Wrong("Limits that are none", "plot flat.zarr p --limits low,high", "LOW,HIGH", prepare=stores("flat")),
    Wrong("Limits in the wrong order", "plot flat.zarr p --limits 1,-1", "low below high", prepare=stores("flat")),
    Wrong("A picture in no folder", "plot flat.zarr p -o nowhere/p.png", "nowhere", prepare=stores("flat")),
    Wrong("A picture without a suffix", "plot flat.zarr p -o p", "give one such as p.png", prepare=stores("flat")),
    Wrong("A picture to a folder", "plot flat.zarr p -o .", "this is a folder", prepare=stores("flat")),
    Wrong("A picture of another kind", "plot flat.zarr p -o p.doc", "'doc' is not supported", prepare=stores("flat"),
          hide=(r"formats: .*\)", "formats: pdf, png, svg, ...)")),
    Wrong("No space for a picture", "plot flat.zarr p", "File too large", 1,
          prepare=lambda: (stores("flat")(), no_space(2_000))[1]),
    Wrong("A slice in 1D", "plot line.zarr p --slice x=0.5", "no slice", prepare=stores("line")),
    Wrong("Several slices in 2D", "plot flat.zarr p --slice x=0 --slice y=0", "for 3D", prepare=stores("flat")),
    Wrong("A slice along no axis", "plot thick.zarr p --slice w=0", "x, y, z", prepare=stores("thick")),
    Wrong("A slice at no number", "plot thick.zarr p --slice z=top", "no number after", prepare=stores("thick")),
    Wrong("A slice at infinity", "plot thick.zarr p --slice z=inf", "not finite", prepare=stores("thick")),
    Wrong("A slice beside the mesh", "plot thick.zarr p --slice z=5", "misses the mesh", prepare=stores("thick")),
    Wrong("A slice and a surface", "plot thick.zarr p --slice z=0 --surface left", "both given", prepare=stores("thick")),
    Wrong("A misspelt boundary", "plot thick.zarr p --surface lefft", "did you mean 'left'",
          prepare=both(stores("thick"), lambda: mock.patch("dgarray.output.volume.check_rendering"))),
    Wrong("A surface in 2D", "plot flat.zarr p --surface left", "for 3D", prepare=stores("flat")),
    Wrong("A movie and a picture", "plot flat.zarr p --movie p.gif -o p.png", "both given", prepare=stores("flat")),
    Wrong("A movie of another kind", "plot flat.zarr p --movie p.avi", "allowed: .gif, .mp4", prepare=stores("flat")),
    Wrong("A movie that stands", "plot flat.zarr p --movie p.gif --fps 0", "must be positive", prepare=stores("flat")),
    Wrong("Snapshots per second of no movie", "plot flat.zarr p --fps 5", "without --movie", prepare=stores("flat")),
    Wrong("A record and a slice", "plot flat.zarr p --record ears --slice x=0", "both given", prepare=stores("flat")),
    Wrong("A misspelt record", "plot flat.zarr p --record earz", "did you mean 'ears'", prepare=stores("flat")),
    Wrong("A misspelt variable of a record", "plot flat.zarr vX --record ears", "did you mean 'vx'", prepare=stores("flat")),
    Wrong("A spectrum of no record", "plot flat.zarr p --spectrum", "without --record", prepare=stores("flat")),
    Wrong("A spectrum of too few samples", "plot flat.zarr p --record ears --spectrum", "at least 4", prepare=stores("flat")),
    Wrong("A curve of a surface", "plot flat.zarr p --record walls", "curves are drawn", prepare=stores("flat")),
    Wrong("No matplotlib", "plot flat.zarr p", r"pip install 'dgarray\[plot\]'",
          prepare=both(stores("flat"), without("matplotlib"))),
    Wrong("No PyVista", "plot thick.zarr p", r"pip install 'dgarray\[volume\]'",
          prepare=both(stores("thick"), without("pyvista"))),
    Wrong("No ffmpeg", "plot flat.zarr p --movie p.mp4", "pip install imageio-ffmpeg", prepare=both(
        stores("flat"), without("imageio_ffmpeg"), lambda: mock.patch("shutil.which", lambda name: None))),
    Wrong("An ffmpeg that fails", "plot flat.zarr p --movie p.mp4", "ffmpeg could not write the movie", prepare=both(
        stores("flat"), lambda: mock.patch("dgarray.output.movie.ffmpeg", lambda: shutil.which("false")))),
    Wrong("No OpenGL", "plot thick.zarr p", "cannot render off screen", prepare=both(
        stores("thick"), lambda: mock.patch("dgarray.output.volume.PROBE", "import sys; sys.exit(1)"),
        lambda: contextlib.closing(Uncached()))),
    Wrong("A file of another kind", "export flat.zarr -o flat.xyz", "allowed: .vtkhdf", prepare=stores("flat")),
    Wrong("A file for meshes, of a grid", "export nodes.zarr -o nodes.vtu", r"allowed: .vtkhdf \(all snapshots\), .vti",
          prepare=stores("nodes")),
    Wrong("A slice of a grid between its nodes", "plot nodes.zarr p --slice y=0.3", "nodes lie in the planes y=0, 0.25, 0.5",
          prepare=stores("nodes")),
    Wrong("A slice beside a grid", "plot nodes.zarr p --slice y=3", "misses the grid", prepare=stores("nodes")),
    on_grid("Values between nodes", "results=lambda ds: {'x': ds.dg.sample([(0.1, 0.1)])}", "derivatives=True"),
    on_grid("A part of a grid", "results=lambda ds: {'x': ds.isel(x=slice(2)).dg.norm('p')}", "a part of a grid"),
    on_grid("A surface of a grid", "results=lambda ds: {'x': ds.dg.surface('left')}", r"left is ds.dg.slice\('x=0'\)"),
    on_grid("A plane across no axis", "results=lambda ds: {'x': ds.dg.slice(((0, 0), (1, 1)))}", "not across an axis"),
    on_grid("A point outside the grid", "record={'r': dg.Points([(2, 0)])}", "outside the grid"),
    on_grid("A side that the grid has not", "record={'r': dg.SurfaceFields('front')}", "it has: left, right, bottom, top"),
    on_grid("Fields on several sides", "record={'r': dg.SurfaceFields(('left', 'top'))}", "several sides"),
    on_grid("A degree on a grid", "record={'r': dg.VolumeIntegral(degree=3)}", "degree=3 is for meshes"),
    Wrong("A file that exists", "export flat.zarr", "--overwrite", prepare=both(stores("flat"), file("flat.vtkhdf"))),
    Wrong("A file in no folder", "export flat.zarr -o nowhere/flat.vtu", "nowhere", prepare=stores("flat")),
    Wrong("A file to a folder", "export flat.zarr -o notes.vtu", "is a folder",
          prepare=both(stores("flat"), lambda: Path("notes.vtu").mkdir())),
    Wrong("No space for a file", "export flat.zarr", "File too large", 1,
          prepare=lambda: (stores("flat")(), no_space(2_000))[1]),
    results("A misspelt variable in a script", "ds.dg.norm('P_')", "variable 'P_' does not exist"),
    results("A misspelt boundary in a script", "ds.dg.surface('lefft')", "did you mean 'left'"),
    results("A misspelt record in a script", "ds.dg.record('ears')", "it has: none"),
    results("A snapshot that there is not", "ds.dg.norm('p', 7)", "2 snapshots"),
    results("A time that a single snapshot does not have", "ds.isel(time=-1).dg.norm('p', 0.005)", "it has t = 0.01"),
    results("A snapshot that a single one does not have", "ds.isel(time=0).dg.norm('p', 1)", "1 snapshot, allowed: -1 to 0"),
    results("A time of a dataset without times", "ds.isel(time=0, drop=True).dg.norm('p', 0.0)", "no coordinate time"),
    results("A time that is none", "ds.dg.plot('p', time='last')", "time 'last' is not allowed; give an index"),
    results("An error without a time", "ds.isel(time=0, drop=True).dg.error('p', lambda x, t: (0.0, 0.0, 0.0))",
            "no coordinate time"),
    results("No snapshot", "ds.isel(time=slice(0)).dg.norm('p')", "no snapshot yet"),
    results("A misspelt variable of the law", "ds.dg.error('P1', lambda x, t: (0.0, 0.0, 0.0))", "did you mean 'p'"),
    results("An exact solution that is none", "ds.dg.error('p', 1.0)", r"exact\(x, t\)"),
    results("An exact solution with too few components", "ds.dg.error(lambda x, t: (1.0,))", "returns 1 component;"),
    results("Points of another dimension", "ds.dg.sample([0.5, 0.5])", r"must be \(point, 2\)"),
    results("A line without length", "ds.dg.line((0, 0), (0, 0))", "two different points"),
    results("An end of another dimension", "ds.dg.line((0, 0, 0), (1, 1, 1))", "2 finite coordinates"),
    results("A line of one point", "ds.dg.line((0, 0), (1, 1), 1)", "whole number from 2"),
    results("A grid by no shape", "ds.dg.grid(0.1)", "given with spacing="),
    results("A grid by shape and spacing", "ds.dg.grid((3, 3), spacing=0.1)", "give one of them"),
    results("A grid in three directions", "ds.dg.grid((3, 3, 3))", "one number or 2"),
    results("A grid in the wrong order", "ds.dg.grid(3, upper=(-1, 0))", "is below lower"),
    results("No spacing", "ds.dg.grid(spacing=0.0)", "must be positive"),
    results("A grid too large", "ds.dg.grid(10**9)", "points; at most"),
    results("A plane that is none", "ds.dg.slice(1.0)", "is not understood"),
    results("A plane of another dimension", "ds.dg.slice(((0, 0, 0), (0, 0, 1)))", "an origin of shape"),
    results("A plane without direction", "ds.dg.slice(((0, 0), (0, 0)))", "normal of the plane is zero"),
    results("UGRID of a line", "ds.dg.slice('x=0.5').dg.to_ugrid()", "UGRID faces need 2D"),
    results("A spectrum of no record in a script", "ds.dg.plot('p', spectrum=True)", "needs record="),
    results("Axes and a path", "ds.dg.plot('p', ax=1, path='p.png')", "both given"),
    results("Isolines that are none", "ds.dg.plot('p', isolines='abc')", r"isolines 'abc' are not allowed; they must be \(low"),
    results("Limits that are none in a script", "ds.dg.plot('p', limits='abc')", "limits 'abc' are not allowed; they must be"),
    results("A misspelt option of a picture", "ds.dg.plot('p', path='p.png', colour='red')", "allowed|it has"),
    results("A misspelt method of the dataset", "ds.dg.smaple([(0, 0)])", "did you mean 'sample'"),
    results("A movie without snapshots", "ds.isel(time=0).dg.animate('p', 'p.gif')", "no snapshots along time"),
    case("An animation in 3D", "mesh=dg.box(cells=1), law=dg.Acoustics(3), results=lambda ds: ds.dg.animate('p')",
         "needs slice="),
    case("A picture in 3D into axes", "mesh=dg.box(cells=1), law=dg.Acoustics(3), results=lambda ds: ds.dg.plot('p', ax=1)",
         "cannot be drawn into axes", prepare=lambda: mock.patch("dgarray.output.volume.check_rendering")),
    results("A field that VTK does not know", "ds.assign(q=ds.p * 1j).dg.to_vtk('q.vtu', 'q')", "takes real numbers"),
    results("A name that VTKHDF does not allow", "ds.assign({'a/b': ds.p}).dg.to_vtk('q.vtkhdf')", "holds a '/'"),
    results("A selection with its boundaries", "ds.isel(element=slice(2)).dg.to_vtk('q.vtu')",
            "boundary_faces names the element"),
]

FAR = """from dgarray.analysis.farfield import near_to_far"""
FAR_BOX = "mesh=dg.box(cells=1), law=dg.Maxwell(3), boundary=dg.pec, record={'a': dg.Fourier(1.0, boundary='left')}, "
GROUPS["Far fields"] = [
    case("Fields of another law", "results=lambda ds: {'x': near_to_far(ds.dg.surface('left'), [(0, 0, 1)])}",
         "the fields lack", FAR),
    case("Directions of another shape", FAR_BOX + "results=lambda ds: {'x': near_to_far(ds.dg.record('a'), (0, 1))}",
         r"must be \(direction, 3\)", FAR),
    case("Directions that are no unit vectors",
         FAR_BOX + "results=lambda ds: {'x': near_to_far(ds.dg.record('a'), [(0, 0, 2)])}",
         "unit vectors", FAR),
    case("A surface that is not closed", FAR_BOX + "results=lambda ds: {'x': near_to_far(ds.dg.record('a'), [(0, 0, 1)])}",
         "not closed", FAR),
]

NAN = """class Failing(dg.Acoustics):
    def source(self, q, x, t):
        return np.sqrt(0.004 - t) + 0 * q[0], 0 * q[0], 0 * q[0]"""
GROUPS["Solutions that go bad"] = [
    case("An initial state that is not admissible", "law=Mine(), initial=initial", "initial state is not admissible",
         "class Mine(dg.Acoustics):\n    def admissible(self, q):\n        return q[0] > 0\n\n"
         + INITIAL.format("0 * x[0] - 1.0, 0.0, 0.0")),
    case("A value that is not finite", "law=Failing()",
         "p is not finite at t = .*stage . of 5.*element.*near the boundaries.*last good state",
         NAN, status=3),
    Wrong("The same with an output and a dump", "run case.py --out out.zarr --dump-on-error bad.vtu",
          "last snapshot of out.zarr; see bad.vtu", 3,
          script="law=Failing()", before=NAN),
    case("A state that is not admissible", "law=Failing()", "the state is not admissible",
         NAN.replace("np.sqrt(0.004 - t)", "-1.0") +
         "\n\n    def admissible(self, q):\n        return q[0] > -0.002", status=3),
    case("A wave speed that is not finite", BURGERS + "initial=lambda x: (-1.0,)", "the wave speed is not finite",
         COLLAPSE.replace("np.abs(q[0] * n[0])", "np.sqrt(q[0])"), status=3),
    case("A time step that collapses",
         BURGERS + "initial=lambda x: (1.0 - x[0],), source=lambda q: (q[0] ** 3 * 1e3,), until=1.0",
         "time step has fallen|not finite", COLLAPSE, status=3, hide=(r"to \d\S* at", "to 1e-9 at")),
    Wrong("A time step that is too large", "run tm_cavity --order 3 --dt 1 --until 1000", "not finite", 3),
]


class Uncached:
    """The check of OpenGL is made anew, now and at the end."""

    def __init__(self):
        self.close()

    def close(self):
        from dgarray.output.volume import check_rendering
        check_rendering.cache_clear()


def call(arguments):
    """What the command says on stderr, and its status."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said), warnings.catch_warnings(), \
            np.errstate(all="ignore"):
        try:
            status = main(arguments)
        except SystemExit as stop:
            status = stop.code
    return said.getvalue(), status


def provoke(wrong):
    """Lines on stderr, warnings apart, and the status of a mistake; made in the current folder, which no line names."""
    here = Path.cwd()
    made = wrong.prepare() if wrong.prepare else None
    arguments = shlex.split(wrong.command)
    if wrong.text or wrong.script:
        Path("case.py").write_text(wrong.text or SCRIPT.format(before=wrong.before, changes=f"dict({wrong.script})"))
    if arguments[:1] in (["run"], ["eoc"]):
        given = {name for name in arguments if name.startswith("--")}
        arguments += [] if {"--backend", "--kernels", "--dtype", "--threads"} & given else FAST
    with made if hasattr(made, "__enter__") else contextlib.nullcontext():
        said, status = call(arguments)
    said = said.replace(f"{here}{os.sep}", "").replace(str(here), "/runs")
    said = re.sub(*wrong.hide, said)
    return [line for line in said.splitlines() if not line.startswith("dgarray: warning: ")], status


@contextlib.contextmanager
def folder():
    """A new folder as the current one."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        stack.callback(os.chdir, before)
        os.chdir(Path(name).resolve())
        yield


HEAD = """# Error messages

What `dgarray` says when something is wrong, and the exit status in parentheses: 1 where the machine failed (no space, no
memory) or a part of a benchmark did, 2 for bad input, 3 for a solution that went bad; 130 and 143 after Ctrl-C and SIGTERM. An
error is one line on stderr; `--debug` shows the traceback. From Python the same sentences come as `ValueError`, `TypeError`,
`dgarray.OutputError` and `dgarray.SolutionError`.

Where a script is to blame, what differs from a sound problem is shown: arguments of `dg.Simulation`, or text of `case.py`.
This page is made by `python tests/support/errors.py`, which makes every one of these mistakes.
"""


def entry(wrong, line, status):
    """One mistake as Markdown."""
    where, code = f" with `{wrong.script}`" if wrong.script else "", wrong.before or wrong.text
    block = f"```py\n{code.strip()}\n```\n\n" if code else ""
    return f"**{wrong.title}** ({status}): `{f'dgarray {wrong.command}'.strip()}`{where}\n\n{block}> `{line}`\n"


def page():
    """The text of docs/errors.md, and the mistakes that did not give one line with the right words and status."""
    text, odd = [HEAD], []
    for group, rows in GROUPS.items():
        text.append(f"## {group}\n")
        for wrong in rows:
            with folder():
                lines, status = provoke(wrong)
            if len(lines) != 1 or status != wrong.status or not re.search(wrong.words, lines[0]):
                odd.append((wrong, lines, status))
            text.append(entry(wrong, " ".join(lines), status))
    return "\n".join(text), odd


if __name__ == "__main__":
    text, odd = page()
    for wrong, lines, status in odd:
        print(f"--- {wrong.title}: {wrong.command} {wrong.script}\n    {status}", *lines[-4:], sep="\n    ")
    PAGE.write_text(text)
