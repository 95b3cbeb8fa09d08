"""Pictures of the gallery in 3D, by PyVista: (ds, path) as in gallery_pictures.py."""
import numpy as np
from gallery_pictures import DPI, axes


def plotter(size=(1500, 1364)):
    """An empty scene without a window."""
    import pyvista

    with pyvista.vtk_verbosity("error"):          # without a screen VTK warns before it takes another way
        made = pyvista.Plotter(off_screen=True, window_size=size)
    made.set_background("white")
    made.enable_anti_aliasing("ssaa")
    return made


def framed(scene, path, title, text, limits, cmap="viridis", notes=(), dpi=DPI):
    """Write the scene to a file, with a title, a colour bar and notes (x, y, text) in shares of the width and the height."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    ax = axes(6.4, 5.0)
    ax.imshow(np.asarray(scene.screenshot(None, return_img=True))[..., :3], interpolation="lanczos")
    ax.axis("off")
    ax.set_title(title)
    ax.figure.colorbar(ScalarMappable(Normalize(*limits), cmap), ax=ax, label=text, pad=0.02)
    for x, y, note in notes:
        ax.text(x, y, note, transform=ax.transAxes, ha="center")
    ax.figure.savefig(path, dpi=dpi)


def currents(ds, path):
    """The surface current J = n x H of the total field on the conducting sphere, at the highest frequency of the run: its
    strength over that of the incident H, and arrows along it where the phase makes the current on the lit side largest."""
    import pyvista

    from dgarray.cases.maxwell_sphere import HALF_PULSE, pulse
    from dgarray.output.pictures.triangles import lattice
    from dgarray.reference import simplex

    fields = ds.dg.record("surface")
    k = 2 * np.pi * np.atleast_1d(fields.frequency.values)
    fields = fields.isel(frequency=-1)
    x, H = (np.stack([fields[name + axis].values for axis in "xyz"], axis=-1) for name in ("", "H"))     # (face, node, 3)
    radius = np.linalg.norm(x, axis=-1).max()
    _, width, size = pulse(k)
    # The incident wave Hy(t) = shape(t - z - delay), transformed; its shape is odd.
    H = H / (-1j * size[-1] * np.exp(-1j * k[-1] * (HALF_PULSE * width + radius)))
    H[..., 1] += np.exp(-1j * k[-1] * x[..., 2])
    J = np.cross(x / np.linalg.norm(x, axis=-1, keepdims=True), H)
    corners, small = lattice(12)
    matrix = simplex(2, int(fields.attrs["order"])).interpolation(2 * corners[:, 1:] - 1)
    points, J = matrix @ x, matrix @ J
    points *= radius / np.linalg.norm(points, axis=-1, keepdims=True)
    triangles = (np.arange(len(points))[:, None, None] * len(corners) + small).reshape(-1, 3)
    sphere = pyvista.PolyData.from_regular_faces(points.reshape(-1, 3) / radius, triangles)
    sphere["J"] = np.linalg.norm(J, axis=-1).ravel()
    scene = plotter()
    scene.add_mesh(sphere, scalars="J", cmap="viridis", clim=(0, 2.5), smooth_shading=True, ambient=0.65, diffuse=0.4,
                   show_scalar_bar=False)
    # Arrows at points spread evenly over the sphere.
    golden, count = np.pi * (1 + 5 ** 0.5), 700
    height = 1 - 2 * (np.arange(count) + 0.5) / count
    angle = golden * np.arange(count)
    even = np.stack([np.sqrt(1 - height**2) * np.cos(angle), np.sqrt(1 - height**2) * np.sin(angle), height], axis=1)
    near = np.array([sphere.find_closest_point(point) for point in even])
    flat = J.reshape(-1, 3)[near]
    lit = flat[np.argmin(even[:, 2])]
    phase = np.angle(lit[np.argmax(np.abs(lit))])
    arrows = pyvista.PolyData(1.01 * even)
    arrows["vector"] = np.real(flat * np.exp(-1j * phase))
    glyphs = arrows.glyph(orient="vector", scale="vector", factor=0.07,
                          geom=pyvista.Arrow(tip_length=0.4, tip_radius=0.16, shaft_radius=0.06))
    scene.add_mesh(glyphs, color="white", ambient=0.6, diffuse=0.4)
    wave = np.array([0.0, 0.0, -1.75])
    scene.add_mesh(pyvista.Arrow(start=wave, direction=(0, 0, 1), scale=0.55, tip_length=0.35, tip_radius=0.1,
                                 shaft_radius=0.035), color="#404040")
    scene.camera_position = [(4.0, 2.6, -3.6), (0, 0, -0.4), (0, 1, 0)]
    scene.camera.zoom(1.15)
    framed(scene, path, f"surface current on a conducting sphere, ka = {k[-1] * radius:.3g}",
           "|n × H| over |H| of the incident wave", (0, 2.5), notes=[(0.87, 0.2, "incident wave")])


def aircraft_currents(ds, path):
    """The largest surface current |n x H| in time on the aircraft, from in front above and below."""
    import pyvista

    from dgarray.cases.aircraft import surface_current
    from dgarray.reference.tensor import tensor_cell

    fields, n = ds.dg.record("skin"), 6
    strength = np.sqrt((surface_current(ds) ** 2).sum("component")).max("time").values
    x = np.stack([fields[axis].values for axis in "xyz"], axis=-1)          # (face, point, 3)
    r = np.linspace(-1, 1, n + 1)
    lattice = np.stack(np.meshgrid(r, r, indexing="ij"), axis=-1).reshape(-1, 2)
    matrix = tensor_cell(2, int(fields.attrs["order"])).interpolation(lattice)
    number = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    small = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
    quads = (np.arange(len(x))[:, None, None] * number.size + small).reshape(-1, 4)
    skin = pyvista.PolyData.from_regular_faces((matrix @ x).reshape(-1, 3), quads)
    skin["J"] = (strength @ matrix.T).ravel()
    highest = float(np.quantile(skin["J"], 0.99))
    scene = plotter()
    for shift, turn in ((0, 0), (1, 180)):
        part = skin.rotate_x(turn, point=(0, 0, 0)).translate((0, 0, -6.0 * shift))
        scene.add_mesh(part, scalars="J", cmap="viridis", clim=(0, highest), ambient=0.65, diffuse=0.4, show_scalar_bar=False)
    scene.camera_position = [(-12, -14, 10), (5, 0, -2.6), (0, 0, 1)]
    scene.camera.zoom(1.1)
    framed(scene, path, "largest surface current, seen from above and from below", "|n × H| over |H| of the incident wave",
           (0, highest))


def vortices(ds, path, time=3.0, points=65, level=1.5):
    """Where the vorticity is strong in an eighth of the Taylor-Green vortex, coloured by the velocity along z, among slices."""
    import pyvista

    q = ds.dg.grid(points, (0, 0, 0), (np.pi,) * 3, time=time)
    v = [(q[f"rho_{c}"] / q.rho).values.squeeze() for c in "uvw"]
    h = np.pi / (points - 1)
    slope = [dict(zip("zyx", np.gradient(component, h))) for component in v]
    curl = slope[2]["y"] - slope[1]["z"], slope[0]["z"] - slope[2]["x"], slope[1]["x"] - slope[0]["y"]
    box = pyvista.ImageData(dimensions=(points,) * 3, spacing=(h,) * 3)
    box["strength"], box["w"] = np.sqrt(sum(c**2 for c in curl)).ravel(), v[2].ravel()
    scene = plotter()
    for normal, place in (((1, 0, 0), 1e-6), ((0, 1, 0), np.pi - 1e-6), ((0, 0, 1), 1e-6)):
        scene.add_mesh(box.slice(normal, origin=np.multiply(normal, place)), scalars="strength", cmap="Greys",
                       clim=(0, 2.5 * level), lighting=False, show_scalar_bar=False)
    scene.add_mesh(box.contour([level], scalars="strength"), scalars="w", cmap="RdBu_r", clim=(-0.6, 0.6), smooth_shading=True,
                   specular=0.2, ambient=0.35, diffuse=0.7, show_scalar_bar=False)
    scene.add_mesh(box.outline(), color="#808080")
    scene.camera_position = [(11, -8, 7.5), (1.6, 1.5, 1.35), (0, 0, 1)]
    scene.camera.zoom(1.55)
    framed(scene, path, f"Taylor-Green vortex: strength of the vorticity {level:g} at t = {time:g}", "velocity along z",
           (-0.6, 0.6), "RdBu_r")
