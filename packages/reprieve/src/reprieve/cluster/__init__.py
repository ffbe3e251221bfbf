"""One port to a cluster, and the two sides that stand behind it."""
