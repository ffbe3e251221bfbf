"""Configuration and feature gates, parsed once into frozen records.

`keys` describes every key: those of the whole scheduler, those of kube-scheduler's plugins, and those that
Reprieve adds. `parsing`, `profiles` and `plugins` read a document by them; `gates` has the feature gates. No
file is opened here. What a choice means is for `assembly`, which turns it into functions.
"""

from reprieve.config.decoding import ConfigError, InvalidConfigurationError
from reprieve.config.gates import Gates, InvalidFeatureGatesError, ignored_gates, parse_feature_gates
from reprieve.config.keys.global_settings import ClientConnection, GlobalSettings
from reprieve.config.keys.reprieve_args import ReprieveArgs
from reprieve.config.parsing import Configuration, default_configuration, parse_configuration
from reprieve.config.profiles import KubeSchedulerProfile, ProfileArgs

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
