"""Layouts of the records of a run: names, dims and coordinates of their arrays, before there are values."""
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class Fixed(NamedTuple):
    """A coordinate that does not change during the run: dims (names in `Series.dims`), values and attributes."""

    dims: tuple
    values: np.ndarray
    attrs: dict


@dataclass(frozen=True, eq=False)
class Series:
    """The arrays of one record.  In the run's dataset every name here gets the prefix `name_`, the dims too.

    name        of the record
    dims        dim -> size, without time
    variables   variable -> (its dims without time, attributes); values are of `dtype`, but those in `dtypes` of that
    over_time   whether a row is added at every sample, along a dim and coordinate `time` of the record's own;
                otherwise the arrays are written once, at the end of the run
    coords      coordinate -> Fixed
    """

    name: str
    dims: dict
    variables: dict
    over_time: bool = True
    coords: dict = field(default_factory=dict)
    dtype: str = "float64"
    dtypes: dict = field(default_factory=dict)

    def shape(self, variable):
        """Shape of one row of a variable."""
        return tuple(self.dims[dim] for dim in self.variables[variable][0])

    def dtype_of(self, variable):
        """The dtype of a variable's values."""
        return self.dtypes.get(variable, self.dtype)
