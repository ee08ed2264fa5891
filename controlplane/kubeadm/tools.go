//go:build tools

// Package kubeadm names the program that renders deploy/kubeadm, so that go.mod keeps what it needs.
package kubeadm

import _ "k8s.io/kubernetes/cmd/kubeadm"
