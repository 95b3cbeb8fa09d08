"""Whether records of transforms end before a pulse has left, and what helps: one check for all that is made of transforms."""
import warnings

import numpy as np

REMAINS = 2e-3              # share of its largest value that a field may have at the end of the record
LOST = 5e-3                 # share of the integral of its envelope that may follow
GROWS = 0.99                # share of its largest value from which a field has not begun to fall
MEAN = 1e-2                 # of a pulse, over its absolute mean, from which a static field may stay


def warn_of_rest(*records, stacklevel):
    """Warn where the transforms of a pulse are cut off: at the end of a record more than 2e-3 of its largest field is left, or
    of the integral of the field's envelope more than 5e-3 would follow, if it goes on to fall as it does: of a resonance with
    a high quality factor.

    records      Datasets of records `Fourier(...)` of one run, as `ds.dg.record(name)` gives them: their variables have the
                 attributes largest, largest_at_end, area and area_after, themselves `pulse_mean` and `pulse_end` where the run
                 knows its waves.  Components of a vector, such as Ex and Ey, count together, in all records
    stacklevel   as of `warnings.warn`, from here

    What is left is said of the worst record, by its name, once, with what helps, see `advice`."""
    left, cut = shares(records, "largest", "largest_at_end"), shares(records, "area", "area_after")
    sizes = {key: max(left.get(key, 0.0) / REMAINS, cut.get(key, 0.0) / LOST) for key in {**left, **cut}}
    key = max(sizes, key=sizes.get, default=None)
    if key is None or not sizes[key] > 1:
        return
    fields, letter, end, lost = records[key[0]], key[1], left.get(key, 0.0), cut.get(key, 0.0)
    name, time = fields.attrs.get("record_name"), float(np.ravel(fields.attrs["time_span"])[-1])
    if end > GROWS and fields.attrs.get("pulse_end", np.inf) < time / 2:
        helps = (f"they grow after the incident wave has passed at t = {fields.attrs['pulse_end']:.3g}: the run is unstable, "
                 "perhaps in an absorbing layer, and a longer one is worse")
    else:
        helps = advice(fields.attrs, time)
    slow = LOST < lost > end
    slowly = f", falling so slowly that its transforms may lack {100 * lost:.2g} %" if slow else ", which is cut off"
    warnings.warn(f"the record {f'{name!r} ' if name else ''}ends at t = {time:g} while {100 * end:.3g} % of its largest "
                  f"{letter} is still there{slowly}; {helps}", stacklevel=stacklevel + 1)


def shares(records, whole, part):
    """{(number of a record, letter): largest attribute `part` of its fields with this letter, over the largest `whole` of those
    in all records}, of fields that have them."""
    largest, parts = {}, {}
    for number, fields in enumerate(records):
        for name, field in fields.data_vars.items():
            size, share = (field.attrs.get(key, np.nan) for key in (whole, part))
            letter = str(name)[0]
            if np.isfinite([size, share]).all():
                largest[letter] = max(largest.get(letter, 0.0), size)
                parts[number, letter] = max(parts.get((number, letter), 0.0), share)
    return {key: share / largest[key[1]] for key, share in parts.items() if largest[key[1]] > 0}


def advice(known, time):
    """Advice for a record that ends too early, at `time`; known: its attributes, among them `pulse_mean` and `pulse_end`."""
    mean, end = known.get("pulse_mean"), known.get("pulse_end")
    if mean is not None and mean > MEAN:
        return (f"the pulse of the run has a mean, {100 * mean:.3g} % of that of its absolute value: where it leaves a static "
                "field, waiting does not help; take a pulse of zero mean, such as dgarray.pulse(band)")
    if end is not None and end >= time:
        return "the incident wave still enters then; run until it has passed, or window whole periods of one that lasts"
    longer = "run longer, or until=dgarray.decayed(...), which ends a run when fields have left"
    return longer if mean is not None else f"{longer}; if the pulse has a mean, take one of zero mean, for a static field stays"
