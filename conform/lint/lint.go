// Package lint says what a provider would refuse in a request or in a list of tools,
// before anything is sent. An agent can ask it when it loads tools, and a test when it
// builds a request:
//
//	found, err := lint.Tools(list, "anthropic", "gemini")
//	for _, f := range found.Findings {
//		fmt.Println(f.Provider, f.Tool, f.Path, f.Message, f.Fix)
//	}
//
// The rules are those of the referee that one request can break: the checks of package
// check run on a conversation of this one request. What depends on earlier replies is not
// judged. Functions are pure and may be called concurrently.
package lint

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Finding is one thing that a provider would refuse, or take and treat otherwise.
type Finding struct {
	Provider string `json:"provider"`
	// Verdict is Fail for what is refused, Warn for what is not.
	Verdict report.Verdict `json:"verdict"`
	Check   string         `json:"check"`
	// Rule is the provider's rule, such as A-7; "" where none is written down.
	Rule string `json:"rule,omitempty"`
	// Tool is the name of the tool that the finding is about, "" for other findings.
	Tool string `json:"tool,omitempty"`
	// Path leads to the place in what was given, Also to those where the same is found again.
	Path    string   `json:"path"`
	Also    []string `json:"also,omitempty"`
	Message string   `json:"message"`
	Fix     string   `json:"fix,omitempty"`
}

// Result is what one call found, in the order of providers, paths and checks.
type Result struct {
	Findings []Finding `json:"findings"`
	// Providers are those that were judged for, and Tools counts what was read of a list.
	Providers []string `json:"providers"`
	Tools     int      `json:"tools,omitempty"`
	// Notes say what was not judged, and what else a reader should know.
	Notes []string `json:"notes,omitempty"`
}

// Verdict is the worst of the findings, Pass without any.
func (r Result) Verdict() report.Verdict {
	facts := decide.Facts{Observed: 1}
	for _, f := range r.Findings {
		facts.Findings = append(facts.Findings, decide.Finding{Verdict: f.Verdict})
	}
	verdict, _ := decide.Decide(facts)
	return verdict
}

// Target is where a request goes, as far as it is known.
type Target struct {
	// Provider is the name of a wire, "" to tell it from the members.
	Provider string
	// Host is that of the server, "" for the public host of the wire.
	Host string
	// Model is needed only where the URL has the model.
	Model string
	// Header is nil where it is unknown. What a header with betas decides is a warning then.
	Header http.Header
}

// Request judges the body of one request. Errors say that it cannot be judged at all.
func Request(to Target, body []byte) (Result, error) {
	doc, err := parse(body)
	if err != nil {
		return Result{}, err
	}
	if !doc.Is(tree.Object) {
		return Result{}, errors.New("is not a JSON object")
	}
	if doc.Get("log").Get("entries") != nil {
		return Result{}, errors.New("is a HAR and no request; judge it with: conform check")
	}
	if to.Provider == "" {
		candidates := wires.At(to.Host)
		if len(candidates) == 0 {
			candidates = wires.All()
		}
		if to.Provider, err = providerOf(doc, candidates); err != nil {
			return Result{}, err
		}
	}
	w := wires.Find(to.Provider)
	if w == nil {
		return Result{}, fmt.Errorf("provider %q is unknown; use %s", to.Provider, wires.List(Providers()))
	}
	found, err := judge(w, to, body)
	if to.Header == nil && err == nil && w.BetaHeader != "" {
		withoutBetas := http.Header{}
		for name, value := range w.Required {
			withoutBetas.Set(name, value)
		}
		var more []Finding
		more, err = judge(w, Target{Host: to.Host, Model: to.Model, Header: withoutBetas}, body)
		for _, f := range more {
			isSame := func(o Finding) bool { return o.Check == f.Check && o.Path == f.Path && o.Message == f.Message }
			if !slices.ContainsFunc(found, isSame) {
				f.Verdict, f.Message = decide.Breach(specs.Degraded, decide.AnswerNone, false),
					f.Message+" (the header "+w.BetaHeader+" decides)"
				found = append(found, f)
			}
		}
	}
	return Result{Findings: mergeCauses(found), Providers: []string{to.Provider}}, err
}

// unknownMember is the check that finds what no rule speaks of.
const unknownMember = "PAR-006/known"

// mergeCauses makes one finding of those that have one cause: the same words at several
// places, and a member that a rule of its own finds beside being unknown.
func mergeCauses(findings []Finding) []Finding {
	merged := []Finding{}
	for _, f := range findings {
		samePlace := func(o Finding) bool { return o.Path == f.Path && o.Check != f.Check && o.Provider == f.Provider }
		if f.Check == unknownMember && slices.ContainsFunc(findings, samePlace) {
			continue
		}
		same := func(o Finding) bool {
			return o.Check == f.Check && o.Provider == f.Provider && o.Tool == f.Tool && o.Message == f.Message
		}
		if i := slices.IndexFunc(merged, same); i >= 0 {
			merged[i].Also = append(merged[i].Also, f.Path)
			continue
		}
		merged = append(merged, f)
	}
	return merged
}

// providerOf tells whose request a document is, of some wires.
func providerOf(doc *tree.Node, of []*wires.Wire) (string, error) {
	if len(of) == 1 {
		return of[0].Name, nil
	}
	var members []string
	for _, w := range of {
		if rule.Books()[w.Name].DoesClaim(w.Member, doc) {
			return w.Name, nil
		}
		if !slices.Contains(members, w.Member) {
			members = append(members, w.Member)
		}
	}
	return "", fmt.Errorf("has neither %s; name the provider", wires.Join(members, "nor"))
}

// judge runs every rule about the subject on a conversation of one request.
func judge(w *wires.Wire, to Target, body []byte) ([]Finding, error) {
	u, err := url.Parse(w.URL(cmp.Or(to.Model, w.Models.Default), false))
	if err != nil {
		return nil, err
	}
	u.Host = cmp.Or(to.Host, u.Host)
	rules, err := report.RulesOf(specs.CurrentSet)
	if err != nil {
		return nil, err
	}
	ev := evidence.Evidence{Source: evidence.SourceRecording, Exchanges: []evidence.Exchange{{
		Provider: w.Name, Process: -1, Request: evidence.Request{Method: http.MethodPost,
			URL: u.String(), Header: to.Header, Body: body},
	}}}
	trace := check.Decode(&ev)
	found := []Finding{}
	for _, r := range rules {
		if r.Check.Source || !r.Requirement.AppliesTo(w.Name, string(evidence.SourceRecording)) {
			continue
		}
		for _, f := range r.Check.Run(trace).Findings {
			if judged := r.NewFinding(f, trace.PlaceOf(int(f.Exchange))); judged.Consequence != specs.None {
				found = append(found, Finding{Provider: w.Name, Verdict: judged.Verdict, Check: f.Check, Rule: f.Rule,
					Path: f.Path, Message: f.Message, Fix: f.Fix})
			}
		}
	}
	return found, nil
}
