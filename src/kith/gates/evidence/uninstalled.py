"""Tests that cannot run with a change because it needs, and declares, a package that nobody installed."""

from collections.abc import Mapping

from kith.core.evidence import Blocked
from kith.core.values import Change, Changes
from kith.gates.reports import SuiteReport
from kith.gates.results.blocked import NO_MODULE, PYPI
from kith.gates.results.distributions import distribution_of
from kith.gates.soundness.declared import is_manifest, read_declared
from kith.gates.toolchains import PYTHON


def find_uninstalled(after: SuiteReport, changes: Changes) -> Mapping[str, Blocked]:
    """The failing tests, by their ids, that lack a Python module of a package which the change declares.

    Where a whole file could not be loaded, its path stands for its tests.
    """
    manifests = [change for change in changes if is_manifest(change.path)]
    if not manifests:
        return {}
    found: dict[str, Blocked] = {}
    for case in after.failed:
        missing = NO_MODULE.search(f"{case.error}: {case.message}")
        if missing and _is_declared(missing[1], manifests):
            name = distribution_of(missing[1])
            found[case.id] = Blocked("import", missing[1], f"{PYTHON} -m pip install {name}", PYPI)
    return found


def _is_declared(module: str, manifests: list[Change]) -> bool:
    """True if the manifests speak of the module's package, and did not before."""
    paths = [change.path for change in manifests]
    then, now = {each.path: each.before for each in manifests}, {each.path: each.after for each in manifests}
    return read_declared(paths, now.get).names(module) and not read_declared(paths, then.get).names(module)
