"""Objects that are gone for good: whatever is still shown of them is old news.

Watches may repeat themselves, and lists may be older than what was seen. UIDs never come again.
"""

from reprieve.model.objects import ObjectMeta

_MOST = 10_000  # news that old do not come any more


class Tombstones:
    def __init__(self) -> None:
        self._versions: dict[str, int] = {}  # by uid, the oldest first

    def bury(self, uid: str, version: str) -> None:
        if version.isdecimal():
            self._versions.pop(uid, None)
            self._versions[uid] = int(version)
        if len(self._versions) > _MOST:
            del self._versions[next(iter(self._versions))]

    def hold(self, meta: ObjectMeta) -> bool:
        """Whether this is an old version of an object that is gone."""
        last = self._versions.get(meta.uid)
        return last is not None and meta.resource_version.isdecimal() and int(meta.resource_version) <= last

    def copy(self) -> "Tombstones":
        other = Tombstones()
        other._versions = dict(self._versions)
        return other
