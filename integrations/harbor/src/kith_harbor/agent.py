"""The agent that Harbor installs in a task's container and runs there."""

import json
import shlex
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, override

from harbor.agents.agent_auth_resolution import ModelConnectionSpec
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.agents.options import InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.model_api_format import ModelApiFormat
from harbor.models.trajectories import Trajectory
from pydantic import Field

from kith_harbor.trajectory import convert, without_transient

_FOLDER: Final = PurePosixPath("/tmp/kith-harbor")  # in the container: configuration, cache, the task
_ENDPOINT: Final = "harbor"  # the name of the model's server in kith's configuration
_KEY: Final = "HARBOR_MODEL_KEY"  # the variable that holds its key
_EVENTS: Final = "kith.jsonl"
_MESSAGES: Final = "kith.txt"
_TRAJECTORY: Final = "trajectory.json"
# kith's exit codes after which the container is worth grading: done, failed, rejected, a limit, held back.
_GRADED: Final = "0|1|3|4|6"
_OPENAI: Final = "https://api.openai.com/v1"
_OWN: Final = {"anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}  # kith knows their servers
_PATH: Final = 'export PATH="$HOME/.local/bin:$PATH"'


class KithOptions(InstalledAgentOptions):
    """The options of the agent (`--ak NAME=VALUE`); all but `max_steps` are kith's own defaults."""

    package: str = Field(
        default="kith-agent",
        description="What to install: a package of PyPI, or the path of a wheel on this machine.",
    )
    server: Literal["openai", "llama-server", "vllm", "lmstudio", "ollama"] = Field(
        default="openai", description="The kind of the model's server; kith recognises most of them."
    )
    cloud: bool | None = Field(
        default=None,
        description="Whether the server is somebody else's. Default: its address decides.",
    )
    max_steps: int = Field(default=1000, ge=1, description="Model calls in one task.")
    window: int | None = Field(default=None, ge=256, description="Tokens that the model may hold.")
    think: bool | None = Field(default=None, description="Whether the model thinks before it replies.")
    temperature: float | None = Field(default=None, ge=0, le=5, description="The server's own by default.")
    command_timeout: int | None = Field(default=None, ge=1, description="Seconds for one command.")


class KithAgent(BaseInstalledAgent):
    """kith, working directly on the container of a task."""

    capabilities = AgentCapabilities(base_url=True, atif=True)
    options_model = KithOptions
    options: KithOptions
    MODEL_CONNECTION = ModelConnectionSpec(
        base_url_destination_names={"default": None},
        supported_api_formats=[ModelApiFormat.OPENAI_CHAT_COMPLETIONS],
    )

    @staticmethod
    @override
    def name() -> str:
        return "kith"

    @override
    def get_version_command(self) -> str | None:
        return f"{_PATH}; kith --version"

    @override
    def parse_version(self, stdout: str) -> str:
        return stdout.strip().removeprefix("kith ")

    @override
    async def install(self, environment: BaseEnvironment) -> None:
        """Install kith with uv, which brings a Python of its own."""
        await self.ensure_system_dependencies(environment, ("curl", "bash", "git"))
        wanted = await self._upload_wheel(environment)
        await self.exec_as_agent(
            environment,
            "set -e; command -v uv >/dev/null || { curl -LsSf https://astral.sh/uv/install.sh | sh; }; "
            f"{_PATH}; uv tool install --python 3.12 {shlex.quote(wanted)}; kith --version",
        )

    async def _upload_wheel(self, environment: BaseEnvironment) -> str:
        """The requirement to install; a wheel of this machine goes into the container first."""
        package = self.options.package
        if not package.endswith(".whl"):
            return f"{package}=={self._version}" if self._version else package
        wheel = Path(package).expanduser()
        if not wheel.is_file():
            raise ValueError(f"There is no wheel {package!r}; `uv build --wheel` in kith's folder makes one.")
        target = f"/installed-agent/{wheel.name}"
        await environment.upload_file(wheel, target)
        return target

    @override
    @with_prompt_template
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Give kith the task, in the folder in which the container's commands begin."""
        model, config, env = self._choose_model()
        folder = _FOLDER.as_posix()
        await self.exec_as_agent(environment, f"mkdir -p {folder}/config/kith && chmod 700 {folder}")
        for path, content in (("config/kith/config.toml", config), ("task.txt", instruction)):
            await self._upload_config_text(
                environment, content=content, remote_path=f"{folder}/{path}", filename=Path(path).name
            )
        await self.exec_as_agent(environment, self._command(model), env=env)

    def _command(self, model: str) -> str:
        """The command line; a task that begins in `/` is done in the home folder, which kith can list."""
        logs = self.environment_logs_dir
        events, messages = (shlex.quote(str(logs / name)) for name in (_EVENTS, _MESSAGES))
        words = ["kith", "run", "--in-place", "--yes", "--output-format", "stream-json", "-m", model]
        words += ["--max-steps", str(self.options.max_steps)]
        return (
            f'{_PATH}; [ "$PWD" != / ] || cd; mkdir -p {shlex.quote(str(logs))}; '
            f"{shlex.join(words)} <{_FOLDER}/task.txt >{events} 2>{messages}; code=$?; "
            f"tail -n 20 {messages}; case $code in {_GRADED}) exit 0;; esac; exit $code"
        )

    def _choose_model(self) -> tuple[str, str, dict[str, str]]:
        """The model as kith names it, kith's configuration, and the variables of its process."""
        if not self.model_name:
            raise ValueError("Name a model: -m openai/MODEL --base-url http://ADDRESS:PORT/v1.")
        provider, name = self._parse_model_name(self.model_name)
        access = self.model_connection
        env = {
            "KITH_SANDBOX": "outside",
            "XDG_CONFIG_HOME": f"{_FOLDER}/config",
            "XDG_CACHE_HOME": f"{_FOLDER}/cache",
            "XDG_STATE_HOME": str(self.environment_logs_dir),  # kith's log comes back with the others
        }
        url = access.execution_base_url or access.candidate_base_url
        if provider in _OWN and not access.user_supplied_base_url:
            return f"{provider}/{name}", self._toml({}), env | {_OWN[provider]: access.api_key or ""}
        endpoint: dict[str, Any] = {"kind": "ollama" if provider == "ollama" else self.options.server}
        endpoint["url"] = url or _OPENAI
        if access.api_key:
            endpoint["key_env"] = _KEY
            env[_KEY] = access.api_key
        if self.options.cloud is not None:
            endpoint["cloud"] = self.options.cloud
        return f"{_ENDPOINT}/{name}", self._toml(endpoint), env

    def _toml(self, endpoint: dict[str, Any]) -> str:
        """kith's configuration; a value of JSON is one of TOML, as long as it is no table."""
        chosen = self.options
        settings = {
            "window": chosen.window,
            "think": chosen.think,
            "command_timeout": chosen.command_timeout,
            "sampling.temperature": chosen.temperature,
            **{f"endpoints.{_ENDPOINT}.{key}": value for key, value in endpoint.items()},
        }
        return "".join(
            f"{key} = {json.dumps(value)}\n" for key, value in settings.items() if value is not None
        )

    @override
    def convert_trajectory(self, logs_dir: Path) -> Trajectory | None:
        made = convert(self._read(logs_dir), session=self.session_id or "", model=self.model_name or "")
        found = made.to_dict()
        return Trajectory.model_validate(found) if found else None

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        """Write the trajectory, and count tokens and cost; also of a run that Harbor stopped."""
        lines = self._read(self.logs_dir)
        made = convert(lines, session=self.session_id or "", model=self.model_name or "")
        if not lines:
            return
        total = made.total
        if total.calls:
            context.n_input_tokens = total.prompt
            context.n_output_tokens = total.completion
            context.n_cache_tokens = total.cached
            context.cost_usd = total.usd
        context.metadata = {"calls": total.calls, "failed_calls": total.failed, **_ending(made.end)}
        try:
            (self.logs_dir / _EVENTS).write_text("".join(without_transient(lines)))
            if found := made.to_dict():
                checked = Trajectory.model_validate(found).to_json_dict()
                (self.logs_dir / _TRAJECTORY).write_text(json.dumps(checked, indent=2) + "\n")
        except (OSError, ValueError):
            self.logger.exception("kith's events could not be converted to a trajectory")

    def _read(self, folder: Path) -> list[str]:
        try:
            text = (folder / _EVENTS).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        return text.splitlines(keepends=True)


def _ending(end: dict[str, Any]) -> dict[str, Any]:
    """The end of the run in kith's words; `status` is "stopped" where it had none."""
    return {"status": end.get("status", "stopped"), "text": end.get("text", "")}
