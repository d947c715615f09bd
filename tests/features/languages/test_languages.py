"""Which command is chosen for a tree of each language, and that real ones report each test."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from gating import LIMITS, in_trial, make_repository
from kith.agent.ecosystems import ecosystems
from kith.core.run import Run
from kith.gates.reports import SuiteReport
from kith.gates.results.run import run_suite
from kith.gates.runners.junit_files import JUNIT
from kith.gates.toolchain import Toolchain
from kith.gates.toolchains import choose_clues, find_candidates

MESON = "project('a', 'c')\ntest('one', executable('one', 'one.c'))\n"


def groups(tree: Mapping[str, str]) -> tuple[tuple[Toolchain, ...], ...]:
    contents = {path: text.encode() for path, text in tree.items()}
    read = {path: contents[path] for path in choose_clues(contents, ecosystems())}
    return find_candidates(contents, read.get, ecosystems())


@pytest.mark.parametrize(
    ("tree", "runs"),
    [
        ({"pom.xml": ""}, ["mvn -B -o --fail-at-end test"]),
        (
            {"build.gradle.kts": "", "gradlew": ""},
            [
                "./gradlew --offline --no-daemon --continue cleanTest test",
                "gradle --offline --no-daemon --continue cleanTest test",
            ],
        ),
        ({"meson.build": MESON}, ["meson test -C .kith-build/meson --no-rebuild --print-errorlogs"]),
        ({"meson.build": "project('a', 'c')\n"}, []),
        ({"configure.ac": "", "Makefile.am": "TESTS = one two\n"}, ["make -k check"]),
        (
            {"configure": "", "Makefile.in": "all:\n\ntest: all\n\t./one\n"},
            ["test -f Makefile || ./configure && make -j"],
        ),
        ({"configure.ac": "", "Makefile.am": "bin_PROGRAMS = one\n"}, []),
        ({"spec/a_spec.rb": "", "Gemfile": ""}, ["bundle exec rspec", "rspec"]),
        ({"test/a_test.rb": "", "Rakefile": ""}, ["rake test", "ruby -Ilib:test"]),
        ({"phpunit.xml.dist": ""}, ["vendor/bin/phpunit", "phpunit"]),
        ({"Makefile.PL": "", "t/a.t": ""}, ["prove -br t", "prove -lr t"]),
        ({"lib/A.pm": "", "t/a.t": ""}, ["prove -lr t"]),
        ({"test/a.bats": ""}, ["bats test"]),
        ({"mix.exs": "", "test/a_test.exs": ""}, ["mix test"]),
        ({"A.sln": "", "A.Tests/A.Tests.csproj": ""}, ["dotnet test A.sln"]),
        ({"A.sln": "", "A.vcxproj": "", "tests/readme.md": ""}, []),
        (
            {"pubspec.yaml": "dependencies:\n  flutter:\n    sdk: flutter\n", "test/a_test.dart": ""},
            ["flutter test"],
        ),
        ({"deno.json": '{"tasks": {"test": "deno test"}}', "a_test.ts": ""}, ["deno task test"]),
        ({"build.zig": "", ".github/workflows/test.yml": ""}, []),
        ({"build.zig": 'const run = b.step("test", "Run tests");\n', "src/root.zig": ""}, ["zig build test"]),
        ({"build.zig": 'const run = b.step("run", "Run it");\n', "src/root.zig": ""}, []),
        ({"mix.exs": "", "lib/a.ex": ""}, []),
        # A lone script beside the tests of another ecosystem is not waited for.
        ({"go.mod": "", "a.go": "", "test/a.bats": "", "deno.json": ""}, ["go test ./..."]),
        # A Makefile that tests knows how the rest is tested.
        ({"mix.exs": "", "test/a_test.exs": "", "Makefile": "test:\n\tmix test\n"}, ["make test"]),
    ],
)
def test_the_usual_command_of_each(tree: dict[str, str], runs: list[str]) -> None:
    found = [each.run for group in groups(tree) for each in group]
    assert len(found) == len(runs) and all(map(str.startswith, found, runs)), found


# --- real ones -------------------------------------------------------------------------------

C = "int main(void) { return 0; }\n"
FAILS = "int main(void) { return 1; }\n"
AUTOMAKE = {
    "configure.ac": "AC_INIT([a], [1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\n"
    "AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
    "Makefile.am": "check_PROGRAMS = good bad\nTESTS = $(check_PROGRAMS)\n"
    "good_SOURCES = good.c\nbad_SOURCES = bad.c\n",
    "good.c": C,
    "bad.c": FAILS,
}
REAL = {
    "meson": (
        "meson",
        {
            "meson.build": "project('a', 'c')\ntest('good', executable('good', 'good.c'))\n"
            "test('bad', executable('bad', 'bad.c'))\n",
            "good.c": C,
            "bad.c": FAILS,
        },
        {"a.good": "passed", "a.bad": "failed"},
    ),
    "automake": ("automake", AUTOMAKE, {"good": "passed", "bad": "failed"}),
    "rspec": (
        "rspec",
        {
            "lib/half.rb": "def half(n)\n  n / 2\nend\n",
            "spec/half_spec.rb": "require './lib/half'\nRSpec.describe 'half' do\n"
            "  it('halves') { expect(half(4)).to eq(2) }\n"
            "  it('is exact') { expect(half(3)).to eq(1.5) }\nend\n",
        },
        {"half halves": "passed", "half is exact": "failed"},
    ),
    "minitest": (
        "rake",
        {
            "Rakefile": "require 'rake/testtask'\nRake::TestTask.new\n",
            "test/test_half.rb": "require 'minitest/autorun'\n"
            "class TestHalf < Minitest::Test\n"
            "  def test_good; assert_equal 2, 4 / 2; end\n"
            "  def test_bad; assert_equal 1.5, 3 / 2; end\nend\n",
        },
        {"TestHalf#test_good": "passed", "TestHalf#test_bad": "failed"},
    ),
    "phpunit": (
        "phpunit",
        {
            "phpunit.xml": '<phpunit><testsuites><testsuite name="a"><directory>tests</directory>'
            "</testsuite></testsuites></phpunit>\n",
            "tests/HalfTest.php": "<?php\nuse PHPUnit\\Framework\\TestCase;\n"
            "class HalfTest extends TestCase {\n"
            "  function testGood() { $this->assertSame(2, intdiv(4, 2)); }\n"
            "  function testBad() { $this->assertSame(1.5, 3 / 4); }\n}\n",
        },
        {"HalfTest.testGood": "passed", "HalfTest.testBad": "failed"},
    ),
    "prove": (
        "prove",
        {
            "lib/Half.pm": "package Half;\nsub half { $_[0] / 2 }\n1;\n",
            "t/good.t": "use Test::More tests => 1;\nuse Half;\nis(Half::half(4), 2);\n",
            "t/bad.t": "use Test::More tests => 1;\nuse Half;\nis(Half::half(4), 3);\n",
        },
        {"t/good.t": "passed", "t/bad.t": "failed"},
    ),
    "bats": (
        "bats",
        {"test/a.bats": "@test 'good' {\n  true\n}\n\n@test 'bad' {\n  false\n}\n"},
        {"good": "passed", "bad": "failed"},
    ),
}


def run_best(folder: Path, tree: Mapping[str, str]) -> SuiteReport:
    """The tests of a project, by the toolchain with most passing tests."""

    async def work(home: Run, run: Run) -> SuiteReport:
        files = await run.workspace.files()
        contents = {path: await run.workspace.read(path) for path in choose_clues(files, ecosystems())}
        (group,) = find_candidates(files, contents.get, ecosystems())
        reports = [await run_suite(run, each, LIMITS) for each in group]
        return max(reports, key=lambda report: len(report.passed))

    return in_trial(make_repository(folder / "project", tree), work)


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("name", REAL)
def test_a_real_one_reports_each_test(tmp_path: Path, name: str) -> None:
    program, tree, expected = REAL[name]
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    report = run_best(tmp_path, tree)
    assert {case.id: case.outcome for case in report.cases} == expected, report.ran.output
    assert report.ran.code and not report.problem


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_reports_of_an_earlier_run_do_not_count(tmp_path: Path) -> None:
    old = '<testsuite><testcase classname="Old" name="test"/></testsuite>'
    new = old.replace("Old", "New")
    toolchain = Toolchain(
        "mvn test",
        "Java",
        "pom.xml",
        f"mkdir -p b/target/surefire-reports && echo '{new}' > b/target/surefire-reports/TEST-b.xml",
        JUNIT,
        reports=("*/target/surefire-reports/TEST-*.xml",),
    )
    project = make_repository(tmp_path / "project", {"a/target/surefire-reports/TEST-a.xml": old})
    report = in_trial(project, lambda home, run: run_suite(run, toolchain, LIMITS))
    assert [case.id for case in report.cases] == ["New.test"] and report.ok
