"""The controllers of the mini cluster: each a function of what the store holds, woken by its changes."""

from reprieve.cluster.mini.controllers.loop import DEFAULT_DELAYS, Controllers, Delays, delays_at

__all__ = ["DEFAULT_DELAYS", "Controllers", "Delays", "delays_at"]
