"""Questions about a cluster, asked of small ones."""
