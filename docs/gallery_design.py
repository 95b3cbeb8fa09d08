"""Pictures of the gallery that gradients made: a designed lens, and a body found from microphones.

Each function draws a run's dataset to a file: (ds, path)."""
import numpy as np
from gallery_pictures import REFERENCE, RUN, save
from matplotlib.figure import Figure


def lens(ds, path, time=4.625):
    """The pulse behind the lens, which is grey, with its mirror image; and p^2 at the focus over time."""
    from dgarray.cases.lens_design import BACK, FOCUS, FRONT, PATTERN, SIZE, pulse

    left, right = Figure(figsize=(8.2, 4.6), layout="compressed").subplots(1, 2)
    field = ds[["p"]].sel(time=time, method="nearest")
    limits = float(abs(field.p).max())
    for sign in (1, -1):
        x, y = (ds[axis].values.ravel() for axis in "xy")
        left.tricontourf(x, sign * y, field.p.values.ravel(), np.linspace(-limits, limits, 41), cmap="RdBu_r")
    slow = np.array([[letter == "#" for letter in line] for line in PATTERN])
    pixels = np.repeat(np.repeat(np.concatenate([slow[::-1], slow]), 20, 0), 20, 1)
    extent = (FRONT, BACK, -SIZE[1], SIZE[1])
    left.contourf(pixels, [0.5, 1.5], extent=extent, colors="0.3", alpha=0.35)
    left.contour(pixels, [0.5], extent=extent, colors="0.3", linewidths=0.8)
    left.plot(*FOCUS, "k+", markersize=10)
    left.set(xlabel="x", ylabel="y", aspect="equal", title=f"p, t = {float(field.time):g}")
    record = ds.dg.record("focus")
    right.plot(record.time, record.p.isel(point=0) ** 2, color=RUN, label="with the lens")
    right.plot(record.time, pulse(record.time - FOCUS[0]) ** 2, color=REFERENCE, linewidth=0.8, label="without")
    right.set(xlabel="t", ylabel="p² at the focus", xlim=(2.0, 5.5), ylim=(0, None))
    right.grid(color="0.92", linewidth=0.6)
    right.legend(fontsize="small", frameon=False)
    save(left.figure, path)


def inversion(ds, path):
    """The sound speed of the body, the one that is found, and the misfit over the iterations."""
    from dgarray.cases.inversion import MICROPHONES, REGION, SOURCES, around, invert, true_speed

    speed, misfits = invert(ds)
    panels = Figure(figsize=(9.6, 3.4), layout="compressed").subplots(1, 3, width_ratios=(1, 1, 1.1))
    x, y = (np.unique(speed[axis].values.round(9)) for axis in "xy")
    fine = np.linspace(-1, 1, 400)
    places = {name: speed[name].round(9) for name in ("x", "y")}
    found = speed.assign_coords(places).set_index(element=["y", "x"]).unstack("element").values
    for ax, values, at, title in ((panels[0], true_speed(tuple(np.meshgrid(fine, fine))), (fine, fine), "the body"),
                                  (panels[1], found, (x, y), "found, in every element")):
        image = ax.pcolormesh(*at, values, vmin=0.75, vmax=1.45, cmap="viridis", shading="nearest", rasterized=True)
        ax.plot(*around(SOURCES, 0.5).T, "r*", markersize=7)
        ax.plot(*around(MICROPHONES).T, "k.", markersize=3)
        ax.set(aspect="equal", title=title, xlabel="x", xlim=(-1, 1), ylim=(-1, 1))
    angle = np.linspace(0, 2 * np.pi, 100)
    panels[1].plot(REGION * np.cos(angle), REGION * np.sin(angle), "w:", linewidth=1)
    panels[1].figure.colorbar(image, ax=panels[1], label="sound speed")
    panels[2].semilogy(misfits / misfits[0], color=RUN)
    panels[2].set(xlabel="iteration", ylabel="misfit, as a share of the first")
    panels[2].grid(color="0.92", linewidth=0.6)
    save(panels[0].figure, path)
