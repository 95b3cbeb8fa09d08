"""Whether a record of transforms ends before a pulse has left."""
import warnings

import numpy as np

REMAINS = 2e-3              # share of its largest value that a field may have at the end of the record


def warn_of_rest(fields, stacklevel):
    """Warn where the transforms of a pulse are cut off: at the end of the record more than 2e-3 of its largest field is left.

    fields       Dataset of a record `Fourier(...)`, whose variables have the attributes largest and largest_at_end; the
                 components of a vector, such as Ex and Ey, count together
    stacklevel   as of `warnings.warn`, from here"""
    for letter in dict.fromkeys(str(name)[0] for name in fields.data_vars):
        sizes = [[fields[name].attrs.get(key, np.nan) for name in fields.data_vars if str(name)[0] == letter]
                 for key in ("largest", "largest_at_end")]
        whole, end = np.max(sizes, axis=1)
        if end > REMAINS * whole:
            time = float(np.ravel(fields.attrs["time_span"])[-1])
            warnings.warn(f"the record ends at t = {time:g} while {100 * end / whole:.3g} % of its largest {letter} is still "
                          "there; run longer", stacklevel=stacklevel + 1)
            return
