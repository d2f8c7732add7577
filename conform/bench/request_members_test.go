package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// asManualKnown is asManual for recordings that show whether a beta header was
// sent, where tools make it count.
func asManualKnown(d *draft, r *rand.Rand) bool {
	for _, k := range d.asked {
		if d.requests[k].at("tools") != nil && !keepsHeaders(&d.ev.Exchanges[k]) {
			return false
		}
	}
	return asManual(d, r)
}

// asManual makes the recording one of a model with manual budgets, which no beta
// lets exceed max_tokens.
func asManual(d *draft, r *rand.Rand) bool {
	for i := range d.ev.Exchanges {
		if strings.Contains(d.ev.Exchanges[i].Request.Header.Get("Anthropic-Beta"), "interleaved") {
			return false
		}
	}
	return withoutMembers(asModel("claude-sonnet-4-5"), "thinking", "temperature", "top_p", "top_k", "output_config", "tool_choice")(d, r)
}

func asAdaptive(model string) func(*draft, *rand.Rand) bool {
	return withoutMembers(asModel(model), "thinking", "temperature", "top_p", "top_k", "output_config", "tool_choice")
}

// setParameters gives requests the members of an object.
func setParameters(members string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string { return setMembers(p.root, members) })
}

func setMembers(into *node, members string) string {
	path := ""
	for _, m := range parseLiteral(members).members {
		into.setMember(m.key, m.value)
		path = m.key
	}
	return path
}

func removeParameter(key string) func(*draft, *rand.Rand) (Place, bool) { return unsetAlone(key) }

// unsetAlone removes key from requests that have none of others in its stead.
func unsetAlone(key string, others ...string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string {
		for _, other := range others {
			if p.root.at(other) != nil {
				return ""
			}
		}
		if !p.root.removeKey(key) {
			return ""
		}
		return key
	})
}

// betaMember sets members that only a beta header allows, in requests without
// any beta header.
func betaMember(members string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(d *draft, k int, p *page, _ *rand.Rand) string {
		ex := d.ev.Exchanges[k]
		if ex.Request.Header.Get("Anthropic-Beta") != "" || !keepsHeaders(&ex) || strings.Contains(ex.Request.URL, "beta=") {
			return ""
		}
		return setMembers(p.root, members)
	})
}

func bindingMember(d *draft, k int, p *page, _ *rand.Rand) string {
	ex := &d.ev.Exchanges[k]
	if !p.root.at("thinking").isObject() || ex.Request.Header.Get("Anthropic-Beta") != "" || !keepsHeaders(ex) {
		return ""
	}
	p.root.at("thinking").setMember("block_binding", parseLiteral(`{"prefix_mismatch_behavior":"drop_block"}`))
	return "thinking.block_binding"
}

// keepsHeaders holds for an exchange whose recorder kept the headers of requests:
// where some are left out, a missing one says nothing.
func keepsHeaders(ex *evidence.Exchange) bool {
	h := ex.Request.Header
	return h.Get("Anthropic-Version") != "" && h.Get("User-Agent") != ""
}

func withoutVersionHeader(d *draft, _ *rand.Rand) (Place, bool) {
	list := d.modelCalls()
	for _, k := range list {
		ex := &d.ev.Exchanges[k]
		if !keepsHeaders(ex) {
			return Place{}, false
		}
		ex.Request.Header = ex.Request.Header.Clone()
		ex.Request.Header.Del("Anthropic-Version")
	}
	return Place{Exchange: d.ev.Exchanges[list[0]].Index, Path: "Anthropic-Version"}, true
}

func setInConfig(members string) func(*draft, *rand.Rand) (Place, bool) {
	return onEveryPage(func(_ *draft, _ int, p *page, _ *rand.Rand) string { return setConfig(p, members) })
}

func manyPairs(n int) string {
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf(`"k%d":"v"`, i))
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// jsonUnmentioned asks for JSON of any form in a session whose requests hold all of their
// input and nowhere the word.
func jsonUnmentioned(d *draft, r *rand.Rand) (Place, bool) {
	for _, k := range d.asked {
		body := bytes.ToLower(d.ev.Exchanges[k].Request.Body)
		for _, word := range []string{"json", "previous_response_id", "conversation", "item_reference", `"prompt"`} {
			if bytes.Contains(body, []byte(word)) {
				return Place{}, false
			}
		}
	}
	return setParameters(`{"text":{"format":{"type":"json_object"}}}`)(d, r)
}
