"""Are the kinds valid that extend an API server: webhooks, policies, APIServices, flows, certificates?"""

import base64
import binascii
from urllib.parse import urlsplit

from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.marks import check_marks, rule
from reprieve.cluster.api.names import dns_label, dns_subdomain
from reprieve.cluster.api.values import name_of, text_in

_REVIEW_VERSIONS = ("v1", "v1beta1")
_URL = "must be a URL such as https://host/path"
_RESERVED = ".static.k8s.io"
_REQUEST = b"-----BEGIN CERTIFICATE REQUEST-----"
_USAGES = {
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign"),
    *("data encipherment", "decipher only", "digital signature", "email protection", "encipher only"),
    *("ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment"),
    *("microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"),
}


# --- webhooks ------------------------------------------------------------------------------------


@rule
def check_client_config(config: At) -> None:
    if config["url"].given == config["service"].given:
        config.refuse(ErrorType.REQUIRED, "must have exactly one of url and service")
    elif config["url"].is_text():
        _check_url(config["url"])


def _check_url(url: At) -> None:
    try:
        found = urlsplit(url.value)
        port = found.port
    except ValueError:  # also of a port that is none
        url.invalid(_URL)
        return
    if found.scheme != "https" or not found.hostname or port == 0:
        url.invalid(_URL)
    elif "@" in found.netloc or found.query or found.fragment:
        url.invalid("must have no user, no query and no fragment")


@rule
def check_webhook_path(path: At) -> None:
    if not path.empty and path.text() and not path.text().startswith("/"):
        path.invalid("must begin with a '/'")


@rule
def check_webhook_name(name: At) -> None:
    name.must_be(dns_subdomain)
    if name.text().count(".") < 2:
        name.invalid("must have at least three parts joined by dots, as in pods.hooks.example.com")


@rule
def check_review_versions(versions: At) -> None:
    for version in versions.items():
        version.must_be(dns_label)
        version.once(versions.path, version.text())
    if not set(_texts(versions)).intersection(_REVIEW_VERSIONS):
        versions.invalid("must include v1 or v1beta1")


@rule
def check_conversion(conversion: At) -> None:
    if conversion["strategy"].value == "Webhook":
        if conversion["webhook"].require():
            check_marks(conversion["webhook"], "WebhookConversion")
    elif conversion["webhook"].given:
        conversion["webhook"].forbid("must not be given where strategy is not Webhook")


@rule
def check_reserved_name(name: At) -> None:
    if name.text().endswith(_RESERVED):
        name.invalid(
            f"must not end with {_RESERVED}: such names are for configuration in files of the server"
        )


# --- rules ---------------------------------------------------------------------------------------


def _texts(words: At) -> list[str]:
    return [one for one in words.value if isinstance(one, str)] if isinstance(words.value, list) else []


@rule
def check_wildcard(words: At) -> None:
    found = _texts(words)
    if len(found) > 1 and "*" in found:
        words.invalid("must have nothing else beside *")


@rule
def check_rule_resources(resources: At) -> None:
    found = _texts(resources)
    if "*/*" in found and len(found) > 1:
        resources.invalid("must have nothing else beside */*")
    if "*" in found and any("/" not in one and one != "*" for one in found):
        resources.invalid("must have no other resource beside *")


@rule
def check_param_ref(ref: At) -> None:
    if ref["name"].empty == (not ref["selector"].given):
        ref.invalid("must have exactly one of name and selector")


@rule
def check_actions(actions: At) -> None:
    if {"Deny", "Warn"} <= set(_texts(actions)):
        actions.invalid("must not have both Deny and Warn")


@rule
def check_any_validation(spec: At) -> None:
    if spec["auditAnnotations"].empty:
        spec["validations"].require("must have at least one item where there are no auditAnnotations")


# --- APIServices and flows -----------------------------------------------------------------------


@rule
def check_api_service(thing: At) -> None:
    spec = thing["spec"]
    wanted = f"{text_in(spec.value, 'version')}.{text_in(spec.value, 'group')}"
    if name_of(thing.value) != wanted:
        thing["metadata"]["name"].invalid(f"must be spec.version and spec.group: {wanted}")
    if spec["service"].given and spec["insecureSkipTLSVerify"].flag() and not spec["caBundle"].empty:
        spec["insecureSkipTLSVerify"].invalid("must not be true where caBundle is given")


@rule
def check_any_rule(rules: At) -> None:
    if rules["resourceRules"].empty and rules["nonResourceRules"].empty:
        rules.refuse(ErrorType.REQUIRED, "must have at least one of resourceRules and nonResourceRules")


@rule
def check_priority_level(spec: At) -> None:
    for kind, field in (("Exempt", "exempt"), ("Limited", "limited")):
        if spec["type"].value != kind and spec[field].given:
            spec[field].forbid(f"must not be given where type is not {kind}")
    if spec["type"].value == "Limited":
        spec["limited"].require("must be given where type is Limited")


# --- certificates --------------------------------------------------------------------------------


@rule
def check_signing_request(request: At) -> None:
    try:
        found = base64.b64decode(request.text(), validate=False)
    except (binascii.Error, ValueError):
        found = b""
    if _REQUEST not in found:
        request.invalid("must be a PEM block CERTIFICATE REQUEST, encoded as base64")


@rule
def check_usages(usages: At) -> None:
    for usage in usages.items():
        usage.one_of(_USAGES)
        usage.once(usages.path, usage.text())


@rule
def check_signer_name(name: At) -> None:
    domain, slash, path = name.text().partition("/")
    if not slash or not path or dns_subdomain(domain) is not None or "." not in domain:
        name.invalid("must be a domain and a path, as in example.com/signer")
