"""Namespaces, Services, and the controllers that own pods."""

from reprieve.model.objects.meta import LabelSelector, ObjectMeta, Record


class Namespace(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class ServiceSpec(Record, frozen=True):
    selector: dict[str, str] = {}


class Service(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class OwnerSpec(Record, frozen=True):
    selector: LabelSelector | None = None


class ReplicaSet(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: OwnerSpec = OwnerSpec()


class StatefulSet(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: OwnerSpec = OwnerSpec()


class ReplicationController(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
