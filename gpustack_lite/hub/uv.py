"""How uv is called: with the index, certificates and proxies that a user gave to uv or, failing that, to pip."""

import configparser
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from gpustack_lite.errors import Refusal

_PIP_TO_UV = (
    ("index-url", "UV_DEFAULT_INDEX"),
    ("extra-index-url", "UV_INDEX"),
    ("find-links", "UV_FIND_LINKS"),
    ("trusted-host", "UV_INSECURE_HOST"),
    ("constraint", "UV_CONSTRAINT"),
    ("cert", "SSL_CERT_FILE"),
    ("proxy", "ALL_PROXY"),
    ("timeout", "UV_HTTP_TIMEOUT"),
    ("default-timeout", "UV_HTTP_TIMEOUT"),
)
"""pip's setting -> uv's variable (uv reads neither PIP_* nor pip.conf: docs.astral.sh/uv/pip/compatibility)."""

_OLD_SPELLINGS = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}
_COMMA_SEPARATED = frozenset({"UV_FIND_LINKS"})
_MISLEADING = frozenset({"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "UV_PYTHON", "UV_SYSTEM_PYTHON"})


def find_uv() -> str:
    """Raises:
    Refusal: `uv_missing`.
    """
    try:
        import uv

        return str(uv.find_uv_bin())
    except (ImportError, FileNotFoundError) as error:
        if found := shutil.which("uv"):
            return found
        raise Refusal("uv_missing", status=500) from error


def environment(environ: Mapping[str, str], pip: Mapping[str, str]) -> dict[str, str]:
    """The variables for a call of uv. `pip` is what `pip_settings` read; what was said to uv itself wins."""
    made = {name: value for name, value in environ.items() if name not in _MISLEADING}
    for setting, variable in _PIP_TO_UV:
        said = environ.get(f"PIP_{setting.upper().replace('-', '_')}") or pip.get(setting)
        if said and not _is_set(made, variable):
            made[variable] = _joined(variable, said)
    if "UV_INDEX" in made:
        made.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")  # as pip chooses: the best over all indexes
    if not _can_cache(environ):
        made.setdefault("UV_NO_CACHE", "1")  # a temporary one: uv refuses to work without any
    return made | {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}


def is_offline_wanted(environ: Mapping[str, str], pip: Mapping[str, str]) -> bool:
    """pip's --no-index, for which uv has a flag but no variable."""
    said = environ.get("PIP_NO_INDEX") or pip.get("no-index") or ""
    return said.strip().lower() in {"1", "true", "yes", "on"}


def pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The [global] and [install] sections of pip's configuration files, the later file winning (pip's own order)."""
    if environ.get("PIP_CONFIG_FILE") == os.devnull:
        return {}
    parser = configparser.RawConfigParser()
    for path in _pip_files(environ):
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue  # pip complains about it better than we could
    found: dict[str, str] = {}
    for section in ("global", "install"):
        if parser.has_section(section):
            found.update({key.replace("_", "-"): value for key, value in parser.items(section)})
    return found


def _pip_files(environ: Mapping[str, str]) -> list[Path]:
    home = Path(environ.get("HOME") or "/nonexistent")
    system = [Path(each) / "pip" / "pip.conf" for each in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if each]
    user = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    given = [Path(environ["PIP_CONFIG_FILE"])] if environ.get("PIP_CONFIG_FILE") else []
    return [*system, Path("/etc/pip.conf"), home / ".pip" / "pip.conf", user, *given]


def _can_cache(environ: Mapping[str, str]) -> bool:
    """Services often run with a home directory that is missing or may only be read."""
    home = environ.get("HOME")
    folder = environ.get("UV_CACHE_DIR") or environ.get("XDG_CACHE_HOME") or (home and f"{home}/.cache")
    if not folder:
        return True  # uv asks the user database
    wanted = Path(folder).absolute()
    return os.access(next(each for each in (wanted, *wanted.parents) if each.exists()), os.W_OK)


def _is_set(environ: Mapping[str, str], variable: str) -> bool:
    return bool(environ.get(variable) or environ.get(_OLD_SPELLINGS.get(variable, "")))


def _joined(variable: str, said: str) -> str:
    return ("," if variable in _COMMA_SEPARATED else " ").join(said.split())
