"""Configuration and feature gates, parsed once into frozen records.

`parsing` reads a document, with the keys of the whole scheduler; `profiles` reads one profile, with the
arguments of kube-scheduler's plugins (`plugin_args`) and those that Reprieve adds (`reprieve_args`); `gates`
has the feature gates. No file is opened here. What a choice means is for `assembly`, which turns it into
functions.
"""

from reprieve.config.decoding import ConfigError, InvalidConfigurationError
from reprieve.config.gates import Gates, InvalidFeatureGatesError, ignored_gates, parse_feature_gates
from reprieve.config.parsing import (
    ClientConnection,
    Configuration,
    GlobalSettings,
    default_configuration,
    parse_configuration,
)
from reprieve.config.profiles import KubeSchedulerProfile, ProfileArgs
from reprieve.config.reprieve_args import ReprieveArgs

__all__ = [
    "ClientConnection",
    "ConfigError",
    "Configuration",
    "Gates",
    "GlobalSettings",
    "InvalidConfigurationError",
    "InvalidFeatureGatesError",
    "KubeSchedulerProfile",
    "ProfileArgs",
    "ReprieveArgs",
    "default_configuration",
    "ignored_gates",
    "parse_configuration",
    "parse_feature_gates",
]
