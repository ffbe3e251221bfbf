"""A cluster on one machine: a store of objects, simulated kubelets and the controllers that matter here."""
