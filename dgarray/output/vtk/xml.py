"""VTK's XML format with appended raw data: a head that names the arrays, then their bytes, each behind its length."""
from xml.sax.saxutils import quoteattr

import numpy as np

from dgarray.output.vtk.lagrange import XML_TYPES


class Appended:
    """A file of one data set, built tag by tag: `tag` adds a line to the head, `numbers` and `field_data` name arrays."""

    def __init__(self, kind, version, attributes=""):
        self.kind, self.arrays, self.position = kind, [], 0
        self.tags = [f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="{version}" byte_order="LittleEndian" '
                     'header_type="UInt64">', f"<{kind}{attributes}>"]

    def tag(self, *tags):
        self.tags += tags

    def _array(self, tag, name, dtype, shape, blocks):
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        self.tag(f'<{tag} Name={quoteattr(name)} format="appended" offset="{self.position}"/>')
        self.arrays.append((size, np.dtype(dtype).newbyteorder("<"), blocks))
        self.position += 8 + size

    def numbers(self, name, dtype, shape, blocks, more=""):
        """An array; blocks() yields its parts when the file is written."""
        kind = XML_TYPES[np.dtype(dtype).str[1:]]
        self._array(f'DataArray type="{kind}"{more}', name, dtype, shape, blocks)

    def field_data(self, field_data):
        """{name: array, or list of texts}."""
        self.tag("<FieldData>")
        for name, values in field_data.items():
            many = f' NumberOfTuples="{len(values)}"'
            if isinstance(values, list):
                texts = np.frombuffer(b"".join(text.encode() + b"\0" for text in values), "uint8")
                self._array('Array type="String"' + many, name, "uint8", texts.shape, lambda texts=texts: [texts])
            else:
                values = np.asarray(values, "float64" if np.asarray(values).dtype.kind == "f" else "int64")
                self.numbers(name, values.dtype, values.shape, lambda values=values: [values], many)
        self.tag("</FieldData>")

    def write(self, path):
        """Write the file."""
        self.tag(f"</{self.kind}>", '<AppendedData encoding="raw">', "_")
        with path.open("wb") as file:
            file.write("\n".join(self.tags).encode())
            for size, dtype, blocks in self.arrays:
                file.write(np.uint64(size).astype("<u8").tobytes())
                for block in blocks():
                    file.write(np.ascontiguousarray(block, dtype).data)
            file.write(b"\n</AppendedData>\n</VTKFile>\n")
