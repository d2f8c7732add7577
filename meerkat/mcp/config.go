package mcp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Server says how to reach one server: by Command or by URL.
type Server struct {
	// Name begins the names of its tools; it is unique among the servers.
	Name string

	// Command is run with Args in the folder Dir ("": ours) and speaks over its
	// stdin and stdout. It sees Env and, where Env does not set them, PATH, HOME
	// and a few others that hold no secrets (see Options.Environ).
	Command string
	Args    []string
	Env     map[string]string
	Dir     string

	// URL is the endpoint of a streamable HTTP server. Headers go with each
	// request to that host, and to no other.
	URL     string
	Headers map[string]string

	// Timeout bounds each call; zero: the policy of the run. StartTimeout bounds
	// the handshake and the discovery of tools; zero: 30 seconds.
	Timeout      time.Duration
	StartTimeout time.Duration
	// Allow and Deny are patterns of path.Match on the server's own tool names,
	// in which * also stands for slashes.
	// An empty Allow allows all.
	Allow, Deny []string
	// Optional lets Open go on without this server when it does not start.
	Optional bool
	// Protocol pins the protocol version, such as "2025-11-25"; "": the newest
	// that both sides speak. It helps with servers that do not answer questions
	// they do not know.
	Protocol string
}

// Options are common to all servers. The zero Options are usable.
type Options struct {
	// Environ is the environment, "K=V", from which PATH, HOME and the like are
	// taken, and nothing else is. nil: that of this process; empty: none.
	Environ []string
	// Log receives what servers print on stderr and what goes wrong; nil: it is
	// dropped.
	Log *slog.Logger
	// HTTPClient reaches the servers with a URL: proxy and certificates are
	// its. nil: a client without a proxy.
	HTTPClient *http.Client
	// MaxMessage bounds one message of a server in bytes; zero: 16 MiB.
	MaxMessage int
	// MaxRestarts is how often a server that ended is started again for a call;
	// zero: 3, negative: never.
	MaxRestarts int
	// Grace is how long Close lets a command end by itself; zero: 2 seconds.
	// Closing its stdin asks it to end, then SIGTERM, at last SIGKILL.
	Grace time.Duration
	// Version is what we call ourselves in the handshake.
	Version string
	// DeferAbove defers the tools of the servers when there are more than that many of
	// them; see transcript.ToolDef. Zero: never.
	DeferAbove int
}

// DefaultMaxMessage is the MaxMessage of Options that name none.
const DefaultMaxMessage = 16 << 20

// The bounds that hold when Options name none.
const (
	defaultStart    = 30 * time.Second
	defaultRestarts = 3
	defaultGrace    = 2 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{Transport: &http.Transport{DisableCompression: true}}
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.MaxRestarts == 0 {
		o.MaxRestarts = defaultRestarts
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	return o
}

// ServerError says which server is at fault.
type ServerError struct {
	Server string
	Err    error
}

// Error names the server first.
func (e *ServerError) Error() string { return fmt.Sprintf("mcp server %s: %v", e.Server, e.Err) }

// Unwrap returns what happened.
func (e *ServerError) Unwrap() error { return e.Err }

// validateServers refuses configurations that cannot work, before anything is started.
func validateServers(servers []Server) error {
	seen := map[string]bool{}
	for i, s := range servers {
		name := s.Name
		if name == "" {
			name = fmt.Sprintf("number %d", i+1)
		}
		if err := s.validate(seen[s.Name]); err != nil {
			return &ServerError{name, err}
		}
		seen[s.Name] = true
	}
	return nil
}

func (s Server) validate(twice bool) error {
	switch {
	case s.Name == "":
		return errors.New("it has no name; its tools are called name__tool")
	case twice:
		return errors.New("two servers have this name")
	case (s.Command == "") == (s.URL == ""):
		return errors.New("set either command or url")
	}
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return errors.New("its url is not an http or https address")
		}
	}
	for _, pattern := range slices.Concat(s.Allow, s.Deny) {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("tool pattern %q: %w", pattern, err)
		}
	}
	return nil
}

// allowsTool applies Allow and Deny to one of the server's own names. A slash in it
// is a character like any other: delete* denies delete/all.
func (s Server) allowsTool(toolName string) bool {
	flat := strings.NewReplacer("/", "\x00").Replace
	match := func(p string) bool { ok, err := path.Match(flat(p), flat(toolName)); return ok && err == nil }
	return (len(s.Allow) == 0 || slices.ContainsFunc(s.Allow, match)) && !slices.ContainsFunc(s.Deny, match)
}
