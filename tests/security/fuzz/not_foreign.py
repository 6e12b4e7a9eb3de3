"""Modules that take bytes apart which nobody else made, or which a target has read before: each with the reason."""

_OWN_FILE = "A file of ours, readable and writable by nobody else; what is broken in it is taken for missing."
_OWN_ANSWER = "An answer of our own server, over the connection that its credential opened."
_CHECKED = "A text that backends.options wrote itself when it checked the option; its target is `option`."
_ENGINE = "Runs in the engine's process: a fault ends one request of one replica, and the gateway read the body before."
NOT_FOREIGN: dict[str, str] = {
    "backends.mindie": "config.json of the model, which the worker read before: target `config`.",
    "backends.vllm_ascend": _CHECKED,
    "backends.vllm_use": _CHECKED,
    "gpustack_lite.api.identity_provider": "Answers of a named provider: tests/unit/api/test_oidc.py spoils them.",
    "gpustack_lite.audit": "Reads what it wrote in the line above.",
    "gpustack_lite.cli.access": "Credentials that `login` wrote for this user alone.",
    "gpustack_lite.cli.child": "A variable that the supervisor sets for its child.",
    "gpustack_lite.cli.ending": _OWN_FILE,
    "gpustack_lite.cli.greeting": _OWN_FILE,
    "gpustack_lite.cli.handover": "A variable that the supervisor sets for its own successor.",
    "gpustack_lite.cli.host_facts": "One line of a script of ours, run by an engine's Python; an odd one is told.",
    "gpustack_lite.cli.record": _OWN_FILE,
    "gpustack_lite.cli.refusals": "A document that the command line made.",
    "gpustack_lite.client": "Answers of the server that the person who types named; an odd one ends the command.",
    "gpustack_lite.gateway.anthropic.rewriters": "The answer of an engine as target `answer` reads it.",
    "gpustack_lite.gateway.flight": "Slots in memory that this gateway wrote before it was killed.",
    "gpustack_lite.gateway.health": _OWN_ANSWER,
    "gpustack_lite.gateway.route_copy": _OWN_FILE,
    "gpustack_lite.hub.remote_facts": _OWN_FILE,
    "gpustack_lite.recipes": "Reads what it wrote in the same line.",
    "worker.adoption": _OWN_FILE,
    "worker.downloads.manifest": _OWN_FILE,
    "worker.hub_tokens": _OWN_ANSWER,
    "worker.identity": _OWN_FILE,
    "worker.runners.confined": "An argument that the worker wrote.",
    "worker.runners.echo_server": _ENGINE,
    "worker.runners.small_server": _ENGINE,
    "worker.runners.transformers_server": "One file of the model, at the start: a fault fails that attempt.",
    "worker.runners.xllamacpp_server": "An argument that the worker wrote.",
}
