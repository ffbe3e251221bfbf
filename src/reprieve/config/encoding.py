"""Encodes a configuration as a document with all defaults. Decoding it gives the same configuration."""

from typing import Any

import msgspec

from reprieve.config.decoding import Seconds
from reprieve.config.keys import plugin_args, reprieve_args
from reprieve.config.keys.global_settings import KIND
from reprieve.config.parsing import Configuration
from reprieve.config.plugins import EVERY, PLUGINS, Plugins, enabled_plugins
from reprieve.config.profiles import ARGS, KubeSchedulerProfile
from reprieve.model.json import Json

_DEFAULT_PLUGINS = enabled_plugins(Plugins())


def as_document(configured: Configuration) -> Json:
    head = {"apiVersion": plugin_args.API_VERSION, "kind": KIND}
    return {**head, **_plain(configured.settings), "profiles": [_profile(p) for p in configured.profiles]}


def _profile(profile: KubeSchedulerProfile) -> Json:
    document: Json = {"schedulerName": profile.scheduler_name}
    if profile.enabled != _DEFAULT_PLUGINS:
        document["plugins"] = {point: _plugins(on) for point, on in profile.enabled.items()}
    document["pluginConfig"] = [_plugin_config(profile, name) for name in ARGS]
    return document


def _plugins(enabled: dict[str, int]) -> Json:
    on = [{"name": name, "weight": weight} for name, weight in enabled.items()]
    return {"enabled": on, "disabled": [{"name": EVERY}]}


def _plugin_config(profile: KubeSchedulerProfile, name: str) -> Json:
    field = ARGS[name]
    version = plugin_args.API_VERSION if name in PLUGINS else reprieve_args.API_VERSION
    head = {"apiVersion": version, "kind": field.type.__name__}
    return {"name": name, "args": {**head, **_plain(getattr(profile.args, field.name))}}


def _plain(value: object) -> Any:
    """A value for YAML, with all defaults and without unset fields."""
    match value:
        case msgspec.Struct():
            inside = {f.encode_name: getattr(value, f.name) for f in msgspec.structs.fields(value)}
            return {key: _plain(item) for key, item in inside.items() if item is not None}
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case Seconds():
            return _length(value)
    return msgspec.to_builtins(value)


def _length(seconds: Seconds) -> str:
    return f"{seconds:f}".rstrip("0").rstrip(".") + "s"
