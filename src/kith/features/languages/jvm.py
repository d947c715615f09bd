"""Java and its relatives: Maven and Gradle, which write a report for each class of tests."""

from collections.abc import Collection, Iterator
from typing import Final

from kith.gates.runners.junit_files import JUNIT
from kith.gates.toolchain import Ecosystem, Read, Toolchain

# Nothing is fetched: a sandbox has no network.
_SUREFIRE: Final = ("*/target/surefire-reports/TEST-*.xml", "*/target/failsafe-reports/TEST-*.xml")
_GRADLE_REPORTS: Final = ("*/build/test-results/*/TEST-*.xml",)


def _find_maven(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    if "pom.xml" not in files:
        return
    for program in ("mvn", "./mvnw") if "mvnw" in files else ("mvn",):
        line = f"{program} -B -o --fail-at-end test"
        yield Toolchain("mvn test", "Java", "pom.xml", line, JUNIT, reports=_SUREFIRE)


def _find_gradle(files: Collection[str], read: Read) -> Iterator[Toolchain]:
    names = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
    build = next((name for name in names if name in files), "")
    if not build:
        return
    for program in ("./gradlew", "gradle") if "gradlew" in files else ("gradle",):
        line = f"{program} --offline --no-daemon --continue cleanTest test"
        yield Toolchain("gradle test", "Java", build, line, JUNIT, reports=_GRADLE_REPORTS)


MAVEN: Final = Ecosystem(_find_maven)
GRADLE: Final = Ecosystem(_find_gradle)
