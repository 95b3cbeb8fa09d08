"""3D pictures by PyVista: slices through the domain and fields on named boundaries, at the true polynomial order."""
import subprocess
import sys
from functools import cache
from itertools import combinations, product

import numpy as np

from dgarray.mesh.curved import cell_maps
from dgarray.mesh.curved.parts import parts_of
from dgarray.mesh.faces import face_points
from dgarray.output.dataset import AXES
from dgarray.output.derived_fields import FROM, at_points, missing
from dgarray.output.pictures.colour_range import NOTHING, check_map, checked, colours, limits_for, spread
from dgarray.output.pictures.grid_plot import GridPart, side_plane
from dgarray.output.pictures.picture import label, listed, seen, title
from dgarray.output.pictures.triangles import lattice, lines_between, outlines, sides, subdivision
from dgarray.output.surface import boundaries
from dgarray.reference import SHAPES
from dgarray.reference.faces import corner_weights
from dgarray.support.wording import choose

# A picture of VTK's own that renders nothing else; where there is no OpenGL it ends the process with a signal.
PROBE = """
import vtkmodules.vtkRenderingOpenGL2
from vtkmodules.vtkRenderingCore import vtkRenderer, vtkRenderWindow
window = vtkRenderWindow()
window.SetOffScreenRendering(True)
window.AddRenderer(vtkRenderer())
window.Render()
"""
WINDOW, DPI = (1200, 900), 150
OPTIONS = "slice", "surface", "limits", "mesh", "cmap", "colorbar", "log", "camera"
# Where the box and the centres of its labels lie in the window, from -1 to 1 along x and y: the title is above, the colour bar
# below.
INSIDE = (-0.9, 0.9), (-0.7, 0.8)
# Of a camera of the user's own: leave room for the labels and for the colour bar below.
ZOOM, RAISED = 0.88, 0.1
# Shares of the text sizes in the height of the window.
TITLE, LABEL = 0.03, 0.024
# Degrees between two faces from which their common edge is drawn.
SHARP = 60
# How often the edges of curved faces are halved for the lines around them.
CURVED_LEVELS = 3
# Steps of the depth buffer.
LINES_FORWARD = -60


class Scene:
    """A field on slices of a 3D dataset or on one of its boundaries, whose values can be renewed.

    slice      planes such as ["x=0", "z=0.5"], by default three through the middle of the domain
    surface    name of a boundary, or a tuple of names, drawn instead of slices
    limits     (low, high) or None for those of each state; mesh: True draws the outlines of the elements
    cmap       name of a colour map; colorbar: False omits it; camera: as Plotter.camera_position
    off_screen True for a picture without a window
    Raises ValueError for an unknown variable, plane or boundary, ImportError without PyVista, RuntimeError where
    nothing can be rendered."""

    def __init__(self, ds, variable, slice=None, surface=None, limits=None, mesh=False, cmap=None, colorbar=True,
                 log=False, camera="iso", off_screen=None, **more):
        for name in more:
            choose("option", name, OPTIONS, " for views in 3D (one slice, such as slice=\"z=0\" or --slice z=0, has others); "
                   "they have")
        pyvista = _pyvista()
        check_rendering()
        datasets, ds = listed(ds), listed(ds)[0]
        ds.dg.field(variable)
        self.ds, self.variable, self.limits, self.cmap = ds, variable, checked(limits, log), cmap
        self.log = bool(log)
        check_map(cmap)
        names = (surface,) if isinstance(surface, str) else tuple(surface or ())
        on_grid, self.place = ds.attrs["cell_type"] == "grid", f" on {', '.join(names)}" if names else ""
        if names and not on_grid:
            self.parts = [part for one, rows in zip(datasets, boundary_rows(datasets, names))
                          for part in surface_parts(one, rows)]
        else:
            planes = [side_plane(ds, name) for name in names] or slice or middle_planes(datasets)
            self.parts = [(GridPart if on_grid else SlicePart)(*seen(datasets, variable, plane)) for plane in planes]
        highest = max(one.dg.order for one in datasets)
        corners, small = lattice(subdivision(sum(part.count for part in self.parts), max(highest, 1)))
        places = [part.place(corners) for part in self.parts]
        x = np.concatenate([place.reshape(-1, 3) for place in places])
        triangles = (np.arange(len(x) // len(corners))[:, None, None] * len(corners) + small).reshape(-1, 3)
        self.field = pyvista.PolyData.from_regular_faces(x, triangles)
        self.field.point_data[variable] = np.zeros(len(x))
        self._furnish(pyvista, mesh, colorbar, bool(names) and not on_grid, off_screen)
        self.plotter.camera_position = camera
        zoom, centre = self._framing(pyvista) if isinstance(camera, str) else (ZOOM, (0, -RAISED))
        self.plotter.camera.zoom(zoom)
        self.plotter.camera.SetWindowCenter(*centre)
        self.plotter.enable_anti_aliasing("ssaa")

    def _furnish(self, pyvista, mesh, colorbar, lit, off_screen):
        """Plotter with the field, outlines, axes and colour bar."""
        # Without a screen VTK warns that it found no X server before it takes another way.
        with pyvista.vtk_verbosity("error"):
            self.plotter = plotter = pyvista.Plotter(off_screen=off_screen, window_size=WINDOW)
        height, ds = WINDOW[1], self.ds
        # Light tells the shape of a surface, and would only change the colours of planes.
        bar = {"title": label(ds, self.variable) + "\n", "title_font_size": round(LABEL * height), "n_labels": 5,
               "label_font_size": round(LABEL * height), "color": "black", "fmt": "%.3g", "vertical": False,
               "position_x": 0.25, "position_y": 0.02, "height": 0.1, "width": 0.5}
        self.actor = plotter.add_mesh(self.field, scalars=self.variable, lighting=lit, ambient=0.55, diffuse=0.45,
                                      show_scalar_bar=colorbar, scalar_bar_args=bar if colorbar else None)
        # Lines that lie in the planes are drawn in front of them.
        self.actor.mapper.SetResolveCoincidentTopologyToPolygonOffset()
        for edges in (part.edges(pyvista, mesh) for part in self.parts):
            if not edges.n_points:
                continue                             # a closed smooth surface has no edges of its own
            lines = plotter.add_mesh(edges, color="black", line_width=1.5, opacity=0.4 if mesh else 0.8)
            lines.mapper.SetRelativeCoincidentTopologyLineOffsetParameters(0, LINES_FORWARD)
        self.framed = self._axes(pyvista, np.reshape(self.field.bounds, (3, 2)))
        plotter.set_background("white")

    def _framing(self, pyvista):
        """The zoom and the window's centre with which the camera has the box and its labels in INSIDE, as large as they fit."""
        matrix = pyvista.array_from_vtkmatrix(
            self.plotter.camera.GetCompositeProjectionTransformMatrix(WINDOW[0] / WINDOW[1], -1, 1))
        seen = np.column_stack([self.framed, np.ones(len(self.framed))]) @ matrix.T
        seen, inside = seen[:, :2] / seen[:, 3:], np.array(INSIDE)
        zoom = (np.ptp(inside, axis=1) / np.ptp(seen, axis=0)).min()
        return zoom, zoom * (seen.min(axis=0) + seen.max(axis=0)) / 2 - inside.mean(axis=1)

    def _axes(self, pyvista, bounds):
        """Add a box around the field; three of its edges carry ticks at round numbers and the names of the axes. The corners of
        the box and the places of the texts, (point, 3)."""
        from matplotlib.ticker import MaxNLocator

        corners = np.array(list(product((0, 1), repeat=3)))
        # Not the three edges at the corner that is nearest to the default camera: they would lie in front of the field.
        edges = [(a, b) for a, b in combinations(range(8), 2) if abs(corners[a] - corners[b]).sum() == 1 and b < 7]
        box = np.where(corners, bounds[:, 1], bounds[:, 0])
        self.plotter.add_mesh(lines_between(pyvista, box, edges), color="black", opacity=0.3)
        (_, right), (front, back), (bottom, _) = bounds
        places, texts = [], []
        for number, axis, base in (0, "x", (0, back, bottom)), (1, "y", (right, 0, bottom)), (2, "z", (right, front, 0)):
            low, high = bounds[number]
            ticks = [tick for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]
            outward = np.where(np.arange(3) == number, 0, np.sign(np.array(base) - bounds.mean(axis=1))) * np.ptp(bounds)
            marks = [(tick, f"{tick:.4g}", 0.04) for tick in ticks]
            for value, text, gap in [*marks, ((low + high) / 2, label(self.ds, axis), 0.11)]:
                places.append(np.where(np.arange(3) == number, value, base) + gap * outward)
                texts.append(text)
        self.plotter.add_point_labels(
            np.array(places), texts, font_size=round(LABEL * WINDOW[1]), text_color="black", bold=False, shape=None,
            show_points=False, always_visible=True, justification_horizontal="center", justification_vertical="center")
        return np.concatenate([box, places])

    def read(self, time):
        """The field at the points of the scene at one time, (point,)."""
        return at_points(self.ds, self.variable, lambda name: np.concatenate([part.read(name, time).ravel()
                                                                              for part in self.parts]))

    def spread(self, u):
        """The (low, high, least, largest) of values of `read`, for `limits_for`."""
        return spread(u, log=self.log)

    def range(self, spreads):
        """The `Limits` for states of these spreads."""
        return limits_for(spreads, self.limits, self.log, self.variable)

    def show(self, u, t=None, limits=None):
        """Draw the values u of `read` at the time t; limits: the `Limits` of all states if there are several."""
        limits = limits or self.range([self.spread(u)])
        low, high = limits[:2]
        self.field.point_data[self.variable] = u
        mapper = self.actor.mapper
        mapper.scalar_range = low, high
        mapper.lookup_table.cmap = colours(self.cmap, self.ds[self.variable], low, high)
        mapper.lookup_table.log_scale, mapper.lookup_table.nan_color = self.log, NOTHING
        notes = [title(self.ds, self.variable, self.place, t)]
        if self.limits is None and any(limits.cut):
            notes.append(f"colours are cut; values from {limits.least:.3g} to {limits.largest:.3g}")
        if FROM in self.ds[self.variable].attrs and np.isnan(u).any():
            notes.append(missing(self.ds, np.isnan(u).mean()))
        self.plotter.add_text("\n".join(notes), position="upper_edge", color="black",
                              font_size=round(TITLE * WINDOW[1] / 2), name="title")

    def resolution(self, dpi):
        """Pixels per inch mean nothing here: the window has its own size."""

    def palette(self, limits):
        """None: light makes more colours than a palette holds."""

    def image(self):
        """The scene as it is now, (height, width, 3) of 8 bits."""
        self.plotter.render()
        return np.asarray(self.plotter.screenshot(None, return_img=True))[..., :3].copy()

    def save(self, path, dpi=DPI):
        """Write the scene to an image file, with the window's pixels for each DPI of `dpi`."""
        from PIL import Image

        self.plotter.render()
        image = self.plotter.screenshot(None, return_img=True, scale=max(1, round(dpi / DPI)))
        Image.fromarray(np.asarray(image)[..., :3]).save(path)


class SlicePart:
    """A plane cut, as `ds.dg.slice` returns it: triangles in space with the polynomials on them."""

    def __init__(self, flat):
        self.flat, self.count = flat, len(flat.dg.cells)
        self.x = np.stack([flat[axis].values for axis in AXES], axis=-1)

    def place(self, corners):
        """Positions (triangle, point, 3) at the barycentric `corners` (point, 3), which `read` evaluates from now on."""
        self.interpolation = self.flat.dg.reference.interpolation(2 * corners[:, 1:] - 1)
        return self.interpolation @ self.x

    def read(self, name, time):
        """A field (triangle, point) at one time."""
        return self.flat.dg.values(name, time).astype("float64") @ self.interpolation.T

    def edges(self, pyvista, mesh):
        """Outlines of the slice and of its regions, or with `mesh` of all cells, as PolyData."""
        cells = self.flat.dg.cells
        points = np.empty((cells.max() + 1, 3))
        points[cells] = self.flat.dg.reference.interpolation(self.flat.dg.reference.vertices) @ self.x
        rows = sides(self.flat) if mesh else outlines(self.flat)
        return lines_between(pyvista, points, face_points(cells, rows, self.flat.dg.cell_shape.faces))


def surface_parts(ds, rows):
    """The parts of a picture that show the faces `rows` (cell, local face) of a dataset."""
    corners = np.array([len(face) for face in ds.dg.cell_shape.faces])[rows[:, 1]]
    return [FacesPart(ds, rows[corners == count], count) for count in np.unique(corners)]


class FacesPart:
    """Faces with so many corners, rows (cell, local face), with the polynomials on them; a quadrilateral is shown as two
    triangles."""

    pieces = {3: np.array([[(-1, -1), (1, -1), (-1, 1)]]),          # (piece, corner, 2)
              4: np.array([[(-1, -1), (1, -1), (1, 1)], [(-1, -1), (1, 1), (-1, 1)]])}

    def __init__(self, ds, rows, corners):
        self.ds, self.rows, self.corners = ds, rows, corners
        self.count = len(self.pieces[corners]) * len(rows)

    def place(self, corners):
        """Positions (piece of a face, point, 3) at the barycentric `corners` (point, 3), which `read` evaluates from now on."""
        on_face = (corners @ self.pieces[self.corners]).reshape(-1, 2)
        self.interpolation = [(there, self.ds.dg.reference.interpolation(points)) for there, points in self.by_face(on_face)]
        return self.at(on_face).reshape(self.count, len(corners), 3)

    def by_face(self, on_face):
        """(which of the rows, points (point, 3) of the reference cell) for each local face, of the points `on_face` (point, 2)
        of the reference face."""
        shape = self.ds.dg.cell_shape
        for face in np.unique(self.rows[:, 1]):
            yield self.rows[:, 1] == face, corner_weights(self.corners, on_face) @ shape.corners[list(shape.faces[face])]

    def at(self, on_face):
        """Positions (face, point, 3) of the points `on_face` (point, 2) of the reference face."""
        x = np.empty((len(self.rows), len(on_face), 3))
        for there, points in self.by_face(on_face):
            x[there] = cell_maps.positions(self.ds.dg, points, self.rows[there, 0]).T
        return x

    def read(self, name, time):
        """A field (piece of a face, point) at one time."""
        values = self.ds.dg.values(name, time)[self.rows[:, 0]].astype("float64")
        result = np.empty((len(self.rows), len(self.interpolation[0][1])))
        for there, matrix in self.interpolation:
            result[there] = values[there] @ matrix.T
        return result.reshape(self.count, -1)

    def edges(self, pyvista, mesh):
        """Rims and sharp edges of the surface, or with `mesh` the sides of all faces, as PolyData."""
        dg, shape = self.ds.dg, self.ds.dg.cell_shape
        if dg.geometry_nodes is not None:
            return curved_edges(pyvista, SHAPES[2, self.corners], lambda r: np.moveaxis(self.at(r), -1, 0), mesh)
        around = [0, 1, 3, 2] if self.corners == 4 else [0, 1, 2]
        used, corners = np.unique(face_points(dg.cells, self.rows, shape.faces)[:, around], return_inverse=True)
        facets = pyvista.PolyData.from_regular_faces(dg.points[used], corners.reshape(-1, self.corners))
        facets = facets.compute_normals(consistent_normals=True, split_vertices=False)
        return facets.extract_all_edges() if mesh else facets.extract_feature_edges(
            SHARP, boundary_edges=True, feature_edges=True, manifold_edges=False, non_manifold_edges=False)


def curved_edges(pyvista, shape, at, mesh):
    """Rims and sharp edges of curved faces, or with `mesh` the sides of all, as PolyData.

    shape: of the reference face;  at(r): positions (dim, face, point) of its points r"""
    r, small = parts_of(shape, CURVED_LEVELS)
    if mesh:
        small = np.concatenate([along(r, *shape.corners[list(edge)]) for edge in shape.faces])
    x = np.moveaxis(at(r), 0, -1)
    pieces = (np.arange(len(x))[:, None, None] * len(r) + small).reshape(-1, small.shape[1])
    if mesh:
        return lines_between(pyvista, x.reshape(-1, 3), pieces)
    facets = pyvista.PolyData.from_regular_faces(x.reshape(-1, 3), pieces).clean(tolerance=1e-9)
    return facets.compute_normals(consistent_normals=True, split_vertices=False).extract_feature_edges(
        SHARP, boundary_edges=True, feature_edges=True, manifold_edges=False, non_manifold_edges=False)


def along(r, first, last):
    """Pairs (line, 2) of neighbouring ones of the points r (point, 2) on the line between two of them."""
    share = (r - first) @ (last - first) / np.sum((last - first) ** 2)
    there = np.flatnonzero(np.abs(r - first - share[:, None] * (last - first)).max(axis=1) < 1e-9)
    there = there[np.argsort(share[there])]
    return np.column_stack([there[:-1], there[1:]])


def boundary_rows(datasets, names):
    """Of each dataset the rows (cell, local face) of the boundaries of these names. Raises ValueError for an unknown one."""
    named = [boundaries(ds) for ds in datasets]
    known = dict.fromkeys(name for own in named for name in own)
    # Names are kept without white space.
    chosen = [choose("boundary", "_".join(str(name).split()), known, " in the dataset; it has") for name in names]
    return [np.concatenate([np.empty((0, 2), "int64"), *(own[name] for name in chosen if name in own)]) for own in named]


def middle_planes(datasets):
    """Three planes across the axes through the middle of the domain."""
    bounds = [one.dg.bounds for one in datasets]
    middle = (np.min(bounds, axis=(0, 1)) + np.max(bounds, axis=(0, 1))) / 2
    if datasets[0].attrs["cell_type"] == "grid":          # at nodes, whose values are always there
        middle = np.array([axis[np.abs(axis - m).argmin()] for axis, m in zip(datasets[0].dg.lattice.axes, middle)])
    return [f"{axis}={value!r}" for axis, value in zip(AXES, middle.tolist())]


@cache
def check_rendering():
    """Raise RuntimeError where VTK cannot render off screen; there it would end this process with a signal."""
    done = subprocess.run([sys.executable, "-c", PROBE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError("PyVista cannot render off screen on this machine; it needs OpenGL through EGL or OSMesa "
                           "(Debian, Ubuntu: apt install libegl1 or libosmesa6); a single slice, such as "
                           "slice=\"z=0\" or --slice z=0, is drawn without it")


def _pyvista():
    try:
        import pyvista
    except ImportError as error:
        raise ImportError("3D pictures need PyVista; install it with: pip install 'dgarray[volume]' (a single slice, such "
                          "as slice=\"z=0\" or --slice z=0, needs matplotlib only)") from error
    return pyvista
