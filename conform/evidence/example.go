package evidence

import (
	"bytes"
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// FromExample turns an example of the requirement r into evidence, which belongs to
// the caller. Its replies are synthetic.
func FromExample(r specs.Requirement, e specs.Example) Evidence {
	ev := Evidence{Source: exampleSource(r, e), Case: "example of " + r.ID, Limits: e.Limits}
	for i, x := range e.Exchanges {
		process := x.Process
		if len(e.Processes) == 0 {
			process = -1
		}
		ev.Exchanges = append(ev.Exchanges, newExampleExchange(i, process, e, x))
	}
	for _, p := range e.Processes {
		ev.Process = append(ev.Process, Process{Args: p.Args, ExitCode: p.Exit, Stdout: []byte(p.Stdout),
			Stderr: []byte(p.Stderr), Resumed: p.Resumed})
	}
	return ev
}

func exampleSource(r specs.Requirement, e specs.Example) Source {
	if e.Source != "" {
		return Source(e.Source)
	}
	if sources := r.Applies.Source; len(sources) > 0 && !slices.Contains(sources, string(SourceRecording)) {
		return Source(sources[0])
	}
	return SourceRecording
}

func newExampleExchange(i, process int, e specs.Example, x specs.ExampleExchange) Exchange {
	provider := cmp.Or(x.Provider, e.Provider)
	model := e.Model
	if w := wires.Find(provider); w != nil {
		model = cmp.Or(model, w.Models.Default)
	}
	if m := exampleModel.FindStringSubmatch(x.Request); m != nil {
		model = m[1]
	}
	reply := cmp.Or(x.Reply, defaultReply(provider, model))
	isStream := strings.HasPrefix(reply, "event:") || strings.HasPrefix(reply, "data:")
	contentType := "application/json"
	if isStream {
		contentType = "text/event-stream"
		reply = strings.TrimRight(reply, "\n") + "\n\n"
	}
	out := Exchange{
		Index: i, Provider: provider, Process: process, WebSocket: x.WebSocket, Missed: x.Missed,
		Provenance: ProvenanceSynthetic,
		Request: Request{Method: http.MethodPost, URL: cmp.Or(x.URL, exampleURL(provider, e.Model, isStream)),
			Header: http.Header{"Content-Type": {"application/json"}}, Body: bytes.TrimSpace([]byte(x.Request))},
		Response: Response{Status: cmp.Or(x.Status, http.StatusOK), Body: []byte(reply), End: cmp.Or(x.End, "eof"),
			Header: http.Header{"Content-Type": {cmp.Or(x.ContentType, contentType)}}},
	}
	for name, value := range x.Headers {
		out.Request.Header.Set(name, value)
	}
	for name, value := range x.ReplyHeaders {
		out.Response.Header.Set(name, value)
	}
	return out
}

var exampleModel = regexp.MustCompile(`"model": ?"([^"]+)"`)

// defaultReply is what the model says where an example does not care.
func defaultReply(provider, model string) string {
	if w := wires.Find(provider); w != nil {
		return strings.Replace(w.Models.Reply, "{model}", model, 1)
	}
	return ""
}

func exampleURL(provider, model string, isStream bool) string {
	if w := wires.Find(provider); w != nil {
		return w.URL(cmp.Or(model, w.Models.Default), isStream)
	}
	return ""
}
