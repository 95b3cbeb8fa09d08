"""The table of comparison.md on a dielectric cylinder: TensorDG on curved quadrilaterals and Yee's scheme, at equal error.

    python docs/compare_with_yee.py

A pulse (TM) meets a cylinder of radius 1 and permittivity 4; the scattering width is compared with its series at 21
frequencies, k a = 2 to 4. Times are processor times of one thread without compilation.
"""
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import meshio
import numpy as np
from numba import njit

import dgarray as dg
from dgarray.analysis.cross_sections import cross_sections
from dgarray.analysis.scattering_cylinders import cylinder_widths

EPS, UNTIL = 4.0, 150.0
FREQUENCIES = np.linspace(2, 4, 21) / (2 * np.pi)
EXACT = cylinder_widths(FREQUENCIES, 1.0, EPS, polarisation="TM").scattering.values
CORE, BOX = 0.45, 1.5          # half sides of the square in the middle of the cylinder, and of the box around it
SAMPLING = 0.15                # time between samples of the transforms of Yee's scheme


def pulse(s):
    return np.exp(-((s - 6) / 1.3) ** 2) * np.sin(3 * (s - 6))


# TensorDG: three squares in one another, of which the middle one becomes the circle.

def squares(n):
    """n cells along each side of every square: points, quadrilaterals, and lines of the box."""
    points, quads, lines, u = {}, [], [], np.linspace(-1, 1, n + 1)

    def point(x, y):
        return points.setdefault((round(x, 9), round(y, 9)), len(points))
    for a, b in zip(u, u[1:]):
        quads += [[point(CORE * x, CORE * y) for x, y in ((a, c), (b, c), (b, d), (a, d))] for c, d in zip(u, u[1:])]
    radii = [*np.linspace(CORE, 1, ceil(0.35 * n) + 1), *np.linspace(1, BOX, ceil(0.32 * n) + 1)[1:]]
    for c, s in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        def at(r, v, c=c, s=s):
            return point(r * (c - s * v), r * (s + c * v))
        quads += [[at(a, v), at(b, v), at(b, w), at(a, w)] for a, b in zip(radii, radii[1:]) for v, w in zip(u, u[1:])]
        lines += [[at(BOX, v), at(BOX, w)] for v, w in zip(u, u[1:])]
    return np.array(list(points)), np.array(quads), np.array(lines)


def rounded(x):
    """Between the core and the box straight lines from squares to the circle."""
    size = np.maximum(np.maximum(*np.abs(x)), 1e-300)
    high = np.abs(x[1]) > np.abs(x[0])
    angle = np.pi / 4 * np.where(high, x[0], x[1]) / size
    across, along = np.sin(angle), np.cos(angle) * np.sign(np.where(high, x[1], x[0]))
    inside = size <= 1
    share = np.where(size <= CORE, 0, np.where(inside, (size - CORE) / (1 - CORE), (BOX - size) / (BOX - 1)))
    start = np.where(size <= CORE, size, np.where(inside, CORE, BOX)) / size
    return tuple((1 - share) * start * c + share * np.where(swapped, across, along) for c, swapped in zip(x, (high, ~high)))


def cylinder(n, order):
    """The mesh, with the layer around."""
    points, quads, lines = squares(n)
    glass = np.abs(points[quads].mean(axis=1)).max(axis=1) < 1
    cells = [("quad", quads[glass]), ("quad", quads[~glass]), ("line", lines)]
    tags = [np.full(len(rows), tag) for tag, (_, rows) in enumerate(cells, 1)]
    groups = {"glass": np.array([1, 2]), "air": np.array([2, 2]), "outer": np.array([3, 1])}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "squares.msh"
        meshio.Mesh(np.pad(points, ((0, 0), (0, 1))), cells, field_data=groups, cell_data={
            "gmsh:physical": tags, "gmsh:geometrical": tags}).write(file, file_format="gmsh22", binary=False)
        mesh = dg.read_mesh(file)
    return dg.pml(mesh.mapped(rounded, order).with_interfaces({"skin": ("glass", "air")}), thickness=0.8, cells=3)


def by_dg(n, order=4):
    """(scattering widths, nodes, seconds): the total field in the cylinder, the scattered one around it."""
    mesh, law = cylinder(n, order), dg.Maxwell(2, eps={"glass": EPS, "air": 1.0})
    wave = dg.plane_wave(law, (1, 0), (0, 0, 1), pulse, medium="air")
    sim = dg.Simulation(mesh, law, dg.TensorDG(order), {"skin": dg.total_field(wave), "default": dg.pec},
                        lambda x: (0 * x[0],) * 3, record={"skin": dg.Fourier(tuple(FREQUENCIES), boundary="skin", every=4)},
                        threads=1)
    sim.run(until=0.5)          # compiles
    start = process_time()
    run = sim.run(until=UNTIL)
    seconds = process_time() - start
    return cross_sections(run.dg.record("skin"), wave, "total").scattering.values, mesh.cell_count * (order + 1) ** 2, seconds


# Yee's scheme: Ez at nodes, Hx and Hy between them; convolutional layer, total and scattered field by a line. Taflove & Hagness
# 2005, chapters 3, 5 and 7.

@njit
def march(steps, dt, h, inverse, layer, node, half, incident, box, surface, every, frequencies):
    """The transforms of Ez and of H along the sides of the square `surface`, and of the incident field in the middle.

    node, half: rows (b, a) of the layer at its nodes and between them;  box: first and last node of the total field"""
    N, k, (first, last), (low, high) = len(inverse), dt / h, box, surface
    Ez, Hx, Hy = np.zeros((N, N)), np.zeros((N, N)), np.zeros((N, N))
    memory = np.zeros((4, 2, layer + 1, N))
    line = last - first + 40          # the incident wave: its node 20 is the first of the total field
    e, hy = np.zeros(line), np.zeros(line)
    E = np.zeros((4, len(frequencies), high - low + 1), np.complex128)
    H, middle = np.zeros_like(E), np.zeros(len(frequencies), np.complex128)
    for step in range(steps):
        for i in range(N - 1):
            for j in range(N - 1):
                Hx[i, j] -= k * (Ez[i, j + 1] - Ez[i, j])
                Hy[i, j] += k * (Ez[i + 1, j] - Ez[i, j])
        for side in range(2):
            for depth in range(layer):
                j = N - 2 - depth if side else depth
                for i in range(N - 1):
                    for which in range(2):
                        slope = (Ez[i, j + 1] - Ez[i, j] if which else Ez[j + 1, i] - Ez[j, i]) / h
                        memory[which, side, depth, i] = half[0, depth] * memory[which, side, depth, i] + half[1, depth] * slope
                    Hy[j, i] += dt * memory[0, side, depth, i]
                    Hx[i, j] -= dt * memory[1, side, depth, i]
        hy[:-1] += k * (e[1:] - e[:-1])
        for i in range(first, last + 1):
            Hx[i, first - 1] += k * e[20 + i - first]
            Hx[i, last] -= k * e[20 + i - first]
            Hy[first - 1, i] -= k * e[20]
            Hy[last, i] += k * e[20 + last - first]
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                Ez[i, j] += inverse[i, j] * k * (Hy[i, j] - Hy[i - 1, j] - Hx[i, j] + Hx[i, j - 1])
        for side in range(2):
            for depth in range(1, layer + 1):
                j = N - 1 - depth if side else depth
                for i in range(1, N - 1):
                    for which in range(2):
                        slope = (Hx[i, j] - Hx[i, j - 1] if which else Hy[j, i] - Hy[j - 1, i]) / h
                        memory[2 + which, side, depth, i] = (node[0, depth] * memory[2 + which, side, depth, i]
                                                             + node[1, depth] * slope)
                    Ez[j, i] += dt * memory[2, side, depth, i]
                    Ez[i, j] -= dt * memory[3, side, depth, i]
        for j in range(first, last + 1):
            Ez[first, j] -= k * hy[19]
            Ez[last, j] += k * hy[20 + last - first]
        before, end = e[-2], e[-1]
        e[1:-1] += k * (hy[1:-1] - hy[:-2])
        e[0], e[-1] = incident[step], before + (k - 1) / (k + 1) * (e[-2] - end)
        if step % every == 0:
            for f in range(len(frequencies)):
                turn = np.exp(-2j * np.pi * frequencies[f] * (step + 1) * dt) * dt * every
                earlier = turn * np.exp(1j * np.pi * frequencies[f] * dt) / 2
                middle[f] += turn * e[20 + (last - first) // 2]
                for c in range(high - low + 1):
                    at = low + c
                    for side in range(2):
                        edge = high if side else low
                        E[side, f, c] += turn * Ez[edge, at]
                        H[side, f, c] += earlier * (Hy[edge, at] + Hy[edge - 1, at])
                        E[2 + side, f, c] += turn * Ez[at, edge]
                        H[2 + side, f, c] += earlier * (Hx[at, edge] + Hx[at, edge - 1])
    return E, H, middle


def by_yee(cells, averaged, layer=12):
    """(scattering widths, nodes, seconds) with so many cells along a radius; averaged: the permittivity over the cell around
    each node, else its value there."""
    h = 1 / cells
    dt, middle = 0.99 * h / np.sqrt(2), round(BOX * cells) + layer
    x = (np.arange(2 * middle + 1) - middle) * h
    shifts = (np.arange(16) - 7.5) * h / 16 if averaged else np.zeros(1)
    eps = sum(np.where((x[:, None] + a) ** 2 + (x + b) ** 2 < 1, EPS, 1.0) for a in shifts for b in shifts) / len(shifts) ** 2

    def rows(depth, shift=0.05):
        sigma = 3.2 / h * (depth / layer) ** 3
        b = np.exp(-(sigma + shift) * dt)
        return np.array([b, sigma / (sigma + shift) * (b - 1)])
    places = [(middle - round(a * cells), middle + round(a * cells)) for a in (1.2, 1.35)]
    steps = ceil(UNTIL / dt)
    given = (dt, h, 1 / eps, layer, rows(layer - np.arange(layer + 1.0)), rows(layer - np.arange(layer) - 0.5),
             pulse((np.arange(steps) + 1) * dt), *places, max(1, int(SAMPLING / dt)), FREQUENCIES)
    march(2, *given)          # compiles
    start = process_time()
    E, H, incident = march(steps, *given)
    seconds = process_time() - start
    weights = np.full(E.shape[2], h)
    weights[[0, -1]] /= 2
    power = [np.real(e * h.conj()) @ weights for e, h in zip(E, H)]          # n . (E x H*) = -Ez Hy* along x, Ez Hx* along y
    return (power[0] - power[1] - power[2] + power[3]) / np.abs(incident) ** 2, x.size ** 2, seconds


def main():
    rows = [(f"Yee, {'averaged' if averaged else 'staircase'}", cells, *by_yee(cells, averaged))
            for averaged in (False, True) for cells in (16, 32, 64, 128, 256)[:4 + averaged]]
    rows += [("`TensorDG(4)`", n, *by_dg(n)) for n in (2, 3, 4, 6)]
    for name, size, found, nodes, seconds in rows:
        error = np.linalg.norm(found - EXACT) / np.linalg.norm(EXACT)
        print(f"| {name} | {size} | {nodes:,} | {error:.1e} | {seconds:.2g} |", flush=True)


if __name__ == "__main__":
    main()
