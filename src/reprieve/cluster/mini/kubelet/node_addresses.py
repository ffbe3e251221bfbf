"""Which addresses does a simulated node report? Nothing listens there; tools expect that there are some."""

from hashlib import blake2b

from reprieve.model.json import Json


def addresses_of(node: str) -> list[Json]:
    return [
        {"type": "InternalIP", "address": internal_ip(node)},
        {"type": "Hostname", "address": node},
    ]


def internal_ip(node: str) -> str:
    """It follows from the name: a node that comes again has the same."""
    first, second, third = blake2b(node.encode(), digest_size=3).digest()
    return f"10.{64 + first % 32}.{second}.{third}"
