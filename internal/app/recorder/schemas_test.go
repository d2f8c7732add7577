package recorder_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/schemas"
)

// valid is a command of the scripts: "valid SCHEMA FILE" holds a file, or stdout,
// against a schema. What ends in .yaml is read as JSON first.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: valid SCHEMA FILE")
	}
	text := ts.ReadFile(args[1])
	if strings.HasSuffix(args[1], ".yaml") {
		text = asJSON(ts, text)
	}
	switch err := schemas.Validate(schemas.Name(args[0]), []byte(text)); {
	case err != nil && !neg:
		ts.Fatalf("%s: %v\n%s", args[1], err, text)
	case err == nil && neg:
		ts.Fatalf("%s is valid", args[1])
	}
}

func asJSON(ts *testscript.TestScript, text string) string {
	var v any
	ts.Check(yaml.Unmarshal([]byte(text), &v))
	out, err := json.Marshal(v)
	ts.Check(err)
	return string(out)
}

// The plans of the guide are what the schema and the parser take.
func TestGuidesPlansAreValid(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/guides/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	plans := strings.Split(string(guide), "```yaml\n")[1:]
	if len(plans) == 0 {
		t.Fatal("the guide shows no plan")
	}
	for _, p := range plans {
		text, _, _ := strings.Cut(p, "```")
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		doc, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.Validate(schemas.RecorderFaults, doc); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// A schema that takes anything holds nothing.
func TestSchemasRefuse(t *testing.T) {
	const digest = `"sealed:0000000000000000000000000000000000000000000000000000000000000000"`
	summary := `"summary":{"files":1,"failed":0,"interactions":1,"bytes":1,"seconds":0.1}`
	for name, docs := range map[schemas.Name][]string{
		schemas.RecorderVerify: {
			`{"schema":"recorder.verify.v1","cassettes":[],` + summary + `}`,
			`{"schema":"recorder.verify.v2","cassettes":[{"path":"x","ok":true,"sealed":true,"digest":` + digest +
				`,"interactions":1,"bytes":1,"problems":[],"warnings":[]}],` + summary + `}`,
			`{"schema":"recorder.verify.v1","cassettes":[{"path":"x","ok":true,"sealed":true,"digest":"md5:0","interactions":1,"bytes":1,"problems":[],"warnings":[]}],` + summary + `}`,
			`{"schema":"recorder.verify.v1","cassettes":[{"path":"x","ok":false,"sealed":true,"interactions":1,"bytes":1,"problems":[{"kind":"odd","problem":"x"}],"warnings":[]}],` + summary + `}`,
		},
		schemas.RecorderFaults: {
			`{"faults":[]}`, `{"faults":[{"fault":"explode"}]}`,
			`{"faults":[{"fault":"reset","at_byte":1,"at_start":true}]}`,
			`{"faults":[{"fault":"status","status":200}]}`, `{"faults":[{"fault":"reset","after":7}]}`,
		},
		schemas.HAR: {
			`{"log":{"version":"1.2","entries":[]}}`,
			`{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[],"cassette":1}}`,
		},
		schemas.RecorderReady:       {`{"schema":"recorder.ready.v1","url":"http://127.0.0.1:1","variables":{},"remove":[]}`},
		schemas.Version:             {`{"schema":"version.v1","program":"conform","version":"v0.1.0"}`},
		schemas.RecorderReceipt:     {`{"schema":"recorder.receipt.v1"}`},
		schemas.RecorderDiff:        {`{"schema":"recorder.diff.v1","old":"a","new":"b","equal":true,"pairs":[{"old":0,"new":0,"request":"x","more":1}]}`},
		schemas.RecorderInspect:     {`{"schema":"recorder.inspect.v1","path":"x"}`},
		schemas.RecorderInteraction: {`{"schema":"recorder.interaction.v1","path":"x"}`},
		schemas.RecorderCA:          {`{"schema":"recorder.ca.v1","path":"x"}`},
		schemas.RecorderDoctor:      {`{"schema":"recorder.doctor.v1","ok":true,"checks":[{"client":"curl","result":"maybe"}],"environment":[]}`},
	} {
		for _, doc := range docs {
			if err := schemas.Validate(name, []byte(doc)); err == nil {
				t.Errorf("%s takes %s", name, doc)
			}
		}
	}
}
