"""Configuration and feature gates, parsed once into frozen records.

What is written stands in `configuration` (the whole), `profiles`, `plugins` and `plugin_args` (what
kube-scheduler knows), `args` (what Reprieve adds) and `gates`. No file is opened here, and nobody is
told what a choice means: that is for whoever builds the parts.
"""

from reprieve.config.args import ReprieveArgs
from reprieve.config.configuration import (
    ClientConnection,
    Configuration,
    Settings,
    default_configuration,
    parse_configuration,
)
from reprieve.config.gates import Gates, idle_gates, parse_feature_gates
from reprieve.config.profiles import Profile, ProfileArgs
from reprieve.config.reading import ConfigError, InvalidConfigurationError

__all__ = [
    "ClientConnection",
    "ConfigError",
    "Configuration",
    "Gates",
    "InvalidConfigurationError",
    "Profile",
    "ProfileArgs",
    "ReprieveArgs",
    "Settings",
    "default_configuration",
    "idle_gates",
    "parse_configuration",
    "parse_feature_gates",
]
