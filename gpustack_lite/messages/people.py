"""Sentences about users, groups, sessions and who may use what."""

SENTENCES: dict[str, tuple[str, str]] = {
    "password_change_required": (
        "This password was given to you and must be changed first: sign in to the console, "
        "or run `gpustack-lite users password`.",
        "该密码为初始密码，须先修改：请登录控制台，或运行 `gpustack-lite users password`。",
    ),
    "password_guessable": (
        "This password is among the first that are tried: choose another, such as several words.",
        "该密码过于常见，容易被猜中：请另选一个，例如由多个单词组成。",
    ),
    "password_elsewhere": (
        "The user {name} signs in through the identity provider: change the password there.",
        "用户 {name} 通过身份提供方登录：请在那里修改密码。",
    ),
    "viewer_only_reads": (
        "This user may only read: ask an administrator for the role user.",
        "该用户只有只读权限：请向管理员申请 user 角色。",
    ),
    "viewer_key_reads": (
        "A key of a user who may only read has the scope read and no other.",
        "只读用户的密钥只能有 read 权限。",
    ),
    "username_invalid": (
        "The user name {name} cannot be used: write 1 to 64 letters, digits, or . _ @ + -, with a letter or digit "
        "first, and not digits alone.",
        "用户名 {name} 不可用：请使用 1 到 64 个字母、数字或 . _ @ + -，以字母或数字开头，且不能全是数字。",
    ),
    "username_taken": ("There is a user named {name} already.", "用户 {name} 已存在。"),
    "last_admin": (
        "{name} is the last active administrator: make another user an administrator first.",
        "{name} 是最后一个有效的管理员：请先将其他用户设为管理员。",
    ),
    "group_taken": ("There is a group named {name} already.", "分组 {name} 已存在。"),
    "model_not_managed": (
        "You do not manage the model {name}: ask an administrator to name you among its managers.",
        "你不是模型 {name} 的管理者：请联系管理员将你加入其管理者。",
    ),
    "field_admin_only": (
        "Only an administrator may change {name}; managers change replicas, autoscale, serving and restart_limit.",
        "只有管理员可以修改 {name}；管理者可以修改 replicas、autoscale、serving 与 restart_limit。",
    ),
    # events
    "event_group_created": ("Group {name} was created.", "已创建分组 {name}。"),
    "event_group_changed": (
        "Group {name} was changed; its members: {members}.",
        "已修改分组 {name}，成员：{members}。",
    ),
    "event_group_deleted": ("Group {name} was deleted.", "已删除分组 {name}。"),
    "event_user_role_changed": ("User {user} has the role {role} now.", "用户 {user} 的角色现为 {role}。"),
    "event_user_deactivated": (
        "User {user} was deactivated: sessions ended, keys stopped.",
        "已停用用户 {user}：会话已结束，密钥已停止。",
    ),
    "event_user_activated": ("User {user} was activated.", "已启用用户 {user}。"),
    "event_user_deleted": (
        "User {user} was deleted with all sessions and keys.",
        "已删除用户 {user} 及其全部会话和密钥。",
    ),
    "event_key_rotated": ("API key {name} has a new secret.", "API 密钥 {name} 已更换密文。"),
    "event_session_ended": (
        "A session of {user} from {address} was ended.",
        "已结束 {user} 来自 {address} 的会话。",
    ),
    # command line
    "session_is_ended": ("The session {id} has ended.", "会话 {id} 已结束。"),
    "column_address": ("ADDRESS", "地址"),
    "column_user_agent": ("CLIENT", "客户端"),
    "column_seen_at": ("LAST SEEN", "最近活动"),
    "user_made": ("The user {name} can sign in.", "用户 {name} 已可登录。"),
    "user_made_with": (
        "The user {name} can sign in. The first password, shown this once; it is to be changed then:\n{password}",
        "用户 {name} 已可登录。初始密码（仅显示这一次），登录时需要修改：\n{password}",
    ),
    "user_deleted": (
        "The user {name} is deleted, with all sessions and keys.",
        "已删除用户 {name} 及其全部会话和密钥。",
    ),
    "user_deactivated": (
        "The user {name} is deactivated: sessions have ended and keys work no more.",
        "已停用用户 {name}：会话已结束，密钥不再有效。",
    ),
    "user_activated": (
        "The user {name} is active again; the keys work again too.",
        "已重新启用用户 {name}，其密钥也恢复有效。",
    ),
    "password_is_changed": ("The password is changed; other sessions have ended.", "密码已修改，其他会话已结束。"),
    "current_password": ("Current password", "当前密码"),
    "new_password": ("New password", "新密码"),
    "column_last_login_at": ("LAST SIGN-IN", "上次登录"),
    "group_made": ("The group {name} can be named in the access of a model.", "分组 {name} 已可用于模型的访问权限。"),
    "group_joined": ("{user} is in the group {name}.", "{user} 已在分组 {name} 中。"),
    "group_left": ("{user} is not in the group {name} any more.", "{user} 已不在分组 {name} 中。"),
    "group_deleted": ("The group {name} is deleted; its members stay users.", "分组 {name} 已删除，其成员仍为用户。"),
    "column_members": ("MEMBERS", "成员"),
    "column_description": ("DESCRIPTION", "说明"),
    "needs_access": (
        "write user:NAME, group:NAME, everybody or admins instead of {given}",
        "请使用 user:名称、group:名称、everybody 或 admins，而不是 {given}",
    ),
    # help
    "help_groups": ("Groups: users under one name.", "分组：以一个名称代表多个用户。"),
    "help_group_name": ("Name of the group.", "分组名称。"),
    "help_group_description": ("What it is for.", "用途说明。"),
    "help_groups_list": ("All groups with their members.", "全部分组及其成员。"),
    "help_groups_show": ("One group.", "单个分组。"),
    "help_groups_create": ("Make a group.", "创建分组。"),
    "help_groups_add": ("Put a user into a group.", "将用户加入分组。"),
    "help_groups_remove": ("Take a user out of a group.", "将用户移出分组。"),
    "help_groups_delete": ("Delete a group; its members stay users.", "删除分组，其成员仍为用户。"),
    "help_access": (
        "Who may use it: user:NAME or group:NAME, several times; everybody, or admins alone.",
        "谁可以使用：user:名称 或 group:名称，可多次给出；everybody 表示所有人，admins 表示仅管理员。",
    ),
    "help_manager": (
        "Who may also scale, stop and tune it and read its logs: user:NAME or group:NAME.",
        "谁还可以扩缩、停止、调整并查看日志：user:名称 或 group:名称。",
    ),
    "help_keys_rotate": (
        "Give a key a new secret, which is shown once.",
        "为密钥更换密文，仅显示一次。",
    ),
    "help_keys_rotate_examples": (
        "\b\nExamples:\n  gpustack-lite keys rotate my-app --overlap 86400\n  gpustack-lite keys rotate leaked",
        "\b\n示例：\n  gpustack-lite keys rotate my-app --overlap 86400\n  gpustack-lite keys rotate leaked",
    ),
    "help_overlap": (
        "For how long the secret before stays good; 0 ends it now.",
        "旧密文继续有效的时间；0 表示立即失效。",
    ),
    "help_sessions": ("Sessions: who is signed in.", "会话：谁已登录。"),
    "help_sessions_list": ("Own sessions; an administrator sees all.", "自己的会话；管理员可见全部。"),
    "help_sessions_user": ("Only those of this user.", "仅显示该用户的会话。"),
    "help_sessions_end": ("End a session.", "结束一个会话。"),
    "help_session_id": ("Number of the session, from the list.", "会话编号，见列表。"),
    "help_users_create": (
        "Make a user. Without --password-stdin a first password is made up and shown once.",
        "创建用户。未使用 --password-stdin 时生成初始密码，仅显示一次。",
    ),
    "help_users_create_examples": (
        "\b\nExamples:\n  gpustack-lite users create ada\n  gpustack-lite users create eve --role viewer",
        "\b\n示例：\n  gpustack-lite users create ada\n  gpustack-lite users create eve --role viewer",
    ),
    "help_role": (
        "admin: everything; user: models, own keys; viewer: look only.",
        "admin：全部权限；user：使用模型与自己的密钥；viewer：只读。",
    ),
    "help_users_show": ("One user.", "单个用户。"),
    "help_users_delete": (
        "Delete a user with all sessions and keys.",
        "删除用户及其全部会话和密钥。",
    ),
    "help_users_deactivate": (
        "End a user's sessions and stop the keys; what the user made stays.",
        "结束用户的会话并停止其密钥；用户创建的内容保留。",
    ),
    "help_users_activate": ("Let a user in again.", "重新启用用户。"),
    "help_users_password": ("Change your own password.", "修改自己的密码。"),
    "help_first_password_stdin": (
        "Read the first password from standard input.",
        "从标准输入读取初始密码。",
    ),
    "help_both_passwords_stdin": (
        "Read two lines from standard input: the current password and the new one.",
        "从标准输入读取两行：当前密码与新密码。",
    ),
}
