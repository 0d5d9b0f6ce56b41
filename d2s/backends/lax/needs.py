"""What to say when a run-time value is needed as a Python value."""

from __future__ import annotations

import re

from d2s.backends.lax import sites
from d2s.conversion import is_made_code
from d2s.errors import StagingError


def needs_value(error: Exception) -> StagingError:
    """The user's line that used a run-time value as a Python value."""
    site, code = sites.place(error)
    first = re.sub(r"'?\b\w*Tracer\b'?", "a run-time value", str(error).splitlines()[0])
    if code is not None and not is_made_code(code) and not code.co_name.startswith("<"):
        return StagingError(
            f"{site.function} needs a run-time value; d2s did not convert it ({first})",
            code="D2S021",
            site=site,
            fix=f"`@d2s.convert` above the definition of {site.function}, if it is plain Python",
        )
    if "does not support ufuncs" in first:
        return StagingError(
            "a NumPy array gets run-time values in place",
            code="D2S024",
            site=site,
            fix="jnp.zeros(...) and the like instead of np.zeros(...), or `a = a + x` for `a += x`",
        )
    return StagingError(
        f"a run-time value is needed as a Python value here ({first})",
        code="D2S020",
        site=site,
        fix="array operations on it, or pass it as a Python number so that it can become static",
    )
