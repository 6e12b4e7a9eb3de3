"""The RouteTable: which replicas serve a model, whom a credential belongs to, and who holds a replica right now."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from gpustack_lite.errors import Refusal
from gpustack_lite.gateway.naming import Spread, spread
from gpustack_lite.wire import Credential, Endpoint, ModelRoute, NamedRoute, RoutesReply


class Revision(NamedTuple):
    """Ordered: a later epoch wins, then a later number."""

    epoch: int
    number: int


NOTHING_YET = Revision(0, -1)


class RouteTable:
    """Two sections with revisions of their own; what is older never replaces what is newer."""

    def __init__(self) -> None:
        self.models_revision = NOTHING_YET
        self.credentials_revision = NOTHING_YET
        self.models: dict[str, ModelRoute] = {}
        self.named: dict[str, NamedRoute] = {}
        self.adapted: dict[str, str] = {}
        """Public name of an adapter -> the model that it belongs to."""
        self._alone: dict[str, tuple[ModelRoute]] = {}
        self._spreads: dict[str, Spread] = {}
        self._credentials: dict[str, Credential] = {}
        self.in_flight: dict[int, int] = {}
        """Requests by instance, as they are now and will be."""
        self.listeners: list[Callable[[], None]] = []
        """Each is called after the models have changed."""

    @property
    def revisions(self) -> tuple[Revision, Revision]:
        return self.models_revision, self.credentials_revision

    @property
    def is_filled(self) -> bool:
        return NOTHING_YET not in self.revisions

    def accept(self, reply: RoutesReply) -> bool:
        """Take over the sections that are newer than ours; whether there was one."""
        models = Revision(reply.epoch, reply.models_revision)
        credentials = Revision(reply.epoch, reply.credentials_revision)
        takes_models = reply.models is not None and models > self.models_revision
        takes_credentials = reply.credentials is not None and credentials > self.credentials_revision
        if takes_models:
            self._take_over(reply.models or (), reply.routes)
        if takes_credentials:
            self._credentials = {each.digest: each for each in reply.credentials or ()}
        if takes_models:
            for listener in self.listeners:
                listener()
        if takes_models or _confirms(models, self.models_revision):
            self.models_revision = models
        if takes_credentials or _confirms(credentials, self.credentials_revision):
            self.credentials_revision = credentials
        return takes_models or takes_credentials

    def _take_over(self, models: Iterable[ModelRoute], named: Iterable[NamedRoute]) -> None:
        """A model wins over a name that is also a route's, which the server allows neither, and both over adapters."""
        self.models = {route.name: route for route in models}
        self.named = {route.name: route for route in named if route.name not in self.models}
        others = [(each, name) for name, route in self.models.items() for each in route.adapters]
        self.adapted = {each: name for each, name in others if each not in self.models and each not in self.named}
        self._alone = {name: (route,) for name, route in self.models.items()}
        self._alone |= {each: self._alone[name] for each, name in self.adapted.items()}
        made = {name: spread(route, self.models, self._spreads.get(name)) for name, route in self.named.items()}
        self._spreads = {name: each for name, each in made.items() if each is not None}

    def document(self) -> RoutesReply:
        """Everything, as it would come from a server; the older epoch, so that a newer section comes again."""
        return RoutesReply(
            epoch=min(self.models_revision.epoch, self.credentials_revision.epoch),
            models_revision=self.models_revision.number,
            credentials_revision=self.credentials_revision.number,
            models=tuple(self.models.values()),
            routes=tuple(self.named.values()),
            credentials=tuple(self._credentials.values()),
        )

    def credential(self, digest: str) -> Credential | None:
        return self._credentials.get(digest)

    def knows(self, name: str) -> bool:
        return name in self.models or name in self.named or name in self.adapted

    def route(self, name: str) -> ModelRoute:
        route = self.models.get(name)
        if route is None:
            raise Refusal("model_not_found", status=404, param="model", model=name)
        return route

    def resolve(self, name: str) -> tuple[ModelRoute, ...]:
        """The models that may serve a public name, in the order in which they are to be tried; at least one.

        Raises:
            Refusal: `model_not_found`, or `route_leads_nowhere` where none of a name's models exists.
        """
        alone = self._alone.get(name)
        if alone is not None:
            return alone
        found = self._spreads.get(name)
        if found is not None:
            return found.next()
        if name in self.named:
            raise _nowhere(self.named[name])
        raise Refusal("model_not_found", status=404, param="model", model=name)

    def models_of(self, name: str) -> tuple[ModelRoute, ...]:
        """Those that exist behind a public name, without taking anybody's turn; empty for one that is unknown."""
        found = self._spreads.get(name)
        return self._alone.get(name, ()) if found is None else found.models

    def hold(self, instance_id: int) -> None:
        self.in_flight[instance_id] = self.in_flight.get(instance_id, 0) + 1

    def others(self, route: ModelRoute, without: Collection[int]) -> Sequence[Endpoint]:
        """The route's ready replicas outside `without`."""
        if not without:
            return route.endpoints
        return [each for each in route.endpoints if each.instance_id not in without]

    def has_others(self, route: ModelRoute, without: Collection[int]) -> bool:
        if not without:
            return bool(route.endpoints)
        return any(each.instance_id not in without for each in route.endpoints)

    def give_back(self, instance_id: int) -> None:
        left = self.in_flight[instance_id] - 1
        if left:
            self.in_flight[instance_id] = left
        else:
            del self.in_flight[instance_id]

    def is_served(self, name: str) -> bool:
        """Whether a replica is ready for this public name, as far as we have heard."""
        alone = self._alone.get(name)
        if alone is not None:
            return bool(alone[0].endpoints)
        return any(route.endpoints for route in self.models_of(name))

    def has_another(self, name: str, without: Collection[int]) -> bool:
        route = self.models.get(name)
        if route is None or not without:
            return route is not None and bool(route.endpoints)
        return any(each.instance_id not in without for each in route.endpoints)

    def leases(self) -> dict[int, int]:
        return dict(self.in_flight)


def _nowhere(route: NamedRoute) -> Refusal:
    wanted = ", ".join([*(each.model for each in route.targets), *route.fallback])
    return Refusal("route_leads_nowhere", status=404, param="model", model=route.name, models=wanted)


def _confirms(said: Revision, ours: Revision) -> bool:
    """A later epoch that has nothing newer than what we hold."""
    return said.number == ours.number and said.epoch > ours.epoch
