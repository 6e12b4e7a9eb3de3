"""MindIE's metrics by the names that we give them; what is not listed is not read.

Source: hiascend.com, MindIE service development, "metrics in Prometheus' format"; served on metricsPort while
MIES_SERVICE_MONITOR_MODE is 1. Shares are 0 to 1 there, though one printed example shows 30.
"""

from collections.abc import Mapping

METRICS: Mapping[str, str] = {
    "request_received_total": "engine_requests_total",
    "request_success_total": "engine_requests_done_total",
    "request_failed_total": "engine_requests_failed_total",
    "num_requests_running": "engine_requests_running",
    "num_requests_waiting": "engine_requests_waiting",
    "num_requests_swapped": "engine_requests_set_aside",
    "num_preemptions_total": "engine_preemptions_total",
    "prompt_tokens_total": "engine_prompt_tokens_total",
    "generation_tokens_total": "engine_completion_tokens_total",
    "npu_cache_usage_perc": "engine_cache_used_ratio",
    "cpu_cache_usage_perc": "engine_ram_cache_used_ratio",
    "npu_prefix_cache_hit_rate": "engine_prefix_cache_hit_ratio",
    "time_to_first_token_seconds": "engine_first_token_seconds",
    "time_per_output_token_seconds": "engine_token_seconds",
    "e2e_request_latency_seconds": "engine_request_seconds",
}
