"""Checks without results per test, goals, slow suites, Make and Node."""

from prepared import Project, right, swap, useless, wrong
from python_projects import AREA, BREAKS, FIXED, GREEN, PERIMETER, RED, REFACTOR, SHAPES

ADD = "echo $(($1 + $2))\n"
SUB = "echo $(($1 - $2))\n"
TEST_ADD = 'test "$(sh add.sh 1 2)" = 3 || { echo "error: add.sh 1 2 is $(sh add.sh 1 2)"; exit 1; }\n'
GREEN_SHELL = {"add.sh": ADD, "sub.sh": "echo $(($2 - $1))\n", "check.sh": TEST_ADD}
OTHER_FAILURE = 'echo "error: no colours"\nexit 1\n'
RED_SHELL = {**GREEN_SHELL, "check.sh": TEST_ADD + OTHER_FAILURE}
WANTED = {**GREEN_SHELL, "add.sh": SUB}
CHECK = ("sh check.sh",)
COUNTING = {
    "add.sh": ADD,
    "count.sh": '[ "$(sh add.sh 1 2)" = 3 ]; echo "Tests failed: $?"; echo "Tests passed: 9"\n',
    "Makefile": "test:\n\t@sh count.sh\n",
}
COUNTED = """\
#include <stdio.h>
#include "add.h"
int main(void) {
    printf("Passed: 9 Failed: %d\\n", add(1, 2) != 3);
    return 0;
}
"""

EXIT_CODES = (
    Project(
        "an exit code, green before",
        GREEN_SHELL,
        (
            right("refactor", {"add.sh": "echo $(($2 + $1))\n"}, "unproven", "not_reached"),
            wrong("break it", {"add.sh": SUB}, says="error: add.sh 1 2 is -1"),
            wrong("break it and what checks it", {"add.sh": SUB, "check.sh": "exit 0\n"}),
        ),
        commands=CHECK,
        goal=False,
    ),
    Project(
        "an exit code, red before",
        RED_SHELL,
        (
            right(
                "the same failure after it",
                {"add.sh": "echo $(($2 + $1))\n"},
                "unproven",
                "same_failure",
                end="held",
            ),
            wrong("another failure, in what is touched", {"add.sh": SUB}, says="add.sh 1 2 is -1"),
            useless("words only", {"README.md": "Add.\n"}, "same_failure", end="held"),
        ),
        commands=CHECK,
        goal=False,
    ),
    Project(
        "an exit code, red until the change mends what no check names",
        {"add.sh": SUB, "check.sh": 'test "$(sh a*.sh 1 2)" = 3\n'},
        (right("mended", {"add.sh": ADD}, "proven", "fixed"),),
        commands=CHECK,
        goal=False,
    ),
    Project(
        "an exit code that is 0 whatever is counted",  # as parson, whose tests end with 0
        COUNTING,
        (
            wrong("more failures are counted", {"add.sh": SUB}, says="Tests failed: 1"),
            right("refactor", {"add.sh": "echo $(($2 + $1))\n"}, "unproven", "not_reached"),
        ),
    ),
    Project(
        "an exit code that is 0 with failures that were counted before",
        {**COUNTING, "add.sh": SUB},
        (
            right("fewer are counted", {"add.sh": ADD}, "proven", "fixed"),
            right("as many are counted", {"README.md": "Add.\n"}, "unproven", "not_reached"),
        ),
    ),
    Project(
        "an exit code that is 0 with failures that tests count which use the change",
        {
            "add.h": "static int add(int a, int b) { return a - b; }\n",
            "test_add.c": COUNTED,
            "Makefile": "test:\n\t@$(CC) -o unit test_add.c && ./unit\n",
        },
        (
            right(
                "fewer are counted",
                {"add.h": "static int add(int a, int b) { return a + b; }\n"},
                "proven",
                "fixed",
            ),
            right(
                "fewer are counted by another test",
                {
                    "add.h": "static int add(int a, int b) { return a + b; }\n",
                    "test_add.c": COUNTED.replace("9", "10"),
                },
                "held",
                "reached",
            ),
        ),
    ),
    Project(
        "an exit code that tells, beside failures that are counted as known",
        {
            "add.sh": SUB,
            "Makefile": "test:\n\t@echo 1 failed\n\t@test $$(sh add.sh 1 2) = 3\n\t@echo 2 failed\n",
        },
        (right("mended", {"add.sh": ADD}, "proven", "fixed"),),
    ),
    Project(
        "a Makefile that does not name its headers",  # as uthash: what was built before would be old
        {
            "size.h": "#define SIZE 3\n",
            "test.c": '#include "size.h"\nint main(void) { return SIZE != 3; }\n',
            "Makefile": "test: unit\n\t./unit\nunit: test.c\n\t$(CC) -o unit test.c\n",
        },
        (wrong("break it", {"size.h": "#define SIZE 4\n"}, says="make"),),
    ),
    Project(
        "a Makefile that does not name its sources",  # the person's own build is in the tree, and newer
        {
            "size.c": "SIZE 3\n",
            "made.h": "made by a tool that is not here\n",
            "test.c": "",
            "Makefile": "CC = cat\ntest: ignored/unit\n\tgrep 'SIZE 3' ignored/unit\n"
            "ignored/unit: test.c\n\tmkdir -p ignored && $(CC) size.c test.c made.h > ignored/unit\n"
            "clean:\n\trm -f ignored/unit made.h\n",
        },
        (
            wrong("break it", {"size.c": "SIZE 4\n"}, says="make"),
            right("another source", {"size.c": "SIZE 3\nWIDTH 4\n"}, "unproven", "not_reached"),
            right("what the clean-up removes", {"made.h": "made anew\n"}, "unproven", "not_reached"),
        ),
        ignored={"ignored/unit": "SIZE 3\n"},
    ),
    Project(
        "a Makefile that takes all sources that there are",
        {
            "test.c": "int size(void);\nint main(void) { return size() != 3; }\n",
            "size.c": "int size(void) { return 3; }\n",
            "Makefile": "test: unit\n\t./unit\nunit: $(wildcard *.c)\n\t$(CC) -o unit *.c\n",
        },
        (wrong("delete a source", {"size.c": None}, says="size"),),
    ),
    Project(
        "an exit code that is the goal",
        WANTED,
        (
            right("reached", {"add.sh": ADD}, "proven", "fixed"),
            wrong("not reached", {"add.sh": "echo $(($1 * $2))\n"}, says="add.sh"),
            wrong("reached by another check only", {"check.sh": "exit 0\n"}, "settings", end="held"),
            useless("not reached, by words only", {"README.md": "Add.\n"}, "unmet", end="refused"),
            wrong(
                "not reached, and nobody tries again", {"sub.sh": ADD}, "same_failure", end="held", final=True
            ),
        ),
        commands=CHECK,
    ),
    Project(
        "an exit code that must not get worse",
        {
            **GREEN,
            "lint.sh": 'test "$(wc -l < shapes.py)" -lt 20 || { echo "error: shapes.py is long"; exit 1; }\n',
        },
        (
            right("refactor", {"shapes.py": REFACTOR}, "held", "reached"),
            wrong(
                "it gets worse", {"shapes.py": REFACTOR + "\n" * 20 + "LAST = 1\n"}, says="shapes.py is long"
            ),
        ),
        no_worse=("sh lint.sh",),
    ),
    Project(
        "a command that was red and may stay so",
        {**GREEN, "lint.sh": 'echo "error: README.md is missing"\nexit 1\n'},
        (
            right("refactor", {"shapes.py": REFACTOR}, "held", "reached"),
            wrong("break one", {"shapes.py": BREAKS}, broken=[AREA]),
        ),
        no_worse=("sh lint.sh",),
    ),
    Project(
        "a named suite that is the goal",
        RED,
        (
            right("reached", {"shapes.py": FIXED}, "proven", "fixed", fixed=[PERIMETER]),
            wrong("not reached", {"shapes.py": REFACTOR}, "unmet", failing=[PERIMETER], says="must succeed"),
            wrong(
                "not reached, and nobody tries again",
                {"shapes.py": REFACTOR},
                "unmet",
                end="held",
                failing=[PERIMETER],
                final=True,
            ),
            wrong(
                "reached by breaking another",
                {"shapes.py": swap(FIXED, ("width * height", "width * width"))},
                fixed=[PERIMETER],
                broken=[AREA],
            ),
        ),
        commands=("python3 -m pytest -q",),
    ),
    Project(
        "make test",
        {
            "Makefile": "test: add.sh\n\tsh check.sh\n",
            **GREEN_SHELL,
        },
        (
            right("refactor", {"add.sh": "echo $(($2 + $1))\n"}, "unproven", "not_reached"),
            wrong("break it", {"add.sh": SUB}, says="add.sh 1 2 is -1"),
            wrong("a Makefile that tests nothing", {"Makefile": "test:\n\ttrue\n", "add.sh": SUB}),
            wrong(
                "only a Makefile that tests nothing", {"Makefile": "test:\n\ttrue\n"}, "settings", end="held"
            ),
            right(
                "a Makefile that tests more, as the request asks",
                {"Makefile": "test: add.sh\n\tsh check.sh\n\tsh sub.sh 1 2\n"},
                "held",
                "reached",
                request="let the Makefile test sub.sh, too",
            ),
        ),
    ),
)

ENDLESS = "import time\n\n    while number:\n        time.sleep(1)"
SLEEPS = "import time\n\n\ndef test_slow():\n    time.sleep({seconds})\n"
SLOW = (
    Project(
        "a slow suite",
        {**GREEN, "test_slow.py": SLEEPS.format(seconds=1.5)},
        (
            right("refactor", {"shapes.py": REFACTOR}, "held", "reached"),
            wrong("break one", {"shapes.py": BREAKS}, broken=[AREA]),
            wrong(
                "break one that does not seem affected",
                {"shapes.py": REFACTOR, "test_slow.py": "def test_slow():\n    assert False\n"},
                broken=["test_slow.py::test_slow"],
            ),
        ),
        long_s=0.1,
        slow=True,
    ),
    Project(
        "a suite that takes longer than there is time for",
        {**RED, "test_slow.py": SLEEPS.format(seconds=60)},
        (
            right("refactor", {"shapes.py": REFACTOR}, "held", "reached", failing=[PERIMETER]),
            right("fix it", {"shapes.py": FIXED}, "proven", "fixed", fixed=[PERIMETER]),
            wrong("break one", {"shapes.py": BREAKS}, broken=[AREA], failing=[PERIMETER]),
            useless("words only", {"README.md": "Shapes.\n"}, "out_of_time", end="held"),
        ),
        seconds=10.0,
        slow=True,
    ),
    Project(
        "a command that takes longer than there is time for",
        {**GREEN_SHELL, "check.sh": "sleep 60\n"},
        (right("refactor", {"add.sh": "echo $(($2 + $1))\n"}, "unproven", "out_of_time", end="held"),),
        commands=CHECK,
        goal=False,
        seconds=1.0,
        slow=True,
    ),
    Project(
        "a change that never ends",
        GREEN,
        (
            wrong(
                "in a function",
                {"shapes.py": swap(SHAPES, ("    return number / 2", f"    {ENDLESS}"))},
                "out_of_time",
                says="The tests were stopped",
            ),
        ),
        spare_s=6.0,
        slow=True,
    ),
)

ADD_JS = "exports.add = (a, b) => a + b;\nexports.sub = (a, b) => b - a;\n"
ROWS_JS = """\
const test = require('node:test');
const assert = require('node:assert');
const { add } = require('./add.js');

for (const [a, b, sum] of [[1, 2, 3], [2, 5, 7]]) {
  test(`adds ${a} and ${b}`, () => assert.strictEqual(add(a, b), sum));
}
test('adds nothing', () => assert.strictEqual(add(0, 0), 0));
"""
NO_VAR = "if grep -n 'var ' *.js; then echo 'error: var'; exit 1; fi\n"
NODE = (
    Project(
        "node --test among linters",  # as xo && ava && tsd: the one that is red before says nothing
        {
            "package.json": '{"name": "a", "scripts": {"test": "sh red.sh && node --test && sh lint.sh"}}\n',
            "red.sh": "echo 'error: no colours'; exit 1\n",
            "lint.sh": NO_VAR,
            "add.js": ADD_JS,
            "add.test.js": ROWS_JS,
        },
        (
            right("refactor", {"add.js": swap(ADD_JS, ("a + b", "b + a"))}, "held", "reached"),
            wrong(
                "a linter that was green",
                {"add.js": f"var one = 1;\n{ADD_JS}"},
                says="`sh lint.sh` fails beside the tests: ",
            ),
            wrong(
                "a test",
                {"add.js": swap(ADD_JS, ("a + b", "a - b"))},
                broken=["add.test.js::adds ${a} and ${b}[1, 2]", "add.test.js::adds ${a} and ${b}[2, 5]"],
            ),
        ),
    ),
    Project(
        "node --test with rows",
        {
            "package.json": '{"name": "a", "scripts": {"test": "node --test"}}\n',
            "add.js": ADD_JS,
            "add.test.js": ROWS_JS,
        },
        (
            right(
                "another row in place of one",
                {"add.js": swap(ADD_JS, ("a + b", "b + a")), "add.test.js": swap(ROWS_JS, ("5, 7", "6, 8"))},
                "held",
                "reached",
                adapted=["add.test.js::adds ${a} and ${b}[2, 5]"],
            ),
            wrong(
                "break it, and the rows with it",
                {
                    "add.js": swap(ADD_JS, ("a + b", "a * b")),
                    "add.test.js": swap(ROWS_JS, ("5, 7", "4, 8"), ("1, 2, 3", "1, 0, 0")),
                },
                broken=["add.test.js::adds ${a} and ${b}[1, 2]", "add.test.js::adds ${a} and ${b}[2, 5]"],
            ),
        ),
    ),
    Project(
        "node --test",
        {
            "package.json": '{"name": "a", "scripts": {"test": "node --test"}}\n',
            "add.js": ADD_JS,
            "add.test.js": """\
const test = require('node:test');
const assert = require('node:assert');
const { add, sub } = require('./add.js');

test('adds', () => assert.strictEqual(add(1, 2), 3));
test('subtracts', () => assert.strictEqual(sub(3, 1), 2));
""",
        },
        (
            right(
                "fix it",
                {"add.js": swap(ADD_JS, ("b - a", "a - b"))},
                "proven",
                "fixed",
                fixed=["add.test.js::subtracts"],
            ),
            right(
                "refactor",
                {"add.js": swap(ADD_JS, ("a + b", "b + a"))},
                "held",
                "reached",
                failing=["add.test.js::subtracts"],
            ),
            wrong(
                "break one",
                {"add.js": swap(ADD_JS, ("a + b", "a * b"))},
                broken=["add.test.js::adds"],
                failing=["add.test.js::subtracts"],
            ),
        ),
    ),
)
PROJECTS = (*EXIT_CODES, *SLOW, *NODE)
