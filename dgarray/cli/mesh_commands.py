"""The command that prepares a mesh for a run over several processes."""
import warnings
from collections import Counter
from pathlib import Path

from ..support.wording import plural


def cut_mesh(options):
    """Cut a mesh into parts, write it, and say how even they are."""
    from ..mesh import read_mesh, write_mesh
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")          # notes are in the store, and `dgarray info` lists them
        mesh = read_mesh(options.mesh, split=options.split)
    path = options.output or str(Path(options.mesh).with_suffix(".zarr"))
    try:
        write_mesh(mesh, path, options.parts, overwrite=options.overwrite)
    except ImportError:
        raise ValueError("cutting a mesh into parts needs pymetis: pip install 'dgarray[mpi]'") from None
    counts = Counter(read_mesh(path).owner.tolist()).values()
    print(f"{path}: {mesh.cell_count} {mesh.cell_type} cells in {plural(options.parts, 'part')} of {min(counts)} to "
          f"{max(counts)}")
