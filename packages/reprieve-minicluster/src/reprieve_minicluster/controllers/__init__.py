"""The controllers of the mini cluster: each is a function of the cached objects, called after changes."""

from reprieve_minicluster.controllers.controller_manager import (
    DEFAULT_DELAYS,
    ControllerManager,
    Delays,
    delays_at,
)

__all__ = ["DEFAULT_DELAYS", "ControllerManager", "Delays", "delays_at"]
