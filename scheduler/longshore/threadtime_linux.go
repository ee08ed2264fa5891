package longshore

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// threadTime returns which thread the caller is on and how much processor time that has had; 0 where it cannot be read.
//
// The calls are raw ones, which Go's scheduler is not told of: if it is, and the kernel takes the core away meanwhile, it
// takes the caller for one who waits, and gives its turn to somebody else.
func threadTime() (thread int, used time.Duration) {
	number, _ := unix.RawSyscallNoError(unix.SYS_GETTID, 0, 0, 0)
	var now unix.Timespec
	_, _, failure := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&now)), 0)
	if failure != 0 {
		return int(number), 0
	}
	return int(number), time.Duration(now.Nano())
}
