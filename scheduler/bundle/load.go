package bundle

import "slices"

// LoadScale is how the input `load` is measured: when CPU counts as scarce beside the GPUs. All numbers are above 0.
type LoadScale struct {
	// The shares that count as used in an empty cluster: so the first few pods do not decide.
	CPUBeforehand  float64 `json:"cpu_beforehand"`
	GPUsBeforehand float64 `json:"gpus_beforehand"`
	// CPU in use for each GPU in use, both as shares of what there is: up to ScarceFrom CPU is not scarce, and ScarceOver
	// further on it is wholly scarce. At 1 both are used up together.
	ScarceFrom float64 `json:"scarce_from"`
	ScarceOver float64 `json:"scarce_over"`
	// LittleBelow is of the GPUs: while a smaller share is in use, CPU is that much less scarce, whatever else runs there.
	LittleBelow float64 `json:"little_below"`
}

// formerLoad is what bundles of format 1 mean, which do not say it.
var formerLoad = LoadScale{CPUBeforehand: 0.024, GPUsBeforehand: 0.03, ScarceFrom: 0.9, ScarceOver: 0.15, LittleBelow: 0.1}

// checkLoad wants a scale where the network reads `load`, and only there.
func checkLoad(p *Policy) error {
	isRead := slices.ContainsFunc(p.Ops, func(op Op) bool { return slices.Contains(op.Inputs, Load) })
	if *p.Format == formerFormat {
		if p.Load != nil {
			return errorf("set `format` to 2", "`policy.json`: got the field `load` in format 1, which has none")
		}
		if isRead {
			p.Load = &formerLoad
		}
		return nil
	}
	if isRead != (p.Load != nil) {
		return errorf(againHint, "got the load scale %v, expected one where the network reads `load`, and only there", p.Load)
	}
	if p.Load == nil {
		return nil
	}
	for _, one := range []float64{
		p.Load.CPUBeforehand, p.Load.GPUsBeforehand, p.Load.ScarceFrom, p.Load.ScarceOver, p.Load.LittleBelow,
	} {
		if !isFinite(one) || one <= 0 {
			return errorf(againHint, "got the load scale %+v, expected finite numbers above 0", *p.Load)
		}
	}
	return nil
}
