"""Messages of docs/errors/problem.md."""
from mistakes.files import nasty
from mistakes.kinds import case

TITLE = "Laws and boundary conditions"
ABOUT = "laws, media, numerical fluxes, boundary conditions, incident waves"
GROUPS = {}

GROUPS["Laws and media"] = [
    case("A law without all its parts", "law=Mine()", "has no flux", "class Mine(dg.Law):\n    dim, variables = 2, ('u',)"),
    case("A law without a wave speed", "law=Mine()", "has no wave_speed",
         "class Mine(dg.Law):\n    dim, variables = 2, ('u',)\n\n    def flux(self, q, n):\n        return (q[0] * n[0],)"),
    case("A law in another dimension", "law=dg.Acoustics(dim=3)", "the law has 3"),
    case("An invalid dimension", "law=dg.Maxwell(dim=4)", "1, 2 or 3"),
    case("An unknown polarisation", "law=dg.Maxwell(dim=2, polarisation='TEM')", "allowed: TM, TE"),
    case("A parameter out of bounds", "law=dg.Acoustics(density=-1.0)", "must be positive"),
    case("A parameter that is not a number", "law=dg.Acoustics(density='heavy')", "give a number"),
    case("A misspelt parameter", "law=dg.Acoustics(densty=1.0)", "did you mean 'density'"),
    case("A parameter by its name elsewhere", "law=dg.Acoustics(rho=1.0)", "has no argument 'rho'.*did you mean 'density'"),
    case("A misspelt region", "mesh=dg.read_mesh('mine.msh'), law=dg.Acoustics(density={'doman': 1.0})",
         "did you mean 'domain'", prepare=nasty("good_tri_4x4", "mine.msh")),
    case("A region without a value", "law=dg.Acoustics(density={})", "without a value"),
    case("Regions that overlap", "mesh=halves, law=dg.Acoustics(density={'a': 1.0, 'b': 2.0})", "two values",
         "from dataclasses import replace\nhalves = replace(dg.rectangle(cells=(1, 1)), "
         "regions={'a': np.array([0, 1]), 'b': np.array([1])})"),
    case("A parameter with unknown arguments", "law=dg.Acoustics(density=lambda x, y: 1.0)", "asks for y; allowed: x"),
    case("Velocities of another dimension", "law=dg.Advection((1, 2), dim=3)", "has 2 components"),
    case("Layers that meet", "mesh=dg.pml(dg.pml(dg.rectangle(cells=2), 0.5, 1, 'top'), 0.5, 1, 'left', name='more')",
         "add the layers of sides that meet by one call"),
    case("A layer that is one already", "mesh=dg.pml(dg.pml(dg.rectangle(cells=2), 0.5, 1), region='pml')",
         "is an absorbing layer already"),
    case("A velocity that is not a number", "law=dg.Advection((1 + dg.Debye(1.0, 0.1), 1.0))", "must be a number, a tuple of"),
    case("A velocity without a dimension", "law=dg.Advection(lambda x: (1.0, 0.0))", "needs dim"),
    case("A velocity with too few components", "law=dg.Advection(lambda x: (1.0,), dim=2)",
         "returns 1 component; it must return 2"),
    case("A misspelt family of a law", "law=Mine()", "family 'curll' .*did you mean 'curl'",
         "class Mine(dg.Acoustics):\n    family = 'curll'"),
    case("A law whose flux has too few components", "law=Mine()", "law's flux returns 1 component;",
         "class Mine(dg.Acoustics):\n    def flux(self, q, n):\n        return (q[0] * n[0],)"),
    case("A law with an unknown argument", "law=Mine()", "asks for 'y'; allowed",
         "class Mine(dg.Acoustics):\n    def flux(self, q, n, y):\n        return q"),
    case("A misspelt parameter in a law", "law=Mine()", "did you mean 'rho'",
         "class Mine(dg.Acoustics):\n    def wave_speed(self, n, m):\n        return m.rhoo"),
    case("A wave speed that is not a number", "law=Mine()", "must return numbers",
         "class Mine(dg.Acoustics):\n    def wave_speed(self, n):\n        return Ellipsis"),
    case("A variable twice", "law=Mine(), boundary=dg.outflow", "each once", """class Mine(dg.Acoustics):
    def __init__(self):
        super().__init__(2)
        self.variables = ("p", "v", "v")"""),
    case("A variable with a taken name", "law=Mine(), boundary=dg.outflow", "is taken", """class Mine(dg.Acoustics):
    def __init__(self):
        super().__init__(2)
        self.variables = ("time", "vx", "vy")"""),
]

GROUPS["Numerical fluxes"] = [
    case("A flux that is not a function", "flux='upwind'", "flux='upwind'"),
    case("A misspelt flux", "flux=dg.upwnd", "did you mean 'upwind'"),
    case("A flux that is a boundary condition", "flux=dg.wall", "flux=wall asks for q, n, law; it must be"),
    case("A function that does not return a flux", "flux=lambda law: 3", "returns 3; it must return a function"),
    case("A flux out of its range", "flux=lambda law: dg.upwind(law, alpha=2)", "between 0"),
]

GROUPS["Boundary conditions"] = [
    case("No boundary conditions", "boundary=None", "have no condition"),
    case("A boundary condition that is called", "boundary=dg.wall()", "give it without parentheses"),
    case("A boundary condition of the wrong type", "boundary='wall'", "give one condition or a dict"),
    case("A misspelt boundary", "boundary={'lefft': dg.wall}", "did you mean 'left'"),
    case("A boundary that is left out", "boundary={'left': dg.wall}", "have no condition"),
    case("A name in place of a condition", "boundary={'left': 'wall'}", "is not a condition"),
    case("A condition that was not called", "law=dg.Euler(2), boundary=dg.far_field",
         r"far_field is not a condition but makes one; call it: dgarray.far_field\(g\)"),
    case("The class of a condition", "boundary=type(dg.wall)", "give the condition itself, dgarray.wall"),
    case("A far field with too few components", "law=dg.Euler(2), boundary=dg.far_field(lambda x, t: (1.0, 0.0, 1.0))",
         "state of far_field returns 3 components; it must return 4: rho, rho_u, rho_v, E"),
    case("A far field with a negative pressure", "law=dg.Euler(2), boundary=dg.far_field(lambda x, t: (1.0, 3.0, 0.0, 1.0))",
         r"not admissible at .* = \(1, 3, 0, 1\); law.conservative computes it from rho, u, v, p"),
    case("A prescribed state that is not finite", "boundary=dg.prescribed(lambda x, t: (np.nan, 0.0, 0.0))",
         "state of prescribed is not finite at"),
    case("An outflow with a negative pressure", "law=dg.Euler(2), boundary=dg.pressure_outflow(lambda x, t: -1.0)",
         "pressure of pressure_outflow is not positive at"),
    case("Two conditions at a face", "mesh=twice, boundary={'left': dg.wall, 'west': dg.outflow, 'default': dg.wall}",
         "share faces",
         "from dataclasses import replace\nmesh = dg.rectangle(cells=(1, 1))\n"
         "twice = replace(mesh, boundaries={**mesh.boundaries, 'west': mesh.boundaries['left']})"),
    case("A condition of another law", "boundary=dg.pec", "needs a law of Maxwell type"),
    case("A condition of acoustics", "law=dg.Maxwell(dim=2)", "needs a law of Acoustics, Euler or MHD type"),
    case("A condition with an unknown argument", "boundary=mirror", "asks for 'normal'",
         "def mirror(q, normal):\n    return q"),
    case("A condition with too few components", "boundary=mirror", "returns 1 component; it must return 3: p, vx, vy",
         "def mirror(q):\n    return (q[0],)"),
    case("A condition that returns nothing", "boundary=mirror", "returns None", "def mirror(q):\n    q[0]"),
    case("A condition that returns text", "boundary=mirror", "returns 'a'; it must return numbers",
         "def mirror(q):\n    return 'a', 'b', 'c'"),
    case("A wall without a normal", "boundary=dg.curved_wall(lambda x: (0.0, 0.0))", "normal of curved_wall is zero"),
    case("A normal along the wall", "boundary=dg.curved_wall(lambda x: (1.0, 0.0))", "neither tangential"),
]

GROUPS["Incident waves"] = [
    case("An incident wave that is not a function", "boundary=dg.incident(1.0)", "give a tuple of finite numbers"),
    case("A wave that goes nowhere", "boundary=dg.incident(dg.plane_wave(dg.Acoustics(2), (1, 1), 1.0, np.sin))",
         "unit vector"),
    case("A wave in two media", "boundary=dg.incident(dg.plane_wave(dg.Acoustics(2, density={'a': 1.0}), (1, 0), 1.0, np.sin))",
         "uniform medium"),
    case("A wave in another medium than its boundary",
         "boundary=dg.incident(dg.plane_wave(dg.Acoustics(2, density=2.0), (1, 0), 1.0, np.sin))",
         "but at the faces of its condition"),
    case("A wave along its field", "boundary=dg.incident(dg.plane_wave(dg.Maxwell(3), (0, 0, 1), (0, 0, 1), np.sin))",
         "normal to"),
    case("A wave of the other polarisation", "boundary=dg.incident(dg.plane_wave(dg.Maxwell(2), (1, 0), (0, 1, 0), np.sin))",
         "the law has Hx, Hy, Ez"),
]
