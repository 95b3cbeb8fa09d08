"""The largest values of fields over a run, and in its last part, in little memory."""
import numpy as np

STRETCHES = 64                  # at most, into which a run is divided for its largest values


class Envelope:
    """Largest absolute values of variables over a record, in stretches of equal numbers of blocks of samples.

    values   (stretch, variable); where all are taken, each two become one
    count    of blocks so far"""

    def __init__(self, values, count=0):
        self.values, self.count = values, count

    def copy(self):
        return Envelope(self.values.copy(), self.count)

    def add(self, sizes):
        """Add a block with the largest values `sizes` (variable,)."""
        if self.count == len(self.values) * self.blocks:
            pairs = self.values.reshape(-1, 2, self.values.shape[1]).max(axis=1)
            self.values = np.concatenate([pairs, np.zeros_like(pairs)])
        self.count += 1
        place = (self.count - 1) // self.blocks
        self.values[place] = np.maximum(self.values[place], sizes)

    @property
    def blocks(self):
        """In a stretch: a power of 2."""
        return 1 << max(0, -(-self.count // len(self.values)) - 1).bit_length()

    @property
    def whole(self):
        """(variable,) over all blocks."""
        return self.values.max(axis=0)

    @property
    def end(self):
        """(variable,) over the last two stretches, of which the last may be short."""
        last = max(self.count - 1, 0) // self.blocks
        return self.values[max(last - 1, 0):last + 1].max(axis=0)

    def areas(self, length):
        """(variable, 2) integrals of the envelope over the record of this length, and after it, if it goes on to fall as it did
        from its third quarter to its last:

            end tau,   tau = L / ln(third / last),   L = length / 4,   at most the length,

        which bounds what the end of the record takes from transforms."""
        stretches = -(-self.count // self.blocks)
        values = self.values[:stretches]
        if stretches < 4:
            return np.stack([values.sum(axis=0), 0 * self.whole], axis=1) * (length / max(stretches, 1))
        quarter = stretches // 4
        last, third = values[-quarter:].max(axis=0), values[-2 * quarter:-quarter].max(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            fall = np.nan_to_num(np.log(third / last), nan=0.0) / quarter
        after = self.end / np.maximum(fall, 1 / stretches)
        return np.stack([values.sum(axis=0), after], axis=1) * (length / stretches)
