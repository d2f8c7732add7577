package specs

import (
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/schemas"
)

// TestSchemaAgrees holds the published schema to the parser: both accept the
// catalogue. TestFaults holds that both refuse a fault of form.
func TestSchemaAgrees(t *testing.T) {
	files, err := fs.Glob(requirementFiles, "requirements/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := requirementFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries(t, data) {
			if err := schemas.Validate(schemas.Requirement, entry); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestTeamRulesSchemaAgrees is TestSchemaAgrees for the rules of teams.
func TestTeamRulesSchemaAgrees(t *testing.T) {
	text, err := os.ReadFile("../docs/examples/own-rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range []string{"|", "TEAM-001|ORG-001", "consequence: unsafe|consequence: bad",
		"present: true|present: false", "uses: SIG-001|uses: SIG-001\n  same: true",
		"title: the system|titel: the system", "provider: anthropic|provider: other"} {
		old, with, _ := strings.Cut(edit, "|")
		broken := strings.Replace(string(text), old, with, 1)
		_, parseErr := ParseTeamRules("r.yaml", []byte(broken))
		list, err := json.Marshal(rawMessages(entries(t, []byte(broken))))
		if err != nil {
			t.Fatal(err)
		}
		if schemaErr := schemas.Validate(schemas.Rules, list); (schemaErr == nil) != (edit == "|") ||
			(parseErr == nil) != (edit == "|") {
			t.Errorf("%q: the schema says %v, the parser %v", with, schemaErr, parseErr)
		}
	}
}

func rawMessages(docs [][]byte) (list []json.RawMessage) {
	for _, doc := range docs {
		list = append(list, doc)
	}
	return list
}

func entries(t *testing.T, text []byte) (out [][]byte) {
	t.Helper()
	var list []map[string]any
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		doc, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, doc)
	}
	return out
}
