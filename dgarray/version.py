"""The version of the package, that of the installed distribution: git's tag when it was built or installed."""
from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("dgarray")
except PackageNotFoundError:          # files that are not installed, on the path
    __version__ = "0+unknown"
