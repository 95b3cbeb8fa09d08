"""Messages of docs/errors/output.md."""
import os
import signal
from pathlib import Path
from unittest import mock

from mistakes.files import file
from mistakes.kinds import Wrong, case
from mistakes.stores import cut_short, damaged, flipped, going_on, gone, robbed, stores, written
from mistakes.surroundings import DIGEST, FREE, full_at, little_memory, no_space, read_only, stopped_by

TITLE = "Output and restart"
ABOUT = "stores, disk space, memory, signals, restarts"
GROUPS = {}

GROUPS["The run and its output"] = [
    Wrong("A date that is none", "run case.py", "SOURCE_DATE_EPOCH='soon' is not allowed", script="until=0.01",
          prepare=lambda: mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="soon")),
    Wrong("An output that exists", "run tm_cavity --out flat.zarr", "--restart .*--overwrite", prepare=stores("flat")),
    Wrong("An output that is not a store", "run tm_cavity --out notes --overwrite", "not a zarr store",
          prepare=lambda: Path("notes").mkdir()),
    Wrong("An output in a missing folder", "run tm_cavity --out nowhere/out.zarr", "the folder .*nowhere does not exist"),
    Wrong("An output in a file", "run tm_cavity --out notes.txt/out.zarr", "cannot be written to", prepare=file("notes.txt")),
    Wrong("A folder that is read-only", "run tm_cavity --out out.zarr", "cannot be written to", prepare=read_only),
    Wrong("JSON in a folder that is read-only", "run tm_cavity --json r.json", "cannot be written to", prepare=read_only),
    Wrong("A compression that does not exist", "run tm_cavity --out out.zarr --compress zst", "allowed: zstd.*did you mean"),
    Wrong("Compression without an output", "run tm_cavity --compress zstd", "is for a store; give --out"),
    Wrong("No space for the first snapshot", "run tm_cavity --out out.zarr", "File too large", 1,
          prepare=lambda: no_space(2_000)),
    Wrong("No space for a snapshot", "run tm_cavity --order 1 --until 0.1 --out out.zarr",
          "snapshot of t = 0.1 cannot.*snapshot of t = 0, is intact", 1,
          prepare=lambda: full_at("/Ez/c/1/")),
    Wrong("No space for a record", "run tm_cavity --order 1 --until 0.1 --out out.zarr --probe 0,0", "record 'probes' .*kept",
          1,
          prepare=lambda: full_at("/probes_Ez/c/0")),
    Wrong("No space for a record at the end", "run case.py --out out.zarr", "record 'a' cannot be written", 1,
          script="record={'a': dg.Fourier(0.01, points=[(0.5, 0.5)])}", prepare=lambda: full_at("/a_p/")),
    Wrong("No space for a checkpoint", "run tm_cavity --order 5 --until 0.1 --out out.zarr", "checkpoint cannot be written", 1,
          prepare=lambda: no_space(20_000)),
    Wrong("No space for the JSON", "run tm_cavity --order 1 --until 0.1 --quiet --json r.json", "r.json.*File too large", 1,
          prepare=lambda: no_space(500)),
    Wrong("Ctrl-C", "run tm_cavity --order 1 --until 1e6 --out out.zarr", "stopped by Ctrl-C .*--restart", 130,
          prepare=stopped_by(signal.SIGINT),
          hide=(r"t = .*?\)", "t = 12.3 (step 456)")),
    Wrong("SIGTERM", "run tm_cavity --order 1 --until 1e6 --out out.zarr", "stopped by SIGTERM .*--restart", 143,
          prepare=stopped_by(signal.SIGTERM),
          hide=(r"t = .*?\)", "t = 12.3 (step 456)")),
    Wrong("Too little memory", "run tm_cavity --order 8 --set cells=20", "needs .* of memory, but only", prepare=little_memory),
    Wrong("A mesh that does not fit", "run tm_cavity --set cells=1000000", "2e.12 cells, .* take fewer", hide=FREE),
    Wrong("Triangles that do not fit", "run double_mach --set elements=1000000000000", "polygon would have 1e.12", hide=FREE),
    Wrong("A level that does not fit", "run cylinder_flow --set level=30", r"rings\(30\) would have", hide=FREE),
    Wrong("A refinement that does not fit", "run maxwell_sphere --set level=30", "mesh at level=30 would have", hide=FREE),
    Wrong("No memory", "run case.py", "not enough memory", 1, text="import numpy as np\n\ndef case():\n    np.ones(10**16)\n"),
    case("A dtype of a store", "dtype='float16'", "allowed: float64, float32"),
]

GROUPS["Restart"] = [
    Wrong("Restart and another output", "run tm_cavity --restart a.zarr --out b.zarr", "leave out --out"),
    Wrong("Restart and overwrite", "run tm_cavity --restart a.zarr --overwrite", "leave out --overwrite"),
    Wrong("A missing store", "run tm_cavity --restart out.zarr", "no output to continue"),
    Wrong("A mesh file that no longer exists", "run advection_wave --mesh mine.msh --restart out.zarr",
          "mine.msh: no such file",
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
    Wrong("A missing array", "run case.py --restart out.zarr", "holds no array 'p'", script="until=0.02",
          prepare=robbed),
    Wrong("All checkpoints damaged", "run tm_cavity --restart flat.zarr", "no checkpoint that can be read", prepare=damaged),
    Wrong("A flipped bit in the times", "run case.py --restart out.zarr", "out.zarr/time/c/0 is damaged",
          script="until=0.02", prepare=flipped("time/c/0", written, byte=2)),
    Wrong("Another compression", "run case.py --restart out.zarr --compress zstd", "out.zarr is not compressed, and stays so",
          script="until=0.02", prepare=going_on("")),
]
