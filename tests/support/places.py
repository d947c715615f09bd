"""Where things lie that tests look at: the project, its sources, and what stands beside this file."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "kith"
SUPPORT: Final = Path(__file__).parent
