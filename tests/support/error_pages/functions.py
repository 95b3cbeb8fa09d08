"""Messages of docs/errors/functions.md."""
from mistakes.kinds import INITIAL, case

TITLE = "Your functions"
ABOUT = "formulas that cannot be compiled; initial states, sources and exact solutions"
GROUPS = {}

GROUPS["Formulas"] = [
    case("A condition with a branch", "boundary=mirror", "use np.where instead of if",
         "def mirror(q):\n    return q if q[0] > 0 else (-q[0], q[1], q[2])"),
    case("A function of NumPy that is not compiled", "boundary=mirror", "np.arcsinh is not supported",
         "def mirror(q):\n    return np.arcsinh(q[0]), q[1], q[2]"),
    case("A sum by NumPy", "boundary=mirror", "np.sum is not supported", "def mirror(q):\n    return np.sum(q[0]), q[1], q[2]"),
    case("A reduction by NumPy", "boundary=mirror", "np.add.reduce is not supported",
         "def mirror(q):\n    return np.add.reduce(q[0]), q[1], q[2]"),
    case("The math module", "boundary=mirror", "use np.exp, np.abs, not math.exp, math.fabs",
         "import math\n\ndef mirror(q):\n    return math.exp(-math.fabs(q[0])), q[1], q[2]"),
    case("A mistake in a formula", "boundary=mirror", "in boundary 'default': function 'mirror'",
         "def mirror(q):\n    return q[0], q[1], q[3]"),
    case("An entry of a component", "boundary=mirror", "without length or entries",
         "def mirror(q):\n    return q[0][0], q[1], q[2]"),
    case("An attribute of a component", "boundary=mirror", "'.real' of a value",
         "def mirror(q):\n    return q[0].real, q[1], q[2]"),
    case("An array of components", "boundary=mirror", "cannot go into a NumPy array",
         "def mirror(q):\n    return np.array(q[0]), q[1], q[2]"),
    case("An array in a formula", "boundary=mirror", "an array of shape",
         "def mirror(q):\n    return q[0] * np.ones(3), q[1], q[2]"),
    case("A complex number in a formula", "boundary=mirror", "neither a real number",
         "def mirror(q):\n    return q[0] * 1j, q[1], q[2]"),
    case("Numbers joined by &", "boundary=mirror", "are for comparisons", "def mirror(q):\n    return q[0] & q[1], q[1], q[2]"),
    case("A root of a comparison", "boundary=mirror", "only comparisons",
         "def mirror(q):\n    return np.sqrt(q[0] > 0), q[1], q[2]"),
    case("A value kept from an earlier call", "boundary=mirror", "kept from an earlier call",
         "kept = []\n\ndef mirror(q):\n    kept.append(q[0])\n    return kept[0] + q[1], q[1], q[2]"),
]

GROUPS["Initial states, sources and exact solutions"] = [
    case("An initial state that is not a function", "initial=0.0", "must be a function"),
    case("An initial state with too few components", "initial=initial", "returns 2 components", INITIAL.format("0.0, 0.0")),
    case("An initial state with an unknown argument", "initial=initial", "asks for 'y'",
         "def initial(x, y):\n    return 0.0, 0.0, 0.0"),
    case("An initial state with a branch", "initial=initial", "initial, case.py:4. branches on an array.*use np.where",
         "def initial(x):\n    return (1.0, 0.0, 0.0) if x[0] > 0.5 else (0.0, 0.0, 0.0)"),
    case("The math module in an initial state", "initial=initial", "np.exp instead of math.exp",
         "import math\n\n" + INITIAL.format("math.exp(-x[0] ** 2), 0.0, 0.0")),
    case("An initial state of another shape", "initial=initial", r"component p has the shape \(7,\); it must be a number or",
         INITIAL.format("np.zeros(7), 0.0, 0.0")),
    case("An initial state that is an array", "initial=initial", "as a tuple, not as an array", INITIAL.format("np.zeros(3)")),
    case("An exact solution with a branch", "exact=exact", "exact, case.py:4. branches on an array",
         "def exact(x, t):\n    return (1.0, 0.0, 0.0) if x[0] > 0.5 else (0.0, 0.0, 0.0)"),
    case("An initial state that is complex", "initial=initial", "is complex", INITIAL.format("1j * x[0], 0.0, 0.0")),
    case("An initial state that is not finite", "initial=initial", "initial state is not finite",
         INITIAL.format("0 * x[0] + np.nan, 0.0, 0.0")),
    case("An initial state that raises", "initial=initial", "IndexError.*case.py", INITIAL.format("x[2], 0.0, 0.0")),
    case("A source with too few components", "source=lambda x: (1.0,)", "source .*returns 1 component;"),
    case("An exact solution with too few components", "exact=lambda x, t: (1.0,)", "exact solution .*returns 1 component;"),
]
