"""Feature gates, parsed once into booleans. What a gate means is known to `assembly` alone."""

from collections.abc import Iterable, Iterator

import msgspec

from reprieve.config.decoding import ConfigError, InvalidConfigurationError, spelling_hint, value_text
from reprieve.model.objects import Record


class InvalidFeatureGatesError(InvalidConfigurationError):
    """Invalid feature gates, with all their errors."""


class Gates(Record, frozen=True, rename="pascal"):
    generic_workload: bool = True
    gang_scheduling: bool = True
    workload_aware_preemption: bool = True
    pod_group_preemption_policy: bool = False
    topology_aware_workload_scheduling: bool = False
    composite_pod_group: bool = False
    scheduler_async_preemption: bool = True
    preemption_toleration: bool = True
    in_place_pod_vertical_scaling_scheduler_preemption: bool = False


# The gates that a gate needs. In Gates, a prerequisite comes before the gates that need it.
PREREQUISITES = {
    "GangScheduling": ("GenericWorkload",),
    "WorkloadAwarePreemption": ("GenericWorkload", "GangScheduling"),
    "PodGroupPreemptionPolicy": ("GenericWorkload",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "CompositePodGroup": ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
}

ALIASES = {"SchedulerPreemptionForPodResize": "InPlacePodVerticalScalingSchedulerPreemption"}

# Gates of kube-scheduler about its internals: both values are accepted and have no effect.
WITHOUT_EFFECT = frozenset(
    {
        "InterPodAffinityHostnameFastPath",
        "NominatedNodeNameForExpectation",
        "OpportunisticBatching",
        "SchedulerAsyncAPICalls",
        "SchedulerPopFromBackoffQ",
        "SchedulerPreQueueingHints",
        "SchedulerQueueingHints",
    }
)

# Gates of kube-scheduler whose feature is always enabled in Reprieve.
ALWAYS_ON = frozenset(
    {
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScaling",
        "MatchLabelKeysInPodTopologySpread",
        "NodeInclusionPolicyInPodTopologySpread",
        "PodLevelResources",
    }
)

_COMPONENT = "kube:"  # the component prefix of kube-scheduler's flag

# Groups of gates: only the value that changes nothing is accepted.
_AT_ONCE = {"AllAlpha": False, "AllBeta": True}

DEFAULTS: dict[str, bool] = {f.encode_name: f.default for f in msgspec.structs.fields(Gates)}


def parse_feature_gates(text: str, unless_named: Gates | None = None) -> Gates:
    """Gates as kube-scheduler's flag spells them: `A=true,B=false`.

    A gate that is not named follows its prerequisites: it is off where one of them is. ``unless_named``: what
    the others are, instead of their defaults.
    """
    errors: list[ConfigError] = []
    chosen = _chosen(text, errors)
    others = unless_named or Gates()
    gates: dict[str, bool] = {}
    for field in msgspec.structs.fields(Gates):
        name, default = field.encode_name, getattr(others, field.name)
        missing = [p for p in PREREQUISITES.get(name, ()) if not gates[p]]
        gates[name] = chosen.get(name, default and not missing)
        if gates[name] and missing:
            errors.append(_error(name, f"needs {' and '.join(missing)} to be enabled"))
    if errors:
        raise InvalidFeatureGatesError(errors)
    return msgspec.convert(gates, Gates)


def _chosen(text: str, errors: list[ConfigError]) -> dict[str, bool]:
    """The gates in the text, aliases resolved."""
    spelled: dict[str, tuple[str, bool]] = {}
    for name, value in _pairs(text, errors):
        gate = ALIASES.get(name, name)
        errors.extend(_refusals(name, gate, value))
        before, was = spelled.setdefault(gate, (name, value))
        if was is not value:
            errors.append(_error(name, f"{_word(value)} contradicts {before}={_word(was)}"))
    return {gate: value for gate, (_, value) in spelled.items()}


def _pairs(text: str, errors: list[ConfigError]) -> Iterator[tuple[str, bool]]:
    words = {"true": True, "false": False}
    for item in filter(None, map(str.strip, text.split(","))):
        name, _, word = map(str.strip, item.removeprefix(_COMPONENT).partition("="))
        if word.lower() in words:
            yield name, words[word.lower()]
        else:
            errors.append(_error(name, f"expected {name}=true or {name}=false, got {value_text(word)}"))


def _refusals(name: str, gate: str, value: bool) -> Iterator[ConfigError]:
    if gate in ALWAYS_ON and not value:
        yield _error(name, "is always enabled in Reprieve and cannot be disabled")
    elif gate in _AT_ONCE:
        if value is not _AT_ONCE[gate]:
            yield _error(name, f"cannot be {_word(value)}: list the gates by name instead")
    elif gate not in DEFAULTS.keys() | ALWAYS_ON | WITHOUT_EFFECT | OTHER_COMPONENT_GATES:
        yield _error(name, f"unknown{spelling_hint(name, _known())}")


def ignored_gates(text: str) -> list[str]:
    """The gates in the text that are for other components."""
    return sorted({name for name, _ in _pairs(text, []) if name in OTHER_COMPONENT_GATES})


def _known() -> Iterable[str]:
    return DEFAULTS.keys() | ALIASES.keys() | ALWAYS_ON | WITHOUT_EFFECT


def _word(value: bool) -> str:
    return str(value).lower()


def _error(name: str, message: str) -> ConfigError:
    return ConfigError(path=f"feature gate {name}", message=message)


# Feature gates of Kubernetes without effect here: they are for API servers, kubelets and controllers, or for
# features that only kube-scheduler has. They are accepted, since clusters often pass one list of gates to all
# components. One block of text is easier to read than so many string literals.
OTHER_COMPONENT_GATES = frozenset(
    """
    APIResponseCompression APIServerIdentity APIServerWebhookAuthenticationToken APIServingWithRoutine
    AggregatedDiscoveryRemoveBetaType AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
    AllowOverwriteTerminationGracePeriodSeconds AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs
    AllowUnsafeMalformedObjectDeletion AtomicFIFO AtomicWriteVolumeUserFields
    AuthorizePodWebsocketUpgradeCreatePermission CBORServingAndStorage CPUManagerPolicyAlphaOptions
    CPUManagerPolicyBetaOptions CPUManagerPolicyOptions CRDObservedGenerationTracking
    CRDValidationRatcheting CRIListStreaming CSIServiceAccountTokenSecrets CSIVolumeHealth
    ChangeContainerStatusOnKubeletRestart ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
    ClientsAllowCBOR ClientsAllowTLSCacheGC ClientsPreferCBOR
    CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook ClusterTrustBundle
    ClusterTrustBundleProjection ComponentFlagz ComponentStatusz ConcurrentWatchObjectDecode
    ConsistentListFromCacheSkipTimeoutFallback ConstrainedImpersonation ContainerCheckpoint
    ContainerRestartRules ContainerStopSignals ContextualLogging
    ControllerManagerReleaseLeaderElectionLockOnExit CoordinatedLeaderElection
    CrossNamespaceVolumeDataSource CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess
    DRAConsumableCapacity DRADerivedAttributes DRADeviceBindingConditions DRADeviceCompatibilityGroups
    DRADeviceTaintRules DRADeviceTaints DRAExtendedResource DRAFractionalCapacityRange
    DRAListTypeAttributes DRANodeAllocatableResources DRAOptionalNodeOperations DRAPartitionableDevices
    DRAPartitionableDevicesType DRAPrioritizedList DRAResourceClaimDeviceStatus
    DRAResourceClaimGranularStatusAuthorization DRAResourcePoolStatus DRASchedulerFilterTimeout
    DRAWorkloadResourceClaims DeclarativeValidation DeclarativeValidationBeta
    DeclarativeValidationTakeover DefaultPodSysctls DeploymentReplicaSetTerminatingReplicas
    DetectCacheInconsistency DisableAllocatorDualWrite DisableCPUQuotaWithExclusiveCPUs
    DisableNodeKubeProxyVersion DynamicResourceAllocation EmptyDirVolumeMode EnvFiles EtcdRangeStream
    EventedPLEG EvictionRequestAPI ExcludeAdmissionWebhookVirtualResources ExecProbeTimeout
    ExtendWebSocketsToKubelet ExternalServiceAccountTokenSigner GRPCContainerProbeTLS GitRepoVolumeDriver
    GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority H2CContainerProbe HPAConfigurableTolerance
    HPAGeneration HPAOptimizedSelectorStore HPAScaleToZero HostnameOverride HugepageAwareEviction
    ImageMaximumGCAge ImageVolume ImageVolumeWithDigest InOrderInformers InOrderInformersBatchProcess
    InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
    InPlacePodVerticalScalingInitContainers InPlacePodVerticalScalingMemoryBackedVolumes
    InformerResourceVersion JobManagedBy KMSv1 KubeProxyIPVS KubeProxyNFTablesLocalhostNodePorts
    KubeletAllocatedPodsEndpoint KubeletCgroupDriverFromCRI KubeletCrashLoopBackOffMax
    KubeletEnsureSecretPulledImages KubeletFineGrainedAuthz KubeletInUserNamespace KubeletPSI
    KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletPodResourcesListUseActivePods
    KubeletRegistrationGetOnExistsOnly KubeletSeparateDiskGC
    KubeletServiceAccountTokenForCredentialProviders KubeletTracing ListFromCacheSnapshot
    LocalStorageCapacityIsolationFSQuotaMonitoring LoggingAlphaOptions LoggingBetaOptions
    LoggingStableOptions ManifestBasedAdmissionControlConfig MatchLabelKeysInPodAffinity
    MatchLabelKeysInPodTopologySpreadSelectorMerge MaxUnavailableStatefulSet MemoryQoS
    MultiCIDRServiceAllocator MutableCSINodeAllocatableCount MutablePVNodeAffinity
    MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
    MutatingAdmissionPolicy NFTablesNetlink NFTablesProxyMode NativeHistograms
    NodeControllerLeaseCircuitBreaker NodeDeclaredFeatures NodeLifecycleConditions NodeLogQuery NodeSwap
    OpenAPIEnums PLEGOnDemandRelist PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI
    PodCertificateRequest PodDeletionCost PodLevelResourceManagers PodLevelResourcesFixDefaulting
    PodLevelResourcesFixKubeletQOSClass PodLogsQuerySplitStreams PodObservedGenerationTracking
    PodReadyToStartContainersCondition PodSchedulingReadiness PodTopologyLabelsAdmission PodsAPI
    PortForwardWebsockets PreferSameTrafficDistribution ProcMountType QOSReserved
    RecoverVolumeExpansionFailure RecursiveReadOnlyMounts ReduceDefaultCrashLoopBackOffDecay
    RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation ReloadKubeletClientCAFile
    ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus
    ResourceHealthStatusMessage RestartAllContainersOnContainerExits RotateKubeletServerCertificate
    RuntimeClassInImageCriApi SELinuxChangePolicy SELinuxMount SELinuxMountReadWriteOncePod
    SeparateCacheWatchRPC SeparateTaintEvictionController ServiceAccountNodeAudienceRestriction
    ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
    ServiceAccountTokenPodNodeInfo ServiceCIDRStatusFieldWiping ShardedListAndWatch
    SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyHPA
    StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
    StaleControllerConsistencyStatefulSet StatefulSetRecreateStrategy
    StatefulSetSemanticRevisionComparison StorageCapacityScoring StorageNamespaceIndex StorageVersionAPI
    StorageVersionHash StorageVersionMigrator StrictIPCIDRValidation
    StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
    SupplementalGroupsPolicy TaintTolerationComparisonOperators TokenRequestServiceAccountUIDValidation
    TopologyManagerPolicyAlphaOptions TopologyManagerPolicyBetaOptions TopologyManagerPolicyOptions
    TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation
    UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO UserNamespacesHostNetworkSupport
    UserNamespacesSupport VolumeAttributesClass VolumeBindMountOptions VolumeLimitScaling
    WatchCacheInitializationPostStartHook WatchList WatchListClient WatchListCompression
    WebhookRoundTripLoadBalancing WinDSR WinOverlay WindowsCPUAndMemoryAffinity
    WindowsGracefulNodeShutdown WindowsHostNetwork WorkloadWithJob
    """.split()  # noqa: SIM905
)
