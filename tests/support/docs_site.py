"""Builds the site of docs/: `python -m support.docs_site` in tests/. Any warning is a failure.

The pages are laid out in build/docs/pages as in the repository, with the files that they link to, so that links hold in
both places.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")
BUILD = ROOT / "build" / "docs"


def lay_out(folder: Path) -> None:
    """Copies the pages, and the files that they link to."""
    linked = {(page.parent / file).resolve() for page in PAGES for file, _ in LINK.findall(page.read_text()) if file}
    for file in {*PAGES, *(each for each in linked if each.is_file())}:
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
        if file.suffix == ".md":  # a fence of Markdown has one word, and no "fragment" after it
            copy.write_text(re.sub(r"^(```\w+) fragment$", r"\1", copy.read_text(), flags=re.M))


def build(folder: Path) -> "subprocess.CompletedProcess[str]":
    """How the build of `site` in a folder ended, and what it said."""
    shutil.rmtree(folder, ignore_errors=True)
    lay_out(folder / "pages")
    (folder / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text())
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # docs/decisions/docs-site.md
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def main() -> int:
    """The status."""
    ended = build(BUILD)
    print(ended.stdout + ended.stderr if ended.returncode else BUILD / "site" / "index.html")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
