"""Which policy does the command line name: a policy, a file with a configuration, or a search?"""

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from reprieve.cli.config import InvalidConfigFileError, config_error, document_in
from reprieve.cli.main import meant
from reprieve.config import InvalidConfigurationError

if TYPE_CHECKING:
    from reprieve.assembly.inquiries import InquirySettings, PolicyChoice
    from reprieve.inquiry.decoded_cluster import DecodedCluster

_SEARCH_NAMES = ("Upstream", "PriorityCeiling", "LeastDisturbance")
# What has a flag of its own, as in profiles[0].pluginConfig[0].args.disturbance[1]
_FIELD = re.compile(r"^profiles\[0\]\.pluginConfig\[0\]\.args\.(search|budgets|disturbance)(\[\d+\])?(?=: )")


def policy_choice(
    policy: str, feature_gates: str, search: str = "", budgets: str = "", disturbance: str | None = None
) -> "PolicyChoice":
    choice = compared_choice(policy, feature_gates, "--policy")
    named = _as_written(search, _SEARCH_NAMES)
    return replace(choice, search=named, budgets=budgets, disturbance=criteria_in(disturbance))


def criteria_in(text: str | None) -> tuple[str, ...]:
    """None: the flag is not given."""
    return tuple(name.strip() for name in text.split(",")) if text is not None else ()


def compared_choice(policy: str, feature_gates: str, flag: str = "--compare") -> "PolicyChoice":
    """A policy, a file, or a search with Reprieve's defaults. Empty: that of the cluster."""
    from reprieve.assembly.inquiries import POLICIES, SEARCHES, PolicyChoice

    known = (*POLICIES, *SEARCHES)
    policy = _as_written(policy, known)
    document = _document_for(flag, policy, known) if policy and policy not in known else None
    return PolicyChoice(policy, document, feature_gates=feature_gates)


def _as_written(name: str, known: Sequence[str]) -> str:
    """As it is spelt in the configuration, where only its case differs."""
    return next((one for one in known if one.lower() == name.lower()), name)


def _document_for(flag: str, file: str, known: Sequence[str]) -> object:
    if not Path(file).exists():
        near = {name.lower(): name for name in known}
        hint = meant([near[name] for name in get_close_matches(file.lower(), near, n=1)])
        expected = f"expected one of {', '.join(known)}, or a file"
        raise InvalidConfigFileError(f'{flag}: {expected}, got "{file}"{hint}')
    return document_in(file)


def chosen_settings(choice: "PolicyChoice", cluster: "DecodedCluster") -> "InquirySettings":
    """The settings for a question without manifests."""
    from reprieve.assembly.inquiries import inquiry_settings

    try:
        return inquiry_settings(choice, cluster)
    except InvalidConfigurationError as error:
        raise choice_error(choice, error) from error


def choice_error(choice: "PolicyChoice", error: InvalidConfigurationError) -> InvalidConfigFileError:
    """An error names the file that has it, or else the flag."""
    if choice.document is not None:
        return config_error(choice.name, error)
    return InvalidConfigFileError("\n".join(_FIELD.sub(r"--\1", str(one)) for one in error.errors))
