package profiles

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/schemas"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// whole uses every key of the format once.
const whole = `name: my-agent
about: an agent of ours
version: [my-agent, version]
run: [my-agent, "{args}", --print, "{prompt}"]
resume: [my-agent, "{args}", --resume, "{session}", --print, "{prompt}"]
session: {from: stdout, pattern: 'session (\S+)'}
timeout: 90s
args: [--quiet]
env: {MY_AGENT_HOME: "{home}/.my-agent"}
unset: [NODE_EXTRA_CA_CERTS]
files:
  .my-agent/settings.json: '{"key": {key:json}, "literal": "{{key}} ${key}"}'
model: {args: [--model, "{provider}/{model}"]}
system: {args: [--system, "{system}"]}
effort: {args: [--effort, "{effort}"]}
mcp: {args: [--mcp, "{mcp_config}"], files: {mcp.toml: "command = {mcp_program:json}\nargs = {mcp_args}\nurl = {mcp_url:json}\nall = {mcp_argv}"}}
mitm: {env: {MY_PROXY: "{proxy_url}", MY_CA: "{ca_file}"}}
base_url: {args: [--url, "{base_url}"]}
ingress: [mitm, base-url]
providers:
  anthropic: {}
  gemini:
    name: google
    model: gemini-pro
    ingress: [mitm]
    args: [--google]
    env: {TMP_DIR: "{temp}/{work}"}
    unset: [GOOGLE_API_KEY]
    files: {x.txt: "{profile_dir}"}
    mitm: {args: [--a]}
    base_url: {args: [--b, "{base_url}"]}
tools: {echo: Bash}
side: ["(?i)title"]
unsupported: {"cut-*": it retries for ever}
install: {npm: ["my-agent@1.2.3"], node: "20"}
`

func TestParse(t *testing.T) {
	p, err := Parse("x.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if p.Always.Args[0] != "--quiet" || p.Providers["gemini"].BaseURL.Args[1] != "{base_url}" ||
		p.Timeout.Seconds() != 90 || p.Providers["anthropic"].Name != "" {
		t.Errorf("%+v", p)
	}
	values := map[string]string{"key": "a\"b"}
	if got, err := p.Always.Files[".my-agent/settings.json"].Fill(values); err != nil ||
		got != `{"key": "a\"b", "literal": "{key} ${key}"}` {
		t.Error(got, err)
	}
	if _, err := p.Run[3].Fill(nil); err == nil || err.Error() != "{prompt} has no value here" {
		t.Error(err)
	}
}

// TestFaults holds that each mistake is found with its line and says what to do,
// and that the published schema refuses it as well, where a schema can.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		old, broken, want string
		beyondSchema      bool
	}{
		{"resume: [", "resum: [", `x.yaml:5:1: key "resum" is not known; did you mean resume?`, false},
		{"    model: gemini-pro", "    modle: gemini-pro",
			`x.yaml:24:5: key "providers.gemini.modle" is not known; did you mean model?`, false},
		{"name: my-agent\n", "", `x.yaml:1:1: key "name" is missing`, false},
		{"name: my-agent", "name: ../evil", `name: "../evil" is not a name`, false},
		{`"{prompt}"]` + "\nresume", `"{promt}"]` + "\nresume",
			`x.yaml:4:36: run[3]: placeholder {promt} unknown, write {{promt}} for the text itself; did you mean {prompt}?`, true},
		{"{key:json}", "{key:yaml}", `placeholder {key:yaml} unknown; use {key} or {key:json}`, true},
		{"args: [--quiet]", `args: ["{mcp_url}"]`,
			`args[0]: placeholder {mcp_url} has no value here; it has one below mcp`, true},
		{"files: {x.txt: \"{profile_dir}\"}", `files: {mcp.json: "{mcp_url}"}`, `has no value here`, true},
		{`"{args}", --print`, `"x{args}", --print`, "make it an entry of its own", true},
		{"version: [my-agent, version]", "version: my-agent version",
			`x.yaml:3:10: version: is a text; it must be a list`, false},
		{"version: [my-agent, version]", "version: ['']", `version: the program is empty`, false},
		{"about: an agent of ours", "about:", `x.yaml:2:7: about: is empty; it must be a text`, false},
		{"about: an agent of ours", "acp: [x]", `x.yaml:1:1: needs exactly one of the keys run, acp, driver`, false},
		{"timeout: 90s", "timeout: soon", `timeout: "soon" is not a duration such as 90s or 5m`, false},
		{"unset: [NODE", "unset: [1-NODE", `is not the name of a variable`, false},
		{"MY_PROXY", "MY PROXY", `"MY PROXY" is not the name of a variable`, false},
		{".my-agent/settings.json", "/etc/passwd", `"/etc/passwd" leads out of HOME`, false},
		{".my-agent/settings.json", "a/../../b", `leads out of HOME`, true},
		{"from: stdout", "from: stdou",
			`session.from: "stdou" is not known; use stdout, stderr, output, file, given; did you mean stdout?`, false},
		{`pattern: 'session (\S+)'`, `pattern: 'session ('`,
			`session.pattern: is not a regular expression of RE2: missing closing )`, true},
		{`, pattern: 'session (\S+)'`, ``, `key "session.pattern" is missing`, false},
		{`session: {from: stdout, pattern: 'session (\S+)'}`, "about: x",
			`key "session" does not say how the id is found`, true},
		{"ingress: [mitm, base-url]", "ingress: [direct]",
			`ingress[0]: "direct" is not known; use mitm, base-url`, false},
		{"about: an agent of ours", "exit: always", `x.yaml:2:7: exit: "always" is not known; use answered`, false},
		{"  anthropic: {}", "  antropic: {}",
			`x.yaml:21:3: providers.antropic: "antropic" is not known; use anthropic, openai, gemini, chat; did you mean anthropic?`, false},
		{"side: [\"(?i)title\"]", `side: ["("]`,
			"side[0]: is not a regular expression of RE2: missing closing )", true},
		{`"cut-*"`, `"cut-["`, "is not a pattern of case names", true},
	} {
		text := strings.Replace(whole, c.old, c.broken, 1)
		if text == whole {
			t.Fatalf("%q changes nothing", c.old)
		}
		_, err := Parse("x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got\n%v\nwant %s", c.broken, err, c.want)
		}
		if !c.beyondSchema && validateYAML(t, text) == nil {
			t.Errorf("the schema accepts %q", c.broken)
		}
	}
}

// TestAllFaultsAtOnce holds that one reading reports everything, in order.
func TestAllFaultsAtOnce(t *testing.T) {
	_, err := Parse("x.yaml", []byte("nam: x\nrun: [a, '{promt}']\nproviders: {openai: {modl: 1}}\n"))
	var lines []string
	for line := range strings.Lines(err.Error()) {
		lines = append(lines, strings.SplitN(line, ": ", 2)[0])
	}
	if want := []string{"x.yaml:1:1", "x.yaml:1:1", "x.yaml:2:10", "x.yaml:3:22"}; !slices.Equal(lines, want) {
		t.Errorf("%v", err)
	}
}

func TestDocumentFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "x.yaml:1: is empty; it must be a mapping with the keys about, acp",
		"name: x\nproviders: {a: {}}\n": "needs exactly one of the keys run, acp, driver",
		strings.TrimSuffix(whole, "\n") + "\n---\nname: y\n": "more than one YAML document",
	} {
		if _, err := Parse("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Find(file); err != nil || p.Path != file || p.Dir() != dir {
		t.Error(p, err)
	}
	for name, want := range map[string]string{
		"rkta":             "profile rkta: no such profile, and profiles of your own are files that end in .yaml; did you mean rkat?",
		dir + "/none.yaml": "none.yaml: does not exist; write one with: conform init -- CMD {prompt}",
		dir + "/":          "not a file; name a profile in YAML",
	} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEmbedded holds that each embedded profile loads, is called like its file and
// follows the schema.
func TestEmbedded(t *testing.T) {
	for _, name := range Names() {
		p, err := Embedded(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Name != name || p.About == "" {
			t.Errorf("%s: is called %q, about %q", name, p.Name, p.About)
		}
		data, err := embedded.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := validateYAML(t, string(data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaAgrees holds that the published schema has the keys of the parser.
func TestSchemaAgrees(t *testing.T) {
	if err := validateYAML(t, whole); err != nil {
		t.Error(err)
	}
	text, err := schemas.Source(schemas.Profile)
	if err != nil {
		t.Fatal(err)
	}
	type object struct{ Properties map[string]json.RawMessage }
	var schema struct {
		object
		Definitions struct{ Addition, Provider object }
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value  any
		schema object
	}{{&Profile{}, schema.object}, {&Addition{}, schema.Definitions.Addition},
		{&Provider{}, schema.Definitions.Provider}} {
		known := keysOf(t, c.value)
		for _, name := range known {
			if c.schema.Properties[name] == nil {
				t.Errorf("%T: the schema lacks %s", c.value, name)
			}
		}
		if len(known) != len(c.schema.Properties) {
			t.Errorf("%T: %d keys, the schema has %d", c.value, len(known), len(c.schema.Properties))
		}
	}
}

// keysOf are the keys that are read into a value, as the fault of a text in its place lists them.
func keysOf(t *testing.T, value any) []string {
	t.Helper()
	_, keys, ok := strings.Cut(datafile.Read("x.yaml", []byte("text"), value, datafile.Options{}).Err().Error(),
		"with the keys ")
	if !ok {
		t.Fatal("no keys")
	}
	return strings.Split(keys, ", ")
}

// TestGuide holds that the guide explains every key and placeholder, and that its
// examples load.
func TestGuide(t *testing.T) {
	page, err := os.ReadFile("../docs/guides/profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range keysOf(t, new(Profile)) {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the guide does not mention the key %s", name)
		}
	}
	for _, p := range Placeholders {
		if !strings.Contains(string(page), "| `{"+p.Name+"}` | "+p.Meaning) {
			t.Errorf("the guide lacks the row | `{%s}` | %s", p.Name, p.Meaning)
		}
	}
	samples := 0
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		samples++
		if _, err := Parse("sample.yaml", []byte(text)); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	if samples < 2 {
		t.Errorf("%d samples", samples)
	}
}

func validateYAML(t *testing.T, text string) error {
	t.Helper()
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return err
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return schemas.Validate(schemas.Profile, data)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("name: x\nrun: [a]\nproviders: {openai: }\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("x.yaml", data)
		if (p == nil) == (err == nil) {
			t.Fatal(p, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "x.yaml") {
			t.Fatal(err)
		}
	})
}
