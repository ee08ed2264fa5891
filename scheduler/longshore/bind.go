package longshore

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"longshore.dev/scheduler/inference"
)

var (
	_ fwk.ReservePlugin = &Longshore{}
	_ fwk.BindPlugin    = &Longshore{}
)

// Reserve gives a pod its GPUs on the chosen node, before the next pod is looked at. Pods of a group are tried on one
// snapshot, which changes beneath the policy without a new generation: it is told which node did.
func (p *Longshore) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	p.distrust(nodeName)
	needs := needsIn(state)
	if needs == nil || !needs.HasDevices() {
		return nil
	}
	node, err := p.snapshot.NodeInfos().Get(nodeName)
	if err != nil {
		return fwk.NewStatus(fwk.Unschedulable, devicesVanish)
	}
	devices, fit := needs.Devices(pod, node, p.held)
	if fit != inference.DevicesFit {
		return fwk.NewStatus(fwk.Unschedulable, devicesVanish)
	}
	p.held.Put(pod, nodeName, devices)
	return nil
}

// Unreserve takes back what Reserve gave.
func (p *Longshore) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, nodeName string) {
	p.distrust(nodeName)
	p.held.Drop(pod.UID)
}

// distrust tells the policy of a node that it is to look at anew. Bindings that fail say so beside a ranking.
func (p *Longshore) distrust(nodeName string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if policy := p.models.current.Load(); policy != nil {
		policy.scorer.Distrust(nodeName)
	}
}

// Bind binds a pod as upstream's DefaultBinder does, surely, and one that was given GPUs with the annotation that says
// which: the API server puts what a Binding carries on the pod, so that it is there from the first moment, and no right
// to change pods is needed.
func (p *Longshore) Bind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	p.recordBinding(state, nodeName)
	defer p.health.sending(pod.UID)()
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: nodeName},
	}
	if devices := p.held.Get(pod.UID); devices != "" {
		binding.Annotations = map[string]string{inference.DevicesAnnotation: devices}
	}
	return fwk.AsStatus(p.bindSurely(ctx, pod, nodeName, func() error { return p.send(ctx, pod, binding) }))
}

func (p *Longshore) send(ctx context.Context, pod *v1.Pod, binding *v1.Binding) error {
	if cacher := p.handle.APICacher(); cacher != nil { // as upstream's: where it is on, all calls about a pod go through it
		onFinish, err := cacher.BindPod(binding)
		if err == nil {
			err = cacher.WaitOnFinish(ctx, onFinish)
		}
		return err
	}
	return p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
}

// forgetGone has what is kept about pods dropped when they are gone, or have a node.
func (p *Longshore) forgetGone() error {
	_, err := p.handle.SharedInformerFactory().Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, now any) {
			if pod, ok := now.(*v1.Pod); ok && pod.Spec.NodeName != "" {
				p.limited.drop(pod)
				p.passedOver.drop(pod.UID)
			}
		},
		DeleteFunc: p.forget,
	})
	return err
}

// forget drops what is kept about a pod that is gone.
func (p *Longshore) forget(last any) {
	if unknown, ok := last.(cache.DeletedFinalStateUnknown); ok {
		last = unknown.Obj
	}
	if pod, ok := last.(*v1.Pod); ok {
		p.limited.drop(pod)
		p.passedOver.drop(pod.UID)
		p.held.Drop(pod.UID)
	}
}
