"""Messages of docs/errors/solutions.md."""
from mistakes.kinds import INITIAL, Wrong, case

TITLE = "Solutions that go bad"
ABOUT = "states that are not finite or not admissible, time steps that collapse"

COLLAPSE = """class Burgers(dg.Law):
    dim, variables = 1, ("u",)

    def flux(self, q, n):
        return (q[0] ** 2 / 2 * n[0],)

    def wave_speed(self, q, n):
        return np.abs(q[0] * n[0])"""
BURGERS = "mesh=dg.interval(cells=4), law=Burgers(), boundary=dg.outflow, "
NAN = """class Failing(dg.Acoustics):
    def source(self, q, x, t):
        return np.sqrt(0.004 - t) + 0 * q[0], 0 * q[0], 0 * q[0]"""

GROUPS = {}

GROUPS["Solutions that go bad"] = [
    case("An initial state that is not admissible", "law=Mine(), initial=initial", "initial state is not admissible",
         "class Mine(dg.Acoustics):\n    def admissible(self, q):\n        return q[0] > 0\n\n"
         + INITIAL.format("0 * x[0] - 1.0, 0.0, 0.0")),
    case("A value that is not finite", "law=Failing()",
         "p is not finite at t = .*stage . of 5.*element.*near the boundaries.*last good state",
         NAN, status=3),
    Wrong("The same with an output and a dump", "run case.py --out out.zarr --dump-on-error bad.vtu",
          "last snapshot of out.zarr; see bad.vtu", 3,
          script="law=Failing()", before=NAN),
    case("A state that is not admissible", "law=Failing()", "the state is not admissible",
         NAN.replace("np.sqrt(0.004 - t)", "-1.0") +
         "\n\n    def admissible(self, q):\n        return q[0] > -0.002", status=3),
    case("A wave speed that is not finite", BURGERS + "initial=lambda x: (-1.0,)", "the wave speed is not finite",
         COLLAPSE.replace("np.abs(q[0] * n[0])", "np.sqrt(q[0])"), status=3),
    case("A time step that collapses",
         BURGERS + "initial=lambda x: (1.0 - x[0],), source=lambda q: (q[0] ** 3 * 1e3,), until=1.0",
         "time step has fallen|not finite", COLLAPSE, status=3, hide=(r"to \d\S* at", "to 1e-9 at")),
    Wrong("A time step that is too large", "run tm_cavity --order 2 --dt 100 --until 10000", "not finite", 3),
]
