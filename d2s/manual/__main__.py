"""``python -m d2s.manual``: write ``docs/errors.md``."""

from pathlib import Path

from d2s.manual import document

if __name__ == "__main__":
    Path("docs", "errors.md").write_text(document(), encoding="utf-8")
