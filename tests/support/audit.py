"""Sums up what pip-audit found, in a sentence: python -m support.audit FOUND.json

pip-audit says "No known vulnerabilities found" as well where the index knows none of the packages.
"""

import json
import sys
from pathlib import Path
from typing import Any

from stepdown.protocol.plural import plural

FLOORS = "tests/unit/house/test_floors.py"


def summary(found: dict[str, Any]) -> tuple[str, bool]:
    """The sentence, and whether a package has a known hole."""
    packages = found["dependencies"]
    looked_up = [each for each in packages if "skip_reason" not in each]
    holes = [f"{each['name']} {each['version']}: {hole['id']}" for each in looked_up for hole in each["vulns"]]
    if not looked_up:
        floors = f"What is checked are the least versions that {FLOORS} lists"
        return f"The index has holes of none of the {len(packages)} packages: it shows nothing. {floors}.", False
    unknown = len(packages) - len(looked_up)
    told = f"Looked up: {plural(len(looked_up), 'package')}; not known to the index: {unknown}"
    return "\n".join([f"{told}. Known holes: {len(holes)}.", *holes]), bool(holes)


if __name__ == "__main__":
    text, has_holes = summary(json.loads(Path(sys.argv[1]).read_text()))
    print(text)
    sys.exit(has_holes)
