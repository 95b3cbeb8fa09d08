"""Figures by matplotlib: a new one or the axes that were given, and the image file that it goes to."""
import os
from pathlib import Path

from dgarray.support.atomic_write import written


def need_matplotlib():
    """Raise ImportError, which says how to install it, where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib; install it with: pip install 'dgarray[plot]'") from error


def writable(path):
    """The path of a picture that is to be written later, as a Path. Raises ValueError where nothing can be written."""
    path = Path(path)
    folder = path.resolve().parent
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"picture {path}: " + ("this is a folder" if path.is_dir() else
                                                f"the folder {folder} cannot be written to"))
    if not path.suffix:
        raise ValueError(f"picture {path}: the name has no suffix that says its kind; give one such as {path}.png")
    return path


def figure_and_axes(ax, path, size, layout="constrained", **options):
    """The figure of the axes `ax`, or a new one of this size in inches: one that pyplot knows, or for a file one that it
    does not.  options: of the axes, such as projection="3d".  Raises ValueError where ax and path are both given."""
    need_matplotlib()
    if ax is not None and path is not None:
        raise ValueError("ax and path are both given; give one")
    if ax is not None:
        return ax.figure, ax
    if path is None:
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=size, layout=layout, subplot_kw=options)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout=layout)
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot(**options)


def finished(figure, ax, path, dpi=150):
    """The axes; or, where there is a path, that path, to which the figure is written."""
    if path is None:
        return ax
    with written(writable(path)) as aside:
        figure.savefig(aside, dpi=dpi)
    return path
