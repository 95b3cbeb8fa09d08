"""Going on from a checkpoint: what must be the same as in the run that wrote it, and what is said where it differs."""
import json
import re
import warnings
from pathlib import Path

import numpy as np

from ..methods.operator import digest
from ..output.store import checkpoint
from ..output.store.codecs import compression
from ..output.store.files import groups, read_metadata
from ..physics.laws.law import shown
from ..physics.pointwise import at_points, written_at
from .arguments import check_until
from .decayed import decayed
from .function_sources import sources

SAMPLES = 64          # places at which exact solutions are compared


def digest_of_exact(sim, t, dt):
    """Digits that tell exact solutions apart, by values all over the mesh at t and a step later; None without one, and
    where it has no value, such as after its last time: a checkpoint is not lost for that."""
    exact, x = sim.options["exact"], sim.mesh.samples(SAMPLES)
    values = None if exact is None else values_at(sim, exact, x, (t, t + dt), f"the exact solution{written_at(exact)}")
    return None if values is None else digest(np.array(np.broadcast_to(value, x[0].shape), float) for value in values)


def values_at(sim, function, x, times, what):
    """Values of a function of x and t at some places and times; None where it has none: what is wrong is said where it is
    used."""
    try:
        with np.errstate(all="ignore"):
            return [value for t in times for value in at_points(function, x, t, len(sim.law.variables), what)]
    except Exception:
        return None


def identity(sim):
    """The identity of a run for restarts: facts that must be equal (`fixed`), facts that may change, though results then differ
    in bits (`bits`), and facts that make another problem from there on (`problem`)."""
    o, mesh, operator = sim.options, sim.mesh, sim.operator
    cells = f"{operator.space.count} {mesh.cell_type} cells, digest {digest(mesh.identity)}"
    fixed = {"mesh": cells, "law": repr(sim.law), "method": repr(sim.method),
             "coefficients of the law": [digest([values]) for values in operator.coefficients],
             "records": {name: repr(recorder) for name, recorder in sim.record.items()},
             "absorbing layers": [repr(layer) for layer in getattr(mesh, "layers", ())],
             "laws of the regions": {str(region): repr(law) for region, law in (sim.law.laws or {}).items()},
             "internal variables": internal_sources(sim.law)}
    bits = {"backend": sim.backend.name, "kernels": sim.kernels, "dtype": str(sim.backend.dtype),
            "threads": sim.backend.threads, "stepper": sim.stepper.name, "cfl": o["cfl"], "dt": o["dt"],
            "variant": str(operator.variant)}
    problem = {name: described(o[name]) for name in ("boundary", "flux", "source")}
    return {"fixed": fixed, "bits": bits, "problem": problem}


def internal_sources(law):
    """{where: source} of the functions of a user's internal variables, of a law or of those of its regions, and parameters."""
    laws = {"law": law} if law.laws is None else law.laws
    found = {str(name): each.internal for name, each in laws.items() if each.internal is not None}
    return sources(found) | {f"{name}.parameters": described(each.parameters) for name, each in found.items()}


def compression_of(out, compress):
    """How the store `out`, which is gone on with, is compressed; ValueError where it is not as `compress` asks."""
    if out is None:
        raise ValueError("restart=True needs out=, the store to continue")
    if not (Path(out) / "zarr.json").is_file():
        raise ValueError(f"{out}: there is no output to continue; run without restart first")
    found = compression(read_metadata(groups(Path(out))[0])[1])
    if compress not in (None, found):
        raise ValueError(f"{out} is {f'compressed with {found}' if found else 'not compressed'}, and stays so; leave out "
                         f"--compress {compress} (compress={compress!r})")
    return found


def checkpoint_of(sim, out, until):
    """Arrays and facts of the last good checkpoint of `out`, compared with this simulation; None if it had not begun."""
    if sim.once(checkpoint.not_begun, out):
        return None
    o, file = sim.options, sim.once(checkpoint.latest, out)
    facts = checkpoint.facts_of(file)
    now, then = json.loads(json.dumps(identity(sim))), facts["run"]
    for name, here in now["fixed"].items():
        there = then["fixed"].get(name, here)          # earlier versions said less
        if here != there and not (name == "law" and there == by_parameters(sim.law)):
            raise ValueError(f"{out} cannot be continued, because it differs in the {name}: {there} in the store, {here} now")
    for kind, effect in (("bits", "the result will not be bitwise equal to that of an uninterrupted run"),
                         ("problem", "from there on the problem is another one")):
        changed = [f"{name} {here} instead of {then[kind].get(name)}" for name, here in now[kind].items()
                   if then[kind].get(name, here) not in (here, without_law(str(here), sim.law))]
        if changed:
            warnings.warn(f"continuing from t = {facts['t']:.6g} with {', '.join(changed)}: {effect}", stacklevel=4)
    if sim.operator.digest(sim.operator.initial(sim.initial)) != facts["initial"]:
        errors = "; the reported errors are those against the exact solution given now" * (o["exact"] is not None)
        warnings.warn(f"continuing from t = {facts['t']:.6g}: the initial state differs from that of {out}, and is not used"
                      f"{errors}", stacklevel=4)
    there, here = facts.get("exact"), digest_of_exact(sim, facts["t"], facts["dt"])
    if there and here and there != here:
        warnings.warn(f"continuing from t = {facts['t']:.6g}: the exact solution differs from that of {out}; the errors "
                      "reported are those against the one given now", stacklevel=4)
    if facts["t"] >= until:
        warnings.warn(f"{out} has reached t = {facts['t']:.6g}, and until={until:g}: nothing is left to do", stacklevel=4)
    return checkpoint.arrays_of(file, sim.operator.wanted), facts


def begin_of(sim, out, until):
    """(time, state as plain arrays of the whole problem) of the last good checkpoint of `out`, at which a run begins that ends
    at `until`. Raises ValueError where there is none, or that is no problem of this simulation."""
    compression_of(out, None)
    end = sim.options["until"] if until is None else until
    if isinstance(end, decayed):
        raise ValueError(f"until={end!r} is not allowed with restart={str(out)!r}: it looks at all from t = 0; give a time")
    check_until(end)
    found = checkpoint_of(sim, out, np.inf)
    if found is None or found[1]["t"] >= end:
        raise ValueError(f"{out} has " + (f"reached t = {found[1]['t']:.6g}, and until={end:g}: nothing is left to do" if found
                                          else "no checkpoint yet") + "; give another restart=")
    (arrays, facts), operator = found, sim.operator
    return facts["t"], operator.plain(operator.state(operator.restored(arrays)))


def by_parameters(law):
    """How the law prints in earlier checkpoints: by the names of its parameters, not of its constructor's arguments."""
    text = repr(law)
    for parameter, argument in law.arguments.items():
        text = text.replace(f", {argument}=", f", {parameter}=")
    return text


def without_law(text, law):
    """The text of conditions in earlier checkpoints, whose fields have no law, and the medium's numbers as keywords."""
    text = text.replace(f"{law!r}, ", "").replace(", shape=", ", ")
    return re.sub(r", medium=\{(.*?)\}", lambda medium: ", " + re.sub(
        r"'(\w+)': ([^,]+)", lambda each: f"{each[1]}={float(each[2]):g}", medium[1]), text)


def described(value):
    """A value of an input as an attribute: numbers and text as they are, functions by name, objects by their repr."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return json.dumps({str(k): described(v) for k, v in value.items()})
    return shown(value)
