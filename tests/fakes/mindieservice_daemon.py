"""A program that plays MindIE's daemon; `install` puts it into a tree as the real one lies below the CANN root.

It reads its config.json by its own rules, which were written from MindIE-LLM's sources (src/config_manager, src/server)
and documentation and not from ours, refuses what those refuse, in their words, has the three doors, and leaves shared
memory behind. Standard library only. Nothing in it computes anything.
"""

import fcntl
import ipaddress
import json
import os
import re
import signal
import stat
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# --- for tests: an installation, and what may be told to the daemons that run from it


def install(root: Path, *, chip: str = "910B3", chips: int = 8, version: str = "2.1.RC1") -> Path:
    """The CANN root with MindIE below it; the answer is the file by which tests tell the daemons how they are."""
    service = root / "mindie" / version / "mindie-service"
    for name in ("bin", "conf", "lib"):
        (service / name).mkdir(parents=True)
    state = root / "state.json"
    tell(state, chip=chip, chips=chips, busy=False, abnormal=False)
    program = service / "bin" / "mindieservice_daemon"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{Path(__file__).resolve()}' '{state}'\n")
    program.chmod(0o550)
    (service / "conf" / "config.json").write_text(json.dumps(SHIPPED))
    (service / "conf" / "config.json").chmod(0o640)
    (root / "mindie" / "latest").symlink_to(version)
    _set_env(root, "ascend-toolkit", "ASCEND_TOOLKIT_HOME", 'export ASCEND_RT_VISIBLE_DEVICES=""\n')
    _set_env(
        root, "nnal/atb", "ATB_HOME_PATH", 'for each in "$@"; do echo "atb: unknown argument $each"; exit 1; done\n'
    )
    _set_env(root, "atb-models", "ATB_SPEED_HOME_PATH", "export OMP_NUM_THREADS=7\nprogram=/bin/false kept=() file=x\n")
    _set_env(root, "mindie", "MIES_HOME", "export MIES_INSTALL_PATH=/somewhere/else\n")
    return state


def _set_env(root: Path, name: str, variable: str, more: str) -> None:
    (root / name).mkdir(parents=True, exist_ok=True)
    (root / name / "set_env.sh").write_text(f"export {variable}={root / name}\n{more}")


def tell(state: Path, **words: object) -> None:
    """Change how the daemons are: `busy`, `abnormal`."""
    now = json.loads(state.read_text()) if state.exists() else {}
    beside = state.with_suffix(".new")
    beside.write_text(json.dumps({**now, **words}))
    beside.replace(state)


def traces(state: Path) -> set[str]:
    """What daemons of this installation made in /dev/shm and what lies there still."""
    made = state.with_suffix(".traces")
    names = made.read_text().split() if made.exists() else []
    return {name for name in names if (SHM / name).exists()}


def asked(state: Path, end: str) -> list[str]:
    """The paths, ending so, that daemons of this installation were asked for by GET at any of their doors."""
    log = state.with_suffix(".asked")
    paths = log.read_text().splitlines() if log.exists() else []
    return [path for path in paths if path.endswith(end)]


SHM = Path("/dev/shm")
SHIPPED = {
    "Version": "1.0.0",
    "LogConfig": {"dynamicLogLevel": "", "dynamicLogLevelValidHours": 2, "dynamicLogLevelValidTime": ""},
    "ServerConfig": {
        "ipAddress": "127.0.0.1",
        "managementIpAddress": "127.0.0.2",
        "port": 1025,
        "managementPort": 1026,
        "metricsPort": 1027,
        "allowAllZeroIpListening": False,
        "maxLinkNum": 1000,
        "httpsEnabled": True,
        "fullTextEnabled": False,
        "tlsCaPath": "security/ca/",
        "tlsCaFile": ["ca.pem"],
        "tlsCert": "security/certs/server.pem",
        "inferMode": "standard",
        "interCommTLSEnabled": True,
        "interCommPort": 1121,
        "openAiSupport": "vllm",
        "tokenTimeout": 600,
        "e2eTimeout": 600,
        "distDPServerEnabled": False,
        "ofThisVersionOnly": "kept",
    },
    "BackendConfig": {
        "backendName": "mindieservice_llm_engine",
        "modelInstanceNumber": 1,
        "npuDeviceIds": [[0, 1, 2, 3]],
        "tokenizerProcessNumber": 8,
        "multiNodesInferEnabled": False,
        "multiNodesInferPort": 1120,
        "interNodeTLSEnabled": True,
        "ModelDeployConfig": {
            "maxSeqLen": 2560,
            "maxInputTokenLen": 2048,
            "truncation": False,
            "ModelConfig": [
                {
                    "modelInstanceType": "Standard",
                    "modelName": "llama_65b",
                    "modelWeightPath": "/data/atb_testdata/weights/llama1-65b-safetensors",
                    "worldSize": 4,
                    "cpuMemSize": 5,
                    "npuMemSize": -1,
                    "backendType": "atb",
                    "trustRemoteCode": False,
                    "dp": -1,
                }
            ],
        },
        "ScheduleConfig": {
            "templateType": "Standard",
            "templateName": "Standard_LLM",
            "cacheBlockSize": 128,
            "maxPrefillBatchSize": 50,
            "maxPrefillTokens": 8192,
            "prefillTimeMsPerReq": 150,
            "prefillPolicyType": 0,
            "decodeTimeMsPerReq": 50,
            "decodePolicyType": 0,
            "maxBatchSize": 200,
            "maxIterTimes": 512,
            "maxPreemptCount": 0,
            "supportSelectBatch": False,
            "maxQueueDelayMicroseconds": 5000,
        },
    },
}

# --- the program

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,254}[A-Za-z0-9])?")
COMPULSORY = {
    "ServerConfig": {
        **{"ipAddress": str, "inferMode": str, "allowAllZeroIpListening": bool, "httpsEnabled": bool},
        **{"port": int, "metricsPort": int, "maxLinkNum": int, "tokenTimeout": int, "e2eTimeout": int},
        "distDPServerEnabled": bool,
    },
    "ScheduleConfig": {
        **{"templateName": str, "templateType": str, "supportSelectBatch": bool},
        **dict.fromkeys(
            ["cacheBlockSize", "decodePolicyType", "decodeTimeMsPerReq", "maxBatchSize", "maxPreemptCount"], int
        ),
        **dict.fromkeys(["maxPrefillTokens", "maxIterTimes", "maxPrefillBatchSize", "maxQueueDelayMicroseconds"], int),
        **dict.fromkeys(["prefillPolicyType", "prefillTimeMsPerReq"], int),
    },
    "ModelDeployConfig": {"maxSeqLen": int, "maxInputTokenLen": int},
    "ModelConfig": {
        **{"cpuMemSize": int, "npuMemSize": int, "worldSize": int, "trustRemoteCode": bool},
        **{"modelWeightPath": str, "modelName": str, "backendType": str},
    },
}
OPTIONAL = {
    "managementPort": int,
    "maxRequestLength": int,
    "truncation": bool,
    "tp": int,
    "dp": int,
    "plugin_params": str,
}
RANGES = {
    "maxLinkNum": (1, 4096),
    "tokenTimeout": (1, 3600),
    "e2eTimeout": (1, 65535),
    "maxRequestLength": (1, 100),
    "cacheBlockSize": (1, 128),
    "decodeTimeMsPerReq": (0, 1000),
    "prefillTimeMsPerReq": (0, 1000),
    "maxBatchSize": (1, 819200),
    "maxPrefillTokens": (1, 4194304),
    "maxInputTokenLen": (1, 4194304),
    "maxQueueDelayMicroseconds": (500, 1000000),
    "maxFirstTokenWaitTime": (0, 3600000),
    "maxN": (1, 8192),
    "maxNumThings": (0, 9),
    "tokenizerProcessNumber": (1, 32),
    **dict.fromkeys(["port", "managementPort", "metricsPort", "interCommPort", "multiNodesInferPort"], (1024, 65535)),
}


class Refused(Exception):
    pass


def say(level: str, where: str, text: str) -> None:
    print(
        f"[2026-01-01 00:00:00.000+00:00] [{os.getpid()}] [{os.getpid()}] [server] [{level}] [{where}] : {text}",
        flush=True,
    )


class Config:
    """The file by the engine's own rules, and the parts of it that are used."""

    def __init__(self) -> None:
        home = Path(os.environ.get("MIES_INSTALL_PATH", "/nonexistent"))
        self.path = Path(os.environ.get("MIES_CONFIG_JSON_PATH", home / "conf" / "config.json"))
        document = self._read()
        self.server = document["ServerConfig"]
        self.backend = document["BackendConfig"]
        self.deploy = self.backend["ModelDeployConfig"]
        self.schedule = self.backend["ScheduleConfig"]
        models = self.deploy["ModelConfig"]
        if len(models) != 1:
            raise Refused("There should be one modelParam for Standard templateType.")
        self.model = models[0]

    def _read(self) -> dict:
        check_file(self.path, 0o640)
        if self.path.stat().st_size > 10 * 1024**2:
            raise Refused("The size of config.json is larger than 10MB.")
        return json.loads(self.path.read_text())

    def check(self, chip: str) -> None:
        for name, section in (
            ("ServerConfig", self.server),
            ("ModelDeployConfig", self.deploy),
            ("ModelConfig", self.model),
            ("ScheduleConfig", self.schedule),
        ):
            check_types(section, COMPULSORY[name])
        for section in (self.server, self.backend, self.deploy, self.schedule):
            check_ranges(section)
        self._check_ports()
        self._check_schedule(chip)
        self._check_ranks()
        self._check_plugins()
        if NAME.fullmatch(self.model["modelName"]) is None:
            raise Refused("modelConfig.modelName is invalid: only letters, digits, '.', '_' and '-' are allowed.")

    def _check_ports(self) -> None:
        server = self.server
        service, metrics = server["port"], server["metricsPort"]
        management = server.get("managementPort", service)
        if service == metrics != management:
            raise Refused("serverConfig.metricsPort should not be the same as port.")
        if (
            service == management == metrics
            and server.get("managementIpAddress", server["ipAddress"]) != server["ipAddress"]
        ):
            raise Refused("serverConfig.managementIpAddress should be the same as ipAddress.")
        if ipaddress.ip_address(server["ipAddress"]).is_unspecified and not server["allowAllZeroIpListening"]:
            raise Refused("serverConfig.ipAddress: all zero listening is not allowed.")
        if (
            server["httpsEnabled"]
            or server.get("interCommTLSEnabled", True)
            or self.backend.get("interNodeTLSEnabled", True)
        ):
            raise Refused("tlsCert path is not a file: security/certs/server.pem")

    def _check_schedule(self, chip: str) -> None:
        schedule, deploy = self.schedule, self.deploy
        if schedule["cacheBlockSize"] % 16:
            raise Refused("scheduleParam.cacheBlockSize should be a multiple of 16.")
        for small, large in (("maxPreemptCount", "maxBatchSize"), ("maxPrefillBatchSize", "maxBatchSize")):
            if schedule[small] > schedule[large]:
                raise Refused(f"The {small} cannot be set greater than {large}, please set '{small}' in config.json.")
        if not 1 <= schedule["maxIterTimes"] <= deploy["maxSeqLen"]:
            raise Refused(f"scheduleParam.maxIterTimes is not in [1, {deploy['maxSeqLen']}].")
        if schedule["maxPrefillTokens"] < deploy["maxInputTokenLen"]:
            raise Refused(
                "The maxInputTokenLen cannot be set greater than maxPrefillTokens, please set it in config.json."
            )
        if schedule["maxPreemptCount"] and not self.model["cpuMemSize"]:
            raise Refused("modelParam.cpuMemSize should not be 0 while maxPreemptCount is not.")
        if chip.startswith("310P") and schedule["maxBatchSize"] > 2000:
            raise Refused("scheduleParam.maxBatchSize is not in [1, 2000].")

    def _check_ranks(self) -> None:
        model, world = self.model, self.model["worldSize"]
        for name in ("dp", "sp", "cp"):
            if model.get(name, 1) <= 0:
                raise Refused(f"{name} cannot be smaller than 1.")
        if model.get("dp", 1) * model.get("cp", 1) * model.get("tp", world) != world:
            raise Refused("modelParam.worldSize should be dp * cp * tp.")
        ids = self.backend["npuDeviceIds"]
        if len(ids) != self.backend["modelInstanceNumber"] or any(len(each) != world for each in ids):
            raise Refused("The size of npuDeviceIds should be worldSize.")

    def _check_plugins(self) -> None:
        if text := self.model.get("plugin_params"):
            named = set(json.loads(text)["plugin_type"].split(","))
            if {"mtp", "splitfuse"} <= named or ({"splitfuse", "prefix_cache"} & named and self.model.get("dp", 1) > 1):
                raise Refused("modelParam.plugin_params: these plugins exclude each other.")


def check_types(section: dict, wanted: dict) -> None:
    for name in wanted:
        if name not in section:
            raise Refused(f"missing compulsory field: {name}")
    for name, kind in {**OPTIONAL, **wanted}.items():
        if name in section and type(section[name]) is not kind:
            spelled = {int: "uint32_t", bool: "bool", str: "string"}[kind]
            raise Refused(f"The type of param {name} should be {spelled}, but got {type(section[name]).__name__}")


def check_ranges(section: dict) -> None:
    for name, (low, high) in RANGES.items():
        if name in section and not low <= section[name] <= high:
            raise Refused(f"serverConfig.{name} [{section[name]}] is not in [{low}, {high}].")


def check_file(path: Path, most: int) -> None:
    said = path.lstat()
    if stat.S_ISLNK(said.st_mode):
        raise Refused(f"check path: {path.name} failed, by: it is a symlink")
    if said.st_uid != os.geteuid():
        raise Refused(f"check path: {path.name} failed, by: check owner failed")
    if (mode := stat.S_IMODE(said.st_mode)) & ~most:
        raise Refused(f"check path: {path.name} failed, by: Check Other group permission failed: {mode:o} but {most:o}")


def check_weights(folder: Path, chip: str) -> None:
    check_file(folder, 0o750)
    check_file(folder / "config.json", 0o750)
    for each in folder.glob("*.json"):  # its own reader of files takes no link; that of weights does
        check_file(each, 0o750)
    document = json.loads((folder / "config.json").read_text())
    for name in ("torch_dtype", "vocab_size"):
        if name not in document:
            raise Refused(f"missing compulsory field: {name}")
    if chip.startswith("310P") and document["torch_dtype"] == "bfloat16":
        raise Refused(
            "NotImplementedError: This device does not support bfloat16.Please change the data type(i.e. `torch_dtype`)"
            " to float16 in config.json from model weights."
        )


def take_cards(ids: list[int], state: Path, chips: int) -> list[object]:
    """One davinci node belongs to one engine; a filter renumbers what is left."""
    shown = os.environ.get("ASCEND_RT_VISIBLE_DEVICES")
    visible = list(range(chips)) if not shown else [int(each) for each in shown.split(",")]
    held = []
    for each in ids:
        if each >= len(visible):
            raise Refused(f"Set device failed: input data rang[0-{len(visible)}), but got {each}")
        held.append((state.parent / f"card-{visible[each]}.lock").open("w"))
        try:
            fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused("dcmi model initialized failed, because the device is used. ret is -8020") from None
    return held


def make_shared_memory(count: int, state: Path) -> list[object]:
    """Named for the daemon, as its tokenizer pool does, and one that nothing is named for; it leaves them behind."""
    letters = os.urandom(8).hex().translate(str.maketrans("0123456789", "ghijklmnop"))
    names = [f"llm_tokenizer_shared_memory_{os.getpid()}_{each}" for each in range(count)]
    names.append(f"mindie_llm_backend_{letters}")
    with state.with_suffix(".traces").open("a") as file:
        file.write("\n".join(["", *names]))
    try:
        return [os.fdopen(os.open(SHM / name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "wb") for name in names]
    except FileExistsError:
        raise Refused("Failed to open shared memory 17") from None


class Door(BaseHTTPRequestHandler):
    """One of the three; `doors` says for each port what lies behind it."""

    protocol_version = "HTTP/1.1"
    config: Config
    state: Path
    doors: dict
    served = 0

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        behind = self.doors[self.server.server_port]
        path = self.path.partition("?")[0]
        with self.state.with_suffix(".asked").open("a") as file:
            file.write(f"{path}\n")
        if "management" in behind and path in {"/v2/health/live", "/v2/health/ready", "/health"}:
            return self._health(path)
        if "management" in behind and path == "/stopService":
            self._answer(200, b"")
            return os.kill(os.getpid(), signal.SIGTERM)
        if "metrics" in behind and path == "/metrics" and os.environ.get("MIES_SERVICE_MONITOR_MODE") == "1":
            label = f'{{model_name="{self.config.model["modelName"]}"}}'
            return self._answer(200, f"request_received_total{label} {Door.served}\n".encode(), "text/plain")
        if "service" in behind and path == "/v1/models":
            listed = {"object": "list", "data": [{"id": self.config.model["modelName"], "object": "model"}]}
            return self._answer(200, json.dumps(listed).encode())
        return self._answer(404, b"")

    def _health(self, path: str) -> None:
        now = json.loads(self.state.read_text())
        if now["abnormal"]:
            return self._answer(500, b'{"message":"Service is abnormal"}')
        if now["busy"] and path != "/health":
            is_live = path.endswith("live")
            return self._answer(200 if is_live else 503, b'{"message":"Service is alive but busy"}' if is_live else b"")
        return self._answer(200, b"")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path, name = self.path.partition("?")[0], self.config.model["modelName"]
        if "service" not in self.doors[self.server.server_port] or path != "/v1/chat/completions":
            return self._answer(404, b"")
        if request.get("model") != name:
            said = {"object": "error", "message": f"The model `{request.get('model')}` does not exist.", "code": 404}
            return self._answer(404, json.dumps(said).encode())
        Door.served += 1
        return self._stream(name) if request.get("stream") else self._whole(name)

    def _whole(self, name: str) -> None:
        message = {"role": "assistant", "content": f"said by MindIE on {self.config.backend['npuDeviceIds'][0]}"}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
        said = {"id": "endpoint_common_1", "object": "chat.completion", "created": 1, "model": name}
        self._answer(200, json.dumps({**said, "choices": choices, "usage": usage}).encode())

    def _stream(self, name: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for word in ("said ", "by ", "MindIE", None):
            choice = {"index": 0, "delta": {"content": word} if word else {}, "finish_reason": None if word else "stop"}
            said = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": name, "choices": [choice]}
            self._chunk(f"data: {json.dumps(said)}\n\n".encode())
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def listen(config: Config) -> list[ThreadingHTTPServer]:
    server = config.server
    service, metrics = server["port"], server["metricsPort"]
    management = server.get("managementPort", service)
    manager = server.get("managementIpAddress", server["ipAddress"])
    doors: dict[int, set[str]] = {}
    for port, what in ((service, "service"), (management, "management"), (metrics, "metrics")):
        doors.setdefault(port, set()).add(what)
    Door.doors, Door.config = doors, config
    made = []
    for port, behind in doors.items():
        address = server["ipAddress"] if "service" in behind else manager
        try:
            made.append(Listening((address, port), Door))
        except OSError:
            why = f"Failed to listen {address}:{port}, please check if business ip and port are legal."
            say("ERROR", "http_server.cpp:163", f"[MIE04E02041C] [endpoint] {why}")
            raise Refused("[MIE04E02011C] [endpoint] Failed to start http wrapper") from None
    return made


class Listening(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = False


def backend_process() -> int:
    """mindie_llm_backend_connector: a child that would outlive its parent."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pause()
        os._exit(0)
    return pid


def main(state: Path) -> int:
    machine = json.loads(state.read_text())
    if "ASCEND_TOOLKIT_HOME" not in os.environ or "ATB_HOME_PATH" not in os.environ:
        print("error while loading shared libraries: libatb.so: cannot open shared object file: No such file")
        return 127
    if os.environ.get("OMP_NUM_THREADS") != "1":
        print("pthread_create failed")
        return 1
    ended = threading.Event()
    try:
        config = Config()
        config.check(machine["chip"])
        check_weights(Path(config.model["modelWeightPath"]), machine["chip"])
        held = take_cards(config.backend["npuDeviceIds"][0], state, machine["chips"])
        memory = make_shared_memory(config.backend["tokenizerProcessNumber"], state)
        Door.state = state
        servers = listen(config)
    except Refused as refused:
        say("ERROR", "endpoint.cpp:99", str(refused))
        print(f"[{os.getpid()}] [localhost] [system] [server] [Start mindie server] [fail]", flush=True)
        return 1
    child = backend_process()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: ended.set())
    for each in servers:
        threading.Thread(target=each.serve_forever, daemon=True).start()
    print("Daemon start success!", flush=True)
    while not ended.wait(0.1):
        pass
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
    for each in (*memory, *held):
        each.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
