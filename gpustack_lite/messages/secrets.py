"""Sentences about secrets that are kept sealed, and the key they are sealed with."""

SENTENCES: dict[str, tuple[str, str]] = {
    "secret_key_missing": (
        "The key that secrets are sealed with is missing: put the file secret_key back into the data directory, or set "
        "GPUSTACK_LITE_SECRET_KEY; what is sealed is not lost.",
        "缺少用于加密机密的密钥：请将 secret_key 文件放回数据目录，或设置 GPUSTACK_LITE_SECRET_KEY；"
        "已加密的内容不会丢失。",
    ),
    "secret_key_wrong": (
        "The secret {name} is sealed with another key ({key_id}): give that key to the server as well (the file "
        "secret_key, or GPUSTACK_LITE_SECRET_KEY), or set the secret anew; nothing is lost.",
        "机密 {name} 由另一把密钥（{key_id}）加密：请把那把密钥也提供给服务器（secret_key 文件或 "
        "GPUSTACK_LITE_SECRET_KEY），或重新设置该机密；内容不会丢失。",
    ),
    "secret_key_malformed": (
        "The secret key in {where} is none: write 32 bytes in base64, as `openssl rand -base64 32` prints them.",
        "{where} 中的密钥无效：应为 base64 编码的 32 字节，例如 `openssl rand -base64 32` 的输出。",
    ),
    "secret_key_unreadable": (
        "The secret key file {path} cannot be read ({why}): name a file that the server's user may read.",
        "无法读取密钥文件 {path}（{why}）：请指定服务器用户可读的文件。",
    ),
    "secret_damaged": (
        "The secret {name} is damaged in the database: set it anew.",
        "数据库中的机密 {name} 已损坏：请重新设置。",
    ),
    "secret_malformed": (
        "The value of {name} must be one word of printable ASCII characters: copy it again, without line breaks.",
        "{name} 的值必须是一串可打印的 ASCII 字符，不含空格：请重新复制，不要带换行。",
    ),
    "secret_for_huggingface_token": (
        "Workers send it to Hugging Face (HF_ENDPOINT), where they have no token of their own.",
        "工作节点没有自己的令牌时，用它访问 Hugging Face（HF_ENDPOINT）。",
    ),
    "secret_for_modelscope_token": (
        "Workers send it to ModelScope (MODELSCOPE_ENDPOINT), where they have no token of their own.",
        "工作节点没有自己的令牌时，用它访问 ModelScope（MODELSCOPE_ENDPOINT）。",
    ),
    "secret_for_oidc_client_secret": (
        "The server shows it to the identity provider when somebody signs in there.",
        "用户通过身份提供方登录时，服务器向其出示该值。",
    ),
    "secret_is_set": ("The secret {name} is set.", "已设置机密 {name}。"),
    "secret_deleted": ("The secret {name} is deleted.", "已删除机密 {name}。"),
    "secrets_sealed_anew": (
        "{count} secrets are sealed with the new key.",
        "已用新密钥重新加密 {count} 个机密。",
    ),
    "secret_value": ("Value", "值"),
    "column_is_set": ("SET", "已设置"),
    "column_ending": ("ENDS IN", "末四位"),
    "column_set_at": ("SET AT", "设置时间"),
    "column_set_by": ("BY", "设置人"),
    "column_used_for": ("USED FOR", "用途"),
    "help_secrets": (
        "Secrets that the platform needs, such as the token of a hub; kept sealed, never shown.",
        "平台需要的机密，例如模型仓库的令牌；加密保存，从不显示。",
    ),
    "help_secrets_list": (
        "All secrets: which are set, by whom, what for.",
        "全部机密：哪些已设置、由谁设置、作何用途。",
    ),
    "help_secrets_set": (
        "Set one; its value is asked for, or read from standard input, and never an argument.",
        "设置机密；值由提示输入或从标准输入读取，不作为参数。",
    ),
    "help_secrets_set_examples": (
        "\b\nExample:\n  gpustack-lite secrets set huggingface_token < token.txt",
        "\b\n示例：\n  gpustack-lite secrets set huggingface_token < token.txt",
    ),
    "help_secrets_delete": ("Delete one.", "删除机密。"),
    "help_secrets_rotate_key": (
        "Seal all secrets anew with a new key; with GPUSTACK_LITE_SECRET_KEY=NEW,OLD, with the first of those.",
        "用新密钥重新加密全部机密；GPUSTACK_LITE_SECRET_KEY=NEW,OLD 时以第一把为准。",
    ),
    "help_secret_name": ("Its name: see `secrets list`.", "名称：见 `secrets list`。"),
}
