//go:build tools

// Package tools names the programs that check deploy/, so that go.mod keeps what they need.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/promtool"
	_ "helm.sh/helm/v4/cmd/helm"
)
