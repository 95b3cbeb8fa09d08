"""Movies of all snapshots with one common range of colours."""
import shutil
import subprocess
from itertools import chain

import numpy as np
from scipy.spatial import cKDTree

from dgarray.output.derived_fields import drawable
from dgarray.output.joined_runs import check_one_run
from dgarray.output.pictures.picture import listed, time_of
from dgarray.output.pictures.plot import flat_picture, needs_volume, new_picture
from dgarray.support.atomic_write import written
from dgarray.support.figures import writable

KINDS = (".gif", ".mp4", ".webp")
# Of the pictures of an animated WebP, 0 to 100.
WEBP_QUALITY = 80


def movie(ds, variable, path, fps=10, dpi=100, **options):
    """Write a movie of all snapshots, an animated GIF or WebP or an MP4 by the suffix of `path`. Returns the path.

    fps: snapshots per second; dpi: of pictures by matplotlib; options: as in `output.plot.draw`
    All pictures have the same limits: those given, or those of all snapshots. One snapshot at a time is in memory.
    Raises ValueError for another suffix, no snapshots, and as `draw` does; ImportError without the library of the
    picture or, for MP4, without ffmpeg; RuntimeError where ffmpeg fails."""
    path = writable(path)
    if path.suffix.lower() not in KINDS:
        raise ValueError(f"the movie {path} has the suffix {path.suffix!r}; allowed: {', '.join(KINDS)}")
    if not fps > 0:
        raise ValueError(f"fps={fps!r} is not allowed; it must be positive")
    ds = [drawable(one, variable) for one in listed(ds)]
    count, kind = _snapshots(ds[0], variable), path.suffix.lower()
    # A missing program is named before any picture is drawn.
    program = ffmpeg() if kind == ".mp4" else None
    picture = new_picture(ds, variable, **options)
    picture.resolution(dpi)
    limits = common_limits(picture, count)

    def images():
        for index in range(count):
            picture.show(picture.read(index), time_of(ds[0], index), limits)
            yield picture.image()

    with written(path) as aside:
        if kind == ".mp4":
            _write_mp4(aside, images(), fps, program)
        elif kind == ".webp":
            _write_webp(aside, images(), fps)
        else:
            _write_gif(aside, images(), fps, picture.palette(limits))
    return path


def animation(ds, variable, fps=10, **options):
    """All snapshots as a matplotlib animation: in a notebook `HTML(animation.to_jshtml())`.

    Arguments and errors as in `movie`; ValueError in 3D without slice, which PyVista draws."""
    if needs_volume(ds, **options):
        raise ValueError("an animation in 3D needs slice=, such as slice=\"z=0\"; a movie of other views needs path=")
    ds = [drawable(one, variable) for one in listed(ds)]
    count = _snapshots(ds[0], variable)
    picture = flat_picture(ds, variable, pyplot=True, **options)
    from matplotlib.animation import FuncAnimation
    from matplotlib.pyplot import close

    limits = common_limits(picture, count)

    def show(index):
        picture.show(picture.read(index), time_of(ds[0], index), limits)

    result = FuncAnimation(picture.ax.figure, show, frames=count, init_func=lambda: None, interval=1000 / fps, repeat=False)
    # In a notebook only the animation is to appear, not its figure as well.
    close(result._fig)
    return result


def common_limits(picture, count):
    """The `Limits` for what the picture shows of all `count` snapshots."""
    return picture.range([picture.spread(picture.read(index)) for index in range(count)])


def ffmpeg():
    """Path of an ffmpeg program: that of the library imageio-ffmpeg, else the one on the search path.

    Raises ImportError where there is none."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError:
        found = shutil.which("ffmpeg")
        if found is None:
            raise ImportError("MP4 movies need ffmpeg; install it with: pip install imageio-ffmpeg "
                              "(a movie with the suffix .gif needs none)") from None
        return found
    return get_ffmpeg_exe()


def _snapshots(ds, variable):
    check_one_run(ds.dg.field(variable), ds.dg.axes)
    if "time" not in ds.dg.field(variable).dims or not ds.sizes["time"]:
        raise ValueError(f"{variable!r} has no snapshots along time; a movie needs at least one")
    return ds.sizes["time"]


def _write_gif(path, images, fps, palette):
    """palette: (256, 3) colours for all images, or None for those that suit each image best.

    All images are in memory at once, one byte for each pixel."""
    from PIL import Image

    if palette is None:
        first, *rest = (Image.fromarray(image).quantize(dither=Image.Dither.NONE) for image in images)
    else:
        tree = cKDTree(palette)
        first, *rest = (_indexed(image, palette, tree) for image in images)
    first.save(path, format="GIF", save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)


def _write_webp(path, images, fps):
    """All colours, with small errors at edges."""
    from PIL import Image

    first, *rest = map(Image.fromarray, images)
    first.save(path, format="WEBP", save_all=True, append_images=rest, duration=round(1000 / fps), loop=0,
               quality=WEBP_QUALITY, method=4)


def _indexed(image, palette, tree):
    """The image with every pixel replaced by the nearest colour of the palette."""
    from PIL import Image

    codes, inverse = np.unique(image.astype("int32") @ [65536, 256, 1], return_inverse=True)
    _, nearest = tree.query(np.column_stack([codes >> 16, codes >> 8 & 255, codes & 255]))
    indexed = Image.fromarray(nearest.astype("uint8")[inverse].reshape(image.shape[:2]))
    indexed.putpalette(palette.tobytes())
    return indexed


def _write_mp4(path, images, fps, program):
    """H.264 in the pixel format that every player knows, which needs even sides."""
    first = next(images)
    height, width = first.shape[:2]
    command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
               "-r", f"{fps:g}", "-i", "-", "-an", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white",
               "-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            for image in chain([first], images):
                process.stdin.write(image.tobytes())
        except BrokenPipeError:
            pass                                     # ffmpeg gave up; what it said is raised below
        _, said = process.communicate()
    if process.returncode:
        raise RuntimeError(f"ffmpeg could not write the movie: {said.decode(errors='replace').strip() or process.returncode}")
