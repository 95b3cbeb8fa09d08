"""Curves of records: time series of point receivers, and amplitudes over frequency, by matplotlib."""
from textwrap import fill

import numpy as np

from dgarray.output.dataset import AXES, UNITLESS
from dgarray.output.pictures.picture import words
from dgarray.support.figures import figure_and_axes, finished
from dgarray.support.wording import choose

# Names in a legend, spread evenly over the lines where there are more.
NAMES = 10
SIZE = 7.0, 4.0
# Frequencies up to the last whose amplitude is this share of the largest are drawn.
SMALLEST = 1e-4
# Share of the mean time step by which steps may differ and still count as equal.
UNEVEN = 1e-9
# Letters in a line of the label of a vertical axis.
LETTERS = 40
TRANSFORM = "Fourier transform of "          # in the names of transforms, which a spectrum does not repeat


def series(ds, record, variable, path=None, ax=None, dpi=150):
    """Draw a record over time, one line for each point, with the positions in the legend.

    ds       the run's dataset, None where the record is a Dataset
    record   name of a record of `ds`, or a Dataset with the dims (time,) or (time, point)
    path     image file to write; None to draw into `ax`, or a new pyplot figure
    Returns the path or the axes. Raises ValueError for an unknown record or variable and for other dims."""
    record = _record(ds, record, variable)
    values = _over(record, variable, "time")
    figure, ax = figure_and_axes(ax, path, SIZE)
    _lines(ax, record, record["time"].values, values)
    ax.set(xlabel=f"time ({_units(record, 'time')})", ylabel=fill(_text(record, variable), LETTERS),
           title=_title(record, variable, ""))
    ax.margins(x=0)
    return finished(figure, ax, path, dpi)


def spectrum(ds, record, variable, path=None, ax=None, dpi=150):
    """Draw a record's amplitudes over frequency, one line for each point.

    A record over time: A_k = 2 |sum_n w_n u_n exp(-2 pi i k n / N)| / sum_n w_n with Hann's window w, so that a long
    sinusoid of amplitude 1 has a peak of height 1; series of uneven steps are resampled by cubic splines before.
    A record over frequency (a Fourier transform): its absolute value, on a surface or in a volume the root mean square.
    Arguments, result and errors as in `series`; ValueError also for less than four samples."""
    record = _record(ds, record, variable)
    figure, ax = figure_and_axes(ax, path, SIZE)
    if "frequency" in record[variable].dims:
        frequency = record["frequency"].values
        amplitude, what = _over(record, variable, "frequency", rms=True), "amplitude of "
        if amplitude.ndim == 1 and record[variable].ndim > 1:
            what = "root mean square of "
        units, style = _units(record, "frequency"), {"marker": "o"}
        _lines(ax, record, frequency, amplitude, **style)
    else:
        frequency, amplitude = amplitudes(record["time"].values, _over(record, variable, "time"))
        seconds, what = _units(record, "time"), "amplitude of "
        units = seconds if seconds == UNITLESS else f"1/{seconds}"
        _lines(ax, record, frequency, amplitude)
        large = np.flatnonzero((amplitude.reshape(len(frequency), -1) > SMALLEST * amplitude.max()).any(axis=1))
        if len(large):
            ax.set_xlim(0, frequency[min(large[-1] + 1, len(frequency) - 1)])
            ax.set_yscale("log")
            ax.set_ylim(SMALLEST * amplitude.max(), 2 * amplitude.max())
    label = what + _text(record, variable).removeprefix(TRANSFORM)
    ax.set(xlabel=f"frequency ({units})", ylabel=fill(label, LETTERS), title=_title(record, variable, "spectrum of "))
    return finished(figure, ax, path, dpi)


def amplitudes(times, values):
    """Frequencies (frequency,) and amplitudes (frequency, ...) of values (time, ...), with Hann's window; see `spectrum`."""
    if len(times) < 4:
        raise ValueError(f"the record has {len(times)} samples; a spectrum needs at least 4")
    step = (times[-1] - times[0]) / (len(times) - 1)
    even = times[0] + step * np.arange(len(times))
    if np.abs(times - even).max() > UNEVEN * step:
        from scipy.interpolate import CubicSpline

        values = CubicSpline(times, values, axis=0)(even)
    window = np.sin(np.pi * np.arange(len(times)) / len(times)) ** 2
    amplitude = np.abs(np.fft.rfft(np.moveaxis(values, 0, -1) * window)) * 2 / window.sum()
    amplitude[..., 0] /= 2                           # the mean has no counterpart at a negative frequency
    return np.fft.rfftfreq(len(times), step), np.moveaxis(amplitude, -1, 0)


def _record(ds, record, variable):
    record = ds.dg.record(record) if isinstance(record, str) else record
    choose("variable", variable, record.data_vars, " in the record; it has")
    return record


def _over(record, variable, dim, rms=False):
    """Values (dim,) or (dim, point); with `rms` absolute ones, and the root mean square over all other dims."""
    field = record[variable]
    others = [other for other in field.dims if other != dim]
    if dim not in field.dims or (not rms and others not in ([], ["point"])):
        if dim == "time" and "frequency" in field.dims:
            raise ValueError(f"{variable!r} of the record is a transform, over frequency and not over time; draw it with "
                             "--spectrum, in Python spectrum=True")
        raise ValueError(f"{variable!r} of the record has the dims ({', '.join(map(str, field.dims))}); "
                         "curves are drawn of (time), (time, point) and, as a spectrum, of (frequency, ...)")
    values = field.transpose(dim, *others).values
    if not rms:
        return values.astype("float64")
    values = np.abs(values)
    if others in ([], ["point"]):
        return values
    return np.sqrt((values.reshape(len(values), -1) ** 2).mean(axis=1))


def _lines(ax, record, x, values, **style):
    from matplotlib import colormaps

    if values.ndim == 1:
        ax.plot(x, values, **style)
        return
    count = values.shape[1]
    # Few lines get the distinct colours of matplotlib, many a range of colours.
    many = {} if count <= NAMES else {"color": colormaps["viridis"](np.linspace(0, 0.95, count))}
    named = np.unique(np.linspace(0, count - 1, min(count, NAMES)).round().astype(int))
    for number, line in enumerate(values.T):
        colour = {"color": many["color"][number]} if many else {}
        ax.plot(x, line, label=_position(record, number) if number in named else None, linewidth=1.2, **colour, **style)
    ax.legend(fontsize="small", title=", ".join(axis for axis in AXES if axis in record.coords) or "point",
              loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _position(record, number):
    parts = [f"{float(record[axis].values[number]):.4g}" for axis in AXES if axis in record.coords]
    return ", ".join(parts) or str(number)


def _units(record, name):
    return record[name].attrs.get("units", UNITLESS)


def _text(record, variable):
    text, units = record[variable].attrs.get("long_name", variable), record[variable].attrs.get("units")
    return f"{text} ({units})" if units else text


def _title(record, variable, what):
    place = f" on {record.attrs['boundary']}" if "boundary" in record.attrs else ""
    return f"{what}{words(record[variable]).removeprefix(TRANSFORM)}{place}"
