"""Print the oldest version of every dependency that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path


def constraints(project: dict) -> list[str]:
    """``name==version`` for every ``name>=version`` of the dependencies and of the extras of the tests."""
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["test"]]
    for requirement in extras["test"]:
        within = re.fullmatch(r"psidag\[(.*)\]", requirement)
        if within:
            wanted += [each for extra in within[1].split(",") for each in extras[extra]]
    found = [re.match(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", requirement) for requirement in wanted]
    return sorted({f"{each[1]}=={each[2]}.*" for each in found if each})


if __name__ == "__main__":
    print("\n".join(constraints(tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"])))
