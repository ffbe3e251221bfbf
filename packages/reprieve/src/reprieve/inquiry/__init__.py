"""Questions about a cluster that change nothing in it: what if, why, how exposed."""
