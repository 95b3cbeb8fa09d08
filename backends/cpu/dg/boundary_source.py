"""Text of the kernel of a boundary condition: the fluxes at the points of one of its faces. The kernels of elements call it.

It depends on law, numerical flux and condition alone, not on order or shape of the elements."""
from ....physics.run_time_numbers import NUMBER
from ..simd.boundary import ARGUMENTS
from .kernel_source import KernelSource, Lane, indented


class BoundarySource(KernelSource):
    """Kernel text of the condition of a `dgarray.methods.dg.set_faces.Group`; w is the array that the fluxes go to.

    per_point   numbers of each face point: normal, scale, position where the condition needs it, the law's parameters that
                vary, what the condition knows of the face"""

    def __init__(self, tables, group, dtype):
        super().__init__(tables.law, dtype, tables.variables)
        self.function, self.d, self.needs_x = group.jump, tables.dim, group.jump.depends_on("x")
        self.P, self.of_faces = list(tables.physics.varying), list(group.values)
        self.per_point = self.d + 1 + self.d * self.needs_x + len(self.P) + len(self.of_faces)
        self.set_rows({}, [self.function])

    def text(self):
        """The kernel, to be called as `simd.boundary.condition` does."""
        d, parameters = self.d, self.per_point - len(self.P) - len(self.of_faces)

        def numbers(first, names):
            return {name: f"numbers[j*{self.per_point} + {first + i}]" for i, name in enumerate(names)}
        body = self.evaluate(
            self.function, [Lane(0, f" + {v}*flux_stride") for v in range(self.V)], first=f"j*{self.L}",
            q=[f"q[at + {v}*q_stride]" for v in range(self.V)], n=numbers(0, range(d)), s=numbers(d, range(1)),
            x=numbers(d + 1, range(d)), m=numbers(parameters, self.P), face=numbers(parameters + len(self.P), self.of_faces),
            **{NUMBER: [f"constants[{i}]" for i in range(len(self.numbers))]})
        arrays = ("q", "q_"), ("w", "flux_"), ("nodes", "nodes_"), ("numbers", "numbers_"), ("constants", "constants_")
        return self.text_of("the fluxes of a boundary condition", "\n".join([
            f"@cfunc({ARGUMENTS.format(real=f'types.{self.dtype}')}, **OPTIONS)",
            "def run(q_, q_stride, flux_, flux_stride, nodes_, numbers_, constants_, points, t):",
            *(f"    {array} = carray({pointer}, MANY)" for array, pointer in arrays),
            "    for j in range(points):", *indented([f"at = nodes[j]*{self.L}", *body], 2), ""]), ["MANY = 1 << 48"])
