"""Questions about a cluster: objects in, answers out."""
