"""Starts a program in the environment that vendors' shell files make, such as CANN's set_env.sh."""

from collections.abc import Iterable

UNSET = "ASCEND_RT_VISIBLE_DEVICES NPU_VISIBLE_DEVICES NPU_DEVICE_IDS WORLD_SIZE RANK_TABLE_FILE RANKTABLEFILE"
"""Of whoever started the worker: what an engine is to see is said anew, and a filter would number the cards anew."""
WRAPPER = f"""\
gl_names=$1 gl_count=$2; shift 2; gl_files=("${{@:1:gl_count}}") gl_program=("${{@:gl_count+1}}"); set --
gl_kept=(); for gl_each in $gl_names; do gl_kept+=("$gl_each=${{!gl_each}}"); done
for gl_each in "${{gl_files[@]}}"; do if [ -r "$gl_each" ]; then . "$gl_each"; fi; done
unset {UNSET}
for gl_each in "${{gl_kept[@]}}"; do export "$gl_each"; done
exec "${{gl_program[@]}}"
"""
"""Sources the files in its own shell, then sets what was decided again, since they set some of it too. The files see no
arguments: atb's reads them; and no name of ours that theirs might take. Nothing of a user's is part of the script.
"""
CANN = ("ascend-toolkit/set_env.sh", "nnal/atb/set_env.sh")
"""Below the CANN root, in the order in which the documentation sources them."""


def sourced(program: Iterable[str], files: tuple[str, ...], kept: Iterable[str], name: str) -> tuple[str, ...]:
    """`kept` are the names of the variables that the files may not change; files that are not there are left out."""
    return ("/bin/bash", "-c", WRAPPER, name, " ".join(sorted(kept)), str(len(files)), *files, *program)
