"""Laws and runs of tensor-product DG that several tests take."""
import numpy as np

import dgarray as dg


def laws(dim):
    """(law, uniform state) of all that the package has."""
    gas, plasma = dg.Euler(dim), dg.MHD(dim, cleaning_speed=1.0)
    return {"advection": (dg.Advection((1.0, 0.5, -0.3)[:dim]), (0.7,)), "acoustics": (dg.Acoustics(dim), (0.3, *(0.2,) * dim)),
            "maxwell": (dg.Maxwell(dim), tuple(0.1 * (i + 1) for i in range(len(dg.Maxwell(dim).variables)))),
            "euler": (gas, gas.conservative((1.2, *(0.3,) * dim, 0.9))), "mhd": (plasma, plasma.conservative(
                (1.2, 0.3, -0.2, 0.1, 0.9, 0.4, -0.5, 0.2)))}


def run(mesh, law, method, initial, until=0.02, kernels="array", **options):
    """The state at the end and the dataset; by default without kernels, which take seconds to compile."""
    ds = dg.Simulation(mesh, law, method, initial=initial, backend="numpy", threads=2, kernels=kernels, **options).run(until)
    return np.stack([ds[name].values[-1] for name in law.variables]), ds
