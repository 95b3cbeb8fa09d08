"""Messages of docs/errors/records.md."""
from mistakes.kinds import case

TITLE = "Records and far fields"
ABOUT = "recorders, and far fields from their records"

FAR = """from dgarray.analysis.farfield import near_to_far"""
FAR_BOX = "mesh=dg.box(cells=1), law=dg.Maxwell(3), boundary=dg.pec, record={'a': dg.Fourier(0.01, boundary='left')}, "

FAR_SIDES = ("record={'a': dg.Fourier(0.01, boundary=('left', 'right', 'bottom', 'top'))}, "
             "results=lambda ds: {'x': near_to_far(ds.dg.record('a'), ")

GROUPS = {}

GROUPS["Records"] = [
    case("Records without names", "record=dg.Extrema()", "give a dict"),
    case("A record that is not a recorder", "record={'a': 'Extrema'}", "is not a recorder"),
    case("A record name with a space", "record={'my ears': dg.Extrema()}", "letters, digits and _"),
    case("A name that is taken", "record={'mesh': dg.Extrema()}", "the dataset has a 'mesh_"),
    case("Zero steps between samples", "record={'a': dg.Extrema(every=0)}", "whole number from 1, in steps"),
    case("A misspelt variable", "record={'a': dg.Extrema(variables='vX')}", "did you mean 'vx'"),
    case("An empty list of variables", "record={'a': dg.Extrema(variables=())}", "at least one"),
    case("Points that are not numbers", "record={'a': dg.Points('here')}", "give numbers"),
    case("Points of another dimension", "record={'a': dg.Points([(0, 0, 0)])}", r"must be \(point, 2\)"),
    case("Points outside the mesh", "record={'a': dg.Points([(0.5, 0.5), (2, 0)])}", "point 1 at .*outside the mesh"),
    case("A variable named like a coordinate", "law=Mine(), boundary=dg.outflow, record={'a': dg.Points([(0.5, 0.5)])}",
         "has the name of a coordinate",
         'class Mine(dg.Acoustics):\n    def __init__(self):\n        super().__init__(2)\n'
         '        self.variables = ("point", "vx", "vy")'),
    case("A misspelt boundary", "record={'a': dg.SurfaceFields('lefft')}", "did you mean 'left'"),
    case("An empty list of boundaries", "record={'a': dg.SurfaceFields(())}", "has no face"),
    case("A boundary and points", "record={'a': dg.Fourier(1.0, boundary='left', points=[(0, 0)])}", "one of them"),
    case("A frequency that is not a number", "record={'a': dg.Fourier('high')}", "finite numbers, at least one"),
    case("A negative frequency", "record={'a': dg.Fourier(-1.0)}", "frequencies are numbers from 0"),
    case("A start that is not a number", "record={'a': dg.Fourier(1.0, start=(1, 2))}", "a finite number"),
    case("A window that is not a function", "record={'a': dg.Fourier(1.0, window=1.0)}", "a function of t"),
    case("A window that is not finite", "record={'a': dg.Fourier(1.0, window=lambda t: np.nan)}", "finite number"),
    case("Names without a function", "record={'a': dg.VolumeIntegral(names='b')}", "without a function"),
    case("An integrand that is not a function", "record={'a': dg.VolumeIntegral(1.0)}", "must be a function"),
    case("A component name with a space", "record={'a': dg.VolumeIntegral(lambda q: q[0], names='b c')}",
         "letters, digits"),
    case("Too many names", "record={'a': dg.VolumeIntegral(lambda q: q[0], names=('b', 'c'))}", "returns 1 component, but"),
    case("An integrand with an unknown argument", "record={'a': dg.BoundaryIntegral('left', lambda q, y: y)}", "asks for 'y'"),
    case("An integrand that is not a number", "record={'a': dg.VolumeIntegral(lambda q: np.ones(5))}",
         "real number at every point"),
    case("Degree zero", "record={'a': dg.VolumeIntegral(lambda q: q[0], degree=0)}", "degree=0"),
]

GROUPS["Far fields"] = [
    case("Fields of another law", "results=lambda ds: {'x': near_to_far(ds.dg.surface('left'), [(0, 0, 1)])}",
         "the fields lack", FAR),
    case("Directions of another shape", FAR_BOX + "results=lambda ds: {'x': near_to_far(ds.dg.record('a'), (0, 1))}",
         r"must be \(direction, 3\)", FAR),
    case("Directions that are not unit vectors",
         FAR_BOX + "results=lambda ds: {'x': near_to_far(ds.dg.record('a'), [(0, 0, 2)])}",
         "unit vectors", FAR),
    case("A surface that is not closed", FAR_BOX + "results=lambda ds: {'x': near_to_far(ds.dg.record('a'), [(0, 0, 1)])}",
         "not closed", FAR),
    case("A surface at the outer end of a layer", "mesh=dg.pml(dg.rectangle(cells=1), 0.5, 1), " + FAR_SIDES + "[(1, 0)])}",
         "absorbing layer or at its outer end", FAR),
    case("A medium that is not that of the run", FAR_SIDES + "[(1, 0)], sound_speed=2.0)}", "because the run has", FAR),
    case("Images in a mirror that the run does not have", "record={'a': dg.Fourier(0.01, boundary='right')}, "
         "results=lambda ds: {'x': with_mirror_images(ds.dg.record('a'), {'y': 'soft'})}", "is not what the run has",
         "from dgarray.analysis.mirror_images import with_mirror_images"),
]
