"""Prints the folder, the version and the CUDA version of the torch that weft is built against, as a list of CMake's.

torch is found, not imported. pip builds a package in an environment of its own, whose Python does not see what is
installed in the one that the package is for; but it knows where that one is, and torch is looked for there as well: so
nobody waits for a second torch of several GB that is thrown away after the build.
"""

import importlib.util
import runpy
import site
import sys
import sysconfig
from pathlib import Path

OLDEST = (2, 11)


def folders():
    spec = importlib.util.find_spec("torch")
    if spec is not None:
        yield from spec.submodule_search_locations
    for packages in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()):
        yield Path(packages) / "torch"


def main():
    how = (
        "install torch 2.11 or newer where weft is to be installed; where pip cannot see it, "
        "pip install scikit-build-core and add --no-build-isolation"
    )
    folder = next((Path(f) for f in folders() if (Path(f) / "version.py").is_file()), None)
    if folder is None:
        sys.exit(f"there is no torch for the Python in {sys.prefix}: {how}")
    about = runpy.run_path(str(folder / "version.py"))
    version = str(about["__version__"])
    if tuple(int(part) for part in version.split("+")[0].split(".")[:2]) < OLDEST:
        sys.exit(f"the torch in {folder} is {version}: {how}")
    print(folder.as_posix(), version, about["cuda"] or "none", sep=";")


main()
