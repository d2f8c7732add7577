package specs

import (
	"encoding/json"

	"gopkg.in/yaml.v3"
)

func (p *scenarioParser) turn(n *yaml.Node) Turn {
	t := Turn{Line: n.Line}
	p.fields(n, fields{
		"expect": func(n *yaml.Node) { t.Expect = p.expectation(n) },
		"emit":   func(n *yaml.Node) { t.Emit = list(p, n, p.block) },
		"stop":   func(n *yaml.Node) { t.Stop = p.stop(n) },
		"cut": func(n *yaml.Node) {
			p.fields(n, fields{"after": func(n *yaml.Node) { a := p.after(n); t.Cut = &a }}, "after")
		},
		"error": func(n *yaml.Node) { t.Fail = p.failure(n) },
		"stall": func(n *yaml.Node) {
			p.fields(n, fields{"after": func(n *yaml.Node) { a := p.after(n); t.Stall = &a }}, "after")
		},
		"refuse":  func(n *yaml.Node) { t.Refuse = p.rejection(n) },
		"grease":  func(n *yaml.Node) { t.Grease = list(p, n, p.grease) },
		"chunks":  func(n *yaml.Node) { t.Chunks = p.chunks(n) },
		"prompts": func(n *yaml.Node) { t.Prompts = p.positive(n) },
	})
	if t.Emit == nil && t.Stop == "" {
		p.fail(n.Line, "a turn has emit, or a stop and nothing else to say")
	}
	p.alone(t, n.Line)
	return t
}

func (p *scenarioParser) expectation(n *yaml.Node) *Expectation {
	e := Expectation{Line: n.Line}
	p.fields(n, fields{
		"prompt":  func(n *yaml.Node) { e.Prompt = p.filled(n) },
		"results": func(n *yaml.Node) { e.Results = list(p, n, p.text) },
	})
	if e.Prompt == "" && e.Results == nil {
		p.fail(n.Line, "an expectation has prompt, results or both")
	}
	return &e
}

// alone checks that a turn breaks off in one way at most.
func (p *scenarioParser) alone(t Turn, line int) {
	ways := 0
	for _, has := range []bool{t.Cut != nil, t.Fail != nil, t.Stall != nil} {
		if has {
			ways++
		}
	}
	if ways > 1 {
		p.fail(line, "a turn has one of cut, error and stall")
	}
	for i, b := range t.Emit {
		if b.Partial && (i < len(t.Emit)-1 || t.Stop != StopMaxTokens) {
			p.fail(b.Line, "a partial call is the last block of a turn with stop: max_tokens")
		}
	}
}

func (p *scenarioParser) failure(n *yaml.Node) *Failure {
	var f Failure
	p.fields(n, fields{
		"kind":  func(n *yaml.Node) { f.Kind = p.oneOf(n, failures...) },
		"after": func(n *yaml.Node) { f.After = p.after(n) },
	}, "kind", "after")
	return &f
}

// after reads a count for all providers, or one for each.
func (p *scenarioParser) after(n *yaml.Node) After {
	a := After{}
	if n.Kind == yaml.ScalarNode {
		count := p.positive(n)
		for _, provider := range providers {
			a[provider] = count
		}
		return a
	}
	known := fields{}
	for _, provider := range providers {
		known[provider] = func(n *yaml.Node) { a[provider] = p.positive(n) }
	}
	p.fields(n, known)
	return a
}

func (p *scenarioParser) chunks(n *yaml.Node) Chunks {
	if n.Kind == yaml.SequenceNode {
		return Chunks{Sizes: list(p, n, p.positive)}
	}
	return Chunks{Whole: p.oneOf(n, "event", "whole") == "whole"}
}

func (p *scenarioParser) block(n *yaml.Node) Block {
	b := Block{Line: n.Line}
	kind := func(k BlockKind, read func(*yaml.Node)) func(*yaml.Node) {
		return func(n *yaml.Node) {
			if b.Kind != "" {
				p.fail(n.Line, "a block is either %s or %s", b.Kind, k)
			}
			b.Kind = k
			read(n)
		}
	}
	p.fields(n, fields{
		"thinking":    kind(KindThinking, func(n *yaml.Node) { b.Parts = p.parts(n) }),
		"redacted":    kind(KindRedacted, func(n *yaml.Node) { p.oneOf(n, "true") }),
		"text":        kind(KindText, func(n *yaml.Node) { b.Text = p.filled(n) }),
		"signed_text": kind(KindSignedText, func(n *yaml.Node) { b.Text = p.text(n) }),
		"call":        kind(KindCall, func(n *yaml.Node) { p.call(n, &b) }),
		"search":      kind(KindSearch, func(n *yaml.Node) { b.Search = p.search(n) }),
		"code":        kind(KindCode, func(n *yaml.Node) { b.Code = p.code(n) }),
		"only": func(n *yaml.Node) {
			b.Only = list(p, n, func(n *yaml.Node) string { return p.oneOf(n, providers...) })
		},
	})
	if b.Kind == "" {
		p.fail(n.Line, "a block is one of thinking, redacted, text, signed_text, call, search, code")
	}
	return b
}

// parts reads one thought, several, or "" for one that is withheld.
func (p *scenarioParser) parts(n *yaml.Node) []string {
	if n.Kind == yaml.SequenceNode {
		return list(p, n, p.filled)
	}
	if text := p.text(n); text != "" {
		return []string{text}
	}
	return nil
}

func (p *scenarioParser) call(n *yaml.Node, b *Block) {
	given := 0
	p.fields(n, fields{
		"role": func(n *yaml.Node) { b.Role = p.oneOf(n, toolRoles...) },
		"args": func(n *yaml.Node) { b.Args = p.object(n); given++ },
		"fill": func(n *yaml.Node) { b.Fill = p.filled(n); given++ },
		"partial": func(n *yaml.Node) {
			given++
			if b.Args, b.Partial = []byte(p.filled(n)), true; json.Valid(b.Args) {
				p.fail(n.Line, "partial arguments end in the middle, these are whole: %s", b.Args)
			}
		},
	}, "role")
	if given > 1 {
		p.fail(n.Line, "a call has one of args, fill and partial")
	}
}

func (p *scenarioParser) search(n *yaml.Node) *Search {
	var s Search
	p.fields(n, fields{
		"query": func(n *yaml.Node) { s.Query = p.filled(n) },
		"results": func(n *yaml.Node) {
			s.Results = list(p, n, func(n *yaml.Node) (f Found) {
				p.fields(n, fields{
					"title": func(n *yaml.Node) { f.Title = p.filled(n) },
					"url":   func(n *yaml.Node) { f.URL = p.filled(n) },
				}, "title", "url")
				return f
			})
		},
	}, "query", "results")
	return &s
}

func (p *scenarioParser) code(n *yaml.Node) *Code {
	var c Code
	p.fields(n, fields{
		"source": func(n *yaml.Node) { c.Source = p.filled(n) },
		"output": func(n *yaml.Node) { c.Output = p.text(n) },
	}, "source")
	return &c
}

// object reads a string that holds one JSON object, whose bytes are kept.
func (p *scenarioParser) object(n *yaml.Node) []byte {
	text := p.text(n)
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		p.fail(n.Line, "args is not a string with a JSON object: %s", text)
	}
	return []byte(text)
}
