package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
)

// sections are the parts of the ledger. The first two are not written unless asked for.
var sections = []struct {
	name string
	fill func(*book) error
}{
	{"run", (*book).runAgent},
	{"wire", func(b *book) error { return b.countKills("--places=0", "--on-wire") }},
	{"corpus", func(b *book) error { return b.checkRecordings() }},
	{"foreign", func(b *book) error { return b.checkRecordings("--foreign") }},
	{"kept", func(b *book) error { return b.checkFolders(b.kept + "/recordings") }},
	{"evidence", (*book).judgeKept},
	{"examples", (*book).judgeExamples},
	{"simulator", (*book).askSimulator},
	{"selftest", func(b *book) error { return b.countKills() }},
	{"mutants", func(b *book) error { return b.goTest("./conform/mutate", "TestLedger$") }},
	{"bench", func(b *book) error { return b.goTest("./conform/mutate", "TestBench$") }},
}

func sectionNames() (names []string) {
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// object is an object of a document that conform prints.
type object map[string]any

// objectsIn returns the objects of a member.
func (o object) objectsIn(name string) (all []object) {
	items, _ := o[name].([]any)
	for _, item := range items {
		if inner, ok := item.(map[string]any); ok {
			all = append(all, inner)
		}
	}
	return all
}

// pickMembers writes the members named that o has.
func (o object) pickMembers(names ...string) string {
	var parts []string
	for _, name := range names {
		if value, ok := o[name]; ok {
			text, _ := json.Marshal(value) // what was read as JSON can be written
			parts = append(parts, name+" "+strings.Trim(string(text), `"`))
		}
	}
	return strings.Join(parts, ", ")
}

// addJudged adds a recording, or the result of one check: verdict, places seen, findings.
func (b *book) addJudged(input string, o object) {
	check, _ := o["check"].(string)
	b.addLine(input, "verdict", "%s %v, %s", check, o["verdict"],
		o.pickMembers("provider", "format", "client", "exchanges", "calls", "skipped"))
	b.addLine(input, "observed", "%s %v", check, o["observed"])
	if o["reason"] != nil {
		b.addLine(input, "message", "%s %v", check, o["reason"])
	}
	for _, f := range o.objectsIn("findings") {
		at := fmt.Sprintf("%s exchange %v %s:", f["check"], f["exchange"], cmp.Or(f.pickMembers("path"), "-"))
		also := ""
		for _, place := range f.objectsIn("places") {
			also += ", also " + place.pickMembers("exchange", "path")
		}
		b.addLine(input, "finding", "%s %s%s", at, f.pickMembers("verdict", "consequence", "answer", "rule"), also)
		b.addLine(input, "message", "%s %s", at, f.pickMembers("offset", "emitted", "compare", "message", "fix"))
	}
}

// addResults adds the results of checks, but for those that saw nothing.
func (b *book) addResults(input string, results []object) {
	for _, r := range results {
		if r["observed"] != 0.0 || len(r.objectsIn("findings")) > 0 {
			b.addJudged(cmp.Or(input, fmt.Sprint(r["case"])), r)
		}
	}
}

// runConform runs the program and reads the document that it prints.
func (b *book) runConform(args ...string) (doc object, err error) {
	cmd := exec.Command(filepath.Join(b.scratch, "conform"), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, runErr := cmd.Output() // exits 1 and 3 are outcomes
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, fmt.Errorf("conform %s: %w: %w\n%s", strings.Join(args, " "), err, runErr, stderr.Bytes())
	}
	return doc, nil
}

func (b *book) checkRecordings(flags ...string) error {
	beside := filepath.Dir(b.traffic)
	return b.checkFolders(append(flags, b.traffic+"/data", beside+"/cases", beside+"/traffic-chat/data", "cassettes",
		"docs/examples")...)
}

// checkFolders judges folders by conform check, with flags before them. A folder that
// does not exist is left out.
func (b *book) checkFolders(args ...string) error {
	args = slices.DeleteFunc(args,
		func(arg string) bool { _, err := os.Stat(arg); return err != nil && !strings.HasPrefix(arg, "--") })
	if len(args) == 0 {
		return nil
	}
	doc, err := b.runConform(append([]string{"check", "--json"}, args...)...)
	if err != nil {
		return err
	}
	for _, r := range doc.objectsIn("recordings") {
		b.addJudged(fmt.Sprint(r["path"]), r)
	}
	summary, _ := doc["summary"].(map[string]any)
	b.addLine("summary", "verdict", "%s, passed over %v", object(summary).pickMembers("verdict", "exit", "counts"),
		doc["passed_over"])
	for _, a := range object(summary).objectsIn("areas") {
		b.addJudged(fmt.Sprintf("summary %s", a["area"]), a)
	}
	return nil
}

// judgeExamples judges the two examples of each requirement by every rule.
func (b *book) judgeExamples() error {
	rules, err := report.RulesOf(specs.CurrentSet)
	catalogue, readErr := specs.Requirements()
	err = errors.Join(err, readErr)
	for _, r := range catalogue {
		err = errors.Join(err, b.judgeEvidence(rules, r.ID+" failing", evidence.FromExample(r, r.Examples.Failing)),
			b.judgeEvidence(rules, r.ID+" passing", evidence.FromExample(r, r.Examples.Passing)))
	}
	return err
}

// judgeKept judges evidence of runs, which says more than their recordings: how processes ended.
func (b *book) judgeKept() error {
	rules, err := report.RulesOf(specs.CurrentSet)
	files, globErr := filepath.Glob(b.kept + "/evidence/*/*.json")
	err = errors.Join(err, globErr)
	for _, file := range files {
		data, readErr := os.ReadFile(file)
		var ev evidence.Evidence
		err = errors.Join(err, readErr, json.Unmarshal(data, &ev), b.judgeEvidence(rules, file, ev))
	}
	return err
}

func (b *book) judgeEvidence(rules []report.Rule, input string, ev evidence.Evidence) error {
	results, err := json.Marshal(map[string]any{"results": report.Judge(rules, &ev)})
	var doc object
	err = errors.Join(err, json.Unmarshal(results, &doc))
	b.addResults(input, doc.objectsIn("results"))
	return err
}

// runAgent runs rkat through all cases, with the tokens of a fixed seed.
func (b *book) runAgent() error {
	doc, err := b.runConform("run", "--seed=1", "--json")
	b.addResults("", doc.objectsIn("results"))
	return err
}

// countKills says how often each mutant was applied to the samples and noticed.
// With --wire it also says by what each requirement was broken in a run.
func (b *book) countKills(flags ...string) error {
	doc, err := b.runConform(append([]string{"selftest", "--json"}, flags...)...)
	for _, r := range doc.objectsIn("requirements") {
		for _, m := range append(r.objectsIn("mutants"), r) {
			b.addLine(fmt.Sprint(r["requirement"]), "verdict", "%s",
				m.pickMembers("good", "mutant", "applied", "killed"))
		}
	}
	for _, w := range doc.objectsIn("wire") {
		b.addLine(fmt.Sprint(w["requirement"]), "verdict", "on the wire: %s",
			w.pickMembers("mutant", "case", "unbroken"))
	}
	b.addLine("selftest", "verdict", "%s", doc.pickMembers("ok", "subjects", "places", "faults"))
	return err
}

// goTest runs a test with -ledger FILE. The test writes lines: input, tab, outcome.
func (b *book) goTest(pkg, test string) error {
	file := filepath.Join(b.scratch, b.section)
	cmd := exec.Command("go", "test", "-count=1", "-run", test, pkg, "-ledger", file)
	cmd.Env = append(os.Environ(), "MEERKAT_TRAFFIC="+b.traffic)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go test %s: %w\n%s", pkg, err, out)
	}
	data, err := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		input, outcome, _ := strings.Cut(line, "\t")
		kind, rest, _ := strings.Cut(outcome, " ")
		b.addLine(input, kind, "%s", rest)
	}
	return err
}

// manners are the ways in which the simulator is asked. Rules about which models are
// served, and about what earlier requests stored, are off but in the last.
var manners = map[string]simulator.Config{
	"strict": {Seed: "1", Level: rule.Strict, ForeignTokens: true, Off: []string{"A-3", "O-2", "G-2", "O-14", "O-25"}},
	"live":   {Seed: "1", Level: rule.Live, ForeignTokens: true, Off: []string{"A-3", "O-2", "G-2", "O-14", "O-25"}},
	"full":   {Seed: "1", Level: rule.Strict},
}

// askSimulator sends each written and each recorded request to a simulator of its own.
func (b *book) askSimulator() error {
	for provider, url := range map[string]string{
		"anthropic": "https://api.anthropic.com/v1/messages", "openai": "https://api.openai.com/v1/responses",
		"gemini": "https://generativelanguage.googleapis.com/v1beta/models/MODEL:generateContent",
	} {
		if err := b.askWritten(provider, url); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(filepath.Join(b.traffic, "data", "*", "*", "*.request.json"))
	for _, file := range files {
		var request struct {
			Method, URL, Body string
			Headers           map[string]any
		}
		data, err := os.ReadFile(file)
		if err := cmp.Or(err, json.Unmarshal(data, &request)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if request.URL == "" || request.Body == "" {
			continue
		}
		header := http.Header{}
		for name, value := range request.Headers {
			text, _ := json.Marshal(value) // what was read as JSON can be written
			header.Set(name, strings.Trim(string(text), `[]"`))
		}
		b.askEach(file, request.Method, request.URL, header, []byte(request.Body))
	}
	return err
}

// askWritten asks the requests of PROVIDER.yaml: a base with members set or left out.
func (b *book) askWritten(provider, url string) error {
	var doc struct {
		Base     map[string]any
		Requests map[string]struct {
			Set         map[string]any
			Without     []string
			Body, Model string
			Header      map[string]string
		}
	}
	data, err := os.ReadFile(filepath.Join(b.agreement, provider+".yaml"))
	if err := cmp.Or(err, yaml.Unmarshal(data, &doc)); err != nil {
		return err
	}
	for name, row := range doc.Requests {
		members, header := maps.Clone(doc.Base), http.Header{}
		maps.Copy(members, row.Set)
		maps.DeleteFunc(members, func(name string, _ any) bool { return slices.Contains(row.Without, name) })
		body, err := json.Marshal(members)
		if err != nil {
			return err
		}
		for name, value := range row.Header {
			header.Set(name, value)
		}
		model := cmp.Or(row.Model, "gemini-3-flash-preview")
		b.askEach("written/"+provider+": "+name, http.MethodPost, strings.Replace(url, "MODEL", model, 1), header,
			[]byte(cmp.Or(row.Body, string(body))))
	}
	return nil
}

// askEach adds the answer of each manner: a refusal whole, of a reply its hash.
func (b *book) askEach(input, method, url string, header http.Header, body []byte) {
	header.Set("Anthropic-Version", cmp.Or(header.Get("Anthropic-Version"), "2023-06-01"))
	for name, value := range map[string]string{"X-Api-Key": "fake", "Authorization": "Bearer fake",
		"X-Goog-Api-Key": "fake",
		"Content-Type":   "application/json", "Content-Encoding": "", "Content-Length": ""} {
		if header.Del(name); value != "" {
			header.Set(name, value)
		}
	}
	for manner, config := range manners {
		r, w := httptest.NewRequest(method, url, bytes.NewReader(body)), httptest.NewRecorder()
		r.Header = header.Clone()
		simulator.New(config).ServeHTTP(w, r)
		if reply := w.Body.Bytes(); w.Code/100 == 2 {
			b.addLine(input, "answer", "%s: %d, %d bytes, %s", manner, w.Code, len(reply), hashOf(reply))
		} else {
			b.addLine(input, "answer", "%s: %d %s", manner, w.Code, reply)
		}
	}
}
