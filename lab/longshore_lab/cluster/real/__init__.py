"""Real nodes: kubelets with a container runtime, a network namespace and a cgroup of their own, on this one machine."""
