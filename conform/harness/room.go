package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/ca"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// furnishRoom makes the room for one case, without a way in.
func (r *Runner) furnishRoom(p Permutation) (Room, error) {
	dir, err := os.MkdirTemp(r.dir, "case-")
	if err != nil {
		return Room{}, err
	}
	room := Room{
		Case: p.Case, Ingress: p.wayIn(), CAFile: r.trustFile, Tools: r.toolServer(dir),
		Home: filepath.Join(dir, "home"), Work: filepath.Join(dir, "work"), Temp: filepath.Join(dir, "tmp"),
		Model: p.Case.Target.Model, Effort: p.Case.Target.Effort,
		System:   specs.Fresh(p.Case.Scenario.System, r.seedOf(p.Source)),
		MaxTurns: p.Case.Scenario.Limits.Turns,
	}
	if r.InPlace {
		room.Work = r.WorkDir
	}
	for _, folder := range []string{room.Home, room.Work, room.Temp} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return Room{}, err
		}
	}
	if r.WorkDir != "" && !r.InPlace {
		if err := os.CopyFS(room.Work, os.DirFS(r.WorkDir)); err != nil {
			return Room{}, fmt.Errorf("%s: cannot be copied: %w", r.WorkDir, fileutil.Reason(err))
		}
	}
	room.Sandbox, err = isolate.New(isolate.Config{Level: r.sandboxLevel(), Dir: room.Work})
	return room, err
}

// sandboxLevel is the level of the sandboxes. An agent inside the harness is in none.
func (r *Runner) sandboxLevel() isolate.Level {
	if r.Subject.About().Kind == inProcess {
		return isolate.Level{}
	}
	return r.Isolation
}

// connectRoom gives the room its way in.
func (r *Runner) connectRoom(room *Room, ingress *proxy.Proxy) {
	if room.Ingress == proxy.MITM {
		room.ProxyURL = ingress.URLFor(proxy.MITM, "")
	} else {
		url := ingress.URLFor(proxy.BaseURL, "")
		room.BaseURL = map[string]string{}
		for _, w := range wires.All() {
			room.BaseURL[w.Name] = w.BaseURL(url)
		}
		if room.Case.Target.Provider == "" { // behind this address, the rest of the path decides
			room.BaseURL[""] = url + "/v1"
		}
	}
	room.Env = room.environment(r.Path)
}

// ToolLogVariable names the file in which our tool server notes the calls it gets.
const ToolLogVariable = "CONFORM_TOOLS_LOG"

// toolServer is our tool server for the case whose folder is dir.
func (r *Runner) toolServer(dir string) ToolServer {
	if r.Tools == nil {
		return ToolServer{}
	}
	log := filepath.Join(dir, "mcp.ndjson")
	env := []string{ToolLogVariable + "=" + log,
		runAsVariable + "=" + runAsTools} // a program that runs cases refuses to be started so
	return ToolServer{Command: r.Tools, Env: env, Log: log}
}

// fakeKey begins the made-up keys, which name the provider that they are for.
const fakeKey = "conform-made-up-key-"

// fakeKeys are the made-up keys that an agent gets, by the variable it finds them
// in. No provider would accept them.
func fakeKeys() (keys [][2]string) {
	for _, w := range wires.All() {
		for _, name := range w.Environment.AgentKeys {
			if slices.ContainsFunc(keys, func(key [2]string) bool { return key[0] == name }) {
				continue // a vendor has one key for all its wires
			}
			keys = append(keys, [2]string{name, fakeKey + w.Name})
		}
	}
	return keys
}

// otherKey is what the other made-up keys end in.
const otherKey = "-2"

// withOtherKeys returns an environment with other made-up keys.
func withOtherKeys(env []string) []string {
	env = slices.Clone(env)
	for i, e := range env {
		for _, key := range fakeKeys() {
			if e == key[0]+"="+key[1] {
				env[i] = e + otherKey
			}
		}
	}
	return env
}

// environment is the whole environment of an agent.
func (r Room) environment(path string) []string {
	env := []string{
		"PATH=" + path, "HOME=" + r.Home, "TMPDIR=" + r.Temp, "LANG=C.UTF-8", "TZ=UTC", "TERM=dumb", "NO_COLOR=1",
		"XDG_CONFIG_HOME=" + filepath.Join(r.Home, ".config"),
		"XDG_DATA_HOME=" + filepath.Join(r.Home, ".local", "share"),
		"XDG_STATE_HOME=" + filepath.Join(r.Home, ".local", "state"),
		"XDG_CACHE_HOME=" + filepath.Join(r.Home, ".cache"),
	}
	for _, key := range fakeKeys() {
		env = append(env, key[0]+"="+key[1])
	}
	if r.Ingress == proxy.BaseURL {
		for _, w := range wires.All() {
			for _, name := range w.Environment.BaseURLs {
				env = append(env, name+"="+r.BaseURL[w.Name])
			}
		}
		return env
	}
	// Node warns of NODE_USE_ENV_PROXY. A launcher that prints a warning leaves stderr
	// non-blocking, and the program behind it fails when it prints more than a pipe holds.
	env = append(env, "HTTPS_PROXY="+r.ProxyURL, "https_proxy="+r.ProxyURL, "NO_PROXY=", "no_proxy=",
		"NODE_USE_ENV_PROXY=1", "NODE_NO_WARNINGS=1")
	for _, name := range slices.Concat(ca.AddingRoots, ca.ReplacingRoots) {
		env = append(env, name+"="+r.CAFile)
	}
	return env
}
