"""Whole clusters in virtual time: the real loop, the mini cluster with all that lives in it, and faults.

A seed gives a cluster, arrivals, a policy, mishaps and faults. `python -m tests.simulation SEED` plays one
again and tells its story.
"""
