// Package postgrestest starts Debian's PostgreSQL for tests, and stops it with them.
//
// A test package has one [Server]. It starts when the first test asks for a database,
// and each test gets a database of its own:
//
//	var server postgrestest.Server
//
//	func TestMain(m *testing.M) { os.Exit(server.Main(m)) }
//
//	func TestStore(t *testing.T) {
//		url := server.Database(t)
//		…
//	}
//
// Where PostgreSQL is not installed, tests that ask for a database are skipped and say
// so. The server listens on 127.0.0.1 only, asks for a password, and does not sync its
// files unless [Server.Fsync] is set.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	role = "meerkat"
	// Password is that of the server's user. A test can look for it in output, where
	// it must never be.
	Password = "pw-canary-7b1e"

	startTime = 30 * time.Second
	pollTime  = 20 * time.Millisecond
)

// Server is one PostgreSQL server. Its zero value starts when it is needed. It is safe
// for concurrent use.
type Server struct {
	// Fsync makes commits survive a crash of the machine, as in production. Set it
	// before the server starts.
	Fsync bool

	mu        sync.Mutex
	started   bool
	missing   error // why there is no server
	dir       string
	port      int
	process   *exec.Cmd
	databases int
}

// Main runs the tests of a package and stops the server after them. It returns the exit
// code.
func (s *Server) Main(m *testing.M) int {
	defer s.Close()
	return m.Run()
}

// Database creates an empty database and returns its URL, the password included. It
// skips the test where PostgreSQL is not installed.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.started, s.missing = true, s.start()
	}
	if errors.Is(s.missing, exec.ErrNotFound) {
		tb.Skipf("PostgreSQL is not installed here: %v; apt-get install postgresql", s.missing)
	}
	if s.missing != nil {
		tb.Fatalf("PostgreSQL: %v", s.missing)
	}
	s.databases++
	name := fmt.Sprintf("test%d", s.databases)
	conn, err := pgx.Connect(tb.Context(), s.address("postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	_, err = conn.Exec(tb.Context(), "CREATE DATABASE "+name)
	if err := errors.Join(err, conn.Close(tb.Context())); err != nil {
		tb.Fatal(err)
	}
	return s.address(name)
}

func (s *Server) address(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(role, Password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), Path: database,
	}
	return u.String()
}

// start creates a data folder and starts a server on it.
func (s *Server) start() error {
	initdb, err := findProgram("initdb")
	if err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "postgres"); err != nil {
		return err
	}
	secret := filepath.Join(s.dir, "password")
	if err := errors.Join(os.WriteFile(secret, []byte(Password), 0o600), giveToServer(s.dir, secret)); err != nil {
		return err
	}
	create := s.command(initdb, "--pgdata", s.dataFolder(), "--username", role, "--pwfile", secret,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	for range 3 { // another program may take the port meanwhile
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.startServer(); err == nil {
			return nil
		}
	}
	return err
}

func (s *Server) dataFolder() string { return filepath.Join(s.dir, "data") }

// command returns a command that runs as the server's user.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = asServerUser()
	return cmd
}

// startServer starts the server, and waits until it answers or ends.
func (s *Server) startServer() error {
	postgres, err := findProgram("postgres")
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own handle
	fsync := strconv.FormatBool(s.Fsync)
	s.process = s.command(postgres, "-D", s.dataFolder(), "-p", strconv.Itoa(s.port), "-k", s.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "shared_buffers=32MB",
		"-c", "fsync="+fsync, "-c", "full_page_writes="+fsync)
	s.process.Stdout, s.process.Stderr = log, log
	if err := startBound(s.process); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func(p *exec.Cmd) { ended <- p.Wait() }(s.process)
	return s.awaitAnswer(ended, log.Name())
}

func (s *Server) awaitAnswer(ended <-chan error, log string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.address("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case end := <-ended:
			text, _ := os.ReadFile(log) // what it says is for the error only
			return fmt.Errorf("the server ended: %w\n%s", end, text)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("no answer: %w", err), s.process.Process.Kill())
		case <-time.After(pollTime):
		}
	}
}

// Signal sends a signal to the server's main process: SIGSTOP lets new connections
// wait, SIGINT ends it at once.
func (s *Server) Signal(sig os.Signal) error { return s.process.Process.Signal(sig) }

// Stop ends the server at once and breaks all its connections. [Server.Restart] starts
// it again.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	if err := s.Signal(os.Interrupt); err != nil {
		tb.Fatal(err)
	}
	for s.isListening() {
		time.Sleep(pollTime)
	}
}

// Restart starts a stopped server on the same port, with the same data.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	deadline := time.Now().Add(startTime)
	for {
		err := s.startServer() // the old one may still be ending
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatal(err)
		}
		time.Sleep(pollTime)
	}
}

func (s *Server) isListening() bool {
	c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// Close stops the server and removes its files. [Server.Main] calls it; a test that has a
// server of its own does so itself.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		_ = s.Signal(os.Interrupt)
		for deadline := time.Now().Add(startTime); s.isListening() && time.Now().Before(deadline); {
			time.Sleep(pollTime)
		}
	}
	for range 50 { // the last of its processes may still write
		if os.RemoveAll(s.dir) == nil {
			return
		}
		time.Sleep(pollTime)
	}
}

// findProgram finds a program of PostgreSQL in the PATH or where Debian puts the
// newest version.
func findProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
	}
	return slices.MaxFunc(found, func(a, b string) int { return versionOf(a) - versionOf(b) }), nil
}

func versionOf(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4])
	return n
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
