package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
)

// object is JSON in the making.
type object = map[string]any

// list is a JSON array in the making.
type list = []any

func line(t testing.TB, id any, pod object, items ...any) []byte {
	t.Helper()
	out, err := json.Marshal(object{"id": id, "pod": pod, "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// node has 4 CPUs, 8 GiB and room for 10 pods, and is its own host; changes are merged into it.
func node(name string, labels object, spec object) object {
	all := object{"kubernetes.io/hostname": name}
	for key, value := range labels {
		all[key] = value
	}
	resources := object{"cpu": "4", "memory": "8Gi", "pods": "10"}
	return object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": name, "labels": all},
		"spec":     spec,
		"status":   object{"capacity": resources, "allocatable": resources},
	}
}

// pod is in the namespace "shop" and has one container with the given requests; spec is merged into its spec.
func pod(name string, labels object, requests object, spec object) object {
	all := object{"containers": list{object{"name": "main", "image": "app:1", "resources": object{"requests": requests}}}}
	for key, value := range spec {
		all[key] = value
	}
	return object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": name, "namespace": "shop", "labels": labels},
		"spec":     all,
	}
}

func simple(apiVersion, kind, namespace, name string, spec object) object {
	metadata := object{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec}
}

// claimedVolume is a claim that is bound to a volume of a zone, and the class of both.
func claimedVolume(claim, volume, zone string) list {
	persistentVolume := simple("v1", "PersistentVolume", "", volume, object{
		"storageClassName": "disk", "capacity": object{"storage": "1Gi"},
		"claimRef": object{"namespace": "shop", "name": claim},
	})
	persistentVolume["metadata"].(object)["labels"] = object{"topology.kubernetes.io/zone": zone}
	persistentVolumeClaim := simple("v1", "PersistentVolumeClaim", "shop", claim, object{
		"storageClassName": "disk", "volumeName": volume,
	})
	persistentVolumeClaim["metadata"].(object)["annotations"] = object{"pv.kubernetes.io/bind-completed": "yes"}
	persistentVolumeClaim["status"] = object{"phase": "Bound"}
	class := object{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": object{"name": "disk"},
		"provisioner": "example.com/disk", "volumeBindingMode": "WaitForFirstConsumer",
	}
	return list{persistentVolume, persistentVolumeClaim, class}
}

func podAntiAffinity(app, topologyKey string) object {
	term := object{"labelSelector": object{"matchLabels": object{"app": app}}, "topologyKey": topologyKey}
	return object{"podAntiAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": list{term}}}
}

// randomLine is a case that reaches every store and most plugins. Names repeat from case to case, so that anything
// which one case leaves behind would be found by the next.
func randomLine(t testing.TB, random *rand.Rand, id int) []byte {
	chance := func(percent int) bool { return random.IntN(100) < percent }
	apps := []string{"web", "db", "queue"}
	var items list
	for i := range 1 + random.IntN(10) {
		spec := object{}
		if chance(20) {
			spec["taints"] = list{object{"key": "gpu", "effect": []string{"NoSchedule", "PreferNoSchedule"}[random.IntN(2)]}}
		}
		labels := object{"topology.kubernetes.io/zone": fmt.Sprintf("zone-%d", random.IntN(3))}
		made := node(fmt.Sprintf("node-%d", i), labels, spec)
		if chance(40) {
			made["status"].(object)["images"] = list{object{"names": list{"app:1"}, "sizeBytes": 700 << 20}}
		}
		items = append(items, made)
	}
	for i := range random.IntN(20) {
		spec := object{"nodeName": fmt.Sprintf("node-%d", random.IntN(11))}
		if chance(20) {
			spec["affinity"] = podAntiAffinity(apps[random.IntN(3)], "kubernetes.io/hostname")
		}
		requests := object{"cpu": fmt.Sprintf("%dm", random.IntN(1500)), "memory": "300Mi"}
		items = append(items, pod(fmt.Sprintf("pod-%d", i), object{"app": apps[random.IntN(3)]}, requests, spec))
	}
	if chance(70) {
		namespace := object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "shop", "labels": object{"team": "a"}}}
		items = append(items, namespace)
	}
	if chance(50) {
		items = append(items, simple("v1", "Service", "shop", "front", object{"selector": object{"app": apps[random.IntN(3)]}}))
	}
	spec := object{}
	if chance(40) {
		items = append(items, claimedVolume("data", "volume", fmt.Sprintf("zone-%d", random.IntN(3)))...)
	}
	if chance(25) {
		spec["volumes"] = list{object{"name": "data", "persistentVolumeClaim": object{"claimName": "data"}}}
	}
	placed := pod("new", object{"app": apps[random.IntN(3)]}, object{"cpu": "500m", "memory": "1Gi"}, spec)
	if chance(40) {
		kind := []string{"ReplicaSet", "StatefulSet"}[random.IntN(2)]
		selector := object{"selector": object{"matchLabels": object{"app": apps[random.IntN(3)]}}}
		if chance(70) {
			items = append(items, simple("apps/v1", kind, "shop", "owner", selector))
		}
		owner := object{"apiVersion": "apps/v1", "kind": kind, "name": "owner", "uid": "1", "controller": true}
		placed["metadata"].(object)["ownerReferences"] = list{owner}
	}
	if chance(25) {
		spec["affinity"] = object{"podAffinity": object{"preferredDuringSchedulingIgnoredDuringExecution": list{object{
			"weight": 7, "podAffinityTerm": object{
				"labelSelector": object{}, "namespaceSelector": object{"matchLabels": object{"team": "a"}},
				"topologyKey": "topology.kubernetes.io/zone",
			},
		}}}}
		placed["spec"].(object)["affinity"] = spec["affinity"]
	}
	return line(t, id, placed, items...)
}

func randomLines(t testing.TB, count int) [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	lines := make([][]byte, 0, count)
	for i := range count {
		lines = append(lines, randomLine(t, random, i))
	}
	return lines
}
