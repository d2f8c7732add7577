package isolate

import (
	"math"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where struct seccomp_data has what the filter reads. Both architectures are little-endian,
// so that the low half of an argument comes first.
const (
	dataNumber   = 0
	dataABI      = 4
	dataArgument = 16
)

// abis say how a program could make a socket by the system calls of another architecture.
var abis = map[string]struct {
	own     uint32
	foreign [2]uint32 // socketcall and socket of 32-bit programs
}{
	"amd64": {unix.AUDIT_ARCH_X86_64, [2]uint32{102, 359}},
	"arm64": {unix.AUDIT_ARCH_AARCH64, [2]uint32{102, 281}},
}

// x32Bit marks system calls of x32 programs, which otherwise have the numbers of amd64.
const x32Bit = 1 << 30

// refuseVsock takes the address family AF_VSOCK from this thread, and so from the processes
// that it starts: no network namespace holds it, and it leads to the host of a virtual
// machine. A socket of it is refused as if the kernel did not know it. So are io_uring, which
// makes sockets without a system call, and the ways in which 32-bit programs make any
// socket, because their arguments cannot be seen.
func refuseVsock() error {
	abi, known := abis[runtime.GOARCH]
	if !known {
		return nil
	}
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K
	)
	program := []unix.SockFilter{
		{Code: load, K: dataABI},
		{Code: equal, K: abi.own, Jf: 6},
		{Code: load, K: dataNumber},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: math.MaxUint32 ^ x32Bit},
		{Code: equal, K: unix.SYS_IO_URING_SETUP, Jt: 9},
		{Code: equal, K: unix.SYS_SOCKET, Jf: 6},
		{Code: load, K: dataArgument},
		{Code: equal, K: unix.AF_VSOCK, Jt: 5, Jf: 4},
		{Code: load, K: dataNumber}, // of another architecture
		{Code: equal, K: unix.SYS_IO_URING_SETUP, Jt: 4},
		{Code: equal, K: abi.foreign[0], Jt: 3},
		{Code: equal, K: abi.foreign[1], Jt: 2},
		{Code: end, K: unix.SECCOMP_RET_ALLOW},
		{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)},
		{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // 15 of them
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		uintptr(unsafe.Pointer(&filter))) //nolint:gosec // the kernel copies it
	if errno != 0 {
		return errno
	}
	return nil
}
