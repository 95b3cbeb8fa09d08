"""Whether records of transforms end before a pulse has left, and what helps: one check for all that is made of transforms."""
import warnings

import numpy as np

REMAINS = 2e-3              # share of its largest value that a field may have at the end of the record
MEAN = 1e-2                 # of a pulse, over its absolute mean, from which a static field may stay


def warn_of_rest(*records, stacklevel):
    """Warn where the transforms of a pulse are cut off: at the end of a record more than 2e-3 of its largest field is left.

    records      Datasets of records `Fourier(...)` of one run, as `ds.dg.record(name)` gives them: their variables have the
                 attributes largest and largest_at_end, themselves `pulse_mean` and `pulse_end` where the run knows its waves.
                 Components of a vector, such as Ex and Ey, count together, in all records
    stacklevel   as of `warnings.warn`, from here

    What is left is said of the worst record, by its name, once, with what helps, see `advice`."""
    largest, left = {}, []
    for fields in records:
        for name, field in fields.data_vars.items():
            sizes = [field.attrs.get(key, np.nan) for key in ("largest", "largest_at_end")]
            if np.isfinite(sizes).all():
                letter = str(name)[0]
                largest[letter] = max(largest.get(letter, 0.0), sizes[0])
                left.append((sizes[1], letter, fields))
    shares = [(end / largest[letter] if largest[letter] else 0.0, letter, fields) for end, letter, fields in left]
    if not shares:
        return
    share, letter, fields = max(shares, key=lambda each: each[0])
    if share > REMAINS:
        name, time = fields.attrs.get("record_name"), float(np.ravel(fields.attrs["time_span"])[-1])
        warnings.warn(f"the record {f'{name!r} ' if name else ''}ends at t = {time:g} while {100 * share:.3g} % of its largest "
                      f"{letter} is still there, which is cut off; {advice(fields.attrs, time)}", stacklevel=stacklevel + 1)


def advice(known, time):
    """What helps where a record ends too early at a time; known: its attributes `pulse_mean` and `pulse_end`."""
    mean, end = known.get("pulse_mean"), known.get("pulse_end")
    if mean is not None and mean > MEAN:
        return (f"the pulse of the run has a mean, {100 * mean:.3g} % of that of its absolute value: where it leaves a static "
                "field, waiting does not help; take a pulse of zero mean, such as dgarray.pulse(band)")
    if end is not None and end >= time:
        return "the incident wave still enters then; run until it has passed, or window whole periods of one that lasts"
    longer = "run longer, or until=dgarray.decayed(...), which ends a run when fields have left"
    return longer if mean is not None else f"{longer}; if the pulse has a mean, take one of zero mean, for a static field stays"
