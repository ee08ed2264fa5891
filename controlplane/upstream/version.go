package upstream

import "runtime/debug"

// Version is the version of k8s.io/kubernetes that this binary was linked with, so that it cannot disagree with go.mod.
func Version() string {
	const module = "k8s.io/kubernetes"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return dependency.Version
			}
		}
	}
	return "unknown"
}
