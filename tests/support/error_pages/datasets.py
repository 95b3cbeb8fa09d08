"""Messages of docs/errors/datasets.md."""
from unittest import mock

from mistakes.kinds import Wrong, case, on_grid, results
from mistakes.stores import stores

TITLE = "Datasets in Python"
ABOUT = "methods of `ds.dg`: samples, slices, pictures, files; results on grids"
GROUPS = {}

GROUPS["Results in Python"] = [
    results("Several runs where one is shown", "__import__('xarray').concat([ds, ds], dim='case').dg.plot('p')",
            "values for several runs, along 'case'; choose one, ds.isel"),
    results("Arithmetic with whole datasets", "(2 * ds).dg.norm('p')", "mesh .* has been changed by arithmetic"),
    results("A dataset that has lost its attributes", "ds.drop_attrs().dg", "not one of dgarray.*keep its attributes"),
    results("A misspelt variable in a script", "ds.dg.norm('P_')", "variable 'P_' does not exist"),
    results("A misspelt boundary in a script", "ds.dg.surface('lefft')", "did you mean 'left'"),
    results("A misspelt record in a script", "ds.dg.record('ears')", "it has: none"),
    results("A snapshot that does not exist", "ds.dg.norm('p', 7)", "2 snapshots"),
    results("A time that a single snapshot does not have", "ds.isel(time=-1).dg.norm('p', 0.005)", "it has t = 0.01"),
    results("A snapshot that a single one does not have", "ds.isel(time=0).dg.norm('p', 1)", "1 snapshot, allowed: -1 to 0"),
    results("A time of a dataset without times", "ds.isel(time=0, drop=True).dg.norm('p', 0.0)", "no coordinate time"),
    results("A time that is not a number", "ds.dg.plot('p', time='last')", "time 'last' is not allowed; give an index"),
    results("An error without a time", "ds.isel(time=0, drop=True).dg.error('p', lambda x, t: (0.0, 0.0, 0.0))",
            "no coordinate time"),
    results("No snapshot", "ds.isel(time=slice(0)).dg.norm('p')", "no snapshot yet"),
    results("A misspelt variable of the law", "ds.dg.error('P1', lambda x, t: (0.0, 0.0, 0.0))", "did you mean 'p'"),
    results("An exact solution that is not a function", "ds.dg.error('p', 1.0)", r"exact\(x, t\)"),
    results("An exact solution with too few components", "ds.dg.error(lambda x, t: (1.0,))", "returns 1 component;"),
    results("Points of another dimension", "ds.dg.sample([0.5, 0.5])", r"must be \(point, 2\)"),
    results("A line without length", "ds.dg.line((0, 0), (0, 0))", "two different points"),
    results("An end of another dimension", "ds.dg.line((0, 0, 0), (1, 1, 1))", "2 finite coordinates"),
    results("A line of one point", "ds.dg.line((0, 0), (1, 1), 1)", "whole number from 2"),
    results("A distance in place of a shape", "ds.dg.grid(0.1)", "given with spacing="),
    results("A grid by both shape and spacing", "ds.dg.grid((3, 3), spacing=0.1)", "give one of them"),
    results("A grid in three directions", "ds.dg.grid((3, 3, 3))", "one number or 2"),
    results("A grid in the wrong order", "ds.dg.grid(3, upper=(-1, 0))", "is below lower"),
    results("Zero spacing", "ds.dg.grid(spacing=0.0)", "must be positive"),
    results("A grid too large", "ds.dg.grid(10**9)", "points; at most"),
    results("A plane that is not understood", "ds.dg.slice(1.0)", "is not understood"),
    results("A plane of another dimension", "ds.dg.slice(((0, 0, 0), (0, 0, 1)))", "an origin of shape"),
    results("A plane without direction", "ds.dg.slice(((0, 0), (0, 0)))", "normal of the plane is zero"),
    results("UGRID of a line", "ds.dg.slice('x=0.5').dg.to_ugrid()", "UGRID faces need 2D"),
    results("A spectrum without a record in a script", "ds.dg.plot('p', spectrum=True)", "needs record="),
    results("Axes and a path", "ds.dg.plot('p', ax=1, path='p.png')", "both given"),
    results("Isolines that are not numbers", "ds.dg.plot('p', isolines='abc')",
            r"isolines 'abc' are not allowed; they must be \(low"),
    results("Limits that are not numbers in a script", "ds.dg.plot('p', limits='abc')",
            "limits 'abc' are not allowed; they must be"),
    results("A misspelt option of a picture", "ds.dg.plot('p', path='p.png', colour='red')", "allowed|it has"),
    results("A misspelt method of the dataset", "ds.dg.smaple([(0, 0)])", "did you mean 'sample'"),
    results("A movie without snapshots", "ds.isel(time=0).dg.animate('p', 'p.gif')", "no snapshots along time"),
    case("An animation in 3D", "mesh=dg.box(cells=1), law=dg.Acoustics(3), results=lambda ds: ds.dg.animate('p')",
         "needs slice="),
    case("A picture in 3D into axes", "mesh=dg.box(cells=1), law=dg.Acoustics(3), results=lambda ds: ds.dg.plot('p', ax=1)",
         "cannot be drawn into axes", prepare=lambda: mock.patch("dgarray.output.pictures.volume.check_rendering")),
    results("A field that VTK does not know", "ds.assign(q=ds.p * 1j).dg.to_vtk('q.vtu', 'q')", "takes real numbers"),
    results("A name that VTKHDF does not allow", "ds.assign({'a/b': ds.p}).dg.to_vtk('q.vtkhdf')", "holds a '/'"),
    results("Elements of a store of an earlier version",
            "ds.drop_vars('element_number').isel(element=slice(2)).dg.to_vtk('q.vtu')", "boundary_faces names the element"),
    results("An element twice", "ds.isel(element=[0, 0]).dg.norm('p')", "holds 1 of its elements more than once"),
]

GROUPS["Results on a grid"] = [
    Wrong("A slice of a grid between its nodes", "plot nodes.zarr p --slice y=0.3", "nodes lie in the planes y=0, 0.25, 0.5",
          prepare=stores("nodes")),
    Wrong("A slice outside a grid", "plot nodes.zarr p --slice y=3", "misses the grid", prepare=stores("nodes")),
    on_grid("Values between nodes", "results=lambda ds: {'x': ds.dg.sample([(0.1, 0.1)])}", "derivatives=True"),
    on_grid("A selection of a grid", "results=lambda ds: {'x': ds.isel(x=slice(2)).dg.norm('p')}", "need the whole grid"),
    on_grid("A surface of a grid", "results=lambda ds: {'x': ds.dg.surface('left')}", r"left is ds.dg.slice\('x=0'\)"),
    on_grid("A plane oblique to the axes", "results=lambda ds: {'x': ds.dg.slice(((0, 0), (1, 1)))}", "not across an axis"),
    on_grid("A point outside the grid", "record={'r': dg.Points([(2, 0)])}", "outside the grid"),
    on_grid("A side that the grid does not have", "record={'r': dg.SurfaceFields('front')}",
            "it has: left, right, bottom, top"),
    on_grid("Fields on several sides", "record={'r': dg.SurfaceFields(('left', 'top'))}", "several sides"),
    on_grid("A degree on a grid", "record={'r': dg.VolumeIntegral(degree=3)}", "degree=3 is for meshes"),
]
