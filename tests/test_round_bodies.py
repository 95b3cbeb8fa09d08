"""Spheres and cylinders beside their exact series: meshes around a centre, mirror images of fields, the two cases."""
import importlib

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose
from runs import run

import dgarray as dg
from dgarray import cases
from dgarray.analysis.farfield import enclosed_volume, near_to_far
from dgarray.analysis.mirror_images import with_mirror_images
from dgarray.cases.meshes.concentric import concentric_mesh
from dgarray.cases.round_bodies import incident_wave, resonance, round_body
from dgarray.mesh import MeshError
from dgarray.reference.tensor import tensor_cell
from dgarray.spaces.tensor_surface import TensorSurface

sphere, cylinder = (importlib.import_module(f"dgarray.cases.{name}") for name in ("mie_sphere", "scattering_cylinder"))
LAYERS = ("core", 1.0, 2), ("near", 1.4, 1), ("far", 2.0, 2)
K = 3.0


def ball(radius, dim):
    """Volume of a ball, in 2D area of a disc."""
    return np.pi * radius**2 if dim == 2 else 4 * np.pi / 3 * radius**3


# Meshes

@pytest.mark.parametrize("dim, hole, mirrors", [(2, 0.0, ""), (2, 0.4, ""), (2, 0.0, "y"), (3, 0.0, ""), (3, 0.5, ""),
                                                (3, 0.0, "xy"), (3, 0.5, "xyz")])
def test_layers_have_their_volumes(dim, hole, mirrors):
    mesh = concentric_mesh(LAYERS, hole, 4, dim, 4 if dim == 2 else 3, mirrors)
    share = 2 ** len(mirrors)
    radii = hole, 1.0, 1.4, 2.0
    for (name, _, _), low, high in zip(LAYERS, radii, radii[1:]):
        assert mesh.measures[mesh.regions[name]].sum() == pytest.approx((ball(high, dim) - ball(low, dim)) / share, rel=1e-6)
    assert mesh.cell_count == (2 * dim * 4 ** (dim - 1) * 5 + (0 if hole else 4**dim)) // share
    assert set(mesh.boundaries) == {"outer", *(["hole"] if hole else []), *(f"{axis}=0" for axis in mirrors)}
    assert not len(mesh.unnamed) and not mesh.notes and mesh.quality().min() > 0.4
    for axis in mirrors:
        rows = mesh.face_points(mesh.boundaries[f"{axis}=0"])
        assert np.abs(mesh.points[rows, "xyz".index(axis)]).max() < 1e-12
    outer = np.linalg.norm(mesh.points[mesh.face_points(mesh.boundaries["outer"])], axis=-1)
    assert_allclose(outer, 2.0, rtol=1e-12)


def test_surfaces_converge_to_spheres_with_the_degree_of_the_maps():
    gaps = [[abs(concentric_mesh((("a", 1.0, 1),), 0.5, n, 3, degree).measures.sum() / (ball(1, 3) - ball(0.5, 3)) - 1)
             for n in (2, 4)] for degree in (1, 2, 3)]
    observed = [np.log2(coarse / fine) for coarse, fine in gaps]
    assert observed[0] > 1.8 and observed[1] > 3.6 and observed[2] > 3.6
    assert gaps[0][1] > 30 * gaps[1][1]


@pytest.mark.parametrize("arguments, message", [
    ({"layers": (("a", 1.0, 1), ("b", 0.5, 1))}, "they must increase"), ({"hole": 2.5}, "they must increase"),
    ({"layers": ()}, "they must increase"), ({"layers": (("a", 1.0, 0),)}, "layer 'a': 0 cells"),
    ({"dim": 1}, "dim=1 is not allowed"), ({"cells": 0}, "cells=0 is not allowed"),
    ({"cells": 3, "mirrors": "x"}, "with mirrors even"), ({"dim": 2, "mirrors": "z"}, "'z' does not exist; allowed: x, y")])
def test_bad_meshes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        concentric_mesh(**{"layers": LAYERS} | arguments)


def test_too_many_cells_are_refused():
    with pytest.raises(MeshError, match="would have .* cells"):
        concentric_mesh(LAYERS, cells=5000)


# Mirror images

def dipole_fields(mesh, moment, magnetic=False, order=5):
    """A record on "outer" of the fields of a dipole at the origin, E and H of an electric one, H and -E of a magnetic one."""
    surface = TensorSurface(mesh, tensor_cell(3, order, "gauss"), mesh.boundaries["outer"])
    coords = {name: fixed[:2] for name, fixed in surface.coords(mesh.numbers).items()}
    fields = xr.Dataset(coords=coords, attrs={"dim": 3, "order": order, "nodes": "gauss", "boundary": "outer"})
    x = np.array([fields[axis].values for axis in "xyz"])
    r = np.sqrt((x**2).sum(axis=0))
    R, p, a = x / r, np.broadcast_to(np.reshape(moment, (3, 1, 1)), x.shape), 1 / (1j * K * r)
    wave = np.exp(-1j * K * r) / (4 * np.pi * r)
    E = -1j * K * wave * ((1 + a + a**2) * p - (1 + 3 * a + 3 * a**2) * R * np.sum(R * p, axis=0))
    H = 1j * K * (1 + a) * wave * np.cross(p, R, axis=0)
    E, H = (-H, E) if magnetic else (E, H)
    names = [field + axis for field in "EH" for axis in "xyz"]
    values = {name: (("frequency", "face", "face_node"), part[None]) for name, part in zip(names, (*E, *H))}
    return fields.assign(values).assign_coords(frequency=("frequency", [K / (2 * np.pi)]))


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("magnetic", [False, True])
def test_images_of_an_eighth_are_the_whole(axis, magnetic):
    """An electric dipole along an axis has an electric mirror across it, magnetic ones along it."""
    planes = {name: "pec" if (number == axis) != magnetic else "pmc" for number, name in enumerate("xyz")}
    layers, moment = (("a", 1.0, 1),), np.eye(3)[axis]
    part, whole = (dipole_fields(concentric_mesh(layers, 0.5, 2, 3, 3, mirrors), moment, magnetic) for mirrors in ("xyz", ""))
    found = with_mirror_images(part, planes)
    assert found.sizes["face"] == whole.sizes["face"] == 8 * part.sizes["face"]
    assert enclosed_volume(found) == pytest.approx(ball(1, 3), rel=1e-3)
    u = np.array([(0.6, 0.48, 0.64), (-0.6, 0.64, -0.48), (0.0, -0.6, 0.8)])
    far, wanted = (np.stack([near_to_far(fields, u)[f"E{c}"].values[0] for c in "xyz"]) for fields in (found, whole))
    assert_allclose(far, wanted, rtol=0, atol=1e-9)
    assert np.abs(wanted).max() > 0.1
    with pytest.raises(ValueError, match="beyond the plane x = 0"):
        with_mirror_images(whole, {"x": "pec"})


def test_bad_mirrors_are_refused():
    fields = dipole_fields(concentric_mesh((("a", 1.0, 1),), 0.5, 2, mirrors="xy"), (1, 0, 0), order=1)
    with pytest.raises(ValueError, match="the axis 'w' does not exist; allowed: x, y, z"):
        with_mirror_images(fields, {"w": "pec"})
    with pytest.raises(ValueError, match="'pecc' does not exist; allowed: pec, pmc .did you mean 'pec'"):
        with_mirror_images(fields, {"x": "pecc"})
    with pytest.raises(ValueError, match="have no faces"):
        with_mirror_images(fields.isel(face=0), {"x": "pec"})


# Cases

@pytest.mark.thorough
@pytest.mark.parametrize("polarisation", ["TM", "TE"])
@pytest.mark.parametrize("body, ka", [("conducting", 2.0), ("dielectric", 1.5), ("coated", 1.5), ("drude", 1.0)])
def test_cylinders_scatter_as_their_series_say(polarisation, body, ka):
    keywords = {"body": body, "polarisation": polarisation, "ka": ka, "order": 3, "cells": 3, "until": 40.0}
    sim, _ = run(cases.scattering_cylinder, "fused", **keywords)
    check_one(sim.report["results"], body, 0.006)


def check_one(results, body, error):
    """The numbers of a case at one frequency; errors relative to the largest value."""
    assert results["error"] < error and results["extinction_error"] < error
    for name in ("forward", "backward"):
        assert results[f"sigma_{name}"] == pytest.approx(results[f"exact_{name}"], abs=error * results["exact_forward"])
    for name in ("scattering", "absorption"):
        assert results[name] == pytest.approx(results[f"exact_{name}"], abs=error * results["exact_extinction"])
    assert (results["exact_absorption"] > 0.05 * results["exact_extinction"]) == (body == "drude")


@pytest.mark.thorough
@pytest.mark.parametrize("body, until, error", [("conducting", 25.0, 0.02), ("dielectric", 25.0, 0.03), ("coated", 25.0, 0.02),
                                                ("drude", 60.0, 0.02)])
def test_spheres_scatter_as_mie_says(body, until, error):
    """On 30 to 38 hexahedra."""
    ka = 1.0 if body == "drude" else 1.5
    sim, _ = run(cases.mie_sphere, "fused", body=body, ka=ka, order=3, cells=2, until=until)
    assert 30 <= sim.mesh.cell_count <= 38
    check_one(sim.report["results"], body, error)


@pytest.mark.thorough
def test_a_quarter_of_a_sphere_is_as_good_as_the_whole():
    keywords = {"ka": 1.5, "order": 3, "cells": 2, "until": 15.0}
    whole = concentric_mesh((("near", 1.4, 2), ("far", 1.8, 1)), 1.0, 2, 3, 3)
    found = [run(cases.mie_sphere, "fused", mesh=mesh, **keywords)[0].report["results"] for mesh in (None, whole)]
    for name, value in found[0].items():
        assert found[1][name] == pytest.approx(value, rel=1e-5, abs=1e-5)          # their steps differ slightly


@pytest.mark.thorough
@pytest.mark.parametrize("case, place", [(cases.scattering_cylinder, 1.235917463), (cases.mie_sphere, 0.8343377097)])
def test_resonances_of_metal_by_one_pulse(case, place):
    """Within 0.5 % in place and 2 % in height."""
    more = {"polarisation": "TE"} if case is cases.scattering_cylinder else {}
    results = run(case, "fused", body="drude", order=3, cells=4, **more)[0].report["results"]
    assert results["exact_peak_at"] == pytest.approx(place, rel=1e-6)
    assert results["peak_at"] == pytest.approx(results["exact_peak_at"], rel=0.005)
    assert results["peak"] == pytest.approx(results["exact_peak"], rel=0.02)
    assert results["error"] < 0.01


@pytest.mark.thorough
@pytest.mark.parametrize("polarisation", ["TM", "TE", None])
def test_total_fields_are_incident_and_scattered_ones(polarisation):
    """A conductor in a coat of vacuum: the total field in the coat, or the scattered one everywhere."""
    case, module = (cases.mie_sphere, sphere) if polarisation is None else (cases.scattering_cylinder, cylinder)
    keywords = {"ka": 2.0, "order": 4, "cells": 2 if polarisation is None else 4, "until": 12.0}
    sim = case(body="coated", eps=1.0, **keywords, **({} if polarisation is None else {"polarisation": polarisation}))
    incident = incident_wave(np.array([2.0]), sim.law.dim, polarisation)
    conditions = {name: each for name, each in sim.options["boundary"].items() if name != "skin"}
    conditions["hole"] = dg.scattered(dg.pec, incident)
    total, alone = (module.bistatic(each.run(), round_body("coated", 1.0)).sigma
                    for each in (sim.replace(backend="numpy"), sim.replace(backend="numpy", boundary=conditions)))
    assert np.abs(total - alone).max() < (2e-4 if polarisation is None else 3e-5) * total.max()


def test_place_and_height_of_a_resonance():
    k = np.array([1.0, 1.1, 1.3, 1.4])
    heights = {"extinction": 5 - (k - 1.17) ** 2, "exact_extinction": 1 + k}
    data = {name: ("frequency", value) for name, value in heights.items()}
    found = resonance(xr.Dataset(data, {"frequency": k / (2 * np.pi)}))
    assert found["peak_at"] == pytest.approx(1.17) and found["peak"] == pytest.approx(5)
    assert (found["exact_peak_at"], found["exact_peak"]) == pytest.approx((1.4, 2.4))


@pytest.mark.parametrize("case", [cases.mie_sphere, cases.scattering_cylinder])
@pytest.mark.parametrize("keywords, message", [
    ({"body": "dielectrc"}, "'dielectrc' does not exist; allowed: conducting, .* .did you mean 'dielectric'"),
    ({"eps": 2.0}, "eps=2.0 is not allowed with body='conducting'"),
    ({"body": "drude", "eps": "1.0 + dgarray.Drude(3.0, 0.2)"}, "a finite number above 0, or in Python a Dispersion"),
    ({"body": "dielectric", "eps": -2.0}, "eps=-2.0 is not allowed"), ({"ka": 0.0}, "ka=0.0 is not allowed"),
    ({"ka": (1.0, -2.0)}, "it must be a positive number, or several"), ({"cells": 0}, "cells=0 is not allowed"),
    ({"layers": 0}, "layers=0 is not allowed")])
def test_bad_keywords_are_refused(case, keywords, message):
    with pytest.raises(ValueError, match=message):
        case(**keywords)


def test_meshes_that_do_not_fit_are_refused():
    with pytest.raises(MeshError, match="'hole' is not in the mesh"):
        cases.scattering_cylinder(mesh=concentric_mesh((("near", 1.4, 1), ("far", 1.8, 1)), dim=2))
    with pytest.raises(ValueError, match="distances from 0.9 to 0.9 from the origin; they must be at 1"):
        cases.scattering_cylinder(mesh=concentric_mesh((("near", 1.4, 1), ("far", 1.8, 1)), 0.9, dim=2))
    with pytest.raises(ValueError, match="polarisation 'TEM' does not exist; allowed: TM, TE"):
        cases.scattering_cylinder(polarisation="TEM")
    with pytest.raises(ValueError, match="with mirrors even"):
        cases.mie_sphere(cells=3)
