package recorder

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/proxy/replay"
)

// connectionsOf returns the connections that a process and its descendants have to
// other machines.
func connectionsOf(pid int) (all []replay.Bypass) {
	far := map[string]string{} // addresses, by what the link of their socket reads
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, _ := os.ReadFile(table)
		addFarSockets(far, data)
	}
	if len(far) == 0 {
		return nil // the common case, in which only two files are read
	}
	for _, pid := range descendantsOf(strconv.Itoa(pid)) {
		dir := filepath.Join("/proc", pid, "fd")
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if link, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && far[link] != "" {
				name, _ := os.ReadFile(filepath.Join("/proc", pid, "comm"))
				all = append(all, replay.Bypass{Program: strings.TrimSpace(string(name)), Address: far[link]})
			}
		}
	}
	return all
}

// The states of a connection in the system's tables.
const (
	stateEstablished = "01"
	stateSynSent     = "02"
)

// addFarSockets adds the sockets of a table that are, or are being, connected to another machine.
func addFarSockets(far map[string]string, table []byte) {
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		if len(fields) < 10 || fields[3] != stateEstablished && fields[3] != stateSynSent {
			continue
		}
		local, err1 := parseTableAddress(fields[1])
		remote, err2 := parseTableAddress(fields[2])
		if err1 == nil && err2 == nil && !remote.Addr().IsLoopback() && remote.Addr() != local.Addr() {
			far["socket:["+fields[9]+"]"] = remote.String()
		}
	}
}

// descendantsOf returns a process and all that it started, directly or not.
func descendantsOf(root string) []string {
	children := map[string][]string{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		data, _ := os.ReadFile(path)
		// The name before the state may hold anything but ends at the last parenthesis.
		if fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])); len(fields) > 1 {
			children[fields[1]] = append(children[fields[1]], filepath.Base(filepath.Dir(path)))
		}
	}
	all := []string{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}
