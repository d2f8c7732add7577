package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
)

// ParseEnvironment returns an environment of "K=V", such as that of os.Environ, as
// Options.Env takes it. The last value of a name counts.
func ParseEnvironment(list []string) map[string]string {
	env := map[string]string{}
	for _, kv := range list {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	return env
}

// NewAgent returns a builder with everything that l says about agents: model, keys,
// addresses, system prompt, limits, tools and their servers. It keeps sessions in
// store; see [Loaded.OpenStore]. Functions of the builder that are called later
// override single values. Telemetry is left to the caller.
func (l *Loaded) NewAgent(store session.Store) (*meerkat.AgentBuilder, error) {
	settings := l.Agent
	var err error
	if settings.System, _, err = l.SystemPrompt(); err != nil {
		return nil, err
	}
	choice, err := l.ChooseModel(catalog.Lookup)
	if err != nil {
		return nil, err
	}
	settings.Model, settings.Store = choice.Model, store
	b := meerkat.NewAgent().WithConfig(settings).WithToolPolicy(l.ToolPolicy).WithHostedTools(l.HostedTools...)
	if l.BadSchema == "refuse" {
		b.WithBadSchemasRefused()
	}
	if len(l.MCPServers) > 0 {
		b.WithMCP(mcp.Options{MaxMessage: l.MCPBytes, DeferAbove: l.DeferAbove}, l.MCPServers...)
	}
	if n := l.RequestsPerMinute; n > 0 {
		b.WithThrottle(rate.NewLimiter(rate.Every(time.Minute/time.Duration(n)), 1))
	}
	if l.WebSocket {
		b.WithWebSocket()
	}
	b.WithKey(choice.Provider, l.Key(choice.Provider)).WithBaseURL(l.BaseURL(choice.Provider)).WithBounds(l.Bounds)
	return b, nil
}

// ModelChoice is the provider and the model of new sessions.
type ModelChoice struct {
	Provider string
	Model    string // "": the provider's default
}

// ChooseModel chooses the provider: that of the model, else the one that is set, else
// the first with a key. If model and provider do not belong together, the one from the
// stronger layer counts. lookup finds the entry of a model.
func (l *Loaded) ChooseModel(lookup func(string) (catalog.Entry, error)) (ModelChoice, error) {
	c := ModelChoice{l.Provider, l.Agent.Model}
	if c.Model == "" {
		c.Provider = cmp.Or(c.Provider, l.firstWithKey())
		return c, nil
	}
	entry, err := lookup(c.Model)
	model, provider := l.From("agent.model"), l.From("provider.type")
	switch {
	case c.Provider == "" || c.Provider == entry.Provider || err != nil && model.Strength() >= provider.Strength():
	case model.Strength() == provider.Strength():
		return c, fmt.Errorf(
			"%s %s: model %s is one of %s; drop one of the two", provider.Where, c.Provider, c.Model, entry.Provider,
		)
	case model.Strength() < provider.Strength():
		return ModelChoice{Provider: c.Provider}, nil
	}
	c.Provider = entry.Provider
	return c, err
}

// firstWithKey returns the preferred provider among those with a key, or the
// preferred one of all.
func (l *Loaded) firstWithKey() string {
	all := catalog.ProviderNames()
	for _, p := range all {
		if l.Key(p) != "" {
			return p
		}
	}
	return all[0]
}

// maxSystemPrompt bounds the file of a system prompt in bytes.
const maxSystemPrompt = 32 << 20

// SystemPrompt returns the system prompt, or the content of its file, whichever comes
// from the stronger layer, and where it comes from.
func (l *Loaded) SystemPrompt() (string, Source, error) {
	own, file := l.From("agent.system_prompt"), l.From("agent.system_prompt_file")
	path := l.SystemPromptFile
	switch {
	case path == "" || l.Agent.System != "" && own.Strength() > file.Strength():
		return l.Agent.System, own, nil
	case l.Agent.System != "" && own.Strength() == file.Strength():
		return "", own, fmt.Errorf(
			"%s: both agent.system_prompt and agent.system_prompt_file are set; keep one of them", own.Where,
		)
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxSystemPrompt {
		return "", file, fmt.Errorf(
			"system prompt: %s holds more than %d MB; no model takes that", path, maxSystemPrompt>>20,
		)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return "", file, fmt.Errorf("system prompt: %w", err)
	}
	return string(text), file, nil
}

// OpenStore opens the sessions in a folder.
type OpenStore func(folder string) (session.Store, error)

// OpenStore opens the sessions that l names. "jsonl" and "memory" are always there;
// open has the other backends by name, such as "sqlite", whose package brings a
// database along. A store that is an io.Closer is closed by the caller.
func (l *Loaded) OpenStore(open map[string]OpenStore) (session.Store, error) {
	backend := l.Storage.Backend
	if backend == "memory" {
		return session.NewMemoryStore(), nil
	}
	if backend != "jsonl" && open[backend] == nil {
		return nil, fmt.Errorf(
			"%s: this program is built without sessions in %s; use jsonl or memory, or the rkat command",
			cmp.Or(l.From("storage.backend").Where, "storage.backend"), backend,
		)
	}
	dir, err := l.SessionFolder()
	if err != nil {
		return nil, err
	}
	if backend != "jsonl" {
		store, err := open[backend](dir)
		return store, session.WrapStorage(err)
	}
	return jsonl.New(dir, nil).SyncEvery(l.syncEvery()), nil
}

// syncEvery returns the number of turns between two fsyncs: 0 syncs each record, a
// negative number never syncs.
func (l *Loaded) syncEvery() int {
	switch l.Storage.Fsync {
	case "never":
		return -1
	case "interval":
		return l.Storage.FsyncInterval
	}
	return 0
}

// SessionFolder returns the folder of the sessions.
func (l *Loaded) SessionFolder() (string, error) {
	if dir := l.Storage.Directory; dir != "" {
		return dir, nil
	}
	data, err := l.DataFolder()
	return filepath.Join(data, "sessions"), err
}

// DataFolder returns the folder of all that rkat keeps: rkat in $XDG_DATA_HOME, or in
// ~/.local/share.
func (l *Loaded) DataFolder() (string, error) {
	switch {
	case filepath.IsAbs(l.dataHome):
		return filepath.Join(l.dataHome, "rkat"), nil
	case l.home == "":
		return "", errors.New("session folder: neither HOME nor RKAT_SESSION_DIR is set; set one or use --session-dir")
	}
	return filepath.Join(l.home, ".local", "share", "rkat"), nil
}
