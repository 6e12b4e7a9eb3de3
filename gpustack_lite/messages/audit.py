"""Sentences about the audit log and what is wrong with it."""

SENTENCES: dict[str, tuple[str, str]] = {
    "audit_row_changed": (
        "Row {row} does not follow from the row before it: one of the two was changed.",
        "第 {row} 行与上一行不衔接：两行之一被改动过。",
    ),
    "audit_row_missing": ("Row {row} is missing.", "缺少第 {row} 行。"),
    "audit_row_added": (
        "Row {row} does not belong there: the log has {rows} rows, and was trimmed only where it says so.",
        "第 {row} 行不应存在：日志共有 {rows} 行，且只在有记载处删减过。",
    ),
    "audit_tail_missing": (
        "The end of the log is missing: rows {row} to {rows}.",
        "日志末尾缺失：第 {row} 行到第 {rows} 行。",
    ),
    "audit_head_differs": (
        "The digest of the last row, {row}, is not the one that was kept: rows were written anew.",
        "最后一行（第 {row} 行）的摘要与所保存的不一致：有行被重写过。",
    ),
    "audit_anchor_differs": (
        "The log begins after row {row}, but no row of it says that it was trimmed there: old rows were taken away.",
        "日志从第 {row} 行之后开始，但没有任何一行记载过此处的删减：旧行被移除过。",
    ),
    "audit_noted_differs": (
        "Row {row} has another digest than the one that was noted: the log was written anew.",
        "第 {row} 行的摘要与记下的不同：日志被重写过。",
    ),
    "audit_noted_gone": (
        "Row {row} is not in the log, which begins at row {first}: it was trimmed, or the log was written anew.",
        "日志从第 {first} 行开始，其中没有第 {row} 行：已按保留期删减，或日志被重写过。",
    ),
    "audit_noted_malformed": (
        "What was noted is ROW:DIGEST, as `audit verify` prints it: a number and 64 hexadecimal digits.",
        "记下的内容应为 `audit verify` 打印的 行号:摘要，即一个数字和 64 位十六进制数。",
    ),
    "audit_absent": (
        "{path} has no audit log: name the database of a server that ran, such as its gpustack-lite.db.",
        "{path} 中没有审计日志：请指定运行过的服务器的数据库，例如其 gpustack-lite.db。",
    ),
    "audit_whole": (
        "The log is whole: {checked} rows checked, {trimmed} trimmed before them.",
        "日志完整：已检查 {checked} 行，此前按保留期删减 {trimmed} 行。",
    ),
    "audit_head_is": (
        "Head: {head} (note it elsewhere, and give it to --noted later)",
        "链首：{head}（请记在别处，日后用 --noted 核对）",
    ),
    "audit_broken": ("The log is broken. {fault}", "日志已被破坏。{fault}"),
    "column_action": ("ACTION", "操作"),
    "column_carrier": ("BY MEANS OF", "凭据"),
    "help_audit": ("The audit log: who changed what, from where.", "审计日志：谁在何处改了什么。"),
    "help_audit_list": ("The newest rows first.", "列出记录，最新的在前。"),
    "help_audit_list_examples": (
        "\b\nExamples:\n  gpustack-lite audit list --kind model --since 2026-12-01\n"
        "  gpustack-lite audit list --actor ada --action delete -o json",
        "\b\n示例：\n  gpustack-lite audit list --kind model --since 2026-12-01\n"
        "  gpustack-lite audit list --actor ada --action delete -o json",
    ),
    "help_audit_export": (
        "All rows, the oldest first, as JSON lines or CSV.",
        "按时间顺序导出全部记录（JSON 行或 CSV）。",
    ),
    "help_audit_verify": (
        "Is the chain whole? Asks the server, or reads a database by itself. Exit code 1 when it is not.",
        "检查日志链是否完整：询问服务器，或直接读取数据库。不完整时退出码为 1。",
    ),
    "help_audit_verify_examples": (
        "\b\nExamples:\n  gpustack-lite audit verify\n"
        "  gpustack-lite audit verify --database /var/lib/gpustack-lite/gpustack-lite.db",
        "\b\n示例：\n  gpustack-lite audit verify\n"
        "  gpustack-lite audit verify --database /var/lib/gpustack-lite/gpustack-lite.db",
    ),
    "help_audit_actor": ("Only what this user did.", "仅该用户的操作。"),
    "help_audit_kind": (
        "Only this kind: user, key, model, worker, secret ...",
        "仅该类别：user、key、model、worker、secret 等。",
    ),
    "help_audit_name": ("Only what happened to this name.", "仅涉及该名称的记录。"),
    "help_audit_action": (
        "Only this: create, update, delete, sign_in, rotate ...",
        "仅该操作：create、update、delete、sign_in、rotate 等。",
    ),
    "help_audit_address": ("Only from this address.", "仅来自该地址。"),
    "help_audit_since": ("Not before this time (ISO 8601).", "不早于该时间（ISO 8601）。"),
    "help_audit_until": ("Before this time (ISO 8601).", "早于该时间（ISO 8601）。"),
    "help_audit_limit": ("At most so many rows.", "最多行数。"),
    "help_audit_format": ("jsonl or csv.", "jsonl 或 csv。"),
    "help_audit_database": (
        "A database file or URL, read without a server.",
        "数据库文件或 URL，不经服务器直接读取。",
    ),
    "help_audit_noted": (
        "ROW:DIGEST that was noted earlier: must still be in the log.",
        "以前记下的 行号:摘要，必须仍在日志中。",
    ),
}
