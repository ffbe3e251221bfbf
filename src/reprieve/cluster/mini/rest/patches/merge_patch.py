"""JSON merge patch (RFC 7396): a patch has the shape of the object, and null removes a field."""


def merge(old: object, patch: object) -> object:
    if not isinstance(patch, dict):
        return patch
    merged = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value)
    return merged
