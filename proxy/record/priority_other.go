//go:build !linux

package record

// lowerPriority does nothing: only Linux has priorities of threads.
func lowerPriority() {}
