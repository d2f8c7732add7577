package recorder

import (
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"testing"
)

// Connections to other machines count, those within this one do not.
func TestFarSockets(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0
   2: 0200000A:C351 0200000A:1F90 01 00000000:00000000 00:00000000 00000000     0        0 13 1 0 100 0 0 10 0
   3: 0200000A:C352 01020304:01BB 01 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100 0 0 10 0
   4: 0200000A:C353 05020304:01BB 02 00000000:00000000 00:00000000 00000000     0        0 15 1 0 100 0 0 10 0
   5: 0200000A:C354 06020304:01BB 06 00000000:00000000 00:00000000 00000000     0        0 16 1 0 100 0 0 10 0
   6: damaged
`
	far := map[string]string{}
	addFarSockets(far, []byte(table))
	if want := map[string]string{"socket:[14]": "4.3.2.1:443", "socket:[15]": "4.3.2.5:443"}; !maps.Equal(far, want) {
		t.Errorf("%v, want %v", far, want)
	}
}

// A connection of this process that the tables call far is found, with its name.
func TestDescendantsAreFound(t *testing.T) {
	if got := descendantsOf("1"); !slices.Contains(got, "1") {
		t.Errorf("%v", got)
	}
	parent := os.Getppid()
	if got := descendantsOf(strconv.Itoa(parent)); !slices.Contains(got, strconv.Itoa(os.Getpid())) {
		t.Errorf("%v does not hold this process", got)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if got := connectionsOf(os.Getpid()); len(got) != 0 {
		t.Errorf("a listener on loopback is taken for %v", got)
	}
}
