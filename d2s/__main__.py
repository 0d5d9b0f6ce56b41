"""``python -m d2s``."""

import sys

from d2s.cli import main

sys.exit(main())
