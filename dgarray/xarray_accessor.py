"""`ds.dg` and `tree.dg`, added to xarray when it is imported, so that `import dgarray` alone does not import it."""
import sys


class WhenImported:
    """A finder of modules that changes one thing: after `xarray` is imported, it has the accessors."""

    def find_spec(self, name, path=None, target=None):
        if name != "xarray":
            return None
        specs = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, specs), None)
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_add(module):
                execute(module)
                add(module)
            spec.loader.exec_module = execute_and_add
        return spec


def register():
    """Add the accessors to xarray: now if it is imported already, else when it will be."""
    if "xarray" in sys.modules:
        add(sys.modules["xarray"])
    else:
        sys.meta_path.insert(0, WhenImported())


def add(xarray):
    xarray.register_dataset_accessor("dg")(of_data)
    xarray.register_datatree_accessor("dg")(of_data)


def of_data(ds):
    """The accessor of a run's dataset or tree, see `dgarray.output.Accessor`; on grids `dgarray.output.GridAccessor`; of a far
    field `dgarray.analysis.patterns.FarField`."""
    if "direction" in ds.dims and "direction_x" in ds.coords:
        from .analysis.patterns import FarField
        return FarField(ds)
    from .output import accessor_of
    return accessor_of(ds)
