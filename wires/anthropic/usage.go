package anthropic

import (
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/tree"
)

// leastCached is the shortest prompt that the cache takes, in tokens.
const leastCached = 1024

// frame is what a message counts for beside its role and its content.
const frame = 5

// spent is what a request's prompt counts for: read from the cache, written to
// it, and neither. The three add up to what count_tokens says.
type spent struct {
	input, written, read int
	long                 bool // written for an hour
}

// meter counts a prompt in its order: tools, system, messages.
type meter struct {
	base   int // tools and system
	total  int
	marked int // up to the last cache mark
	before int // up to the model's last message
	long   bool
}

// measurePrompt counts messages from the last compaction on: it stands for what was said
// before.
func measurePrompt(root *tree.Node) meter {
	m := meter{}
	for _, name := range []string{"tools", "system"} {
		m.countContent(root.Get(name))
	}
	m.base = m.total
	said := root.List("messages")
	for i := range said {
		if said[i].Text("role") == "assistant" {
			m.before = m.total
		}
		m.total += frame + tokensOf(said[i].Get("role"))
		m.countContent(said[i].Get("content"))
	}
	m.noteMark(root.Get("cache_control"))
	return m
}

// countContent counts a text, or blocks of which each may carry a mark.
func (m *meter) countContent(v *tree.Node) {
	if !v.Is(tree.Array) {
		m.total += tokensOf(v)
		return
	}
	for i := range v.Items() {
		if v.Items()[i].Text("type") == "compaction" {
			m.total, m.before, m.marked = m.base, min(m.before, m.base), min(m.marked, m.base)
		}
		m.total += tokensOf(v.Items()[i])
		m.noteMark(v.Items()[i].Given("cache_control"))
	}
}

func (m *meter) noteMark(control *tree.Node) {
	if control.Is(tree.Object) {
		m.marked, m.long = m.total, control.Text("ttl") == "1h"
	}
}

// splitByCache divides the count as if the request before this one, which ended where
// the model spoke last, had filled the cache.
func (m meter) splitByCache() spent {
	if m.marked < leastCached {
		return spent{input: m.total}
	}
	s := spent{input: m.total - m.marked, long: m.long}
	if read := min(m.before, m.marked); read >= leastCached {
		s.read = read
	}
	s.written = m.marked - s.read
	return s
}

// bill is the usage of one reply.
type bill struct {
	spent
	compaction      *compaction // nil when none is made
	output, thought int
	// reports says that thoughts are counted apart, edits that the request may
	// have its context edited, counts that thoughts are counted as they come.
	reports, edits, counts bool
	geo                    string
}

// billOf knows the request as Read left it; of another it counts the body.
func billOf(r script.Reply) bill {
	b := bill{geo: "not_available", reports: r.Request.Thinks}
	b.output, b.thought = r.OutputTokens()
	b.output = max(b.output, 1)
	c, ok := r.Request.Parsed.(*call)
	if !ok {
		b.input = r.InputTokens()
		return b
	}
	prompt := measurePrompt(c.root)
	if b.compaction = compactionOf(r); b.compaction != nil {
		prompt = meter{total: prompt.base + script.Tokens(b.compaction.summary)}
	}
	b.spent = prompt.splitByCache()
	b.edits, b.counts = c.hasBeta("context-management-2025-06-27") || c.hasBeta(betaCompact), c.hasBeta("thinking-token-count-2026-05-13")
	if c.model != nil {
		b.reports = b.reports || c.model.hides && c.model.on
		if c.model.alias == "" {
			b.geo = "global"
		}
	}
	return b
}

func (b bill) promptUsage() script.Object {
	return script.Object{"input_tokens", b.input, "cache_creation_input_tokens", b.written, "cache_read_input_tokens", b.read}
}

func (s spent) creationUsage() script.Object {
	if s.long {
		return script.Object{"ephemeral_5m_input_tokens", 0, "ephemeral_1h_input_tokens", s.written}
	}
	return script.Object{"ephemeral_5m_input_tokens", s.written, "ephemeral_1h_input_tokens", 0}
}

// outputDetails are what is said of the output behind its number.
func (b bill) outputDetails() script.Object {
	if !b.reports {
		return nil
	}
	return script.Object{"output_tokens_details", script.Object{"thinking_tokens", b.thought}}
}

// contextPasses are the passes over the context that the reply took: that of a compaction,
// which the totals leave out, and its own.
func (b bill) contextPasses() script.Object {
	if !b.edits {
		return nil
	}
	passes := script.Array{}
	if b.compaction != nil {
		passes = append(passes, passUsage("compaction", b.compaction.took, script.Tokens(b.compaction.summary)))
	}
	return script.Object{"iterations", append(passes, passUsage("message", b.spent, b.output))}
}

func passUsage(kind string, s spent, output int) script.Object {
	return script.Object{
		"input_tokens", s.input, "output_tokens", output, "cache_read_input_tokens", s.read, "cache_creation_input_tokens", s.written,
		"cache_creation", s.creationUsage(), "type", kind,
	}
}

// contextEdits is what was done to the context.
func (b bill) contextEdits() script.Object {
	if !b.edits {
		return nil
	}
	return script.Object{"context_management", script.Object{"applied_edits", script.Array{}}}
}

// startUsage is what message_start says: hardly anything is written yet.
func (b bill) startUsage() script.Object {
	return append(append(b.promptUsage(), "cache_creation", b.creationUsage(), "output_tokens", min(4, b.output)), b.origin()...)
}

func (b bill) origin() script.Object {
	return script.Object{"service_tier", "standard", "inference_geo", b.geo}
}

// endUsage is what message_delta says. It is cumulative: it overwrites what
// message_start said.
func (b bill) endUsage() script.Object {
	return append(append(append(b.promptUsage(), "output_tokens", b.output), b.outputDetails()...), b.contextPasses()...)
}

// wholeUsage is what a document says.
func (b bill) wholeUsage() script.Object {
	o := append(append(b.promptUsage(), "cache_creation", b.creationUsage()), b.contextPasses()...)
	return append(append(append(o, "output_tokens", b.output), b.outputDetails()...), b.origin()...)
}
