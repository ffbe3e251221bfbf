"""May a pod be in its namespace? Its ServiceAccount must exist, and the label
``pod-security.kubernetes.io/enforce`` of the namespace names a Pod Security Standard.

The standards are one table. A row looks at the pod as a whole and at each of its containers, and names what
is not allowed there.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from reprieve.cluster.admission.admission_plugins import Lookup
from reprieve.cluster.api.values import items, name_of, part, text_in, texts
from reprieve.model.json import Json

_ENFORCE = "pod-security.kubernetes.io/enforce"
_DEFAULT_ACCOUNT = "default"  # which every namespace has, or will have in a moment
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def pod_refusal(pod: Json, lookup: Lookup) -> str:
    """Why a new pod is refused; empty if it is not."""
    namespace = text_in(part(pod, "metadata"), "namespace")
    account = text_in(part(pod, "spec"), "serviceAccountName")
    named = f'pods "{name_of(pod)}" is forbidden:'
    if account != _DEFAULT_ACCOUNT and lookup.find("ServiceAccount", namespace, account) is None:
        missing = f'serviceaccount "{account}" not found'
        return f"{named} error looking up service account {namespace}/{account}: {missing}"
    labels = part(lookup.find("Namespace", "", namespace) or {}, "metadata", "labels")
    level = text_in(labels, _ENFORCE)
    if level in ("", "privileged"):
        return ""
    broken = list(_broken(pod, is_restricted=level != "baseline"))
    return f'{named} violates PodSecurity "{level}:latest": {", ".join(broken)}' if broken else ""


# --- the standards ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """The pod as a whole, or one of its containers."""

    pod: Json
    own: Json

    @property
    def spec(self) -> Json:
        return part(self.pod, "spec")

    @property
    def is_pod(self) -> bool:
        return self.own is self.spec

    @property
    def context(self) -> Json:
        return part(self.own, "securityContext")

    def is_set(self, field: str, value: object) -> Iterable[str]:
        return [field] if self.context.get(field) == value else []


@dataclass(frozen=True, slots=True)
class _Rule:
    """``wrong``: names what is not allowed at a place. ``told``: what must be done, with these names.

    ``levels``: where it applies, ``b`` for baseline and ``r`` for restricted, which also has the rules of
    baseline but for those that have a stricter one.
    """

    levels: str
    reason: str
    told: str
    wrong: Callable[[_Place], Iterable[str]]


def _broken(pod: Json, *, is_restricted: bool) -> Iterator[str]:
    spec = part(pod, "spec")
    places = [_Place(pod, own) for own in (spec, *(c for field in _CONTAINERS for c in items(spec, field)))]
    for rule in _RULES:
        if ("r" if is_restricted else "b") not in rule.levels:
            continue
        found = [(place, list(rule.wrong(place))) for place in places]
        where = [place for place, names in found if names]
        if where:
            names = dict.fromkeys(name for _, names in found for name in sorted(names))
            listed = ", ".join(f'"{name}"' for name in names)
            yield f"{rule.reason} ({' and '.join(_shown(where))} {rule.told.format(listed)})"


def _shown(places: list[_Place]) -> Iterator[str]:
    if any(place.is_pod for place in places):
        yield "pod"
    names = [f'"{name_of({"metadata": place.own})}"' for place in places if not place.is_pod]
    if names:
        yield f"container{'s' if len(names) > 1 else ''} {', '.join(names)}"


_CAPABILITIES = """
AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID
SYS_CHROOT
"""
_SYSCTLS = """
kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.ip_local_reserved_ports
net.ipv4.ip_unprivileged_port_start net.ipv4.ping_group_range net.ipv4.tcp_fin_timeout
net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes net.ipv4.tcp_keepalive_time
net.ipv4.tcp_notsent_lowat net.ipv4.tcp_rmem net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_syncookies
net.ipv4.tcp_wmem
"""
_VOLUMES = "configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret"
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_PROFILES = ("RuntimeDefault", "Localhost")
_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC")
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def _host_namespaces(at: _Place) -> Iterable[str]:
    return [f"{field}=true" for field in _HOST_FIELDS if at.is_pod and at.own.get(field) is True]


def _volumes(at: _Place) -> list[Json]:
    return list(items(at.own, "volumes")) if at.is_pod else []


def _host_paths(at: _Place) -> Iterable[str]:
    return [text_in(volume, "name") for volume in _volumes(at) if "hostPath" in volume]


def _restricted_volumes(at: _Place) -> Iterable[str]:
    return [text_in(volume, "name") for volume in _volumes(at) if volume.keys().isdisjoint(_VOLUMES.split())]


def _host_ports(at: _Place) -> Iterable[str]:
    return [str(port["hostPort"]) for port in items(at.own, "ports") if port.get("hostPort")]


def _probed_hosts(at: _Place) -> Iterable[str]:
    handlers = [part(at.own, name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    handlers += [part(at.own, "lifecycle", name) for name in ("postStart", "preStop")]
    hosts = (text_in(part(handler, by), "host") for handler in handlers for by in ("httpGet", "tcpSocket"))
    return [host for host in hosts if host]


def _selinux(at: _Place) -> Iterable[str]:
    options = part(at.context, "seLinuxOptions")
    wrong = [f"{field} {text_in(options, field)}" for field in ("user", "role") if text_in(options, field)]
    kind = text_in(options, "type")
    return wrong if kind in _SELINUX_TYPES else [*wrong, f"type {kind}"]


def _profile(field: str) -> Callable[[_Place], Iterable[str]]:
    def wrong(at: _Place) -> Iterable[str]:
        said = at.context.get(field)
        kind = text_in(said, "type") if isinstance(said, dict) else _PROFILES[0]
        return [] if kind in _PROFILES else [kind]

    return wrong


def _annotated_profiles(at: _Place) -> Iterable[str]:
    annotations = part(at.pod, "metadata", "annotations") if at.is_pod else {}
    return [
        f"{key}={value}"
        for key, value in annotations.items()
        if key.startswith(_APP_ARMOR)
        and value
        and not str(value).startswith(("runtime/default", "localhost/"))
    ]


def _missing_profile(at: _Place) -> Iterable[str]:
    if at.is_pod or _is_windows(at) or part(at.context, "seccompProfile"):
        return []
    return [] if part(at.spec, "securityContext", "seccompProfile") else ["seccompProfile"]


def _sysctls(at: _Place) -> Iterable[str]:
    names = (text_in(one, "name") for one in items(at.context, "sysctls"))
    return [name for name in names if name not in _SYSCTLS.split()]


def _proc_mount(at: _Place) -> Iterable[str]:
    kind = text_in(at.context, "procMount")
    return [] if kind in ("", "Default") else [kind]


def _host_process(at: _Place) -> Iterable[str]:
    return ["hostProcess"] if part(at.context, "windowsOptions").get("hostProcess") is True else []


def _capabilities(allowed: Iterable[str]) -> Callable[[_Place], Iterable[str]]:
    known = frozenset(allowed)
    return lambda at: [name for name in texts(part(at.context, "capabilities"), "add") if name not in known]


def _keeps_capabilities(at: _Place) -> Iterable[str]:
    dropped = texts(part(at.context, "capabilities"), "drop")
    return [] if at.is_pod or _is_windows(at) or "ALL" in dropped else ["ALL"]


def _may_escalate(at: _Place) -> Iterable[str]:
    is_off = at.context.get("allowPrivilegeEscalation") is False
    return [] if at.is_pod or _is_windows(at) or is_off else ["allowPrivilegeEscalation"]


def _may_be_root(at: _Place) -> Iterable[str]:
    said = at.context.get("runAsNonRoot")
    if said is None and not at.is_pod:
        said = part(at.spec, "securityContext").get("runAsNonRoot", False)
    return ["runAsNonRoot"] if said is False else []


def _is_windows(at: _Place) -> bool:
    return text_in(part(at.spec, "os"), "name") == "windows"


def _outside_user_namespaces(wrong: Callable[[_Place], Iterable[str]]) -> Callable[[_Place], Iterable[str]]:
    """Root within a user namespace is nobody on the node."""
    return lambda at: [] if at.spec.get("hostUsers") is False else wrong(at)


_RULES = (
    _Rule("br", "host namespaces", "must not set {}", _host_namespaces),
    _Rule("b", "hostPath volumes", "must not have the volumes {}", _host_paths),
    _Rule("br", "hostPort", "must not use the hostPorts {}", _host_ports),
    _Rule("br", "probe or lifecycle host", "must not name the hosts {}", _probed_hosts),
    _Rule(
        "br",
        "privileged",
        "must not set securityContext.privileged=true",
        lambda at: at.is_set("privileged", True),
    ),
    _Rule(
        "b",
        "procMount",
        "must not set securityContext.procMount to {}",
        _outside_user_namespaces(_proc_mount),
    ),
    _Rule("r", "procMount", "must not set securityContext.procMount to {}", _proc_mount),
    _Rule("br", "seLinuxOptions", "must not set securityContext.seLinuxOptions with {}", _selinux),
    _Rule("br", "seccompProfile", "must not set seccompProfile.type to {}", _profile("seccompProfile")),
    _Rule(
        "br",
        "forbidden AppArmor profile",
        "must not set AppArmor profile type to {}",
        _profile("appArmorProfile"),
    ),
    _Rule("br", "forbidden AppArmor profile", "must not have the annotations {}", _annotated_profiles),
    _Rule("br", "forbidden sysctls", "must not set {}", _sysctls),
    _Rule("br", "hostProcess", "must not set securityContext.windowsOptions.hostProcess=true", _host_process),
    _Rule(
        "b",
        "non-default capabilities",
        "must not include {} in securityContext.capabilities.add",
        _capabilities(_CAPABILITIES.split()),
    ),
    _Rule(
        "r",
        "unrestricted capabilities",
        "must not include {} in securityContext.capabilities.add",
        _capabilities(("NET_BIND_SERVICE",)),
    ),
    _Rule(
        "r",
        "unrestricted capabilities",
        "must set securityContext.capabilities.drop=[{}]",
        _keeps_capabilities,
    ),
    _Rule(
        "r",
        "allowPrivilegeEscalation != false",
        "must set securityContext.allowPrivilegeEscalation=false",
        _may_escalate,
    ),
    _Rule("r", "restricted volume types", "must not have the volumes {}", _restricted_volumes),
    _Rule(
        "r",
        "runAsNonRoot != true",
        "must set securityContext.runAsNonRoot=true",
        _outside_user_namespaces(_may_be_root),
    ),
    _Rule(
        "r",
        "runAsUser=0",
        "must not set runAsUser=0",
        _outside_user_namespaces(lambda at: at.is_set("runAsUser", 0)),
    ),
    _Rule(
        "r",
        "seccompProfile",
        'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"',
        _missing_profile,
    ),
)
