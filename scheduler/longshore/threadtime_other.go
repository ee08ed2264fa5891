//go:build !linux

package longshore

import "time"

// threadTime returns 0: only Linux tells it in a way that we know.
func threadTime() (int, time.Duration) { return 0, 0 }
