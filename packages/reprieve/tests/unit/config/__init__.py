"""What is read from a configuration, and what is said about a wrong one."""

from collections.abc import Callable

import pytest

from reprieve.config import (
    Configuration,
    InvalidConfigurationError,
    KubeSchedulerProfile,
    parse_configuration,
)


def complaints(call: Callable[[], object]) -> list[str]:
    """What a call refuses its input for, one sentence for each mistake."""
    with pytest.raises(InvalidConfigurationError) as refused:
        call()
    return [str(error) for error in refused.value.errors]


def configuration(**keys: object) -> Configuration:
    """A configuration with these keys at the top."""
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return parse_configuration({**head, **keys})


def profile(**keys: object) -> KubeSchedulerProfile:
    """The only profile of a configuration, with these keys."""
    (only,) = configuration(profiles=[keys]).profiles
    return only


def with_args(plugin: str, **args: object) -> KubeSchedulerProfile:
    """A profile in which one plugin has arguments."""
    return profile(pluginConfig=[{"name": plugin, "args": args}])
