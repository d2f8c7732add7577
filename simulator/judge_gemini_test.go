package simulator

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// chunkJudge follows a stream of Gemini (reference §3.3).
type chunkJudge struct {
	*judge
	id, model  string
	total      int
	signatures int
	calls      int
	ids        []string
	finished   bool
	parts      []event
}

func geminiStream(j *judge, all []event) {
	if j.events {
		all = slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.has("futureUpdate") })
	}
	c := &chunkJudge{judge: j, id: all[0].str("responseId"), model: all[0].str("modelVersion")}
	for i, e := range all {
		last := i == len(all)-1
		if e.has("error") {
			c.must(j.fails && last && e.num("error", "code") >= 400 && e.str("error", "status") != "", "error",
				"an error nobody asked for: %s", e.raw)
			return
		}
		c.chunk(e)
		candidates := e.list("candidates")
		switch {
		case len(candidates) == 0 && e.has("promptFeedback", "blockReason"):
			c.must(len(all) == 1, "finish", "a blocked prompt with %d chunks", len(all))
			return
		case len(candidates) == 0:
			c.must(j.usage && last && c.finished, "finish", "chunk %d has no candidate", i)
		default:
			c.candidate(candidates[0], i == 0 && j.stop, last || j.usage && i == len(all)-2)
		}
	}
	c.must(c.finished && !j.fails, "finish", "no finishReason, or no failure")
	c.signed(c.signatures)
}

// chunk judges what stands around the candidates.
func (c *chunkJudge) chunk(e event) {
	c.must(e.str("responseId") == c.id && c.id != "", "id", "responseId %q, then %q", c.id, e.str("responseId"))
	c.must(e.str("modelVersion") == c.model && c.model != "", "id", "modelVersion %q, then %q", c.model,
		e.str("modelVersion"))
	c.spent(e.under("usageMetadata"))
}

func (c *chunkJudge) spent(u event) {
	total := u.num("totalTokenCount")
	c.must(total >= c.total, "usage", "usage falls from %d to %d", c.total, total)
	c.total = total
	c.must(u.num("promptTokenCount")+u.count("candidatesTokenCount")+u.count("thoughtsTokenCount")+u.count("toolUsePromptTokenCount") == total, "usage", "usage does not add up: %v", u.data)
	c.must(u.count("cachedContentTokenCount") <= u.num("promptTokenCount"), "usage",
		"more cached than input: %v", u.data)
	for name, sum := range map[string]string{"promptTokensDetails": "promptTokenCount",
		"cacheTokensDetails": "cachedContentTokenCount"} {
		n := 0
		for _, d := range u.list(name) {
			n += d.num("tokenCount")
		}
		c.must(n == u.count(sum), "usage", "%s add up to %d of %d", name, n, u.count(sum))
	}
}

func (c *chunkJudge) candidate(d event, lead, last bool) {
	c.must(!c.finished, "finish", "a candidate follows the last one")
	c.must(d.str("content", "role") == "model" && d.num("index") == 0, "content", "role %q, index %d",
		d.str("content", "role"), d.num("index"))
	if lead {
		c.must(d.str("finishReason") == "STOP", "finish", "no leading STOP")
		return
	}
	c.must((d.str("finishReason") != "") == last, "finish", "finishReason %q in chunk that is the last: %t",
		d.str("finishReason"), last)
	if last {
		c.finished = true
		c.must(slices.Contains(finishReasons, d.str("finishReason")), "finish", "finishReason %q",
			d.str("finishReason"))
	}
	c.must(len(d.list("content", "parts")) > 0, "content", "no parts in %v", d.data)
	for _, p := range d.list("content", "parts") {
		c.part(p)
	}
	calls := slices.ContainsFunc(c.parts, func(p event) bool { return p.has("functionCall") })
	c.must(!last || calls == (d.str("finishMessage") != "") || d.str("finishReason") != "STOP", "finish",
		"finishMessage %q, calls %t", d.str("finishMessage"), calls)
}

var finishReasons = []string{"STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST",
	"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL",
	"UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE", "CONTINUATION"}

var callID = regexp.MustCompile(`^[0-9a-z]{8}$`)

func (c *chunkJudge) part(p event) {
	c.parts = append(c.parts, p)
	data := slices.DeleteFunc(p.keys(), func(k string) bool { return k == "thought" || k == "thoughtSignature" })
	known := len(data) == 1 && slices.Contains([]string{"text", "functionCall", "executableCode", "codeExecutionResult",
		"toolCall", "toolResponse", "inlineData"}, data[0])
	c.must(known || c.blocks && len(data) == 1, "content", "a part has data %v", data)
	signed := p.str("thoughtSignature") != ""
	c.must(!signed || p.at("thought") != true, "signature", "a signature on a thought")
	if signed && !p.has("executableCode") && !p.has("toolCall") && !p.has("toolResponse") {
		c.signatures++
	}
	f := p.under("functionCall")
	if f.data == nil {
		return
	}
	c.calls++
	_, args := f.at("args").(map[string]any)
	c.must(f.str("name") != "" && args, "content", "a call without name or args: %v", f.data)
	c.must(signed == (c.calls == 1) || !signed && c.older(), "signature", "call %d is signed: %t", c.calls, signed)
	if id := f.str("id"); f.has("id") {
		c.must(callID.MatchString(id) && !slices.Contains(c.ids, id), "id", "call id %q", id)
		c.ids = append(c.ids, id)
	}
}

// signed judges how many signatures a turn has: one.
func (c *chunkJudge) signed(n int) {
	c.must(n == 1 || n == 0 && c.older(), "signature", "%d signatures in one turn", n)
}

// older reports whether the model need not sign.
func (c *chunkJudge) older() bool { return strings.HasPrefix(c.model, "gemini-2") }

func geminiDocument(j *judge, d event) {
	c := &chunkJudge{judge: j, id: d.str("responseId"), model: d.str("modelVersion")}
	c.chunk(d)
	if d.has("promptFeedback", "blockReason") {
		return
	}
	for _, candidate := range d.list("candidates") {
		c.candidate(candidate, false, true)
	}
	c.must(c.finished, "finish", "no candidate")
	c.signed(c.signatures)
}

// saidByChunks joins what follows one another of a kind.
func saidByChunks(all []event) speech {
	var s speech
	kind, text, stop := "", "", ""
	flush := func() {
		if kind != "" && text != "" {
			s.add(kind, text)
		}
		kind, text = "", ""
	}
	for _, e := range all {
		for _, candidate := range e.list("candidates") {
			stop = candidate.str("finishReason")
			for _, p := range candidate.list("content", "parts") {
				now, what := kindOf(p)
				if now != kind || now == "other" {
					flush()
				}
				kind, text = now, text+what
			}
		}
	}
	flush()
	s.add("stop", stop)
	return s
}

func kindOf(p event) (kind, text string) {
	switch {
	case p.at("thought") == true:
		return "thought", p.str("text")
	case p.has("text"):
		return "text", p.str("text")
	}
	m := without(p, "thoughtSignature")
	out, _ := json.Marshal(m) // it was decoded
	return "other", strings.TrimSpace(string(out))
}
