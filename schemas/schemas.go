// Package schemas holds the JSON Schemas (draft-07) of the providers' messages
// and of every format of ours, and checks documents against them. Cross-field
// rules (pairing, signatures, order) are not for schemas: conform/check has them.
package schemas

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"
)

//go:embed *.json
var files embed.FS

// Name is a schema file without .json.
type Name string

// The schemas.
const (
	Requirement Name = "requirement.v2"
	Report      Name = "conform.report.v2"
	Check       Name = "conform.check.v2"
	List        Name = "conform.list.v2"
	Explain     Name = "conform.explain.v1"
	Matrix      Name = "conform.matrix.v1"
	Baseline    Name = "conform.baseline.v1"
	Site        Name = "conform.site.v1"
	Observe     Name = "conform.observe.v1"
	Init        Name = "conform.init.v1"
	Ready       Name = "conform.ready.v1"
	Lint        Name = "conform.lint.v1"
	Inspector   Name = "conform.inspector.v1" // the document inside an HTML report
	Profile     Name = "profile.v1"           // an agent, YAML read as JSON
	Rules       Name = "rules.v1"             // a team's own rules, YAML read as JSON
	Version     Name = "version.v1"           // which build a program is

	RecorderVerify      Name = "recorder.verify.v1"
	RecorderInspect     Name = "recorder.inspect.v1"
	RecorderInteraction Name = "recorder.interaction.v1"
	RecorderDiff        Name = "recorder.diff.v1"
	RecorderDrift       Name = "recorder.drift.v1"
	RecorderReady       Name = "recorder.ready.v1"
	RecorderWritten     Name = "recorder.written.v1"
	RecorderReceipt     Name = "recorder.receipt.v1"
	RecorderCA          Name = "recorder.ca.v1"
	RecorderDoctor      Name = "recorder.doctor.v1"
	RecorderFaults      Name = "recorder.faults.v1" // a fault plan, YAML read as JSON
	HAR                 Name = "har.v1.2"           // HTTP Archive, as we export it

	RkatEvent    Name = "rkat.event.v1" // a line of --output json-stream
	RkatResult   Name = "rkat.result.v1"
	RkatSessions Name = "rkat.sessions.v1"
	RkatSession  Name = "rkat.session.v1"
	RkatModels   Name = "rkat.models.v1"
	RkatRender   Name = "rkat.render.v1"
	RkatDoctor   Name = "rkat.doctor.v1"
)

// Names lists every schema in lexical order.
func Names() []Name {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the directory is compiled in
	}
	names := make([]Name, len(entries))
	for i, e := range entries {
		names[i] = Name(strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// Source returns the text of a schema.
func Source(name Name) ([]byte, error) {
	text, err := files.ReadFile(string(name) + ".json")
	if err != nil {
		return nil, fmt.Errorf("%s: no such schema; one of %v", name, Names())
	}
	return text, nil
}

// Invalid is a document that breaks its schema.
type Invalid struct {
	Schema   Name
	Problems []Problem
}

// Problem is one breach. Path is like messages[3].content, "" for the document.
type Problem struct{ Path, Message string }

// Error shows the first problem and counts the others.
func (e *Invalid) Error() string {
	p := e.Problems[0]
	text := fmt.Sprintf("%s: %s", e.Schema, p.Message)
	if p.Path != "" {
		text = fmt.Sprintf("%s: %s: %s", e.Schema, p.Path, p.Message)
	}
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// ErrSyntax is wrapped for a document that is not exactly one JSON value.
var ErrSyntax = errors.New("not one JSON value")

// Validate checks doc against a schema. The error is an *Invalid, wraps
// ErrSyntax, or names an unknown schema. It is safe for concurrent use.
func Validate(name Name, doc []byte) error {
	set, err := compiled(name)
	if err != nil {
		return err
	}
	// The schema library reads the first value and ignores what follows it.
	if err := checkSyntax(doc); err != nil {
		return fmt.Errorf("%s: %w: %w", name, ErrSyntax, err)
	}
	schema, err := set.forType(typeOf(doc))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(doc))
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, ErrSyntax, err)
	}
	if result.Valid() {
		return nil
	}
	return &Invalid{Schema: name, Problems: problems(result.Errors())}
}

func checkSyntax(doc []byte) error {
	dec := json.NewDecoder(bytes.NewReader(doc))
	var first, second json.RawMessage
	if err := dec.Decode(&first); err != nil {
		return err
	}
	end := dec.InputOffset()
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows the value that ends at byte %d", end)
	}
	return nil
}

// typeOf returns the discriminator of a message, "" when it has none.
func typeOf(doc []byte) string {
	var tagged struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(doc, &tagged) != nil {
		return ""
	}
	name, _ := tagged.Type.(string)
	return name
}

var cache sync.Map // Name → func() (*typed, error)

func compiled(name Name) (*typed, error) {
	load, _ := cache.LoadOrStore(name, sync.OnceValues(func() (*typed, error) {
		text, err := Source(name)
		if err != nil {
			return nil, err
		}
		var root map[string]any
		if err := json.Unmarshal(text, &root); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		t := &typed{rest: maps.Clone(root), branch: map[string]map[string]any{},
			ready: map[string]*gojsonschema.Schema{}}
		delete(t.rest, "allOf")
		var others []any
		list, _ := root["allOf"].([]any)
		for _, b := range list {
			if kind, then := typeBranch(b); kind != "" {
				t.branch[kind] = then
			} else {
				others = append(others, b)
			}
		}
		if len(others) > 0 {
			t.rest["allOf"] = others
		}
		_, err = t.forType("")
		return t, err
	}))
	return load.(func() (*typed, error))()
}
