"""The Runge-Kutta update of one number in the kernels of a GPU, which do not read an array whose factor is zero."""
from textwrap import indent

from ....stepping import REGISTER, STATE

# Begins with r, which is in a register, and then q: so fewer numbers wait there.
FIRST_R = sorted(REGISTER, key=lambda term: ("r", "q", "q0", "k").index(term[1]))


def added(which, total, values, term, guard):
    """The text that adds these terms of `dgarray.stepping.updated` to a total, in this order.

    values: texts of r, q, k and q0;  term, guard: texts with {total}, {factor} and {value}, that add a term, and that stand
    before one that may be zero: all but the first of the register"""
    return "\n".join((guard * (which is STATE or name != "r") + term).format(total=total, factor=factor, value=values[name])
                     for factor, name in which)


def of_c(which, total, spaces, **values):
    values = {"r": "s.dt * r", "q": "q[at]", "q0": "q0[at]"} | values
    return indent(added(which, total, values, "{total} += s.{factor} * {value};", "if (s.{factor} != 0) "), " " * spaces)


C = f"""
// One number of q for node n of variable v after the stage; r is dq/dt.
__device__ __forceinline__ void update(const Stage& s, const real* q, real* out, real* k, const real* q0, offset at, real r) {{
    real kept = 0;
    if (s.w != 0 || s.v != 0 || s.u != 0) {{
{of_c(FIRST_R, "kept", 8, k="k[at]")}
        k[at] = kept;
    }} else if (s.B != 0) {{
        kept = k[at];
    }}
    real total = 0;
{of_c(STATE, "total", 4, k="kept")}
    out[at] = total;
}}
""" + """
// clock = dt and the times of the stages.
extern "C" __global__ void set_clock(real* clock, real dt, real t0, real t1, real t2, real t3, real t4,
                                     real t5, real t6, real t7) {
    const real values[] = {dt, t0, t1, t2, t3, t4, t5, t6, t7};
    for (int i = 0; i < 9; ++i) clock[i] = values[i];
}
"""


def python_lines(at, r):
    """Lines of Python of the update; at, r: texts of the place and of dq/dt. They stand in the kernel itself, since numba needs
    a device to compile a device function."""
    def lines(which, total, **values):
        values = {"r": f"dt*{r}", "q": f"state[{at}]", "q0": f"start[{at}]"} | values
        return added(which, total, values, "{total} += {factor}*{value}", "if {factor} != zero:\n    ").splitlines()
    return ["kept, total = zero, zero", "if changes:", *(f"    {line}" for line in lines(FIRST_R, "kept", k=f"register[{at}]")),
            f"    register[{at}] = kept", "elif B != zero:", f"    kept = register[{at}]",
            *lines(STATE, "total", k="kept"), f"out[{at}] = total"]
