package subject

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Observation is what one prompt showed of an agent, schema conform.observe.v1. It is
// plain data and holds nothing that steers a terminal.
type Observation struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Ways holds one entry for each way in that was tried.
	Ways []WaySeen `json:"ways"`
}

// ObserveSchema names the schema of an Observation.
const ObserveSchema = "conform.observe.v1"

// WaySeen is what an agent did by one way in.
type WaySeen struct {
	Ingress string `json:"ingress"`
	// Works is set when a call of a model arrived. Problem says why none did.
	Works   bool   `json:"works"`
	Problem string `json:"problem,omitempty"`
	// Providers are those whose models were called, with these Models.
	Providers []string `json:"providers"`
	Models    []string `json:"models"`
	// Calls counts the calls of models, Accepted those that were answered well, Streams
	// those that asked for a stream.
	Calls    int `json:"calls"`
	Accepted int `json:"accepted"`
	Streams  int `json:"streams"`
	// Endpoints are those calls, Side the requests that are not calls of the main
	// conversation.
	Endpoints []string `json:"endpoints"`
	Side      []string `json:"side"`
	// Tools are the names of the tools that the agent offers.
	Tools []string `json:"tools"`
	// StrayHosts were refused, UntrustedHosts are those for which the agent refused our
	// certificate.
	StrayHosts     []string `json:"stray_hosts"`
	UntrustedHosts []string `json:"untrusted_hosts"`
	// Exit is the exit code of the process. Prints says whether it wrote the answer to
	// its standard output.
	Exit   int  `json:"exit"`
	Prints bool `json:"prints_answer"`
	// Files are those that the agent wrote below HOME and in its work folder, Effects
	// what it did beside: processes that stayed, files elsewhere.
	Files      []string `json:"files"`
	Effects    []string `json:"effects"`
	DurationMS int64    `json:"duration_ms"`
}

// Observe asks the agent one prompt by each way in and keeps what was seen. The error
// is as of [Preflight].
func Observe(ctx context.Context, p *profiles.Profile, c Checks) (*Observation, error) {
	_, command := p.Command()
	if why := missingProgram(p, string(command[0]), c.Path); why != "" {
		return nil, fmt.Errorf("%s: %s: %w", command[0], why, ErrNoProgram)
	}
	c.Subject, c.CaseTimeout = NewCommand(p, ""), cmp.Or(c.CaseTimeout, preflightTimeout)
	runner, err := harness.NewRunner(c.Config)
	if err != nil {
		return nil, err
	}
	defer runner.Close()
	seen := &Observation{Schema: ObserveSchema, Name: p.Name}
	for i, way := range c.waysIn() {
		var files []string
		began := time.Now()
		ask := harness.Probe{Prompts: []string{canaryPrompt}, Ingress: way}
		ask.Before = func(ctx context.Context, room harness.Room) {
			began = time.Now()
			if i == 0 {
				seen.Version = findVersion(ctx, p, room)
			}
		}
		ask.After = func(_ context.Context, room harness.Room) { files = writtenFiles(room, began) }
		sighted, err := c.probeWay(ctx, runner, p, ask)
		if err != nil {
			return nil, err
		}
		if sighted.probed.Early > 0 {
			seen.Version = ""
		}
		seen.Ways = append(seen.Ways, newWaySeen(way, sighted, files, c.Isolation.Enforced))
	}
	return seen, nil
}

func newWaySeen(way string, s sighting, files []string, isolated bool) WaySeen {
	probed := s.probed
	w := WaySeen{
		Ingress: way, Works: len(s.exchanges) > 0, Providers: orEmpty(s.providers), Models: []string{},
		Endpoints: []string{}, Tools: []string{},
		Side: orEmpty(s.others), StrayHosts: orEmpty(s.hostsOf(proxy.Refused)),
		UntrustedHosts: orEmpty(s.hostsOf(proxy.Untrusted)),
		Files:          orEmpty(files), Effects: []string{}, Calls: len(s.exchanges), Exit: -1,
		DurationMS: probed.Took.Milliseconds(),
	}
	for _, effect := range probed.Effects {
		w.Effects = append(w.Effects, harness.PrintableLine(effect, harness.MaxLine))
	}
	if !w.Works {
		w.Problem = s.explainSilence(way, isolated)
	}
	for _, x := range s.exchanges {
		q := x.ReadRequest()
		w.Models = appendNew(w.Models, harness.PrintableLine(q.Model, harness.MaxLine))
		w.Endpoints = appendNew(w.Endpoints, requestName(x.Request))
		if q.WantsStream {
			w.Streams++
		}
		if x.Response.Status/100 == 2 {
			w.Accepted++
		}
		for _, name := range toolNames(q.Tools) {
			w.Tools = appendNew(w.Tools, harness.PrintableLine(name, harness.MaxLine))
		}
	}
	if n := len(probed.Processes); n > 0 {
		w.Exit, w.Prints = probed.Processes[n-1].ExitCode,
			bytes.Contains(probed.Processes[n-1].Stdout, []byte("conform canary"))
	}
	return w
}

func orEmpty(list []string) []string { return append([]string{}, list...) }

// toolNames are the names in a list of tools, wherever the provider puts them.
func toolNames(tools *tree.Node) (names []string) {
	for _, tool := range tools.List() {
		if name := cmp.Or(tool.Text("name"), tool.Text("function", "name")); name != "" {
			names = append(names, name)
			continue
		}
		for _, f := range tool.List("functionDeclarations") {
			names = append(names, f.Text("name"))
		}
		if kind := tool.Text("type"); kind != "" {
			names = append(names, kind)
		}
	}
	return names
}

// maxFiles bounds the list of written files.
const maxFiles = 30

// writtenFiles lists the files below HOME and in the work folder that changed since a time,
// "~/" and "./" in front.
func writtenFiles(room harness.Room, since time.Time) (files []string) {
	for _, root := range []struct{ dir, prefix string }{{room.Home, "~/"}, {room.Work, "./"}} {
		_ = filepath.WalkDir(root.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // what cannot be read is not listed
			}
			if info, err := d.Info(); err != nil || info.ModTime().Before(since) {
				return nil //nolint:nilerr // the same
			}
			if len(files) == maxFiles {
				files = append(files, "…")
			}
			if len(files) > maxFiles {
				return fs.SkipAll
			}
			name, _ := filepath.Rel(root.dir, path)
			files = append(files, harness.PrintableLine(root.prefix+filepath.ToSlash(name), harness.MaxLine))
			return nil
		})
	}
	return files
}

// Learn returns the profile with what was seen: the providers and the ways in that
// work. It returns an error where no way in works.
func (o *Observation) Learn(p *profiles.Profile) (*profiles.Profile, error) {
	learned := *p
	learned.Providers = map[string]profiles.Provider{}
	learned.Ingress = nil
	for _, w := range o.Ways {
		if w.Works {
			learned.Ingress = append(learned.Ingress, w.Ingress)
		}
		for _, name := range w.Providers {
			learned.Providers[name] = p.Providers[name]
		}
	}
	if len(learned.Providers) == 0 {
		return nil, fmt.Errorf("%s: nothing can be learned from it: %s", p.Name, o.Ways[0].Problem)
	}
	return &learned, nil
}

const (
	versionTimeout = 20 * time.Second
	// maxVersion bounds what is kept of a version, in bytes.
	maxVersion = 80
)

// versionCommand is what prints the version of an agent: that of the profile, else the
// program with --version. It is nil for a program that is text, as of sh -c.
func versionCommand(p *profiles.Profile) []string {
	if p.Version != nil {
		return templateTexts(p.Version)
	}
	if p.Path != "" || p.Run == nil {
		_, command := p.Command()
		return []string{string(command[0]), "--version"}
	}
	argv := templateTexts(p.Run)
	if _, interprets := interpreterFlags(argv[0]); interprets && scriptIndex(argv) == 0 {
		return nil
	}
	return append(argv[:scriptIndex(argv)+1:scriptIndex(argv)+1], "--version")
}

func templateTexts(command []profiles.Template) []string {
	list := make([]string, len(command))
	for i, t := range command {
		list[i] = string(t)
	}
	return list
}

// findVersion asks an agent for its version, "" when it does not say one.
func findVersion(ctx context.Context, p *profiles.Profile, room harness.Room) string {
	pl := newPlan(p, room)
	argv := versionCommand(p)
	if argv == nil {
		return ""
	}
	env, err := pl.fillEnvironment()
	if err != nil {
		return ""
	}
	for i := range argv {
		if argv[i], err = profiles.Template(argv[i]).Fill(pl.values); err != nil {
			return ""
		}
	}
	argv[0] = programPath(p, argv[0])
	result, err := room.Sandbox.Run(ctx, isolate.Command{Args: argv, Env: env, Dir: room.Work,
		Limits: isolate.Limits{Time: versionTimeout, Output: 1 << 16}})
	if err != nil || result.ExitCode != 0 {
		return ""
	}
	return versionIn(string(result.Stdout) + "\n" + string(result.Stderr))
}

// versionPatterns find a version: one with dots, else anything that begins with a digit.
var versionPatterns = []*regexp.Regexp{regexp.MustCompile(`[0-9]+\.[0-9]+[0-9A-Za-z.+-]*`),
	regexp.MustCompile(`\b[0-9][0-9A-Za-z.+-]*`)}

// versionIn is the first version in a text.
func versionIn(text string) string {
	for _, pattern := range versionPatterns {
		if found := pattern.FindString(text); found != "" {
			return harness.PrintableLine(strings.TrimRight(found, "."), maxVersion)
		}
	}
	return ""
}

// missingProgram says why the program of a command cannot be started, "" when it can.
func missingProgram(p *profiles.Profile, program, path string) string {
	full := programPath(p, program)
	if isPath(full) {
		info, err := os.Stat(full)
		switch {
		case err != nil:
			return "there is no such file; check the path"
		case info.IsDir():
			return "is a folder; name the program in it"
		case info.Mode()&0o111 == 0:
			return "is not executable; run: chmod +x " + full + ", or put its interpreter in front"
		}
		return ""
	}
	for _, dir := range filepath.SplitList(path) {
		if _, err := exec.LookPath(filepath.Join(dir, full)); err == nil {
			return ""
		}
	}
	if info, err := os.Stat(full); err == nil && !info.IsDir() {
		return "is not in PATH; a file of this folder is written ./" + full
	}
	if p.Install != nil && len(p.Install.NPM) > 0 {
		return "is not in PATH; install it with: npm install -g " + strings.Join(p.Install.NPM, " ")
	}
	return "is not in PATH; install it, or give its path"
}
