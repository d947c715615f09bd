"""The test runners of kith by their names."""

from kith.features.languages.go import GO
from kith.features.languages.php import PHPUNIT
from kith.features.languages.ruby import RSPEC
from kith.features.languages.rust import CARGO
from kith.gates.runners.cpp import CTEST, PROGRAM
from kith.gates.runners.javascript import JEST, MOCHA, NODE, VITEST
from kith.gates.runners.junit_files import JUNIT
from kith.gates.runners.python import DJANGO, PYTEST, UNITTEST
from kith.gates.toolchain import COMMAND

RUNNERS = {
    each.name: each
    for each in (
        *(PYTEST, UNITTEST, DJANGO, CTEST, PROGRAM, CARGO, GO, NODE, JEST, VITEST, MOCHA, JUNIT, PHPUNIT),
        *(RSPEC, COMMAND),
    )
}
