package subject

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/profiles"
)

// WriteProfile writes the profile of an observed agent as YAML, with comments on what
// one prompt could not show.
func WriteProfile(p *profiles.Profile, seen *Observation) (string, error) {
	learned, err := seen.Learn(p)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Written by conform init from one prompt. docs/guides/profiles.md explains each key.")
	for _, w := range seen.Ways {
		line("# By %s: %s", w.Ingress, w.summary())
	}
	line("name: %s", learned.Name)
	line("run: %s", yamlList(learned.Run))
	if v := versionCommand(learned); v != nil && seen.Version != "" {
		line("version: %s", yamlList(toTemplates(v)))
	}
	writeResume(line, learned)
	writeAddition(line, "", &learned.Always)
	writeAddition(line, "mitm", learned.MITM)
	writeAddition(line, "base_url", learned.BaseURL)
	if learned.MCP != nil {
		writeAddition(line, "mcp", learned.MCP)
	} else {
		line("# Our tools cannot be offered yet. If the agent takes MCP servers, say how:")
		line("# mcp: {args: [--mcp-config, \"{mcp_config}\"]}")
	}
	line("# Where the agent takes a model or a system prompt, say how:")
	line("# model: {args: [--model, \"{model}\"]}")
	line("# system: {args: [--system-prompt, \"{system}\"]}")
	line("ingress: [%s]", strings.Join(learned.Ingress, ", "))
	line("providers:")
	for _, name := range slices.Sorted(maps.Keys(learned.Providers)) {
		line("  %s: {}", name)
	}
	text := b.String()
	if _, err := profiles.Parse("profile", []byte(text)); err != nil {
		return "", fmt.Errorf("profile of %s: %w", p.Name, err)
	}
	return text, nil
}

func writeResume(line func(string, ...any), p *profiles.Profile) {
	if p.Resume == nil {
		line("# Not known: how a session goes on in a new process. For example:")
		line("# resume: [%s, --continue, \"{prompt}\"]", yamlString(string(p.Run[0])))
		return
	}
	line("resume: %s", yamlList(p.Resume))
	if s := p.Session; s != nil && s.Pattern != "" {
		line("session: {from: %s, pattern: %s}", s.From, yamlString(s.Pattern))
	} else if s != nil {
		line("session: {from: %s}", s.From)
	}
}

// writeAddition writes args and env of an addition, at the top or below a key.
func writeAddition(line func(string, ...any), key string, a *profiles.Addition) {
	if a == nil || len(a.Args) == 0 && len(a.Env) == 0 {
		return
	}
	indent := ""
	if key != "" {
		line("%s:", key)
		indent = "  "
	}
	if len(a.Args) > 0 {
		line("%sargs: %s", indent, yamlList(a.Args))
	}
	if len(a.Env) > 0 {
		line("%senv:", indent)
		for _, name := range slices.Sorted(maps.Keys(a.Env)) {
			line("%s  %s: %s", indent, name, yamlString(string(a.Env[name])))
		}
	}
}

func yamlList(list []profiles.Template) string {
	quoted := make([]string, len(list))
	for i, t := range list {
		quoted[i] = yamlString(string(t))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// yamlString is a double-quoted scalar: a JSON string is one.
func yamlString(text string) string { return mustMarshal(text) }

// summary is one line about a way in.
func (w WaySeen) summary() string {
	if !w.Works {
		return harness.PrintableLine(w.Problem, 2*harness.MaxLine)
	}
	text := fmt.Sprintf("%d calls to %s, models %s", w.Calls, strings.Join(w.Providers, ", "), listSome(w.Models))
	if len(w.Tools) > 0 {
		text += "; its tools: " + listSome(w.Tools)
	}
	if len(w.StrayHosts) > 0 {
		text += "; other hosts, refused: " + listSome(w.StrayHosts)
	}
	return text
}

// Text explains an observation to people, one line a fact.
func (o *Observation) Text() string {
	var b strings.Builder
	fmt.Fprintln(&b, terminal.Line(strings.TrimSpace(o.Name+" "+o.Version)))
	for _, w := range o.Ways {
		fmt.Fprintf(&b, "\n%s: ", w.Ingress)
		if w.Works {
			end := fmt.Sprintf("exit %d,", w.Exit)
			if w.Exit < 0 {
				end = "had to be ended after"
			}
			fmt.Fprintf(&b, "works, %d of %d calls accepted, %d streamed, %s %d ms\n", w.Accepted, w.Calls, w.Streams,
				end, w.DurationMS)
		} else {
			fmt.Fprintf(&b, "does not work: %s\n", terminal.Line(w.Problem))
		}
		for _, row := range []struct {
			name string
			list []string
		}{
			{"providers", w.Providers}, {"models", w.Models}, {"endpoints", w.Endpoints}, {"tools offered", w.Tools},
			{"side traffic", w.Side},
			{"other hosts", w.StrayHosts}, {"not trusted", w.UntrustedHosts}, {"files", w.Files},
			{"side effects", w.Effects},
		} {
			if len(row.list) > 0 {
				fmt.Fprintf(&b, "  %-14s %s\n", row.name, terminal.Line(strings.Join(row.list, ", ")))
			}
		}
		if w.Works && !w.Prints {
			fmt.Fprintln(&b, "  the answer is not on standard output")
		}
	}
	return b.String()
}
