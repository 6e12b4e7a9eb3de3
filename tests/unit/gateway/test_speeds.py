from gpustack_lite.gateway import speeds
from gpustack_lite.gateway.balance import Balancer
from tests.unit.gateway.test_balance import Ask, Clock, endpoint, route, serve


def test_what_was_learned_can_be_read() -> None:
    clock, where = Clock(), route(endpoint(1, worker='a "b"'), endpoint(2), weights={"w2": 0.5})
    balancer = Balancer(clock)
    for _ in range(2):
        serve(balancer, clock, where, {1: 1.0, 2: 1.0}, Ask())
    text = list(speeds.lines([where], balancer.replicas))
    assert 'gpustack_lite_replica_weight{model="m",worker="w2",instance="2"} 0.5' in text
    assert any(line.startswith('gpustack_lite_replica_tokens_per_second{model="m",worker="a \\"b\\""') for line in text)


def test_of_a_replica_that_answered_nothing_there_is_nothing_to_say() -> None:
    clock, where = Clock(), route(endpoint(1), endpoint(2))
    balancer = Balancer(clock)
    balancer.began(where, where.endpoints[0], Ask())
    assert all(line.startswith("#") for line in speeds.lines([where], balancer.replicas))
