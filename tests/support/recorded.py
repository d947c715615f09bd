"""What real runners wrote, shortened: the reports that tests of their readers begin with."""

import json

PYTEST = """<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest">
<testcase classname="tests.test_a.TestX" name="test_p[x.y::z]" time="0.001"/>
<testcase classname="tests.test_a" name="test_deep" time="0.5"><failure
 message="assert 2 == 3">def test_deep():
&gt;       assert f() == 3
E       assert 2 == 3

/usr/lib/python3/dist-packages/lib.py:9: in call
    x
tests/test_a.py:7: AssertionError</failure></testcase>
<testcase classname="tests.v1.2.test_b" name="test_b" time="nan"/>
<testcase classname="tests.test_a" name="test_end"/>
<testcase classname="tests.test_a" name="test_end"><error message="failed on teardown">x</error></testcase>
<testcase classname="docs.use.rst" name="use.rst"><skipped type="pytest.skip" message="no"/></testcase>
<testcase classname="" name="tests.test_a"><error
 message="collection failure">tests/test_a.py:1: in &lt;module&gt;
    import nothere
E   ModuleNotFoundError: No module named 'nothere'</error></testcase>
</testsuite></testsuites>"""

CTEST = """<testsuite name="x">
<testcase name="unit" classname="unit" time="0.1" status="fail">
<failure message=""/><system-out>x</system-out></testcase>
<testcase name="alone" classname="alone" time="0.1" status="run"><system-out/></testcase>
<testcase name="crash" classname="crash" time="0.1" status="fail"><failure message=""/>
<system-out>p: /work tree/p/unit.cpp:2: int main(): Assertion `1 == 2' failed.</system-out></testcase>
<testcase name="gone" status="notrun"><skipped message="?"/>
<system-out>Unable to find executable: gone</system-out></testcase>
<testcase name="later" status="disabled"><skipped message="Disabled"/></testcase>
</testsuite>"""

LISTED = json.dumps(
    {
        "tests": [
            {
                "name": "unit",
                "command": ["/b/unit"],
                "properties": [{"name": "WORKING_DIRECTORY", "value": "/b"}],
            },
            {"name": "alone", "command": ["/b/alone", "--gtest_filter=A.b"]},
            {"name": "crash", "command": ["/b/crash"]},
            {"name": "gone"},
        ]
    }
)

GOOGLETEST = """<testsuites><testsuite name="Math">
<testcase name="Adds" file="unit.cpp" line="2" status="run" result="completed" time="0" classname="Math"/>
<testcase name="Off" status="notrun" result="suppressed" time="0" classname="Math"/>
<testcase name="Breaks/0" status="run" result="completed" classname="Math">
<failure message="m"><![CDATA[/work tree/p/unit.cpp:3
Expected: <!DOCTYPE html>
  Actual: 2]]></failure></testcase></testsuite></testsuites>"""

CATCH2 = """<testsuites><testsuite name="c2"><testcase classname="c2.global" name="adds, well" status="run"/>
<testcase classname="c2.global" name="breaks/inner" status="run"><failure message="2 == 3" type="REQUIRE">
FAILED:
  REQUIRE( 2 == 3 )
at unit.cpp:4
</failure></testcase></testsuite></testsuites>"""

CARGO = """
running 4 tests
test tests::bad ... FAILED
test tests::later ... ignored
test tests::good ... ok
test tests::panics - should panic ... FAILED

failures:

---- tests::bad stdout ----

thread 'tests::bad' (63) panicked at src/lib.rs:8:16:
assertion `left == right` failed: halves
  left: 2
 right: 3
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

---- tests::panics stdout ----
note: test did not panic as expected at src/lib.rs:14:8

failures:
    tests::bad
    tests::panics

test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
"""

GO = """{"Action":"start","Package":"example.org/n/half"}
{"Action":"run","Package":"example.org/n/half","Test":"TestHalf"}
{"Action":"output","Package":"example.org/n/half","Test":"TestHalf","Output":"=== RUN   TestHalf\\n"}
{"Action":"output","Package":"example.org/n/half","Test":"TestHalf","Output":"  half.go:6: got 2, want 3\\n"}
{"Action":"output","Package":"example.org/n/half","Test":"TestHalf","Output":"--- FAIL: TestHalf (0.00s)\\n"}
a program's own words
{"Action":"fail","Package":"example.org/n/half","Test":"TestHalf","Elapsed":0.25}
{"Action":"pass","Package":"example.org/n/half","Test":"TestAll/one case","Elapsed":0}
{"Action":"skip","Package":"example.org/n/half","Test":"TestLater","Elapsed":0}
{"Action":"output","Package":"example.org/n/half","Output":"FAIL\\texample.org/n/half\\t0.004s\\n"}
{"Action":"fail","Package":"example.org/n/half","Elapsed":0.25}
"""

RUST_PANIC = """
running 1 test
test deep ... FAILED

failures:

---- deep stdout ----

thread 'deep' (7) panicked at src/lib.rs:3:5:
index out of bounds: the len is 0 but the index is 1
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/panicking.rs:689:5
   3: sample::inner
             at ./src/lib.rs:3:5
   4: sample::deep::{{closure}}
             at ./src/lib.rs:8:9
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.

failures:
    deep
"""

_GO_PANIC = """panic: runtime error: index out of range [recovered]

goroutine 6 [running]:
testing.tRunner.func1.2({0x4f8ea0, 0xc00001c0f0})
	/usr/lib/go-1.19/src/testing/testing.go:1396 +0x24e
example.org/n/half.inner(...)
	/work tree/p/half/half.go:3
example.org/n/half.TestDeep(0xc000007ba0)
	/work tree/p/half/half.go:9 +0x1d
"""
GO_PANIC = "\n".join(
    json.dumps({"Package": "example.org/n/half", "Test": "TestDeep", **event})
    for event in ({"Action": "output", "Output": _GO_PANIC}, {"Action": "fail", "Elapsed": 0})
)

VITEST = json.dumps(
    {
        "testResults": [
            {
                "name": "/work tree/p/broken.test.js",
                "status": "failed",
                "message": "Failed to load url ./nowhere.js",
                "assertionResults": [],
            },
            {
                "name": "/work tree/p/a.test.js",
                "status": "failed",
                "assertionResults": [
                    {"fullName": " half halves", "status": "passed", "duration": 1.5, "failureMessages": []},
                    {
                        "fullName": " half breaks",
                        "status": "failed",
                        "failureMessages": [
                            "AssertionError: expected 2 to be 3 // Object.is equality\n"
                            "    at /work tree/p/a.test.js:6:21\n"
                            "    at file:///work tree/p/node_modules/@vitest/runner/dist/index.js:533:5"
                        ],
                    },
                    {"fullName": " half later", "status": "skipped", "failureMessages": []},
                ],
            },
        ]
    }
)

MOCHA = "\n".join(
    json.dumps({"file": "/work tree/p/a.test.js", "seconds": 0.002, **each})
    for each in (
        {"titles": ["half", "halves"], "state": "passed", "stack": ""},
        {
            "titles": ["half", "breaks"],
            "state": "failed",
            "stack": "AssertionError [ERR_ASSERTION]: 2 == 3\n    at half (a.test.js:2:9)\n"
            "    at Context.<anonymous> (a.test.js:6:12)\n    at process.next (node:internal:478:21)",
        },
        {"titles": ["half", "later"], "state": "skipped", "stack": ""},
    )
)

DOCTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="tests" errors="1" failures="1" tests="3">
    <testcase classname="/work tree/p/unit.cpp" name="adds" time="0.000011" status="run"/>
    <testcase classname="/work tree/p/unit.cpp" name="breaks/inner" time="0.000028" status="run">
      <failure message="2 == 3" type="CHECK">
/work tree/p/unit.cpp(9):
CHECK( half(4) == 3 ) is NOT correct!
  values: CHECK( 2 == 3 )

      </failure>
    </testcase>
    <testcase classname="/work tree/p/unit.cpp" name="throws" time="0.00002" status="run">
      <error message="exception">
        negative
      </error>
    </testcase>
  </testsuite>
</testsuites>"""

VERBOSE = """test_two (app.tests.Half.test_two) ... ok
test_zero (app.tests.Half)
What it says of itself ... ERROR
test_later (app.tests.Half.test_later) ... skipped 'no'

======================================================================
ERROR: test_zero (app.tests.Half)
What it says of itself
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/work tree/p/tests/test_a.py", line 9, in test_zero
    half(0)
ValueError: 0

----------------------------------------------------------------------
Ran 3 tests in 0.001s

FAILED (errors=1, skipped=1)
"""

NODE = "\n".join(
    json.dumps({"file": "/work tree/p/a.test.js", "seconds": 0.004, **each})
    for each in (
        {"titles": ["outer", "adds"], "state": "passed", "stack": ""},
        {
            "titles": ["outer", "breaks"],
            "state": "failed",
            "stack": "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n1 !== 2\n\n"
            "    at deep (/work tree/p/a.test.js:3:26)\n"
            "    at TestContext.<anonymous> (file:///work tree/p/a.test.js:4:48)\n"
            "    at Test.run (node:internal/test_runner/test:796:25)",
        },
        {"titles": ["outer", "later"], "state": "skipped", "stack": ""},
        {"file": "/work tree/p/b.test.js", "titles": [], "state": "failed", "stack": "test failed"},
    )
)

JEST = json.dumps(
    {
        "testResults": [
            {
                "name": "/work tree/p/a.test.js",
                "assertionResults": [
                    {"fullName": "outer adds", "status": "passed", "failureMessages": []},
                    {
                        "fullName": "outer breaks",
                        "status": "failed",
                        "failureMessages": [
                            "Error: 1 !== 2\n    at Object.<anonymous> (/work tree/p/a.test.js:3:26)"
                        ],
                    },
                    {"fullName": "outer later", "status": "pending"},
                ],
            }
        ]
    }
)

COVERAGE_PY = {
    "files": {
        "tests/test_a.py": {
            "executed_lines": [1, 2],
            "missing_lines": [3],
            "summary": {"num_branches": 4, "covered_branches": 1},
        },
        "/usr/lib/python3/x.py": {"executed_lines": [1], "missing_lines": [], "summary": {}},
    }
}

_LINES = [
    {"line_number": 1, "count": 2, "branches": [{"count": 1}, {"count": 0}, {"count": 0, "throw": True}]},
    {"line_number": 2, "count": 0, "branches": []},
    {"line_number": 3, "count": 0, "gcovr/noncode": True},
]

GCOVR = {"files": [{"file": "unit.cpp", "lines": _LINES}]}

GCOV = {
    "files": [{"file": "/work tree/p/unit.cpp", "lines": _LINES}, {"file": "/usr/include/x", "lines": _LINES}]
}
