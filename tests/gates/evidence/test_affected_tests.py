"""Which tests reach a change: by imports and includes, through others, by the names of data."""

from collections.abc import Mapping

import pytest

from kith.core.values import Change, Ran
from kith.gates.evidence.affected_tests import Reach, affected_files, choose_sources, find_reach
from kith.gates.reports import CaseResult, SuiteReport
from kith.gates.toolchain import Toolchain
from runners import RUNNERS

PYTHON = {
    "pkg/__init__.py": "from pkg.b import g\n",
    "pkg/a.py": "def f():\n    return 1\n",
    "pkg/b.py": "from .a import f\n\n\ndef g():\n    return f()\n",
    "pkg/alone.py": "def h():\n    return 1\n",
    "tests/test_a.py": "from pkg.a import f\n",
    "tests/test_b.py": "import pkg.b\n",
    "tests/test_data.py": "OPEN = 'data/values.csv'\n",
    "tests/test_other.py": "import json\n",
}
CPP = {
    "include/a.h": "int a();\n",
    "src/a.cpp": '#include "a.h"\n',
    "src/b.cpp": '#include "b.h"\n#include "a.h"\n',
    "include/b.h": "int b();\n",
    "tests/test_a.cpp": '#include "a.h"\n',
    "tests/test_b.cpp": '#include "b.h"\n',
    "tests/test_c.cpp": "int main() {}\n",
}
SCRIPTS = {
    "lib/a.js": "module.exports = 1;\n",
    "lib/index.js": "module.exports = require('./a');\n",
    "test/a.test.js": "const a = require('../lib');\n",
    "test/b.test.js": "const fs = require('fs');\n",
}
PACKAGE = {**SCRIPTS, "package.json": '{"main": "lib"}', "test/c.js": "require('../');\n"}
MODULES = {
    "package.json": '{"exports": {".": {"types": "./a.d.ts", "default": "./src/a.js"}}}',
    "src/a.js": "export const a = 1;\n",
    "test/a.test.js": "import { a } from '..';\n",
    "fixtures/package.json": "{",
    "fixtures/index.js": "",
    "test/b.test.js": "import '../fixtures';\n",
}
CRATES = {
    "crates/core/Cargo.toml": '[package]\nname = "shop-core"\n',
    "crates/core/src/lib.rs": "mod sums;\npub use sums::total;\n",
    "crates/core/src/sums.rs": "pub fn total() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}",
    "crates/core/src/alone.rs": "",
    "crates/core/tests/whole.rs": "use shop_core::total;\n",
    "crates/other/Cargo.toml": '[package]\nname = "other"\n',
    "crates/other/src/lib.rs": "",
    "crates/other/tests/it.rs": "use other::x;\n",
}
FIXTURES = {
    "app/__init__.py": "from .views import view\n",
    "app/views.py": "",
    "tests/conftest.py": "from app import make\n@pytest.fixture(name='web')\ndef client(): ...\n",
    "tests/test_web.py": "def test_view(web): ...\n",
    "tests/test_other.py": "def test_nothing(): ...\n",
    "own/conftest.py": "import app\n@fixture(autouse=True)\ndef start(): ...\n",
    "own/test_any.py": "def test_any(): ...\n",
}
DJANGO = {
    "manage.py": "environ['DJANGO_SETTINGS_MODULE'] = 'site.settings'\n",
    "site/settings.py": "ROOT_URLCONF = 'site.urls'\n",
    "site/urls.py": "from shop import views\n",
    "shop/__init__.py": "",
    "shop/views.py": "",
    "tests/test_addresses.py": "from django.test import TestCase\n",
    "tests/test_plain.py": "import unittest\n",
}
STARTED = {
    "pyproject.toml": "[project.scripts]\ncount-lines = 'pkg.cli:main'\n",
    "pkg/__init__.py": "def __getattr__(name): return import_module(f'pkg.{name}')\n",
    "pkg/cli.py": "from pkg import lines\n",
    "pkg/lines.py": "",
    "pkg/late.py": "",
    "tools/make.py": "",
    "tests/test_command.py": "run(['count-lines', 'a'])\n",
    "tests/test_module.py": "run('python -m pkg.cli')\n",
    "tests/test_late.py": "import pkg\npkg.late.run()\n",
    "tests/test_script.py": "run([sys.executable, 'tools/make.py'])\n",
}
ALIASES = {
    "tsconfig.json": '{"compilerOptions": {"paths": {"$lib/*": ["./web/lib/*"], "$x": ["x.ts"],}}} // x',
    "web/lib/a.ts": "",
    "x.ts": "",
    "src/cart.ts": "",
    "src/components/Cart.test.tsx": "import { total } from '@/cart'\n",
    "packages/core/package.json": '{"name": "@shop/core", "main": "dist/index.js"}',
    "packages/core/src/index.ts": "export * from './sum'\n",
    "packages/core/src/sum.ts": "",
    "packages/web/test/web.test.ts": "import { sum } from '@shop/core'\nimport '$lib/a'\n",
    "packages/web/test/x.test.ts": "const x = require('$x')\nimport react from 'react'\n",
}
GO = {
    "go.mod": "module example.com/shop\n",
    "store/store.go": "package store\n",
    "store/alone/alone.go": "package alone\n",
    "web/web.go": 'package web\n\nimport "example.com/shop/store"\n',
    "web/web_test.go": "package web\n",
}
JAVA = {
    "src/main/java/shop/Cart.java": "class Cart { Price price; }\n",
    "src/main/java/shop/Price.java": "class Price {}\n",
    "src/main/java/shop/Alone.java": "class Alone {}\n",
    "src/test/java/shop/CartTest.java": "class CartTest { Cart cart; }\n",
}
RUBY = {
    "lib/shop.rb": "require 'shop/cart_item'\n",
    "lib/shop/cart_item.rb": "class CartItem; end\n",
    "lib/shop/alone.rb": "class Alone; end\n",
    "spec/item_spec.rb": "describe Shop::CartItem do\nend\n",
}
OTHERS = {
    "bin/count-lines.sh": "wc -l\n",
    "db/schema.sql": "create table a (b int);\n",
    "app.py": "SCHEMA = 'db/schema.sql'\n",
    "tests/count.bats": "run bin/count-lines.sh\n",
    "tests/test_app.py": "import app\n",
}


def reach(files: Mapping[str, str], *paths: str) -> Reach:
    contents = {path: text.encode() for path, text in files.items()}
    return find_reach(contents, tuple(Change(path, b"x", contents.get(path)) for path in paths))


@pytest.mark.parametrize(
    ("files", "path", "tests"),
    [
        (PYTHON, "pkg/a.py", {"tests/test_a.py", "tests/test_b.py"}),
        (PYTHON, "pkg/alone.py", set()),
        (PYTHON, "data/values.csv", {"tests/test_data.py"}),
        (PYTHON, "README.md", set()),
        (CRATES, "crates/core/src/sums.rs", {"crates/core/src/sums.rs", "crates/core/tests/whole.rs"}),
        (FIXTURES, "app/views.py", {*FIXTURES} - {"app/__init__.py", "app/views.py", "tests/test_other.py"}),
        (DJANGO, "shop/views.py", {"tests/test_addresses.py"}),
        (STARTED, "pkg/lines.py", {"tests/test_command.py", "tests/test_module.py"}),
        (STARTED, "pkg/late.py", {"tests/test_late.py"}),
        (STARTED, "tools/make.py", {"tests/test_script.py"}),
        (ALIASES, "src/cart.ts", {"src/components/Cart.test.tsx"}),
        (ALIASES, "packages/core/src/sum.ts", {"packages/web/test/web.test.ts"}),
        (ALIASES, "web/lib/a.ts", {"packages/web/test/web.test.ts"}),
        (ALIASES, "x.ts", {"packages/web/test/x.test.ts"}),
        (GO, "store/store.go", {"web/web_test.go"}),
        (GO, "store/alone/alone.go", set()),
        (JAVA, "src/main/java/shop/Price.java", {"src/test/java/shop/CartTest.java"}),
        (JAVA, "src/main/java/shop/Alone.java", set()),
        (RUBY, "lib/shop/cart_item.rb", {"spec/item_spec.rb"}),
        (RUBY, "lib/shop/alone.rb", set()),
        (OTHERS, "bin/count-lines.sh", {"tests/count.bats"}),
        (OTHERS, "db/schema.sql", {"tests/test_app.py"}),
        (CRATES, "crates/core/src/alone.rs", set()),
        (CRATES, "crates/other/src/lib.rs", {"crates/other/tests/it.rs"}),
        (PYTHON, "tests/test_other.py", {"tests/test_other.py"}),
        (CPP, "include/a.h", {"tests/test_a.cpp", "tests/test_b.cpp"}),
        (CPP, "src/a.cpp", {"tests/test_a.cpp", "tests/test_b.cpp"}),
        (CPP, "src/b.cpp", {"tests/test_b.cpp"}),
        (SCRIPTS, "lib/a.js", {"test/a.test.js"}),
        (PACKAGE, "lib/a.js", {"test/a.test.js", "test/c.js"}),  # as qs: the main file of the package
        (MODULES, "src/a.js", {"test/a.test.js"}),
        (MODULES, "fixtures/index.js", {"test/b.test.js"}),
    ],
)
def test_who_reaches_a_change(files: Mapping[str, str], path: str, tests: set[str]) -> None:
    assert reach(files, path) == Reach(frozenset(tests))


CLIENT = {
    "manage.py": "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'site.settings')\n",
    "site/__init__.py": "",
    "site/settings.py": "ROOT_URLCONF = 'site.urls'\nPANELS = ['panels.sql.SqlPanel']\n",
    "site/urls.py": "from app import views\n",
    "app/__init__.py": "",
    "app/views.py": "",
    "app/alone.py": "",
    "panels/__init__.py": "",
    "panels/sql.py": "",
    "app/test_views.py": "class T(TestCase):\n    def test_a(self):\n        self.client.get('/')\n",
    "app/test_other.py": "class T(TestCase):\n    def test_a(self):\n        pass\n",
}
PLUGINS = {
    "pkg/__init__.py": "",
    "pkg/main.py": "import pkgutil\nfrom pkg import plugins\nlist(pkgutil.walk_packages(plugins.__path__))\n",
    "pkg/plugins/__init__.py": "",
    "pkg/plugins/a.py": "",
    "pkg/alone.py": "",
    "tests/test_main.py": "from pkg.main import f\n",
    "tests/test_plugins.py": "from pkg import plugins\n",
}


@pytest.mark.parametrize(
    ("files", "path", "tests"),
    [
        (CLIENT, "app/views.py", {"app/test_views.py"}),
        (CLIENT, "panels/sql.py", {"app/test_views.py"}),
        (CLIENT, "app/alone.py", set()),
        (PLUGINS, "pkg/plugins/a.py", {"tests/test_main.py"}),
        (PLUGINS, "pkg/alone.py", set()),
    ],
)
def test_modules_that_are_loaded_by_name_are_reached(
    files: Mapping[str, str], path: str, tests: set[str]
) -> None:
    assert reach(files, path).tests == tests


def test_a_package_by_its_own_name() -> None:
    files = {"src/toolz/__init__.py": "def f(): ...\n", "tests/test_f.py": "import toolz\n"}
    assert reach(files, "src/toolz/__init__.py").tests == {"tests/test_f.py"}
    only_tests = {"tests/test_f.py": "import toolz\n", "tests/test_g.py": "import json\n"}
    assert reach(only_tests, "src/toolz/__init__.py").tests == {"tests/test_f.py"}


def test_a_deleted_module_still_reaches_who_imports_it() -> None:
    contents = {path: text.encode() for path, text in PYTHON.items() if path != "pkg/a.py"}
    assert find_reach(contents, (Change("pkg/a.py", b"x", None),)).tests >= {"tests/test_a.py"}


@pytest.mark.parametrize(
    "path", ["conftest.py", "tests/conftest.py", "CMakeLists.txt", "Makefile", "a.cmake"]
)
def test_what_all_tests_depend_on_concerns_all(path: str) -> None:
    assert reach(PYTHON, path).whole


def test_ids_are_known_by_their_files() -> None:
    found = Reach(frozenset({"tests/test_a.py"}))
    assert found.covers("tests/test_a.py::test_x[1]", RUNNERS["pytest"])
    assert not found.covers("tests/test_b.py::test_x", RUNNERS["pytest"])
    assert found.covers("tests.test_a.T.test_x", RUNNERS["unittest"]) and found.covers(
        "test_a.T.test_x", RUNNERS["unittest"]
    )
    assert not found.covers("tests.test_ab.T.test_x", RUNNERS["unittest"])
    assert found.covers("anything", RUNNERS["ctest"]) and not Reach().covers("anything", RUNNERS["ctest"])


def test_sources_are_read_and_documents_are_not() -> None:
    assert choose_sources(["a.py", "README.md", "b.cpp", "c.json"]) == ["a.py", "b.cpp"]


@pytest.mark.parametrize(
    ("runner", "ids"),
    [
        ("pytest", ["pkg/tests/test_a.py::test_a", "pkg/tests/test_b.py::test_b"]),
        ("unittest", ["pkg.tests.test_a.TestA.test_a", "tests.test_b.TestB.test_b"]),
    ],
)
def test_what_the_command_leaves_out_stays_out(runner: str, ids: list[str]) -> None:
    toolchain = Toolchain("", "Python", "", "run", RUNNERS[runner])
    before = SuiteReport(Ran("run", 0, "", 1.0), tuple(CaseResult(id, "passed") for id in ids))
    reached = Reach(frozenset({"pkg/tests/test_a.py", "bench/test_speed.py", "extra/test_new.py"}))
    changes = (Change("pkg/a.py", b"1", b"2"), Change("extra/test_new.py", None, b"def test_a(): ..."))
    assert affected_files(toolchain, before, reached, changes) == [
        "extra/test_new.py",
        "pkg/tests/test_a.py",
    ]


@pytest.mark.parametrize("ids", [[], ["test_z.py::test_z"]])
def test_a_run_that_was_stopped_does_not_tell_what_is_left_out(ids: list[str]) -> None:
    ran = Ran("run", 124, "", 60.0, timed_out=True)
    before = SuiteReport(ran, tuple(CaseResult(id, "passed") for id in ids))
    changes = (Change("a.py", b"1", b"2"),)
    toolchain = Toolchain("", "Python", "", "run", RUNNERS["pytest"])
    assert affected_files(toolchain, before, Reach(frozenset({"test_a.py"})), changes) == ["test_a.py"]


def test_tests_of_another_folder_say_nothing_of_a_project_in_a_folder() -> None:
    app, top = (
        Toolchain("npm test", "JavaScript", "", "npm test", RUNNERS["node"], folder=each)
        for each in ("app", "")
    )
    changes = (Change("api/a.js", b"1", b"2"),)
    for reach in (Reach(frozenset({"api/a.test.js"})), Reach(whole=True)):
        assert not reach.inside(app, changes).covers("app/adds", RUNNERS["node"])
        assert reach.inside(top, changes) == reach
    assert Reach(frozenset({"app/a.test.js"})).inside(app, changes).covers("app/adds", RUNNERS["node"])


def test_a_plain_word_is_no_name_of_a_source() -> None:
    contents = {
        "lib/data.rb": b"",
        "lib/other.rb": b"",
        "spec/data_spec.rb": b"require_relative '../lib/data'",
        "spec/path_spec.rb": b"run 'lib/data.rb'",
        "spec/words_spec.rb": b'# the data of a test\nexpect({"data" => data.size})',
    }
    found = find_reach(contents, (Change("lib/data.rb", b"1", b""),))
    assert found.tests == {"spec/data_spec.rb", "spec/path_spec.rb"}


def test_an_attribute_of_what_is_not_imported_is_no_module() -> None:
    contents = {
        "app/config.py": b"",
        "app/other.py": b"",
        "tests/test_quoted.py": b"KEY = 'app.config.KEY'",
        "tests/test_started.py": b"run('python -m app.config')",
        "tests/test_imported.py": b"import app\napp.config.KEY",
        "tests/test_fixture.py": b"def test(app):\n    app.config['KEY'] = 1  # of app.config",
    }
    found = find_reach(contents, (Change("app/config.py", b"1", b""),))
    assert found.tests == {f"tests/test_{name}.py" for name in ("quoted", "started", "imported")}


@pytest.mark.parametrize(
    "text", ["a" * 300_000, "pkg." * 60_000, "@pytest.fixture\n" * 2_000, "'" + "a/" * 150_000]
)
@pytest.mark.parametrize("name", ["conftest.py", "pkg/long.py", "lib/long.rb", "src/long.ts"])
def test_long_lines_of_data_take_no_long_time(name: str, text: str) -> None:
    contents = {"pkg/a.py": b"", "tests/test_a.py": b"import pkg.a", name: text.encode()}
    assert find_reach(contents, (Change("pkg/a.py", b"1", b""),)).tests >= {"tests/test_a.py"}
