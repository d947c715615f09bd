"""The test runners of kith by their names."""

from kith.gates.runners.cpp import CTEST, PROGRAM
from kith.gates.runners.go import GO
from kith.gates.runners.javascript import JEST, MOCHA, NODE, VITEST
from kith.gates.runners.junit_files import JUNIT, PHPUNIT
from kith.gates.runners.python import DJANGO, PYTEST, UNITTEST
from kith.gates.runners.rspec import RSPEC
from kith.gates.runners.rust import CARGO
from kith.gates.toolchain import COMMAND

RUNNERS = {
    each.name: each
    for each in (
        *(PYTEST, UNITTEST, DJANGO, CTEST, PROGRAM, CARGO, GO, NODE, JEST, VITEST, MOCHA, JUNIT, PHPUNIT),
        *(RSPEC, COMMAND),
    )
}
