package inference

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// podFacts is what features read of a pod to be placed: made once for all pods that are alike.
type podFacts struct {
	cpu, memory int64
	keepsOn     bool
	request
	softTolerations           []v1.Toleration
	nodePreferences           *nodeaffinity.PreferredSchedulingTerms
	images                    []string
	numContainers             int
	taintsMost, preferredMost float64
	imageSpread               []float64 // of every image, the share of the nodes that have it
}

// classKey returns a number that pods share whose rows are the same.
func (s *Scorer) classKey(pod *v1.Pod) uint64 {
	h := hasher{seed: s.seed}
	reads := &s.model.reads
	h.containers(pod.Spec.Containers, reads.images)
	h.containers(pod.Spec.InitContainers, reads.images)
	h.amounts(pod.Spec.Overhead)
	if pod.Spec.Resources != nil {
		h.amounts(pod.Spec.Resources.Requests)
	}
	h.annotations(pod.Annotations)
	if !keepsOn(pod) {
		h.text("of its node")
	}
	if reads.taints {
		h.tolerations(pod.Spec.Tolerations)
	}
	if reads.nodePreferences {
		h.nodePreferences(pod.Spec.Affinity)
	}
	if reads.images {
		for i := range pod.Spec.Volumes {
			if image := pod.Spec.Volumes[i].Image; image != nil {
				h.text(image.Reference)
			}
		}
	}
	return h.sum
}

// factsOfPod reads a pod.
func (s *Scorer) factsOfPod(pod *v1.Pod) *podFacts {
	asked := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	facts := &podFacts{cpu: asked.Cpu().MilliValue(), memory: asked.Memory().Value(), keepsOn: keepsOn(pod)}
	facts.request, _ = requestOf(pod.Annotations)
	for _, toleration := range pod.Spec.Tolerations {
		if toleration.Effect == "" || toleration.Effect == v1.TaintEffectPreferNoSchedule {
			facts.softTolerations = append(facts.softTolerations, toleration)
		}
	}
	if affinity := pod.Spec.Affinity; s.model.reads.nodePreferences && affinity != nil && affinity.NodeAffinity != nil {
		facts.nodePreferences = readableWishes(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	facts.images, facts.numContainers = imagesOf(pod)
	return facts
}

// readableWishes parses preferred node affinity; a term that cannot be read matches nothing.
func readableWishes(wishes []v1.PreferredSchedulingTerm) *nodeaffinity.PreferredSchedulingTerms {
	wishes = slices.DeleteFunc(slices.Clone(wishes), func(wish v1.PreferredSchedulingTerm) bool {
		_, err := nodeaffinity.NewPreferredSchedulingTerms([]v1.PreferredSchedulingTerm{wish})
		return err != nil
	})
	if len(wishes) == 0 {
		return nil
	}
	parsed, _ := nodeaffinity.NewPreferredSchedulingTerms(wishes) // each of them was read above
	return parsed
}

// imagesOf returns a pod's images by the names that nodes know them by, and the number of its containers.
func imagesOf(pod *v1.Pod) ([]string, int) {
	var names []string
	for _, containers := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			names = append(names, normalized(containers[i].Image))
		}
	}
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil {
			names = append(names, normalized(image.Reference))
		}
	}
	return names, len(pod.Spec.InitContainers) + len(pod.Spec.Containers)
}

func normalized(image string) string {
	if strings.LastIndex(image, ":") <= strings.LastIndex(image, "/") {
		return image + ":latest"
	}
	return image
}

// sortedModels returns `b|a|` as `a|b`, so that equal requests are equal.
func sortedModels(text string) string {
	models := strings.FieldsFunc(text, func(r rune) bool { return r == '|' })
	slices.Sort(models)
	return strings.Join(models, "|")
}
