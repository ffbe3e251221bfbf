"""The policies that tests compare: what a configuration makes of `policy: Upstream`."""

from reprieve.assembly import policy_of
from tests.unit.config import with_args

UPSTREAM = policy_of(with_args("Reprieve", policy="Upstream"))
