"""How long a test waits for what may never end; the work of one process is limited by `limit`."""

from __future__ import annotations

#: seconds: processes and threads that have not ended after so long never will, on any machine
HANG = 900
