"""PodDisruptionBudgets."""

from reprieve.model.objects.meta import Int32, LabelSelector, ObjectMeta, Record, Time


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
