"""Anthropic's Messages over engines that speak only OpenAI's chat completions: requests there, answers back.

Pure: values in, values out. What is passed through to an engine that speaks Messages itself never comes here, except
for its errors.
"""

MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"
PATHS = frozenset({MESSAGES, COUNT_TOKENS})
CHAT = "/v1/chat/completions"
