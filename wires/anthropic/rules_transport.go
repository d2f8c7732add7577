package anthropic

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// maxBody is the largest request body, in bytes.
const maxBody = 32 << 20

var transportRules = []anthropicRule{
	sureRule("A-2", "recorded", "a request carries a valid key", keyValid),
	atPublicAPI(judged("PAR-011/headers", sureRule("A-1", "reported", "the header anthropic-version is there", nil),
		versionGiven)),
	judged("PAR-011/betas", sureRule("A-4", "reported", "every name in anthropic-beta is known", nil), betasKnown),
	judged("MED-001/request-size", sureRule("A-49", "documented", "the body has up to 32 MB", nil), bodyFits),
	basicRule("ANT-X10", "reported", "the body is JSON without lone surrogates", isJSON),
}

// keyValid takes every key but an empty one and those that say that they
// are invalid: the simulator knows no others.
func keyValid(c *call, _ rule.Env) *rule.Refusal {
	switch key := c.apiKey(); {
	case key == "":
		return &rule.Refusal{Status: http.StatusUnauthorized, Type: typeAuth, Message: "x-api-key header is required"}
	case strings.HasPrefix(key, "invalid"):
		return &rule.Refusal{Status: http.StatusUnauthorized, Type: typeAuth, Message: "invalid x-api-key"}
	}
	return nil
}

func versionGiven(c *call, p *rule.Pass) {
	if c.versionUnknown {
		return
	}
	if p.Observe(); c.header.Get("Anthropic-Version") == "" {
		p.Report("anthropic-version",
			"the header anthropic-version is missing").Refuse(invalid("anthropic-version: header is required"))
	}
}

var (
	betaForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*-(\d{8}|\d{4}-\d{2}-\d{2})$`)
	betaDate = regexp.MustCompile(`[\d-]+$`)
)

// betasKnown reports names that cannot be those of betas. Others may be newer than our list, and only the
// provider minds them.
func betasKnown(c *call, p *rule.Pass) {
	for _, name := range c.betas {
		p.Observe()
		var refusal *rule.Refusal
		if !betaNames()[name] {
			refusal = invalid("Unexpected value(s) `%s` for the `anthropic-beta` header. Please consult our documentation at platform.claude.com/docs or try again without the header.", name)
		}
		switch {
		case !betaForm.MatchString(name):
			p.Report("anthropic-beta", "%.60q is not the name of a beta with its date", name).Refuse(refusal)
		case strings.Trim(betaDate.FindString(name), "-") < "2023":
			p.Report("anthropic-beta", "there was no beta %.60q: the first are of 2023", name).Refuse(refusal)
		default:
			p.Refuse(refusal)
		}
	}
}

// bodyFits believes the header about a body that a recording has cut.
func bodyFits(c *call, p *rule.Pass) {
	size, at := c.size, ""
	if said, err := strconv.Atoi(c.header.Get("Content-Length")); err == nil && said > size {
		size, at = said, "content-length"
	}
	if p.Observe(); size > maxBody {
		p.Report(at, "the request has %d bytes; %d are taken", size, maxBody).
			Refuse(&rule.Refusal{Status: http.StatusRequestEntityTooLarge, Type: typeTooLarge,
				Message: "Request exceeds the maximum size"})
	}
}

func isJSON(c *call, _ rule.Env) *rule.Refusal {
	if c.bad == nil {
		return nil
	}
	what, at := "unexpected character", len(c.body)
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(c.bad, &syntax) && strings.Contains(syntax.Error(), "surrogate"):
		what, at = "no low surrogate in string", int(syntax.ByteOffset)
	case syntax != nil:
		at = int(syntax.ByteOffset)
		if at >= len(c.body) {
			what = "unexpected end of data"
		}
	}
	line, column := lineAndColumn(c.body, at)
	return invalid("The request body is not valid JSON: %s: line %d column %d (char %d)", what, line, column, at)
}

// lineAndColumn is the line and column, from 1, of an offset.
func lineAndColumn(body []byte, at int) (line, column int) {
	before := string(body[:min(max(at, 0), len(body))])
	return 1 + strings.Count(before, "\n"), at - strings.LastIndex(before, "\n")
}

var shapeRules = []anthropicRule{
	basicRule("A-6", "recorded", "mandatory fields are there", modelNamed),
	sureRule("A-5", "documented", "members of a beta come with the beta in anthropic-beta", schemaKept("A-5")),
	strictRule(sureRule("A-5", "documented",
		"there are no unknown fields, at any depth; live notes one, for it may be new", schemaKept(flawUnknown))),
	sureRule("A-6", "recorded", "mandatory fields are there", schemaKept("A-6")),
	sureRule("A-7", "recorded", "fields have their types and ranges", schemaKept("A-7")),
	everywhere(judged("ORD-015/roles",
		likelyRule("A-9", "reported", "roles are user, assistant and system", schemaKept("A-9")), rolesKnown)),
	everywhere(judged("ORD-015/id-form",
		sureRule("A-20", "reported", "ids of calls are letters, digits, _ and -", schemaKept("A-20")), idsSpelled)),
	judged("PAR-008/names", sureRule("A-21", "reported", "names of tools are up to 128 letters, digits, _ and -",
		schemaKept("A-21")), toolsNamed),
	everywhere(judged("ORD-015/arguments",
		likelyRule("A-22", "reported", "the input of a call is an object", schemaKept("A-22")), inputsKeyed)),
	everywhere(judged("SIG-005/fields",
		sureRule("A-35", "reported", "a thinking block has its signature", schemaKept("A-35")), thinkingSigned)),
	everywhere(judged("SIG-005/fields",
		sureRule("ANT-T5", "reported", "a thinking block has its thinking", schemaKept("ANT-T5")), thinkingSpelled)),
	everywhere(judged("ORD-015/parts",
		likelyRule("A-44", "documented", "thinking has no cache mark", schemaKept("A-44")), thinkingUnmarked)),
	sureRule("A-46", "documented", "images are of four types", schemaKept("A-46")),
	sureRule("A-7", "recorded", "a compaction begins at 50,000 tokens or more", triggerFits),
}

// shapeLeast says how much each rule of the schema is asked for, filled from
// shapeRules: of all flaws the first that counts answers, whatever its rule.
var shapeLeast = map[string]rule.Level{flawUnknown: rule.Strict}

func init() {
	for _, r := range shapeRules[1:] {
		shapeLeast[r.ID] = max(shapeLeast[r.ID], r.Least)
	}
}

// schemaKept refuses with the first flaw that counts if it is one of this kind.
func schemaKept(kind string) func(*call, rule.Env) *rule.Refusal {
	return func(c *call, env rule.Env) *rule.Refusal {
		for _, f := range c.schemaFlaws() {
			if env.Level > shapeLeast[f.kind] || env.Off[f.ruleID()] {
				continue
			}
			if f.kind == kind {
				return invalid("%s", f.text)
			}
			return nil
		}
		return nil
	}
}

func modelNamed(c *call, _ rule.Env) *rule.Refusal {
	switch {
	case !c.root.Is(tree.Object):
		return invalid("Input should be a valid dictionary")
	case c.root.Get("model") == nil:
		return invalid("model: Field required")
	case !c.root.Get("model").Is(tree.String):
		return invalid("model: Input should be a valid string")
	case c.name == "":
		return invalid("model: String should have at least 1 character")
	}
	return nil
}

var modelRules = []anthropicRule{
	basicRule("A-3", "recorded", "the model is served", modelServed),
}

func modelServed(c *call, _ rule.Env) *rule.Refusal {
	if c.model != nil {
		return nil
	}
	return &rule.Refusal{Status: http.StatusNotFound, Type: typeNotFound, Message: fmt.Sprintf("model: %s", c.name)}
}

// refereeRules report what the schema refuses, or what no refusal is known of.
var refereeRules = []anthropicRule{
	judged("PAR-001/minimum", sureRule("A-7", "recorded", "a thinking budget has 1024 tokens or more", nil),
		budgetEnough),
	judged("MED-002/document-type", sureRule("A-46", "documented", "documents in base64 are PDF", nil), documentsPDF),
	atPublicAPI(judged("BET-001/history",
		likelyRule("R53", "reported", "a block that a beta brought comes with the beta", nil), historyHasBeta)),
	atPublicAPI(judged("BET-002/tool-version",
		likelyRule("R53", "reported", "a tool and its beta are of one date", nil), toolHasBeta)),
	everywhere(judged("BET-003/version", sureRule("", "documented", "clouds want the version in the body", nil),
		cloudVersionGiven)),
	everywhere(judged("BET-003/address",
		sureRule("A-5", "documented", "what stands in the address of a cloud stands there alone", nil),
		cloudAddressAlone)),
	everywhere(judged("PAR-010/file", sureRule("A-46", "recorded", "Bedrock fetches no image and no document", nil),
		cloudSourcesSent)),
}

func budgetEnough(c *call, p *rule.Pass) {
	budget := c.root.Given("thinking").Get("budget_tokens")
	n, ok := budget.Number()
	if c.askedThinking() != thinkEnabled || !ok {
		return
	}
	if p.Observe(); n < 1024 {
		p.Report("thinking.budget_tokens", "budget_tokens is %s; at least 1024 are needed", budget.Raw())
	}
}

func documentsPDF(c *call, p *rule.Pass) {
	all, _ := c.pictures(true, "base64")
	for _, at := range all {
		if !strings.HasSuffix(at.said, ".document.source.base64") {
			continue
		}
		if p.Observe(); at.source.Text("media_type") != rule.PDFType {
			p.Report(at.path, "the document is of type %.60q, not %s", at.source.Text("media_type"), rule.PDFType)
		}
	}
}

// betaBlocks are the blocks that only a beta knows, and that beta without its date.
var betaBlocks = map[string]string{
	"mcp_tool_use": "mcp-client", "mcp_tool_result": "mcp-client", "compaction": "compact",
	"fallback": "server-side-fallback",
}

func historyHasBeta(c *call, p *rule.Pass) {
	for _, m := range c.said {
		for _, b := range m.blocks {
			wanted := betaBlocks[b.kind]
			if wanted == "" || c.betasUnknown {
				continue
			}
			if p.Observe(); !slices.ContainsFunc(c.betas,
				func(name string) bool { return strings.HasPrefix(name, wanted) }) {
				p.Report(b.place(), "a %s block belongs to the beta %s, which anthropic-beta does not name",
					b.kind, wanted)
			}
		}
	}
}

// betaTools are tools by their dated types, and the one beta that each belongs to.
var betaTools = map[string]string{
	"computer_20241022": "computer-use-2024-10-22", "bash_20241022": "computer-use-2024-10-22",
	"text_editor_20241022": "computer-use-2024-10-22",
	"computer_20250124":    "computer-use-2025-01-24", "computer_20251124": "computer-use-2025-11-24",
	"mcp_toolset": "mcp-client-2025-11-20",
}

func toolHasBeta(c *call, p *rule.Pass) {
	for _, t := range c.tools {
		kind := t.Node.Text("type")
		wanted := betaTools[kind]
		if wanted == "" || c.betasUnknown {
			continue
		}
		if p.Observe(); !c.hasBeta(wanted) {
			p.Report(t.Path, "the tool %s belongs to the beta %s, and anthropic-beta names %.120s", kind, wanted,
				cmp.Or(strings.Join(c.betas, ", "), "none"))
		}
	}
}

// cloud is a cloud that serves Claude under its own address.
type cloud struct {
	name string
	// version is what anthropic_version in the body has to say.
	version string
	// absent are the members that stand in the address instead.
	absent []string
	// fetches reports whether it takes the URL of an image or a document.
	fetches bool
}

// cloudOf returns the cloud that a request to u went to, nil for another host.
func cloudOf(u *url.URL) *cloud {
	switch path := u.Path; {
	case strings.HasSuffix(path, "awPredict") && strings.Contains(path, "/publishers/anthropic/models/"):
		return &cloud{"Vertex AI", "vertex-2023-10-16", []string{"model"}, true}
	case strings.HasPrefix(strings.ToLower(u.Hostname()), "bedrock-runtime") && strings.Contains(path, "/invoke"):
		return &cloud{"Amazon Bedrock", "bedrock-2023-05-31", []string{"model", "stream"}, false}
	}
	return nil
}

func cloudVersionGiven(c *call, p *rule.Pass) {
	if to := cloudOf(c.url); to != nil {
		p.Observe()
		if version := c.root.Text("anthropic_version"); version != to.version {
			p.Report("anthropic_version", "%s wants anthropic_version %q in the body, and it is %.40q", to.name,
				to.version, version)
		}
	}
}

// cloudAddressAlone: the model, and with Bedrock the wish for a stream, stand in the address.
func cloudAddressAlone(c *call, p *rule.Pass) {
	if to := cloudOf(c.url); to != nil {
		p.Observe()
		for _, name := range to.absent {
			if c.root.Get(name) != nil {
				p.Report(name, "%s has %s in the address and refuses it in the body", to.name, name)
			}
		}
	}
}

func cloudSourcesSent(c *call, p *rule.Pass) {
	to := cloudOf(c.url)
	if to == nil || to.fetches {
		return
	}
	all, count := c.pictures(true, "url")
	p.Observed += count
	for _, at := range all {
		p.Report(at.path, "%s does not fetch what stands behind a URL", to.name).
			Refuse(invalid("%s.base64.data: URL sources are not supported", strings.TrimSuffix(at.said, ".base64")))
	}
}
