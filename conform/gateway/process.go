package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/profiles"
)

// Command starts a gateway. Arguments, environment and files are templates, see
// [profiles.GatewayValues].
type Command struct {
	Args []string
	// Env is added to a small environment: PATH, HOME and what the templates say.
	Env map[string]string
	// Files are written before the start, by their paths below the home folder.
	Files map[string]string
	// Path is the PATH of the process.
	Path string
	// Dir is the folder in which the process works; "" is its home.
	Dir string
	// Wait bounds how long the gateway may take until it accepts connections; 0 for 30 seconds.
	Wait time.Duration
}

// Process is a gateway that runs. Close ends it and all that it started.
type Process struct {
	// URL is where the gateway listens: http://127.0.0.1:PORT.
	URL     string
	running *isolate.Process
	sandbox *isolate.Sandbox
	ended   chan isolate.Result // of one
}

// Ended returns an error with the exit code and what the process wrote last, once it has ended by
// itself or listens no longer; nil while it runs.
func (p *Process) Ended() error {
	if conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://")); err == nil { //nolint:noctx // a loopback port answers at once
		return conn.Close()
	}
	select {
	case result := <-p.ended:
		p.ended <- result
		return fmt.Errorf("the gateway ended with code %d (%s)", result.ExitCode, lastLines(result))
	case <-time.After(defaultWait): // a closed socket comes before the end of its process
		return errors.New("the gateway listens no longer")
	}
}

// Start starts a gateway and returns when it accepts connections. The error says what the process
// wrote last where it ended, or did not listen in time.
func Start(ctx context.Context, c Command, v profiles.GatewayValues, dir string) (*Process, error) {
	level, err := isolate.Detect(ctx, isolate.Off)
	if err != nil {
		return nil, err
	}
	if v.Port, err = freePort(); err != nil {
		return nil, err
	}
	v.Home = dir
	for name, text := range c.Files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Errorf("%s: is not below the gateway's home folder; give a relative path", name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(v.Fill(text)), 0o600); err != nil {
			return nil, err
		}
	}
	sandbox, err := isolate.New(isolate.Config{Level: level, Dir: dir})
	if err != nil {
		return nil, err
	}
	command := isolate.Command{Env: []string{"PATH=" + c.Path, "HOME=" + dir}, Dir: c.Dir}
	for _, a := range c.Args {
		command.Args = append(command.Args, v.Fill(a))
	}
	for name, value := range c.Env {
		command.Env = append(command.Env, name+"="+v.Fill(value))
	}
	running, err := sandbox.Start(ctx, command)
	if err != nil {
		sandbox.Close()
		return nil, err
	}
	p := &Process{URL: "http://127.0.0.1:" + v.Port, running: running, sandbox: sandbox}
	if err := p.awaitListener(ctx, c.Wait, "127.0.0.1:"+v.Port); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close ends the gateway.
func (p *Process) Close() {
	p.running.Stop()
	p.sandbox.Close()
}

// defaultWait is how long a gateway may take to start.
const defaultWait = 30 * time.Second

var errNotListening = errors.New("does not listen")

// awaitListener waits until the gateway accepts connections.
func (p *Process) awaitListener(ctx context.Context, wait time.Duration, address string) error {
	wait = cmp.Or(wait, defaultWait)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	p.ended = make(chan isolate.Result, 1)
	go func() {
		result, _ := p.running.Wait() // how it ended says more than the error
		p.ended <- result
	}()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case result := <-p.ended:
			return fmt.Errorf("the gateway ended with code %d before it listened on port %s: %s", result.ExitCode,
				address[strings.LastIndexByte(address, ':')+1:], lastLines(result))
		case <-ctx.Done():
			return fmt.Errorf("the gateway %w on %s after %v; tell it the port by {port} in its arguments, --env or --file", errNotListening, address, wait)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// lastLines is the end of what a process wrote.
func lastLines(r isolate.Result) string {
	text := strings.TrimSpace(string(r.Stderr) + "\n" + string(r.Stdout))
	const most = 600
	if len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	if text == "" {
		return "it wrote nothing"
	}
	return text
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
