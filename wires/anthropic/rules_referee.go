package anthropic

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
)

// refereeRules report what the schema refuses, or what no refusal is known of.
var refereeRules = []anthropicRule{
	judged("PAR-001/minimum", sureRule("A-7", "recorded", "a thinking budget has 1024 tokens or more", nil), budgetEnough),
	judged("MED-002/document-type", sureRule("A-46", "documented", "documents in base64 are PDF", nil), documentsPDF),
	atPublicAPI(judged("BET-001/history", likelyRule("R53", "reported", "a block that a beta brought comes with the beta", nil), historyHasBeta)),
	atPublicAPI(judged("BET-002/tool-version", likelyRule("R53", "reported", "a tool and its beta are of one date", nil), toolHasBeta)),
	everywhere(judged("BET-003/version", sureRule("", "documented", "clouds want the version in the body", nil), cloudVersionGiven)),
	everywhere(judged("BET-003/address", sureRule("A-5", "documented", "what stands in the address of a cloud stands there alone", nil), cloudAddressAlone)),
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
	all, _ := c.pictures(true)
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
	"mcp_tool_use": "mcp-client", "mcp_tool_result": "mcp-client", "compaction": "compact", "fallback": "server-side-fallback",
}

func historyHasBeta(c *call, p *rule.Pass) {
	for _, m := range c.said {
		for _, b := range m.blocks {
			wanted := betaBlocks[b.kind]
			if wanted == "" || c.betasUnknown {
				continue
			}
			if p.Observe(); !slices.ContainsFunc(c.betas, func(name string) bool { return strings.HasPrefix(name, wanted) }) {
				p.Report(b.place(), "a %s block belongs to the beta %s, which anthropic-beta does not name", b.kind, wanted)
			}
		}
	}
}

// betaTools are tools by their dated types, and the one beta that each belongs to.
var betaTools = map[string]string{
	"computer_20241022": "computer-use-2024-10-22", "bash_20241022": "computer-use-2024-10-22", "text_editor_20241022": "computer-use-2024-10-22",
	"computer_20250124": "computer-use-2025-01-24", "computer_20251124": "computer-use-2025-11-24",
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
			p.Report(t.Path, "the tool %s belongs to the beta %s, and anthropic-beta names %.120s", kind, wanted, cmp.Or(strings.Join(c.betas, ", "), "none"))
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
}

// cloud returns the cloud that the request went to, nil for another host.
func (c *call) cloud() *cloud {
	switch path := c.url.Path; {
	case strings.HasSuffix(path, "awPredict") && strings.Contains(path, "/publishers/anthropic/models/"):
		return &cloud{"Vertex AI", "vertex-2023-10-16", []string{"model"}}
	case strings.HasPrefix(strings.ToLower(c.url.Hostname()), "bedrock-runtime.") && strings.Contains(path, "/invoke"):
		return &cloud{"Amazon Bedrock", "bedrock-2023-05-31", []string{"model", "stream"}}
	}
	return nil
}

func cloudVersionGiven(c *call, p *rule.Pass) {
	if to := c.cloud(); to != nil {
		p.Observe()
		if version := c.root.Text("anthropic_version"); version != to.version {
			p.Report("anthropic_version", "%s wants anthropic_version %q in the body, and it is %.40q", to.name, to.version, version)
		}
	}
}

// cloudAddressAlone: the model, and with Bedrock the wish for a stream, stand in the address.
func cloudAddressAlone(c *call, p *rule.Pass) {
	if to := c.cloud(); to != nil {
		p.Observe()
		for _, name := range to.absent {
			if c.root.Get(name) != nil {
				p.Report(name, "%s has %s in the address and refuses it in the body", to.name, name)
			}
		}
	}
}
