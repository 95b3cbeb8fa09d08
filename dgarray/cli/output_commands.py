"""The commands that show what there is: info, plot, export. Each takes the parsed options."""
import warnings
from pathlib import Path


def show_info(options):
    path = Path(options.path)
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    from ..mesh.files.store import is_mesh_store
    if path.is_dir() and not is_mesh_store(path):
        if options.split:
            raise ValueError(f"--split is for mesh files; {path} is a folder")
        if options.check:
            check_files(path)
        print(open_output(path))
    elif options.check:
        raise ValueError(f"--check is for the output of a run; {path} is a mesh")
    else:
        from ..mesh import describe, read_mesh
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")          # the description lists the notes itself
            print(describe(read_mesh(path, split=options.split)))


def plot_output(options):
    pictures = ("time", "limits", "log", "cmap", "zoom", "isolines", "levels", "mesh", "slice", "surface", "movie", "fps")
    for option, excluded in (("record", pictures), ("movie", ("time", "output")), ("levels", ("isolines",))):
        both = [name for name in excluded if getattr(options, option) is not None and getattr(options, name) is not None]
        if both:
            raise ValueError(f"--{option} and --{both[0]} are both given; give one")
    for option, needed in (("spectrum", "record"), ("fps", "movie")):
        if getattr(options, option) is not None and getattr(options, needed) is None:
            raise ValueError(f"--{option} is given without --{needed}; give both")
    found, path = open_output(Path(options.path)).dg, options.output or f"{options.variable}.png"
    dpi = {}
    if options.dpi is not None:
        from ..run.arguments import check_positive
        check_positive("dpi", options.dpi)
        dpi = {"dpi": options.dpi}
    if options.record is not None:
        print(found.plot(options.variable, path=path, record=options.record, spectrum=bool(options.spectrum), **dpi))
        return
    chosen = {name: getattr(options, name) for name in ("mesh", "log", "cmap", "slice", "surface")
              if getattr(options, name) is not None} | dpi
    if len(chosen.get("slice", ())) == 1:
        chosen["slice"] = chosen["slice"][0]
    for name, example, counts in NUMBERS:
        if getattr(options, name) is not None:
            chosen[name] = numbers_of(f"--{name}", getattr(options, name), example, counts)
    if len(chosen.get("isolines", ())) == 1:
        chosen["isolines"] = chosen["isolines"][0]
    if options.movie is not None:
        print(found.animate(options.variable, options.movie, 10 if options.fps is None else options.fps, **chosen))
    else:
        print(found.plot(options.variable, -1 if options.time is None else options.time, path=path, **chosen))


# Options of several numbers: an example for messages, and how many there may be (None: any).
NUMBERS = (("limits", "two numbers LOW,HIGH such as -1,1", (2,)),
           ("zoom", "two numbers for each axis, XLOW,XHIGH,YLOW,YHIGH such as 0,1,-0.5,0.5", (2, 4)),
           ("isolines", "a number of lines, or three numbers LOW,HIGH,COUNT such as 0,1,11", (1, 3)),
           ("levels", "numbers with commas such as 0.1,0.5,1", None))


def numbers_of(option, text, example, counts):
    """(-1.0, 1.0) from "-1,1", as many as `counts` allows."""
    try:
        found = tuple(float(number) for number in text.split(","))
    except ValueError:
        found = ()
    if not found or counts is not None and len(found) not in counts:
        raise ValueError(f"{option} {text}: give {example}")
    return found


def export_output(options):
    store = Path(options.path)
    dataset = open_output(store)
    named = store.resolve() if store.name in ("", "..") else store
    path = options.output or named.with_name(named.name.removesuffix(".zarr") + ".vtkhdf")
    print(dataset.dg.to_vtk(path, time=options.time, overwrite=options.overwrite))


def open_output(path):
    from ..mesh.files.store import is_mesh_store
    from ..output import DamagedError, open_output
    if_output(path)
    if is_mesh_store(path):
        raise ValueError(f"{path} is a mesh, not the output of a run")
    try:
        dataset = open_output(path)
        repr(dataset.dg)          # which only a run's dataset has
    except DamagedError:
        raise
    except Exception as error:
        raise ValueError(f"{path} cannot be read as the output of a run: {error}") from error
    return dataset


def if_output(path):
    """Raise ValueError unless there is a store at `path`."""
    if not (path / "zarr.json").is_file():
        raise ValueError(f"{path}: there is no output of a run; give the folder that --out named")


def check_files(path):
    """Compare the checksums of a store, and print what was found; ValueError if a file is damaged."""
    from ..output import verify
    if_output(path)
    found = verify(path)
    for error in found.damaged[:-1]:
        print(error)
    if found.damaged:
        count = len(found.damaged)
        raise ValueError(f"{found.damaged[-1]}{f'; {count} files are damaged' if count > 1 else ''}")
    print(found)
