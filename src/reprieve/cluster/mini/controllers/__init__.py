"""The controllers of the mini cluster: each a function of what the store holds, woken by its changes."""

from reprieve.cluster.mini.controllers.controller_manager import (
    DEFAULT_DELAYS,
    ControllerManager,
    Delays,
    delays_at,
)

__all__ = ["DEFAULT_DELAYS", "ControllerManager", "Delays", "delays_at"]
