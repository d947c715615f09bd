"""Where in the project a report points: paths and frames as tools write them, against the files there are."""

import posixpath
import re
from dataclasses import dataclass
from typing import Final

from kith.gates.reports import CaseResult, Outcome

FRAMES: Final = 6  # the last ones: nearest to the failure
MESSAGE: Final = 3_000  # characters
ERROR: Final = 100
_FRAME: Final = re.compile(
    r'^[ \t]*(?:File "(?P<file>[^"\n]+)", line (?P<at>\d+)(?:, in (?P<name>[^\n]+))?'
    r"|(?P<path>[^\s:][^:\n]*\.\w+):(?P<line>\d+): ?(?:in (?P<inside>\S+))?)",
    re.M,
)


@dataclass(frozen=True, slots=True)
class ProjectPaths:
    """The root as the tests saw it, and the project's files relative to it."""

    root: str
    files: frozenset[str]

    def locate(self, path: str) -> str:
        """The path relative to the root; "" for a file that is not the project's."""
        plain = posixpath.normpath(path.replace("\\", "/"))
        root = self.root.replace("\\", "/").rstrip("/")
        inside = plain.removeprefix(f"{root}/") if root else plain
        return inside if inside in self.files else ""

    def frames(self, text: str) -> tuple[tuple[str, int, str], ...]:
        """(path, line, function) of each frame in the project's own files, in the order of the text."""
        found = []
        for match in _FRAME.finditer(text):
            path = self.locate(match["file"] or match["path"])
            if path:
                line = int((match["at"] or match["line"])[:9])
                found.append((path, line, (match["name"] or match["inside"] or "").strip()))
        return tuple(dict.fromkeys(found))

    def case(
        self,
        id: str,
        outcome: Outcome,
        message: str = "",
        text: str = "",
        seconds: float = 0.0,
        error: str = "",
    ) -> CaseResult:
        """A result whose place and frames are read from `text`."""
        if outcome not in ("failed", "error"):
            return CaseResult(id, outcome, seconds=seconds)
        frames = self.frames(text)
        path, line, _ = frames[-1] if frames else ("", 0, "")
        shown = tuple(
            f"{path}:{line}{f' in {name}' if name else ''}" for path, line, name in frames[-FRAMES:]
        )
        return CaseResult(id, outcome, message.strip()[:MESSAGE], path, line, shown, seconds, error[:ERROR])
