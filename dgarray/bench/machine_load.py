"""Whether other programs disturb a measurement: what `dgarray bench` says of its own numbers."""
import os

BUSY = 0.3          # programs that wait for each processor before the measurement, from which it is disturbed
ABOVE = 1.05        # share of a bound from which its ceiling must have been measured too low


def load():
    """How many programs have wanted a processor in the last minute on average; None where the system does not say."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def remarks(result, quick=False):
    """Sentences on what is wrong with the numbers of `dgarray.bench.cpu.bench`; none on an idle machine.

    quick: the meshes fit into the processor's cache, where shares of the memory's bound mean nothing"""
    machine, found = result["machine"], []
    waiting = machine.get("load")
    if waiting is not None and waiting > BUSY * machine["cores"]:
        found.append(f"the machine was busy: before the measurement {waiting:.2g} programs wanted its {machine['cores']} "
                     "processors; rates and ceilings are those of what was left")
    if quick:
        return [*found, "quick: meshes that fit into the cache and few steps; rates and shares say nothing"]
    above = [f"{row['name']} {row['share_of_bound']:.0%}" for row in result["rows"] if row["share_of_bound"] > ABOVE]
    if above:
        found.append(f"more than all of the bound: {', '.join(above)}; the ceilings were measured while other programs ran")
    return found
