package specs

import (
	"encoding/json"

	"gopkg.in/yaml.v3"
)

func (p *scenarioParser) parseTurn(n *yaml.Node) Turn {
	t := Turn{Line: n.Line}
	p.parseFields(n, fields{
		"expect": func(n *yaml.Node) { t.Expect = p.parseExpectation(n) },
		"emit":   func(n *yaml.Node) { t.Emit = parseList(p, n, p.parseBlock) },
		"stop":   func(n *yaml.Node) { t.Stop = p.parseStop(n) },
		"cut": func(n *yaml.Node) {
			p.parseFields(n, fields{"after": func(n *yaml.Node) { a := p.parseAfter(n); t.Cut = &a }}, "after")
		},
		"error": func(n *yaml.Node) { t.Fail = p.parseFailure(n) },
		"stall": func(n *yaml.Node) {
			p.parseFields(n, fields{"after": func(n *yaml.Node) { a := p.parseAfter(n); t.Stall = &a }}, "after")
		},
		"refuse":  func(n *yaml.Node) { t.Refuse = p.parseRejection(n) },
		"grease":  func(n *yaml.Node) { t.Grease = parseList(p, n, p.parseGrease) },
		"chunks":  func(n *yaml.Node) { t.Chunks = p.parseChunks(n) },
		"prompts": func(n *yaml.Node) { t.Prompts = p.parseCount(n) },
		"agent":   func(n *yaml.Node) { t.Agent = p.parseFilledText(n) },
		"times":   func(n *yaml.Node) { t.Times = p.parseCount(n) },
		"lost":    func(n *yaml.Node) { t.Lost = p.oneOf(n, "true") == "true" },
	})
	if t.Emit == nil && t.Stop == "" {
		p.failAt(n.Line, "a turn has emit, or a stop and nothing else to say")
	}
	p.checkBreaks(t, n.Line)
	return t
}

func (p *scenarioParser) parseExpectation(n *yaml.Node) *Expectation {
	e := Expectation{Line: n.Line}
	p.parseFields(n, fields{
		"prompt":  func(n *yaml.Node) { e.Prompt = p.parseFilledText(n) },
		"results": func(n *yaml.Node) { e.Results = parseList(p, n, p.parseText) },
	})
	if e.Prompt == "" && e.Results == nil {
		p.failAt(n.Line, "an expectation has prompt, results or both")
	}
	return &e
}

// checkBreaks checks that a turn breaks off in one way at most.
func (p *scenarioParser) checkBreaks(t Turn, line int) {
	ways := 0
	for _, has := range []bool{t.Cut != nil, t.Fail != nil, t.Stall != nil} {
		if has {
			ways++
		}
	}
	if ways > 1 {
		p.failAt(line, "a turn has one of cut, error and stall")
	}
	if t.Times > 0 && ways == 0 {
		p.failAt(line, "times says how often a turn breaks off; add cut, error or stall")
	}
	for i, b := range t.Emit {
		if b.Partial && (i < len(t.Emit)-1 || t.Stop != StopMaxTokens && t.Stop != StopTool) {
			p.failAt(b.Line, "a partial call is the last block of a turn with stop: max_tokens or stop: tool_use")
		}
	}
}

func (p *scenarioParser) parseFailure(n *yaml.Node) *Failure {
	var f Failure
	p.parseFields(n, fields{
		"kind":  func(n *yaml.Node) { f.Kind = p.oneOf(n, failures...) },
		"after": func(n *yaml.Node) { f.After = p.parseAfter(n) },
	}, "kind", "after")
	return &f
}

// parseAfter reads a count for all providers, or one for each.
func (p *scenarioParser) parseAfter(n *yaml.Node) After {
	a := After{}
	if n.Kind == yaml.ScalarNode {
		count := p.parseCount(n)
		for _, provider := range providers {
			a[provider] = count
		}
		return a
	}
	known := fields{}
	for _, provider := range providers {
		known[provider] = func(n *yaml.Node) { a[provider] = p.parseCount(n) }
	}
	p.parseFields(n, known)
	return a
}

func (p *scenarioParser) parseChunks(n *yaml.Node) Chunks {
	if n.Kind == yaml.SequenceNode {
		return Chunks{Sizes: parseList(p, n, p.parseCount)}
	}
	return Chunks{Whole: p.oneOf(n, "event", "whole") == "whole"}
}

func (p *scenarioParser) parseBlock(n *yaml.Node) Block {
	b := Block{Line: n.Line}
	kind := func(k BlockKind, read func(*yaml.Node)) func(*yaml.Node) {
		return func(n *yaml.Node) {
			if b.Kind != "" {
				p.failAt(n.Line, "a block is either %s or %s", b.Kind, k)
			}
			b.Kind = k
			read(n)
		}
	}
	p.parseFields(n, fields{
		"thinking":    kind(KindThinking, func(n *yaml.Node) { b.Parts = p.parseParts(n) }),
		"redacted":    kind(KindRedacted, func(n *yaml.Node) { p.oneOf(n, "true") }),
		"text":        kind(KindText, func(n *yaml.Node) { b.Text = p.parseFilledText(n) }),
		"signed_text": kind(KindSignedText, func(n *yaml.Node) { b.Text = p.parseText(n) }),
		"call":        kind(KindCall, func(n *yaml.Node) { p.parseCall(n, &b) }),
		"search":      kind(KindSearch, func(n *yaml.Node) { b.Search = p.parseSearch(n) }),
		"code":        kind(KindCode, func(n *yaml.Node) { b.Code = p.parseCode(n) }),
		"only": func(n *yaml.Node) {
			b.Only = parseList(p, n, func(n *yaml.Node) string { return p.oneOf(n, providers...) })
		},
	})
	if b.Kind == "" {
		p.failAt(n.Line, "a block is one of thinking, redacted, text, signed_text, call, search, code")
	}
	return b
}

// parseParts reads one thought, several, or "" for one that is withheld.
func (p *scenarioParser) parseParts(n *yaml.Node) []string {
	if n.Kind == yaml.SequenceNode {
		return parseList(p, n, p.parseFilledText)
	}
	if text := p.parseText(n); text != "" {
		return []string{text}
	}
	return nil
}

func (p *scenarioParser) parseCall(n *yaml.Node, b *Block) {
	given := 0
	p.parseFields(n, fields{
		"role": func(n *yaml.Node) { b.Role = p.oneOf(n, toolRoles...) },
		"args": func(n *yaml.Node) { b.Args = p.parseJSONObject(n); given++ },
		"fill": func(n *yaml.Node) { b.Fill = p.parseFilledText(n); given++ },
		"partial": func(n *yaml.Node) {
			given++
			if b.Args, b.Partial = []byte(p.parseFilledText(n)), true; json.Valid(b.Args) {
				p.failAt(n.Line, "partial arguments end in the middle, these are whole: %s", b.Args)
			}
		},
	}, "role")
	if given > 1 {
		p.failAt(n.Line, "a call has one of args, fill and partial")
	}
}

func (p *scenarioParser) parseSearch(n *yaml.Node) *Search {
	var s Search
	p.parseFields(n, fields{
		"query": func(n *yaml.Node) { s.Query = p.parseFilledText(n) },
		"results": func(n *yaml.Node) {
			s.Results = parseList(p, n, func(n *yaml.Node) (f Found) {
				p.parseFields(n, fields{
					"title": func(n *yaml.Node) { f.Title = p.parseFilledText(n) },
					"url":   func(n *yaml.Node) { f.URL = p.parseFilledText(n) },
				}, "title", "url")
				return f
			})
		},
	}, "query", "results")
	return &s
}

func (p *scenarioParser) parseCode(n *yaml.Node) *Code {
	var c Code
	p.parseFields(n, fields{
		"source": func(n *yaml.Node) { c.Source = p.parseFilledText(n) },
		"output": func(n *yaml.Node) { c.Output = p.parseText(n) },
	}, "source")
	return &c
}

// parseJSONObject reads a string that holds one JSON object, whose bytes are kept.
func (p *scenarioParser) parseJSONObject(n *yaml.Node) []byte {
	text := p.parseText(n)
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		p.failAt(n.Line, "args is not a string with a JSON object: %s", text)
	}
	return []byte(text)
}
