//go:build !linux

package recorderenv

import "net"

// ProcessOf returns a name for the process of this machine at the other end of conn.
// Only Linux tells; elsewhere it is "".
func ProcessOf(net.Conn) string { return "" }
