"""Sentences about signing in through an identity provider."""

SENTENCES: dict[str, tuple[str, str]] = {
    "oidc_back": ("Back to the console", "返回控制台"),
    "oidc_off": (
        "Signing in through an identity provider is not set up: sign in with a password, or set oidc_issuer.",
        "尚未配置身份提供方登录：请使用密码登录，或设置 oidc_issuer。",
    ),
    "local_login_off": (
        "Signing in with a password is switched off: use the identity provider, or the command line on the server's "
        "own host.",
        "密码登录已关闭：请通过身份提供方登录，或在服务器本机使用命令行。",
    ),
    "oidc_unreachable": (
        "The identity provider {host} did not answer ({why}): try again later, or look at its address in oidc_issuer.",
        "身份提供方 {host} 没有应答（{why}）：请稍后重试，或检查 oidc_issuer 中的地址。",
    ),
    "oidc_answer": (
        "The identity provider {host} answered with something that is not OpenID Connect: look at oidc_issuer.",
        "身份提供方 {host} 的应答不符合 OpenID Connect：请检查 oidc_issuer。",
    ),
    "oidc_issuer_differs": (
        "The answer is of the issuer {said} and not of {issuer}: write oidc_issuer exactly as the provider does.",
        "应答来自 {said} 而不是 {issuer}：oidc_issuer 须与提供方的写法完全一致。",
    ),
    "oidc_audience": (
        "The identity provider made this sign-in for {said} and not for {client_id}: look at oidc_client_id.",
        "身份提供方的此次登录是为 {said} 而不是 {client_id} 签发的：请检查 oidc_client_id。",
    ),
    "oidc_nonce": (
        "This sign-in belongs to another attempt: begin again.",
        "此次登录属于另一次尝试：请重新开始。",
    ),
    "oidc_state": (
        "This sign-in was not begun in this browser, is over, or took more than ten minutes: begin again.",
        "此次登录不是由本浏览器发起、已经结束，或超过了十分钟：请重新开始。",
    ),
    "oidc_signature": (
        "No key of the identity provider signed this sign-in: begin again, and tell an administrator if it stays so.",
        "此次登录没有身份提供方的有效签名：请重新开始；若仍然如此，请联系管理员。",
    ),
    "oidc_clock": (
        "The clocks of this server and of the identity provider differ by {seconds} s: set both by a time server.",
        "本服务器与身份提供方的时钟相差 {seconds} 秒：请用时间服务器校准两者。",
    ),
    "oidc_claims": (
        "The identity provider did not say {name}, or said it twice differently: look at the client's settings there.",
        "身份提供方没有给出 {name}，或两次给出的不一致：请检查提供方中该客户端的设置。",
    ),
    "oidc_declined": (
        "The identity provider did not sign you in ({said}): begin again, or ask whoever runs it.",
        "身份提供方没有完成登录（{said}）：请重新开始，或联系其管理员。",
    ),
    "oidc_code_refused": (
        "The identity provider refused this platform ({said}): look at oidc_client_id, the secret oidc_client_secret, "
        "and the callback address that is registered there.",
        "身份提供方拒绝了本平台（{said}）：请检查 oidc_client_id、机密 oidc_client_secret 以及在其处登记的回调地址。",
    ),
    "oidc_no_role": (
        "None of your groups may use this platform: ask an administrator.",
        "你所在的分组均无权使用本平台：请联系管理员。",
    ),
    "oidc_inactive": (
        "The user {name} is deactivated: ask an administrator.",
        "用户 {name} 已停用：请联系管理员。",
    ),
}
