"""A mesh as the table that `dgarray info MESH` prints."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..support.wording import plural
from .checks import components
from .curved.cell_maps import extent
from .geometry import longest_edges


def describe(mesh: Any) -> str:
    """Describe `mesh` in several lines: counts, names, quality, range of sizes, defects."""
    return "\n".join(f"{title:<11} {text}" for title, text in [*sizes(mesh), *measures(mesh), *names(mesh)])


def sizes(mesh):
    """Counts and extent, [(title, text)]."""
    low, high = extent(mesh)
    return [
        ("mesh", mesh.source),
        ("cells", ", ".join(f"{block.cell_count} {block.cell_type}" for block in mesh.blocks) + f", {mesh.dim}D"),
        *([("curved", f"{np.count_nonzero(mesh.is_curved)} cells, by maps of order {mesh.order}")] if mesh.order > 1 else []),
        ("points", f"{len(mesh.points)}"),
        ("extent", " x ".join(f"[{a:.6g}, {b:.6g}]" for a, b in zip(low, high))),
    ]


def measures(mesh):
    """Volume, sizes, quality, connected parts, and the cells of each rank of a run, [(title, text)]; all take time on large
    meshes."""
    edges = np.concatenate([longest_edges(block.points, block.cells) for block in mesh.blocks])
    quality = mesh.quality()
    return [
        (("length", "area", "volume")[mesh.dim - 1], f"{mesh.measures.sum():.10g}"),
        ("size", f"longest edge {edges.min():.4g} to {edges.max():.4g}; "
                 f"inradius {mesh.inradii.min():.4g} to {mesh.inradii.max():.4g}, "
                 f"median {np.median(mesh.inradii):.4g}"),
        ("quality", f"{mesh.quality_measure} (1 is best): min {quality.min():.3g}, mean {quality.mean():.3g}"),
        ("parts", f"{components(mesh)[0]}"),
        *([] if mesh.owner is None else [("cut", ranks_of(np.bincount(mesh.owner)))]),
    ]


def ranks_of(counts):
    """For how many ranks a mesh is cut, from the number of cells of each part."""
    return f"for {plural(len(counts), 'rank')} of a run, {counts.min()} to {counts.max()} cells each"


def names(mesh):
    """Names, periods, layers, hanging and unnamed faces, warnings, [(title, text)]."""
    lines = [
        ("boundaries", _names({name: len(rows) for name, rows in mesh.boundaries.items()}, "faces")),
        *([("interfaces", _names({name: len(rows) for name, rows in mesh.interfaces.items()}, "faces"))]
          if mesh.interfaces else []),
        ("regions", _names({name: len(cells) for name, cells in mesh.regions.items()}, "cells")),
    ]
    lines += [("periodic", f"{one!r} and {other!r} by ({', '.join(f'{v:g}' for v in shift)})")
              for one, other, shift in mesh.periods]
    lines += [("layer", repr(layer)) for layer in mesh.layers]
    if len(mesh.hanging):
        lines.append(("hanging", f"{len(mesh.hanging)} faces that meet {2 ** (mesh.dim - 1)} of half their size"))
    if len(mesh.unnamed):
        lines.append(("unnamed", f"{len(mesh.unnamed)} of {len(mesh.boundary_faces)} boundary faces, "
                                 f"for example at {mesh.position(mesh.unnamed[0])}"))
    return lines + [("warning", note) for note in mesh.notes]


def _names(counts, unit):
    return ", ".join(f"{name!r} ({count} {unit})" for name, count in counts.items()) or "none"
