"""Disruption budgets, namespaces, services, and those who own pods."""

from reprieve.model.objects.shared import Int32, LabelSelector, ObjectMeta, Record, Time


class DisruptionBudgetSpec(Record, frozen=True):
    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class DisruptionBudgetStatus(Record, frozen=True):
    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, Time] = {}


class PodDisruptionBudget(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()


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
