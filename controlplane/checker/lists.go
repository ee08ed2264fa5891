package main

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// What upstream's plugins ask of a cluster.

func (c *cluster) NodeInfos() fwk.NodeInfoLister           { return c }
func (c *cluster) StorageInfos() fwk.StorageInfoLister     { return c }
func (c *cluster) PodGroupStates() fwk.PodGroupStateLister { return noGroups{} }

// Get gives a node with its pods.
func (c *cluster) Get(name string) (fwk.NodeInfo, error) {
	if info := c.node(name); info != nil {
		return info, nil
	}
	return nil, fmt.Errorf("there is no node %q", name)
}

func (c *cluster) IsPVCUsedByPods(key string) bool { return c.claims[key] > 0 }

// noGroups are no pod groups: the gate of gang scheduling is off by default.
type noGroups struct{}

func (noGroups) Get(namespace, name string) (fwk.PodGroupState, error) {
	return nil, fmt.Errorf("pod group %s/%s: the checker knows none", namespace, name)
}

func (c *cluster) List() ([]fwk.NodeInfo, error) {
	if c.list == nil {
		names := make([]string, 0, len(c.infos))
		for name, info := range c.infos {
			if info.Node() != nil {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		c.list = make([]fwk.NodeInfo, len(names))
		for i, name := range names {
			c.list[i] = c.infos[name]
		}
	}
	return c.list, nil
}

func (c *cluster) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return c.having(func(info fwk.NodeInfo) bool { return len(info.GetPodsWithAffinity()) > 0 })
}

func (c *cluster) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return c.having(func(info fwk.NodeInfo) bool { return len(info.GetPodsWithRequiredAntiAffinity()) > 0 })
}

func (c *cluster) having(is func(fwk.NodeInfo) bool) ([]fwk.NodeInfo, error) {
	all, err := c.List()
	var some []fwk.NodeInfo
	for _, info := range all {
		if is(info) {
			some = append(some, info)
		}
	}
	return some, err
}

// NominatedPodsForNode lists the pods that are promised a node.
func (c *cluster) NominatedPodsForNode(name string) []fwk.PodInfo {
	var promised []fwk.PodInfo
	for _, pod := range c.nominated {
		if pod.Status.NominatedNodeName == name {
			if info, err := framework.NewPodInfo(pod); err == nil {
				promised = append(promised, info)
			}
		}
	}
	slices.SortFunc(promised, func(a, b fwk.PodInfo) int { return cmp.Compare(a.GetPod().UID, b.GetPod().UID) })
	return promised
}

// Promises are read from etcd alone; plugins make none here.

func (c *cluster) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}
func (c *cluster) DeleteNominatedPodIfExists(*corev1.Pod)                        {}
func (c *cluster) UpdateNominatedPod(klog.Logger, *corev1.Pod, fwk.PodInfo)      {}
