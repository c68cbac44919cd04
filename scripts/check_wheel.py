"""Looks at finished wheels: what is in them, what their library needs, and that others can install them.

    python scripts/check_wheel.py WHEEL..
"""

import io
import re
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

from elftools.elf.elffile import ELFFile

# What every Linux with torch has; and Highway, which the wheel brings where the distribution has it as a shared library.
NEEDED = (
    r"(libtorch\w*|libc10\w*)\.so|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.\d+|ld-linux[\w-]*\.so\.\d+"
    r"|libhwy-\w+\.so[\d.]*"
)
INSIDE = {"weft/__init__.py", "weft/graph.py", "weft/libweft_torch.so", "weft/py.typed"}


def needed_by(library):
    dynamic = ELFFile(io.BytesIO(library)).get_section_by_name(".dynamic")
    return [tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]


def complaints(wheel):
    if not re.search(r"-py3-none-manylinux_2_\d+_\w+\.whl$", wheel.name):
        yield "its name ends in no py3-none-manylinux tag"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for name in sorted(INSIDE - names):
            yield f"{name} is missing"
        for name in sorted(n for n in names if re.search(r"\.so(\.\d+)*$", n)):
            for needed in needed_by(archive.read(name)):
                if not re.fullmatch(NEEDED, needed):
                    yield f"{name} needs {needed}, which is not on every machine with torch"
        folder = next(n for n in names if n.endswith(".dist-info/METADATA")).rsplit("/", 1)[0]
        metadata = message_from_bytes(archive.read(f"{folder}/METADATA"))
        if metadata["Requires-Dist"] != "torch>=2.11":
            yield f"it requires {metadata['Requires-Dist']}: expected torch>=2.11"
        if f"{folder}/licenses/LICENSE" not in names:
            yield "the license is missing"


def main():
    wrong = 0
    for wheel in map(Path, sys.argv[1:]):
        for complaint in complaints(wheel):
            print(f"{wheel}: {complaint}", file=sys.stderr)
            wrong += 1
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
    sys.exit(wrong > 0)


main()
