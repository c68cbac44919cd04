"""What the package's metadata take from the repository: the version, which the C++ header alone says."""

import os
import re
from pathlib import Path

HEADER = Path(__file__).parent.parent / "include" / "weft" / "version.hpp"
WHOLE = "run `pip install ./python` in a clone of the repository, or `make wheel`; with `python -m build`, add --wheel"


def build_state(state):
    """An archive of this folder is no source of the package: what is compiled lies beside it."""
    if state == "sdist":
        raise SystemExit(f"weft has no source distribution, as its sources are the whole repository: {WHOLE}")


def dynamic_metadata(settings, project):
    """WEFT_WHEEL_LABEL, as in ``cpu`` or ``cu13``, tells wheels of one version apart: `make wheel` builds several."""
    if not HEADER.is_file():
        raise SystemExit(f"{HEADER} is missing, which has the version: {WHOLE}")
    version = ".".join(re.findall(r"^#define WEFT_VERSION_\w+ (\d+)$", HEADER.read_text(), re.MULTILINE))
    label = os.environ.get("WEFT_WHEEL_LABEL")
    return {"version": f"{version}+{label}" if label else version}
