package recorder

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ProcessOf returns a name for the process of this machine at the other end of conn, ""
// when it cannot be found: it belongs to another user, or the connection is over. Two
// processes have different names, even when the system gives both the same id. It
// reads the system's tables, which takes milliseconds.
func ProcessOf(conn net.Conn) string {
	from, ok1 := addrPort(conn.RemoteAddr())
	to, ok2 := addrPort(conn.LocalAddr())
	if !ok1 || !ok2 {
		return ""
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, _ := os.ReadFile(table)
		if inode := socketInode(data, from, to); inode != "" {
			return ownerOf("socket:[" + inode + "]")
		}
	}
	return ""
}

func addrPort(a net.Addr) (netip.AddrPort, bool) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()), true
}

// socketInode returns the inode of the socket that is connected from one address to
// another, "" when the table does not have it.
func socketInode(table []byte, from, to netip.AddrPort) string {
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		if len(fields) < 10 {
			continue
		}
		local, err1 := parseTableAddress(fields[1])
		remote, err2 := parseTableAddress(fields[2])
		if err1 == nil && err2 == nil && local == from && remote == to && fields[9] != "0" {
			return fields[9]
		}
	}
	return ""
}

// parseTableAddress reads an address such as 0100007F:1F90: words of four bytes in the
// byte order of the machine, and the port.
func parseTableAddress(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil || len(host) != 8 && len(host) != 32 {
		return netip.AddrPort{}, fmt.Errorf("%q is not an address", text)
	}
	raw := make([]byte, 0, 16)
	for i := 0; i < len(host); i += 8 {
		word, err := strconv.ParseUint(host[i:i+8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, err
		}
		raw = binary.NativeEndian.AppendUint32(raw, uint32(word))
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
}

// ownerOf returns the process, other than this one, that has a file open whose link
// reads target: its number and when it started, in ticks of the system.
func ownerOf(target string) string {
	open, _ := filepath.Glob("/proc/[0-9]*/fd")
	slices.Reverse(open) // clients were started recently
	for _, dir := range open {
		pid := filepath.Base(filepath.Dir(dir))
		if pid == strconv.Itoa(os.Getpid()) {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // another user's process, or it has ended
		}
		for _, e := range entries {
			if link, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && link == target {
				return pid + "@" + startTime(pid)
			}
		}
	}
	return ""
}

// startTime returns field 22 of a process's stat. The name before it may hold anything
// but ends at the last parenthesis.
func startTime(pid string) string {
	data, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(data[bytes.LastIndexByte(data, ')')+1:]), " ")
	if fields := strings.Fields(rest); len(fields) > 19 {
		return fields[19]
	}
	return ""
}
