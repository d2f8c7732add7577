package recorder

import (
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// A helper process connects; the test finds it by its connection.
func TestProcessOf(t *testing.T) {
	if address := os.Getenv("TEST_CONNECT_TO"); address != "" {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_, _ = io.Copy(io.Discard, conn)
		}
		return
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: no such network here", address)
			continue
		}
		var names []string
		for range 2 {
			child := exec.Command(os.Args[0], "-test.run=^TestProcessOf$")
			child.Env = append(os.Environ(), "TEST_CONNECT_TO="+listener.Addr().String())
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			conn, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			name := ProcessOf(conn)
			if again := ProcessOf(conn); again != name ||
				!strings.HasPrefix(name, strconv.Itoa(child.Process.Pid)+"@") || strings.HasSuffix(name, "@") {
				t.Errorf("%s: %q, then %q, of process %d", address, name, again, child.Process.Pid)
			}
			names = append(names, name)
			_ = conn.Close()
			_ = child.Wait()
			if over := ProcessOf(conn); over != "" {
				t.Errorf("%s: a connection that is over is of %q", address, over)
			}
		}
		if names[0] == names[1] {
			t.Errorf("%s: two processes are called %q", address, names[0])
		}
		_ = listener.Close()
	}
}

// A connection from this process itself has no other process.
func TestProcessOfOwnConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	if got := ProcessOf(server); got != "" {
		t.Errorf("found %q", got)
	}
}

const socketTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0 100 0 0 10 0
   1: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 222 1 0 20 4 30 10 -1
   2: 0000000000000000FFFF00000100007F:9C41 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000 1000 0 333 1
   3: 0100007F:9C42 0100007F:1F90 06 00000000:00000000 00:00000000 00000000  0        0 0 3
torn 0100007F
`

func TestSocketInode(t *testing.T) {
	to := netip.MustParseAddrPort("127.0.0.1:8080")
	for from, want := range map[string]string{"127.0.0.1:40000": "222", "127.0.0.1:40001": "333", "127.0.0.1:40002": "",
		"127.0.0.1:40003": "", "127.0.0.2:40000": ""} {
		if got := socketInode([]byte(socketTable), netip.MustParseAddrPort(from), to); got != want {
			t.Errorf("%s: inode %q, want %q", from, got, want)
		}
	}
}

func FuzzSocketInode(f *testing.F) {
	f.Add([]byte(socketTable))
	at := netip.MustParseAddrPort("127.0.0.1:40000")
	f.Fuzz(func(_ *testing.T, table []byte) { socketInode(table, at, at) })
}
