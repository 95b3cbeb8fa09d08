"""Memory that Python and NumPy hold while a function runs."""
import gc
import tracemalloc


def traced(function):
    """The most that Python and NumPy hold while the function runs, on top of what they held before; and its result."""
    gc.collect()
    tracemalloc.start()
    try:
        result = function()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()
