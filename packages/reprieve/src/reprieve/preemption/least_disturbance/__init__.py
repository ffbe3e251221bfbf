"""The search that chooses placement and victims together, to disturb as little as possible, and proves it."""
