"""Sentences that every part may say."""

SENTENCES: dict[str, tuple[str, str]] = {
    "not_found": ("There is no {noun} named {name!s}.", "没有名为 {name!s} 的{noun}。"),
    "unreachable": ("{where} did not answer: {why}.", "{where} 没有应答：{why}。"),
    "move_not_allowed": ("An instance cannot go from {current} to {target}.", "实例不能从 {current} 变为 {target}。"),
    "bad_simulate_spec": (
        "{spec} does not describe devices: write COUNTxCHIP-MEMORY, such as 8x910B3-64G, or name a YAML file.",
        "{spec} 不是有效的设备描述：请写成 数量x芯片-显存，例如 8x910B3-64G，或给出一个 YAML 文件。",
    ),
    "unknown_chip": (
        "The chip {chip} is not known: start its name with 910, 310, a CUDA card's name such as A100, or MI.",
        "不认识芯片 {chip}：名称应以 910、310、CUDA 卡名（如 A100）或 MI 开头。",
    ),
    "config_unreadable": ("The configuration file {path} cannot be read: {why}.", "无法读取配置文件 {path}：{why}。"),
    "config_unknown_key": (
        "The configuration file {path} sets {key}, which is no setting: remove it or correct its name.",
        "配置文件 {path} 中的 {key} 不是任何设置项：请删除或更正名称。",
    ),
    "bad_setting": ("The setting {name} is not valid: {why}.", "设置项 {name} 无效：{why}。"),
    "internal_error": (
        "The platform made a mistake (request {request_id}); its log has the details.",
        "平台内部出错（请求 {request_id}），详情见日志。",
    ),
    "tls_half": (
        "TLS needs both --tls-cert and --tls-key: {option} is missing.",
        "启用 TLS 需要同时给出 --tls-cert 和 --tls-key：缺少 {option}。",
    ),
    "tls_unreadable": (
        "The file {path} cannot be read ({why}): give --tls-cert and --tls-key files that this user may read.",
        "无法读取文件 {path}（{why}）：请用 --tls-cert 和 --tls-key 给出当前用户可读的文件。",
    ),
    "tls_unfit": (
        "The certificate {certificate} and the key {key} cannot be used together ({why}): give a PEM certificate with "
        "its chain and the private key that belongs to it, without a passphrase.",
        "证书 {certificate} 与私钥 {key} 无法一起使用（{why}）："
        "请给出带证书链的 PEM 证书，以及与之配对、不带口令的私钥。",
    ),
}
