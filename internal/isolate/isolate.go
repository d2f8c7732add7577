package isolate

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Mode says whether processes are to be kept away from the network.
type Mode string

// The modes.
const (
	// Auto keeps processes away from the network where the machine allows it.
	Auto Mode = "auto"
	// Require fails where the machine does not allow it.
	Require Mode = "require"
	// Off leaves the network open.
	Off Mode = "off"
)

// Level is how far processes can be kept apart on this machine. The zero value
// leaves the network open.
type Level struct {
	// Enforced says that processes reach nothing but the listeners of their sandbox.
	Enforced bool
	// Reason says why it is not enforced, as part of a sentence.
	Reason string

	namespaces namespaces
}

// Detect finds out what this machine allows, by trying it. The error, with
// [Require] only, says why processes cannot be kept away from the network.
func Detect(ctx context.Context, mode Mode) (Level, error) {
	if mode == Off {
		return Level{Reason: "it was switched off"}, nil
	}
	found, err := detectNamespaces(ctx)
	if err == nil {
		return Level{Enforced: true, namespaces: found}, nil
	}
	if mode == Require {
		return Level{}, fmt.Errorf("isolation: cannot be enforced: %w; without it, use --isolation off", err)
	}
	return Level{Reason: err.Error()}, nil
}

// Config describes a sandbox.
type Config struct {
	// Level is what Detect returned.
	Level Level
	// Dir is the folder that processes work in when their command names none.
	Dir string
}

// Report says what a sandbox had to do with its processes.
type Report struct {
	Level
	// Killed counts the processes that were still alive when the process that had
	// started them had ended.
	Killed int
	// Truncated counts the processes that wrote more than was kept.
	Truncated int
}

// Sandbox starts processes. It is safe for concurrent use.
type Sandbox struct {
	cfg       Config
	hidden    []string // patterns of the host's sockets that processes do not see
	mu        sync.Mutex
	listeners []net.Listener
	report    Report
}

// New returns a sandbox without processes.
func New(cfg Config) (*Sandbox, error) {
	return &Sandbox{cfg: cfg, hidden: hostSockets(), report: Report{Level: cfg.Level}}, nil
}

// hostSockets are patterns of well-known sockets of the host. They have a path, so a
// network namespace does not keep a process from the services behind them: those start
// programs outside the sandbox or look names up for it.
func hostSockets() []string {
	return []string{
		"/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock",
		"/run/user/*/docker.sock", "/run/user/*/podman/podman.sock",
		"/run/dbus/system_bus_socket", "/run/user/*/bus", "/run/systemd/private", "/run/user/*/systemd/private",
		"/run/snapd.socket",
		"/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve*", "/run/avahi-daemon/socket",
		"/var/lib/sss/pipes/nss",
	}
}

// Listen returns a listener on loopback that the processes of the sandbox reach at
// its address, those that start after it. Close ends it. When the level is
// enforced, this process cannot reach it.
func (s *Sandbox) Listen() (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.newListener()
	if err != nil {
		return nil, err
	}
	s.listeners = append(s.listeners, l)
	return l, nil
}

func listenOnHost() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		return nil, fmt.Errorf("sandbox: cannot listen on loopback: %w", err)
	}
	return l, nil
}

// Close closes the listeners and reports about the processes that ran. All of
// them must have ended.
func (s *Sandbox) Close() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.listeners = nil
	return s.report
}
