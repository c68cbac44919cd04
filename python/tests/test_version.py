import re
from importlib import metadata
from pathlib import Path

import pytest

import weft

HEADER = Path(__file__).parents[2] / "include" / "weft" / "version.hpp"


def test_the_library_has_the_version_of_the_header():
    assert weft.__version__ == ".".join(re.findall(r"#define WEFT_VERSION_\w+ (\d+)", HEADER.read_text()))


def test_an_installed_package_has_the_version_of_its_library():
    try:
        installed = metadata.distribution("weft")
    except metadata.PackageNotFoundError:
        pytest.skip("weft is not installed here, but found on PYTHONPATH")
    if not installed.locate_file("weft").samefile(Path(weft.__file__).parent):
        pytest.skip("another weft is installed here than the one under test")
    assert installed.version.split("+")[0] == weft.__version__
