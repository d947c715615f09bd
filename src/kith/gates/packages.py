"""The packages that a project declares, and the names under which modules and tools are installed."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from kith.core.toml_text import inner_table, read_toml
from kith.gates.toolchain import Read

# The packages that a project says it needs, and the Python that it is for.

_NAMES: Final = re.compile(
    r"(?:pyproject\.toml|setup\.py|setup\.cfg|Pipfile|tox\.ini|noxfile\.py|meta\.ya?ml|environment[\w.-]*\.ya?ml"
    r"|[\w.-]*requirements[\w.-]*\.(?:txt|in)|constraints[\w.-]*\.txt)"
)
_FOLDER: Final = re.compile(r"(?:^|/)requirements/[\w.-]+\.(?:txt|in)$")
_MOST: Final = 40
_REQUIREMENT: Final = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\]\s*)?(?:[<>=!~(][^;]*)?$")
_AT_LEAST: Final = re.compile(r"(?:>=|~=|\^|==)\s*3\.(\d+)")


class Declared(Struct, frozen=True):
    """`words`: all that the manifests speak of, in lower case with `_`. `needed`: what every run of it needs.

    `least`: the 3.x from which on the project works; 0 when it does not say.
    """

    words: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()
    least: int = 0

    def names(self, module: str) -> bool:
        """True if a manifest names a module's package, as far as the names agree."""
        top = _plain(re.split(r"[.:]", module)[0])
        return any(each in self.words for each in (top, f"py{top}", f"python_{top}", f"{top}_python"))


def manifests(files: Collection[str]) -> tuple[str, ...]:
    """The files that say what a project needs, those at the top first."""
    found = [path for path in files if is_manifest(path)]
    return tuple(sorted(found, key=lambda path: (path.count("/"), path))[:_MOST])


def is_manifest(path: str) -> bool:
    return bool(_NAMES.fullmatch(path.rpartition("/")[2]) or _FOLDER.search(path))


def read_declared(files: Collection[str], read: Read) -> Declared:
    """Read the declared dependencies from the manifests of a tree."""
    texts = {path: (read(path) or b"").decode("utf-8", "replace") for path in manifests(files)}
    words = frozenset(_plain(word) for text in texts.values() for word in re.findall(r"[\w.-]+", text))
    table = read_toml(texts.get("pyproject.toml", ""))
    lines = [*_strings(inner_table(table, "project").get("dependencies"))]
    if not {"pyproject.toml", "setup.cfg", "setup.py"} & texts.keys():  # else it is for developers
        lines += texts.get("requirements.txt", "").splitlines()
    needed = frozenset(found[1] for line in lines if (found := _REQUIREMENT.match(line.partition(" #")[0])))
    asked = inner_table(table, "project").get("requires-python")
    poetry = inner_table(table, "tool", "poetry", "dependencies").get("python")
    bounds = [int(found[1]) for each in (asked, poetry) if (found := _AT_LEAST.search(str(each or "")))]
    return Declared(words, needed, max(bounds, default=0))


def _plain(name: str) -> str:
    return re.sub(r"[-.]+", "_", name).lower()


def _strings(value: object) -> Iterator[str]:
    items: Iterable[object] = value if isinstance(value, list) else ()
    yield from (each for each in items if isinstance(each, str))


_DISTRIBUTIONS: Final = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "google.protobuf": "protobuf",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "magic": "python-magic",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyOpenSSL",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "socks": "PySocks",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "win32api": "pywin32",
    "xdist": "pytest-xdist",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
_RENOWNED: Final = frozenset(
    {
        "aiohttp",
        "anyio",
        "django",
        "fastapi",
        "flask",
        "freezegun",
        "httpx",
        "hypothesis",
        "jinja2",
        "lxml",
        "matplotlib",
        "mock",
        "numpy",
        "pandas",
        "psutil",
        "pydantic",
        "pygments",
        "requests",
        "rich",
        "scipy",
        "six",
        "sqlalchemy",
        "tornado",
        "trio",
        "typing_extensions",
        "urllib3",
        "werkzeug",
    }
)


def _by_word(words: Mapping[str, str]) -> dict[str, str]:
    """For each word the package that it belongs to."""
    return {word: package for package, several in words.items() for word in several.split()}


# The plugin of pytest that knows an option.
OPTIONS: Final = _by_word(
    {
        "pytest-asyncio": "--asyncio-mode",
        "pytest-benchmark": "--benchmark-disable --benchmark-skip",
        "pytest-cov": "--cov --cov-branch --cov-config --cov-fail-under --cov-report --no-cov",
        "pytest-django": "--create-db --ds --nomigrations --reuse-db",
        "pytest-forked": "--forked",
        "pytest-html": "--html",
        "pytest-mypy": "--mypy",
        "pytest-randomly": "--randomly-seed",
        "pytest-rerunfailures": "--reruns",
        "pytest-ruff": "--ruff",
        "pytest-timeout": "--timeout --timeout-method",
        "pytest-xdist": "--dist --numprocesses -n -nauto",
        "syrupy": "--snapshot-update",
    }
)
# The plugin of pytest that has a fixture.
FIXTURES: Final = _by_word(
    {
        "aioresponses": "aioresponses",
        "anyio": "anyio_backend",
        "Faker": "faker",
        "pytest-aiohttp": "aiohttp_client",
        "pytest-asyncio": "event_loop",
        "pytest-benchmark": "benchmark",
        "pytest-celery": "celery_app",
        "pytest-datadir": "datadir shared_datadir",
        "pytest-django": "db django_user_model rf",
        "pytest-freezer": "freezer",
        "pytest-httpbin": "httpbin httpbin_secure",
        "pytest-httpserver": "httpserver",
        "pytest-httpx": "httpx_mock",
        "pytest-mock": "mocker session_mocker",
        "pytest-qt": "qtbot",
        "pytest-regressions": "data_regression file_regression image_regression num_regression",
        "pytest-socket": "socket_enabled",
        "pytest-subtests": "subtests",
        "requests-mock": "requests_mock",
        "respx": "respx_mock",
        "syrupy": "snapshot",
    }
)
# Tools that Python's package index has, too.
TOOLS: Final = {
    "black": "black",
    "cmake": "cmake",
    "ctest": "cmake",
    "coverage": "coverage",
    "flake8": "flake8",
    "hatch": "hatch",
    "isort": "isort",
    "mypy": "mypy",
    "ninja": "ninja",
    "nox": "nox",
    "pdm": "pdm",
    "pixi": "",
    "poetry": "poetry",
    "pre-commit": "pre-commit",
    "pylint": "pylint",
    "pyright": "pyright",
    "ruff": "ruff",
    "tox": "tox",
    "uv": "uv",
}
SERVICES: Final = {
    1433: "SQL Server",
    2181: "ZooKeeper",
    2379: "etcd",
    3306: "MySQL",
    4222: "NATS",
    4444: "Selenium",
    5432: "PostgreSQL",
    5433: "PostgreSQL",
    5672: "RabbitMQ",
    6379: "Redis",
    8086: "InfluxDB",
    9000: "MinIO",
    9042: "Cassandra",
    9092: "Kafka",
    9200: "Elasticsearch",
    11211: "memcached",
    27017: "MongoDB",
}


def distribution_of(module: str) -> str:
    """The name under which a module is installed: most often its own."""
    top = module.split(".")[0]
    return _DISTRIBUTIONS.get(module) or _DISTRIBUTIONS.get(top) or top.replace("_", "-")


def is_renowned(module: str) -> bool:
    """True if a module is well known, though no manifest requires it."""
    return module in _DISTRIBUTIONS or module.split(".")[0] in _RENOWNED | _DISTRIBUTIONS.keys()
