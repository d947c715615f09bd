"""What tests lack of other package managers, by what their tools say; and output that says nothing of it."""

import pytest

from kith.gates.results.missing_elsewhere import find_missing_elsewhere

OFFLINE = "Cannot access central (https://repo.maven.apache.org/maven2) in offline mode and the artifact"


@pytest.mark.parametrize(
    ("output", "what", "install"),
    [
        ('meson.build:2:0: ERROR: Dependency "xcb" not found, tried pkgconfig', "xcb", ""),
        ("meson.build:9:0: ERROR: Program 'bison' not found or not executable", "bison", ""),
        ("configure: error: Package requirements (glib-2.0 >= 2.40) were not met:", "glib-2.0", ""),
        (
            f"[ERROR] Failed on project a: {OFFLINE} junit:junit:jar:4.13 has not been downloaded",
            "junit:junit:jar:4.13",
            "mvn -B dependency:go-offline",
        ),
        (
            "> No cached version of org.junit.jupiter:junit-jupiter:5.9.1 available for offline mode.",
            "org.junit.jupiter:junit-jupiter:5.9.1",
            "gradle assemble",
        ),
        ("java.net.UnknownHostException: services.gradle.org", "services.gradle.org", ""),
        ("Could not find rake-13.0.6 in any of the sources", "rake", "bundle install"),
        ("bundler: command not found: rspec", "rspec", "bundle install"),
        (
            "Can't locate Try/Tiny.pm in @INC (you may need to install the Try::Tiny module)",
            "Try::Tiny",
            "cpanm --installdeps .",
        ),
        (
            'Cannot open bootstrap script "vendor/autoload.php". Failed',
            "vendor/autoload.php",
            "composer install",
        ),
    ],
)
def test_what_is_missing_is_named(output: str, what: str, install: str) -> None:
    found = find_missing_elsewhere(f"Building\n{output}\nStopped.\n")
    assert found and (found.what, found.install) == (what, install)


@pytest.mark.parametrize(
    "output",
    [
        "cannot load such file -- half (LoadError)",  # perhaps what is to be written
        "expected 1.5, got 1",
        "FAIL: one",
        "ERROR: could not open the file",
        "half.rb:3: not found",
    ],
)
def test_a_failure_of_another_kind_lacks_nothing(output: str) -> None:
    assert find_missing_elsewhere(output) is None


def test_a_gem_that_the_project_names_is_missing() -> None:
    found = find_missing_elsewhere("cannot load such file -- rack (LoadError)\n", ("rack",))
    assert found and found.what == "rack"


@pytest.mark.parametrize("line", ["Package requirements (", "Plugin [id: 'x' ", "Could not find a "])
def test_a_line_without_an_end_takes_no_time(line: str) -> None:
    assert find_missing_elsewhere(line * 20_000) is None
