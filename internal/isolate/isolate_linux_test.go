package isolate

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func levels(t *testing.T) map[string]Level {
	t.Helper()
	all := map[string]Level{"open": {}}
	for name, n := range map[string]namespaces{"network": {NetworkNamespace: true},
		"network+pid": {NetworkNamespace: true, PIDNamespace: true}} {
		if err := n.tryOut(t.Context()); err != nil {
			t.Logf("%s is not possible here: %v", name, err)
			continue
		}
		all[name] = Level{Enforced: true, namespaces: n}
	}
	return all
}

// enforced returns a sandbox that keeps processes from the network.
func enforced(t *testing.T) *Sandbox {
	t.Helper()
	level, err := Detect(t.Context(), Auto)
	if err != nil {
		t.Fatal(err)
	}
	if !level.Enforced {
		t.Skip("isolation is not possible here: " + level.Reason)
	}
	sandbox, err := New(Config{Level: level, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sandbox.Close() })
	return sandbox
}

// TestChild is what the tests below run as a child: it tries one connection.
func TestChild(t *testing.T) {
	network, address, ok := strings.Cut(os.Getenv("TEST_DIAL"), " ")
	if !ok {
		t.Skip("no child")
	}
	if network == "socket" {
		for name, family := range map[string]int{"vsock": unix.AF_VSOCK, "inet": unix.AF_INET, "unix": unix.AF_UNIX,
			"netlink": unix.AF_NETLINK} {
			_, err := unix.Socket(family, unix.SOCK_DGRAM, 0)
			if family == unix.AF_VSOCK && errors.Is(err, unix.ENODEV) { // it has streams only
				_, err = unix.Socket(family, unix.SOCK_STREAM, 0)
			}
			fmt.Println(name, err)
		}
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 0, 0, 0)
		fmt.Println("io_uring", errno)
		return
	}
	if network == "dns" {
		_, err := net.DefaultResolver.LookupHost(t.Context(), address)
		fmt.Println("lookup:", err)
		return
	}
	conn, err := net.DialTimeout(network, address, 3*time.Second)
	if err == nil && network == "udp" {
		_, err = conn.Write([]byte("x"))
	}
	fmt.Println("dialled:", err)
}

func dial(t *testing.T, sandbox *Sandbox, where string) string {
	t.Helper()
	got, err := sandbox.Run(t.Context(),
		Command{Args: []string{os.Args[0], "-test.run=^TestChild$"}, Env: []string{"TEST_DIAL=" + where}})
	if err != nil {
		t.Fatal(err)
	}
	return string(got.Stdout)
}

// TestLostHelper holds what people are told when a helper ends, or hangs, before its program
// has begun.
func TestLostHelper(t *testing.T) {
	c := &helped{ctx: t.Context()}
	err := c.startProgram(exec.CommandContext(t.Context(), "sh", "-c", "kill -9 $$"))
	if err == nil ||
		err.Error() != "its sandbox ended before the program began (signal: killed); this happens when memory is short: free some and try again" {
		t.Errorf("a helper that was killed: %v", err)
	}
	if told := describeRefusal(err); !strings.Contains(told.Error(), "(its sandbox ended before") {
		t.Errorf("while namespaces are tried out: %v", told)
	}
	if err := (&lostError{timedOut: true}); !strings.Contains(err.Error(), "not ready within 1m0s; let this machine do less") {
		t.Errorf("a helper that hangs: %v", err)
	}
}

func TestNetworkIsOutOfReach(t *testing.T) {
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Close() }()
	sandbox := enforced(t)
	for _, where := range []string{"tcp " + host.Addr().String(), "tcp 1.1.1.1:443", "tcp [2606:4700:4700::1111]:443",
		"udp 1.1.1.1:53", "dns example.com"} {
		if got := dial(t, sandbox, where); strings.Contains(got, "<nil>") {
			t.Errorf("%s: %s", where, got)
		} else {
			t.Log(where, got)
		}
	}
	open, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := dial(t, open, "tcp "+host.Addr().String()); !strings.Contains(got, "<nil>") {
		t.Errorf("a child with an open network could not dial, so the test proves nothing: %s", got)
	}
}

// TestNoVsock holds that a program in a network of its own has no sockets of AF_VSOCK, which
// would lead to the host of a virtual machine, and has those of other families.
func TestNoVsock(t *testing.T) {
	for name, level := range levels(t) {
		sandbox, err := New(Config{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sandbox.Close() })
		got := dial(t, sandbox, "socket ")
		refused := strings.Contains(got, "vsock address family not supported") &&
			strings.Contains(got, "io_uring function not implemented")
		switch {
		case level.Enforced && !refused:
			t.Errorf("%s: %s", name, got)
		case !level.Enforced && refused:
			t.Logf("the kernel has neither AF_VSOCK nor io_uring, so the test proves nothing: %s", got)
		}
		for _, family := range []string{"inet", "unix", "netlink"} {
			if !strings.Contains(got, family+" <nil>") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// TestHostSocketsAreHidden holds that a service of the host behind a socket with a path
// is out of reach where the path is listed, and in reach where it is not.
func TestHostSocketsAreHidden(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "service.sock")
	host, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Close() }()
	sandbox := enforced(t)
	if !sandbox.cfg.Level.namespaces.PIDNamespace {
		t.Skip("no mount namespace here")
	}
	if got := dial(t, sandbox, "unix "+path); !strings.Contains(got, "<nil>") {
		t.Errorf("a child that may could not dial, so the test proves nothing: %s", got)
	}
	sandbox.hidden = append(sandbox.hidden, filepath.Join(folder, "*.sock"))
	if got := dial(t, sandbox, "unix "+path); !strings.Contains(got, "refused") {
		t.Errorf("a hidden socket: %s", got)
	}
}

// TestListenersAreReached holds that each process reaches the sandbox's listeners,
// at the same address.
func TestListenersAreReached(t *testing.T) {
	sandbox := enforced(t)
	for _, name := range []string{"first", "second"} {
		l, err := sandbox.Listen()
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = io.WriteString(w, name)
		})}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
		for range 2 {
			if got := dial(t, sandbox, "tcp "+l.Addr().String()); !strings.Contains(got, "<nil>") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	if got := dial(t, sandbox, "tcp 127.0.0.1:18903"); strings.Contains(got, "<nil>") {
		t.Errorf("a port without a listener: %s", got)
	}
}

// TestInputHasOneReader holds that the sandbox's helper has let go of the program's streams when the
// program is said to run: who writes to a program that closed its input has to notice.
func TestInputHasOneReader(t *testing.T) {
	forEachLevel(t, func(t *testing.T, sandbox *Sandbox) {
		for range 10 {
			p, err := sandbox.Start(t.Context(), shell("cat", Limits{}))
			if err != nil {
				t.Fatal(err)
			}
			for fd := range 3 {
				if path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.container.(*helped).helper.Pid, fd)); err != nil || path != os.DevNull {
					t.Errorf("file %d of the helper is %q, %v", fd, path, err)
				}
			}
			_ = p.Stdin.Close()
			if _, err := p.Wait(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
