//go:build tools

// Package kwok names the program, so that go.mod keeps what it needs.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
