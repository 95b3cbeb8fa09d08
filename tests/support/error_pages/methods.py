"""Messages of docs/errors/methods.md."""
from mistakes.kinds import Wrong, case, on_grid

TITLE = "Methods and time steps"
ABOUT = "arguments of `dg.Simulation`, orders, steppers; Hermite's method on grids"
GROUPS = {}

GROUPS["The simulation"] = [
    case("A file name in place of a mesh", "mesh='cavity.msh'", "give a mesh"),
    case("A class in place of a law", "law=dg.Acoustics", "give a law"),
    case("A number in place of a method", "method=4", "give a method"),
    case("An order out of range", "method=dg.NodalDG(order=2.5)", "1 to 10"),
    case("A missing Courant number", "cfl=None", "cfl=None .*positive"),
    case("Limits that do not exist", "method=dg.ModalDG(1, limiter='vertx')",
         "allowed: barth-jespersen, barth-jespersen-vertices, vertex, None"),
    case("A flux without dissipation at Gauss-Lobatto points of skewed cells",
         "mesh=dg.rectangle(shape='quadrilateral').mapped(lambda x: (x[0] + 0.1 * x[0] * x[1], x[1])), "
         "method=dg.TensorDG(2, 'lobatto'), flux=dg.central", "volume_flux=dgarray.central"),
    case("Threads that are not a number", "backend='numpy', threads='two'", "threads='two' is not allowed; it must be a whole"),
    case("A misspelt stepper", "stepper='lsrk45'", "did you mean 'lsrk54'"),
    Wrong("A misspelt option in replace", "run case.py", "did you mean 'boundary'", text="""import dgarray as dg

def case():
    sim = dg.Simulation(dg.rectangle(), dg.Acoustics(2), dg.NodalDG(1), dg.wall)
    return sim.replace(boundry=dg.outflow)
"""),
    Wrong("A restart without a store", "run case.py", "restart=True needs out=", text="""import dgarray as dg

def case():
    sim = dg.Simulation(dg.rectangle(), dg.Acoustics(2), dg.NodalDG(1), dg.wall)
    return sim.run(until=1.0, restart=True)
"""),
    Wrong("A boundary condition to explain without its law", "run case.py", "is explained for a law",
          text="""import dgarray as dg

def case():
    dg.explain(lambda q: q)
"""),
    Wrong("A text to explain", "run case.py", "cannot be explained", text="""import dgarray as dg

def case():
    dg.explain("Maxwell")
"""),
]

GROUPS["Hermite's method on grids"] = [
    on_grid("A grid that ends before it begins", "mesh=dg.Grid(1, 0)", "must be below upper"),
    on_grid("A grid without cells", "mesh=dg.Grid(0, 1, 0)", "whole numbers from 1"),
    on_grid("A grid of other cells than axes", "mesh=dg.Grid((0, 0), (1, 1), (4,))", "one value or 2"),
    on_grid("A grid that is partly periodic, misspelt", "mesh=dg.Grid(periodic='x')", "True or False"),
    on_grid("A mesh in place of a grid", "mesh=dg.rectangle()", "give e.g. dgarray.Grid"),
    on_grid("A grid in place of a mesh", "method=dg.NodalDG(1)", "works on meshes"),
    on_grid("A grid in another dimension", "law=dg.Acoustics(3)", "the law has 3"),
    on_grid("A nonlinear law", "law=dg.Euler(2)", "needs a linear law"),
    on_grid("A parameter by region", "law=dg.Acoustics(2, sound_speed={'glass': 2.0})", "a grid has no regions"),
    on_grid("An order of Hermite out of range", "method=dg.Hermite(7)", "from 0 to 6"),
    on_grid("Zero stages", "method=dg.Hermite(1, stages=0)", "from 1 to 100"),
    on_grid("A misspelt variant", "method=dg.Hermite(1, variant='colapsed')", "did you mean 'collapsed'"),
    on_grid("A variant that the law does not allow", "method=dg.Hermite(1, variant='collapsed')", "is not possible"),
    on_grid("A numerical flux", "flux=dg.upwind", "has no numerical flux"),
    on_grid("A source", "source=lambda x: (0.0,) * 3", "takes no source"),
    on_grid("A stepper", "stepper='rk4'", "by a Taylor series"),
    on_grid("A step too long", "cfl=1.2", "above 1.*force=True"),
    on_grid("A step by hand that is too long", "dt=1.0, until=2.0", "largest stable step.*force=True"),
    on_grid("A misspelt side", "boundary={'lefft': dg.wall}", "did you mean 'left'"),
    on_grid("Sides without a condition", "boundary={'left': dg.wall}", "sides 'right', 'bottom', 'top' of the grid have no"),
    on_grid("A condition that does not mirror", "boundary=dg.absorbing", "does not mirror waves of"),
    on_grid("A sponge without a width", "boundary=dg.Sponge(0)", "positive length"),
    on_grid("A sponge that reflects everything", "boundary=dg.Sponge(0.1, reflection=1)", "above 0 and below 1"),
    case("A sponge on a mesh", "boundary=dg.Sponge(0.1)", "is not a condition"),
]
