"""CF flags of several datasets in one numbering."""
import numpy as np


def joined_flags(datasets, name):
    """The datasets with their coordinate `name` of flags in the numbering of all their meanings; "none" where one has none."""
    if len(datasets) == 1 or not any(name in ds.coords for ds in datasets):
        return datasets
    own = [ds[name].attrs["flag_meanings"].split() if name in ds.coords else ["none"] for ds in datasets]
    flags = [np.atleast_1d(ds[name].attrs["flag_values"]) if name in ds.coords else np.zeros(1, int) for ds in datasets]
    meanings = list(dict.fromkeys(meaning for each in own for meaning in each))
    attrs = next(ds[name].attrs for ds in datasets if name in ds.coords)
    attrs = attrs | {"flag_values": list(range(len(meanings))), "flag_meanings": " ".join(meanings)}
    result = []
    for ds, given, words in zip(datasets, flags, own):
        number = np.zeros(given.max() + 1, "int32")
        number[given] = [meanings.index(word) for word in words]
        values = number[ds[name].values] if name in ds.coords else np.full(ds.sizes["element"], number[0])
        result.append(ds.assign_coords({name: ("element", values, attrs)}))
    return result
