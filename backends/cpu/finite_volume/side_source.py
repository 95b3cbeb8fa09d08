"""Text of the kernel of a boundary condition of a grid: the state beyond a side. The kernels of sweeps call it by its address.

It depends on law and condition alone, not on scheme, grid or side."""
import numpy as np

from ....physics.run_time_numbers import NUMBER
from ....support.cached_modules import write_module
from ..dg.kernel_source import KernelSource, Lane, indented
from ..simd.boundary import ARGUMENTS


class SideSource(KernelSource):
    """Kernel text of the function `outside` of a `dgarray.methods.finite_volume.ghosts.Side`; w is the array that the
    state beyond goes to. The numbers of a cell are its position, and the law's parameters that vary."""

    def __init__(self, tables, side, dtype):
        super().__init__(tables.law, dtype)
        self.function, self.d, self.P = side.outside, tables.dim, list(tables.varying)
        self.set_rows({}, [self.function])

    def text(self):
        """The kernel, to be called as `simd.boundary.condition` does, for one cell at a time."""
        given = {"q": [f"q[{v}*q_stride]" for v in range(self.V)], "x": [f"numbers[{k}]" for k in range(self.d)],
                 "m": {name: f"numbers[{self.d + i}]" for i, name in enumerate(self.P)},
                 NUMBER: [f"constants[{i}]" for i in range(len(self.numbers))]}
        body = self.evaluate(self.function, [Lane(0, f" + {v}*w_stride") for v in range(self.V)], first="0", **given)
        arrays = ("q", "q_"), ("w", "w_"), ("numbers", "numbers_"), ("constants", "constants_")
        return self.text_of("the state beyond a side", "\n".join([
            f"@cfunc({ARGUMENTS.format(real=f'types.{self.dtype}')}, **OPTIONS)",
            "def run(q_, q_stride, w_, w_stride, nodes_, numbers_, constants_, points, t):",
            *(f"    {array} = carray({pointer}, MANY)" for array, pointer in arrays), *indented(body), ""]),
            ["MANY = 1 << 48"])


class Sides:
    """The conditions of the sides of a grid, as kernels.

    table   of each side, 2 axis + end, the address of its condition and that of its constants, 0 where the axis is periodic
    texts   {name: text} of the kernels"""

    def __init__(self, tables, dtype):
        self.texts, self.kernels, self.constants, table = {}, {}, [], []
        for pair in tables.sides:
            for side in pair:
                if side.outside is None:
                    table.append((0, 0))
                    continue
                source = SideSource(tables, side, dtype)
                self.texts[side.outside.name] = text = source.text()
                if text not in self.kernels:
                    self.kernels[text] = write_module(text, f"side_{tables.dim}d_{dtype}").run
                self.constants.append(np.array([0.0, *source.numbers], dtype)[1:])
                table.append((self.kernels[text].address, self.constants[-1].ctypes.data))
        self.table = np.array(table, np.int64).ravel()
