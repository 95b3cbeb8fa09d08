"""Messages of docs/errors/results.md."""
import contextlib
import shutil
from pathlib import Path
from unittest import mock

from mistakes.files import file, nasty
from mistakes.kinds import Wrong
from mistakes.stores import flipped, foreign, no_chunk, no_root, stores
from mistakes.surroundings import Uncached, both, no_space, without

TITLE = "Looking at results"
ABOUT = "`info`, `plot` and `export`: stores, pictures, movies, files"
GROUPS = {}

GROUPS["Stores and snapshots"] = [
    Wrong("A missing store", "info out.zarr", "no such file"),
    Wrong("A missing output", "plot out.zarr Ez", "no output of a run"),
    Wrong("A mesh file in place of an output", "plot mine.msh Ez", "no output of a run", prepare=file("mine.msh")),
    Wrong("A folder that is not a store", "info notes", "no output of a run", prepare=lambda: Path("notes").mkdir()),
    Wrong("Metadata that are damaged", "info flat.zarr", "flat.zarr/zarr.json is damaged: it is not JSON", prepare=no_root),
    Wrong("A flipped bit in the metadata", "info flat.zarr", "flat.zarr/zarr.json is damaged: its checksum",
          prepare=flipped("zarr.json")),
    Wrong("A flipped bit in a snapshot", "plot flat.zarr p", "flat.zarr/p/c/1/0/0 is damaged: its checksum",
          prepare=flipped("p/c/1/0/0")),
    Wrong("A missing chunk", "export flat.zarr", "flat.zarr/vx/c/1/0/0 is damaged: it is missing", prepare=no_chunk),
    Wrong("All files checked, one damaged", "info flat.zarr --check", "flat.zarr/p/c/1/0/0 is damaged: its checksum",
          prepare=flipped("p/c/1/0/0")),
    Wrong("--check on a mesh", "info good_tri_4x4.msh --check", "--check is for the output of a run",
          prepare=nasty("good_tri_4x4")),
    Wrong("A store of another program", "info flat.zarr", "not one of dgarray", prepare=foreign),
    Wrong("A misspelt variable", "plot flat.zarr vX", "did you mean 'vx'", prepare=stores("flat")),
    Wrong("A field of a gas in other runs", "plot flat.zarr pressure", "it has: p, vx, vy", prepare=stores("flat")),
    Wrong("A time after the end", "plot flat.zarr p --time 5", "it has t = 0 to 0.1", prepare=stores("flat")),
]

GROUPS["Pictures, movies and exported files"] = [
    Wrong("Limits that are not numbers", "plot flat.zarr p --limits low,high", "LOW,HIGH", prepare=stores("flat")),
    Wrong("Limits in the wrong order", "plot flat.zarr p --limits 1,-1", "low below high", prepare=stores("flat")),
    Wrong("A picture in a missing folder", "plot flat.zarr p -o nowhere/p.png", "nowhere", prepare=stores("flat")),
    Wrong("A picture without a suffix", "plot flat.zarr p -o p", "give one such as p.png", prepare=stores("flat")),
    Wrong("A folder in place of a picture", "plot flat.zarr p -o .", "this is a folder", prepare=stores("flat")),
    Wrong("A picture of another kind", "plot flat.zarr p -o p.doc", "'doc' is not supported", prepare=stores("flat"),
          hide=(r"formats: .*\)", "formats: pdf, png, svg, ...)")),
    Wrong("No space for a picture", "plot flat.zarr p", "File too large", 1,
          prepare=lambda: (stores("flat")(), no_space(2_000))[1]),
    Wrong("A slice in 1D", "plot line.zarr p --slice x=0.5", "no slice", prepare=stores("line")),
    Wrong("Several slices in 2D", "plot flat.zarr p --slice x=0 --slice y=0", "for 3D", prepare=stores("flat")),
    Wrong("A slice along an unknown axis", "plot thick.zarr p --slice w=0", "x, y, z", prepare=stores("thick")),
    Wrong("A slice at a position that is not a number", "plot thick.zarr p --slice z=top", "no number after",
          prepare=stores("thick")),
    Wrong("A slice at infinity", "plot thick.zarr p --slice z=inf", "not finite", prepare=stores("thick")),
    Wrong("A slice outside the mesh", "plot thick.zarr p --slice z=5", "misses the mesh", prepare=stores("thick")),
    Wrong("A slice and a surface", "plot thick.zarr p --slice z=0 --surface left", "both given", prepare=stores("thick")),
    Wrong("A misspelt boundary", "plot thick.zarr p --surface lefft", "did you mean 'left'",
          prepare=both(stores("thick"), lambda: mock.patch("dgarray.output.pictures.volume.check_rendering"))),
    Wrong("A surface in 2D", "plot flat.zarr p --surface left", "for 3D", prepare=stores("flat")),
    Wrong("A movie and a picture", "plot flat.zarr p --movie p.gif -o p.png", "both given", prepare=stores("flat")),
    Wrong("A movie of another kind", "plot flat.zarr p --movie p.avi", "allowed: .gif, .mp4", prepare=stores("flat")),
    Wrong("A movie with zero snapshots per second", "plot flat.zarr p --movie p.gif --fps 0", "must be positive",
          prepare=stores("flat")),
    Wrong("Snapshots per second without a movie", "plot flat.zarr p --fps 5", "without --movie", prepare=stores("flat")),
    Wrong("A record and a slice", "plot flat.zarr p --record ears --slice x=0", "both given", prepare=stores("flat")),
    Wrong("A misspelt record", "plot flat.zarr p --record earz", "did you mean 'ears'", prepare=stores("flat")),
    Wrong("A misspelt variable of a record", "plot flat.zarr vX --record ears", "did you mean 'vx'", prepare=stores("flat")),
    Wrong("A spectrum without a record", "plot flat.zarr p --spectrum", "without --record", prepare=stores("flat")),
    Wrong("A spectrum of too few samples", "plot flat.zarr p --record ears --spectrum", "at least 4", prepare=stores("flat")),
    Wrong("A curve of a surface", "plot flat.zarr p --record walls", "curves are drawn", prepare=stores("flat")),
    Wrong("matplotlib is missing", "plot flat.zarr p", r"pip install 'dgarray\[plot\]'",
          prepare=both(stores("flat"), without("matplotlib"))),
    Wrong("PyVista is missing", "plot thick.zarr p", r"pip install 'dgarray\[volume\]'",
          prepare=both(stores("thick"), without("pyvista"))),
    Wrong("ffmpeg is missing", "plot flat.zarr p --movie p.mp4", "pip install imageio-ffmpeg", prepare=both(
        stores("flat"), without("imageio_ffmpeg"), lambda: mock.patch("shutil.which", lambda name: None))),
    Wrong("An ffmpeg that fails", "plot flat.zarr p --movie p.mp4", "ffmpeg could not write the movie", prepare=both(
        stores("flat"), lambda: mock.patch("dgarray.output.pictures.movie.ffmpeg", lambda: shutil.which("false")))),
    Wrong("OpenGL is missing", "plot thick.zarr p", "cannot render off screen", prepare=both(
        stores("thick"), lambda: mock.patch("dgarray.output.pictures.volume.PROBE", "import sys; sys.exit(1)"),
        lambda: contextlib.closing(Uncached()))),
    Wrong("A file of another kind", "export flat.zarr -o flat.xyz", "allowed: .vtkhdf", prepare=stores("flat")),
    Wrong("A file for meshes, of a grid", "export nodes.zarr -o nodes.vtu", r"allowed: .vtkhdf \(all snapshots\), .vti",
          prepare=stores("nodes")),
    Wrong("A file that exists", "export flat.zarr", "--overwrite", prepare=both(stores("flat"), file("flat.vtkhdf"))),
    Wrong("A file in a missing folder", "export flat.zarr -o nowhere/flat.vtu", "nowhere", prepare=stores("flat")),
    Wrong("A folder in place of a file", "export flat.zarr -o notes.vtu", "is a folder",
          prepare=both(stores("flat"), lambda: Path("notes.vtu").mkdir())),
    Wrong("No space for a file", "export flat.zarr", "File too large", 1,
          prepare=lambda: (stores("flat")(), no_space(2_000))[1]),
]
