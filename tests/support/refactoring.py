"""What the tests of refactorings share: files as texts, and what becomes of them."""

from collections.abc import Callable, Mapping
from textwrap import dedent

import pytest

from kith.core.errors import UsageError
from kith.features.refactor.syntax.codebase import Codebase, Refactoring

Files = Mapping[str, str]


def code(files: Files) -> Codebase:
    return Codebase.of({path: dedent(text).encode() for path, text in files.items()})


def after(files: Files, done: Refactoring) -> dict[str, str]:
    """Every file as it is then; those that are gone are left out."""
    made = {path: dedent(text).encode() for path, text in files.items()} | dict(done.files)
    return {path: content.decode() for path, content in made.items() if content is not None}


def refusal(do: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        do()
    return str(caught.value)
