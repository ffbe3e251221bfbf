"""A Kubernetes cluster on one machine: an API server over a store, simulated kubelets, and controllers."""
