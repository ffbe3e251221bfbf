"""Which addresses does a simulated node report? Nothing listens there; tools expect that there are some."""

from hashlib import blake2b

from reprieve.model.json import Json


def addresses_of(node: str) -> list[Json]:
    """They follow from the name: a node that comes again has the same."""
    first, second, third = blake2b(node.encode(), digest_size=3).digest()
    return [
        {"type": "InternalIP", "address": f"10.{64 + first % 32}.{second}.{third}"},
        {"type": "Hostname", "address": node},
    ]
