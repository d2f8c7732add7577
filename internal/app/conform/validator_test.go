package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// validatorProgram holds each file of its arguments against the schema before it.
const validatorProgram = `
import json, sys, jsonschema
for schema, file in zip(sys.argv[1::2], sys.argv[2::2]):
    rules = json.load(open(schema))
    jsonschema.Draft7Validator.check_schema(rules)
    for e in jsonschema.Draft7Validator(rules).iter_errors(json.load(open(file))):
        print(file, list(e.absolute_path), e.message[:300])
`

// TestIndependentValidator holds every report against its schema by a validator that
// is not the one we use ourselves: reports of runs and checks that fail, with findings
// about processes, and what list, explain and selftest print.
func TestIndependentValidator(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	if err := exec.CommandContext(t.Context(), python, "-c", "import jsonschema").Run(); err != nil {
		t.Skip("python3 has no module jsonschema")
	}
	dir := t.TempDir()
	args := []string{"-c", validatorProgram}
	add := func(name string, doc []byte) {
		t.Helper()
		var head struct{ Schema string }
		if err := json.Unmarshal(doc, &head); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		schema := head.Schema
		if schema == "" {
			schema = "requirement.v2"
		}
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, doc, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "../../../schemas/"+schema+".json", file)
	}
	for _, golden := range []string{"run", "check"} {
		doc, err := os.ReadFile("../../../conform/report/testdata/" + golden + ".json")
		if err != nil {
			t.Fatal(err)
		}
		add("golden-"+golden, doc)
	}
	for name, command := range map[string]string{
		"list": "list --json", "explain": "explain SIG-001 --json", "explain-rule": "explain A-34 --json",
		"selftest":      "selftest --json --places 5",
		"check":         "check --json --strict --require SIG,MOD-001 ../../../docs/examples",
		"run":           "run --json --source cassette --filter SIG-001 --require ORD-001",
		"lint":          "lint tools --json testdata/tools.json",
		"lint-request":  "lint request --json testdata/request.json",
		"check-nothing": "check --json ../../../docs/examples/mcp.json",
	} {
		var stdout, stderr bytes.Buffer
		Run(context.Background(), strings.Fields(command), strings.NewReader(""), &stdout, &stderr, nil)
		if stdout.Len() == 0 {
			t.Fatalf("conform %s prints nothing: %s", command, stderr.String())
		}
		add(name, stdout.Bytes())
	}
	out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
