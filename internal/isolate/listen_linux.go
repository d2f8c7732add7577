package isolate

import (
	"fmt"
	"net"
	"sync"
)

const (
	// firstPort is that of a sandbox's first listener. Every namespace has all
	// ports free; these are below the ones that the kernel gives to connections.
	firstPort = 18901
	// maxListeners bounds the listeners of a sandbox.
	maxListeners = 32
)

// sharedListener accepts the connections that the processes of a sandbox make to
// one port, each in the network namespace of its process.
type sharedListener struct {
	port   int
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// newListener returns a listener in the namespaces to come, or on the host when
// processes share its network.
func (s *Sandbox) newListener() (net.Listener, error) {
	if !s.cfg.Level.namespaces.NetworkNamespace {
		return listenOnHost()
	}
	if len(s.listeners) == maxListeners {
		return nil, fmt.Errorf("sandbox: has %d listeners already", maxListeners)
	}
	return &sharedListener{port: firstPort + len(s.listeners), conns: make(chan net.Conn), closed: make(chan struct{})},
		nil
}

// sharedListeners returns the listeners that each process needs.
func (s *Sandbox) sharedListeners() (all []*sharedListener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		if shared, ok := l.(*sharedListener); ok {
			all = append(all, shared)
		}
	}
	return all
}

// Accept returns the next connection of any process.
func (l *sharedListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *sharedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the address as processes use it.
func (l *sharedListener) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.port}
}

// passOn accepts from a listener in a namespace until that is closed.
func (l *sharedListener) passOn(from net.Listener) {
	for {
		conn, err := from.Accept()
		if err != nil {
			return
		}
		select {
		case l.conns <- conn:
		case <-l.closed:
			_ = conn.Close()
		}
	}
}
