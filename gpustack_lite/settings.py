"""Every setting with its default; order: command line > environment (GPUSTACK_LITE_*) > --config FILE > default."""

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

import platformdirs
import yaml
from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from gpustack_lite import yaml_text
from gpustack_lite.errors import Refusal


def default_data_dir() -> Path:
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/gpustack-lite")
    return Path(platformdirs.user_data_dir("gpustack-lite", appauthor=False))


Origin = Annotated[str, Field(pattern=r"^(\*|null|[A-Za-z][A-Za-z0-9+.-]*://[^/\s]+)$")]
"""As browsers send it: scheme, host and port without a path; "*" is every origin."""


class Settings(BaseSettings):
    """Times are seconds, sizes bytes."""

    model_config = SettingsConfigDict(env_prefix="GPUSTACK_LITE_", extra="ignore", frozen=True)
    file_values: ClassVar[Mapping[str, Any]] = {}

    data_dir: Path = Field(default_factory=default_data_dir)
    host: str = "127.0.0.1"
    port: int = Field(9090, ge=0, le=65535)
    no_worker: bool = False
    gateways: int = Field(1, ge=1, le=64)
    database_url: str | None = None
    simulate: str | None = None
    name: str | None = None
    labels: str = ""
    log_level: str = "info"
    lang: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    base_path: str = Field("", pattern=r"^(/[A-Za-z0-9._~-]+)*$")
    """Where a reverse proxy shows the platform, such as /ai: the console's cookie is sent there alone."""

    # server
    grace_seconds: float = 60.0
    drain_seconds: float = 300.0
    lease_seconds: float = 10.0
    session_hours: float = 24.0
    session_longest_hours: float = 720.0
    """A session ends `session_hours` after its last use, and this long after its sign-in whatever happens."""
    event_retention: int = 100_000
    change_retention: int = 20_000
    request_retention_days: float = 30.0
    audit_retention_days: float = Field(400.0, ge=1)
    file_retention_days: float = 30.0
    user_files_bytes: int = 8 * 1024**3
    secret_key: SecretStr | None = None
    """What secrets are sealed with: 32 bytes in base64, or several of them with commas, of which the first seals.

    Best from the environment or a file of its own; without either, the server makes one and keeps it in the data dir.
    """
    secret_key_file: Path | None = None
    # signing in through an identity provider (docs/oidc.md)
    oidc_issuer: str | None = None
    """As the provider writes it: https, or http on loopback."""
    oidc_client_id: str | None = Field(None, validate_default=True)
    oidc_client_secret: SecretStr | None = None
    """Where it is not set by `secrets set oidc_client_secret`; best from the environment."""
    oidc_scopes: tuple[str, ...] = ()
    """Asked for beside openid, profile and email."""
    oidc_name_claim: str = "preferred_username"
    oidc_groups_claim: str = "groups"
    oidc_groups: dict[str, str] = Field(default_factory=dict)
    """The provider's group -> the group here whose members its members are."""
    oidc_roles: dict[str, Literal["admin", "user", "viewer"]] = Field(default_factory=dict)
    """The provider's group -> the role that it gives; of several the highest."""
    oidc_default_role: Literal["none", "viewer", "user"] = "user"
    """Of whom no group gives a role; none: they stay out."""
    local_login: bool = True
    """Whether names and passwords of accounts here are taken."""
    # gateway
    request_body_bytes: int = 32 * 1024**2
    first_byte_seconds: float = 600.0
    idle_seconds: float = 300.0
    connect_seconds: float = 5.0
    stale_keys_max_seconds: float = 12 * 3600.0
    upload_bytes: int = 512 * 1024**2
    queue_length: int = Field(256, ge=0)
    """Requests that may wait for a replica, per model and gateway."""
    queue_seconds: float = Field(60.0, gt=0)
    """For how long one may wait."""
    in_flight_per_replica: int = Field(1024, ge=1)
    """Requests that a replica is given at once, where nobody knows how many it works on."""
    held_while_waking: int = Field(200, ge=0)
    """Requests that may wait for a model that is being woken, per model and gateway."""
    probe_seconds: float = Field(30.0, gt=0)
    probe_deadline_seconds: float = Field(30.0, gt=0)
    reasoning: Literal["reasoning_content", "reasoning", "both"] = "reasoning_content"
    media_hosts: tuple[str, ...] = ()
    """Hosts (host, host:port or scheme://host:port) that engines may fetch pictures, sounds and videos from."""
    cors_origins: tuple[Origin, ...] = ()
    tls_port: int | None = Field(None, ge=0, le=65535)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    # hubs: of the worker, and of `evaluate --simulate`
    hubs: tuple[Literal["huggingface", "modelscope"], ...] = ("huggingface", "modelscope")
    """Whose repositories may be a model's source; where they are: HF_ENDPOINT and MODELSCOPE_ENDPOINT."""
    url_hosts: tuple[str, ...] = ()
    """Hosts (host, host:port or scheme://host:port) that a GGUF may be fetched from by its URL, and redirected to."""
    proxy_trusted: bool = False
    """The proxy of HTTPS_PROXY refuses private addresses itself: then names need not resolve here."""
    offline: bool = False
    """Ask no hub; also HF_HUB_OFFLINE=1."""
    # worker
    heartbeat_seconds: float = 10.0
    device_tool_seconds: float = Field(20.0, gt=0, le=600)
    """How long one run of a program such as npu-smi may take before it is ended."""
    engine_ports: str = "21000-21999"
    model_roots: tuple[Path, ...] = ()
    files_dir: Path | None = None
    """Where model files from hubs are kept; without it HF_HUB_CACHE or HF_HOME/hub, else models/ in the data dir."""
    disk_reserve_bytes: int = Field(1024**3, ge=0)
    """What a download leaves free on its disk."""
    engine_user: str | None = None
    """The account that engines run as where the worker is root; without it they run as the worker does."""
    engine_ram_bytes: int | None = Field(None, ge=64 * 1024**2)
    """The most RAM that all processes of one engine may hold together; needs a control group (cgroup v2)."""
    engine_processes: int | None = Field(None, ge=16)
    """The most processes and threads of one engine."""
    engine_file_bytes: int | None = Field(None, ge=1024**2)
    """The largest file that an engine may write."""
    engine_wheels: Path | None = None
    """A directory of wheels: engines are installed from it alone, and no index is asked."""
    container_cli: str | None = None
    """docker or podman, by name or path; without it the first that is on PATH."""
    container_shm_bytes: int = Field(16 * 1024**3, ge=64 * 1024**2)
    """The most that an engine in a container may put into its /dev/shm."""
    ascend_root: Path = Path("/usr/local/Ascend")
    """Where CANN lies, and MindIE below it."""
    ram_reserve_bytes: int = 512 * 1024**2
    device_reserve_bytes: int | None = Field(None, ge=0)
    restart_backoff_seconds: float = 5.0
    restart_limit: int = 5
    stop_grace_seconds: float = 10.0
    log_file_bytes: int = 32 * 1024**2
    log_files_kept: int = 3
    attempts_kept: int = 10

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        """One with bits set behind its mask is refused: the wider network is not what its writer meant."""
        for each in given:
            ipaddress.ip_network(each)
        return given

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer(cls, given: str | None) -> str | None:
        parts = urlsplit(given or "")
        is_loopback = parts.hostname in {"localhost", "127.0.0.1", "::1"}
        is_plain = not (parts.username or parts.query or parts.fragment) and bool(parts.hostname)
        if given is not None and not (
            is_plain and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback))
        ):
            raise ValueError("write https://HOST/PATH as the provider itself writes it; http only on loopback")
        return given

    @field_validator("oidc_client_id")
    @classmethod
    def _client_with_issuer(cls, given: str | None, info: ValidationInfo) -> str | None:
        if given is None and info.data.get("oidc_issuer") is not None:
            raise ValueError("oidc_issuer is set, so write under which id the provider knows this platform")
        return given

    @field_validator("local_login")
    @classmethod
    def _another_way_in(cls, given: bool, info: ValidationInfo) -> bool:
        if not given and info.data.get("oidc_issuer") is None:
            raise ValueError("without oidc_issuer nobody could sign in")
        return given

    @field_validator("tls_cert", "tls_key", "secret_key_file")
    @classmethod
    def _from_anywhere(cls, path: Path | None) -> Path | None:
        """A child runs in another directory than the person who named the file."""
        return None if path is None else path.absolute()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, InitSettingsSource(settings_cls, dict(cls.file_values))


def load(config: Path | None = None, **given: Any) -> Settings:
    """Settings from the command line (`given`, None meaning not given), the environment and the file.

    Raises:
        Refusal: `config_unreadable`, `config_unknown_key` or `bad_setting`.
    """
    values = {} if config is None else _read_file(config)
    sources = type("Settings", (Settings,), {"file_values": values, "__module__": __name__})
    try:
        return sources(**{key: value for key, value in given.items() if value is not None})  # type: ignore[no-any-return]
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise Refusal("bad_setting", name=name, why=first["msg"]) from error


def _read_file(path: Path) -> dict[str, Any]:
    try:
        content = yaml_text.parsed(path.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Refusal("config_unreadable", path=str(path), why=str(error).splitlines()[0]) from error
    if not isinstance(content, dict):
        raise Refusal("config_unreadable", path=str(path), why="it is not a mapping")
    values = {str(key).replace("-", "_"): value for key, value in content.items()}
    unknown = sorted(set(values) - set(Settings.model_fields))
    if unknown:
        raise Refusal("config_unknown_key", path=str(path), key=unknown[0])
    return values
