"""The clusters that cases are measured in, as Kubernetes objects."""
