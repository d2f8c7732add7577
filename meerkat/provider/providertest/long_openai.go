package providertest

import (
	"bytes"
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
)

// openaiBlocks cuts a stream into the runs from output_item.added to
// output_item.done. Runs that overlap are left out.
func openaiBlocks(payloads [][]byte) []wireBlock {
	var out []wireBlock
	var run wireBlock
	for _, p := range payloads {
		kind, index := stringAt(p, "type"), memberAt(p, "output_index")
		switch {
		case index == nil:
		case kind == "response.output_item.added":
			run = wireBlock{p}
		case len(run) == 0 || !bytes.Equal(index, memberAt(run[0], "output_index")):
			run = nil
		case kind == "response.output_item.done":
			out, run = append(out, append(run, p)), nil
		default:
			run = append(run, p)
		}
	}
	return out
}

func openaiSynthetic() []wireBlock {
	const id = "msg_0123456789abcdef0123456789abcdef0123456789abcdef"
	item := func(status, parts string) string {
		return fmt.Sprintf(
			`{"id":"%s","type":"message","status":"%s","content":[%s],"role":"assistant"}`, id, status, parts,
		)
	}
	event := func(kind, rest string) []byte {
		return fmt.Appendf(nil, `{"type":"%s","sequence_number":0,"item_id":"%s","output_index":0,%s}`, kind, id, rest)
	}
	run := wireBlock{event("response.output_item.added", `"item":`+item("in_progress", ""))}
	var all []byte
	for _, t := range proseSentences() {
		all = append(all, t...)
		run = append(run, event("response.output_text.delta",
			fmt.Sprintf(
				`"content_index":0,"delta":%s,"logprobs":[],"obfuscation":"aB3dE5fG7"`, jsontok.AppendQuoted(nil, t),
			)))
	}
	part := fmt.Sprintf(
		`{"type":"output_text","annotations":[],"logprobs":[],"text":%s}`, jsontok.AppendQuoted(nil, all),
	)
	return []wireBlock{append(run, event("response.output_item.done", `"item":`+item("completed", part)))}
}

const openaiHead = `"id":"resp_0123456789abcdef","object":"response","created_at":1770000000,"model":"gpt-5.2-2025-12-11","error":null,"incomplete_details":null,"parallel_tool_calls":true,"tools":[]`

func openaiStream(w *writer, s stock, events int, oneBlock bool) {
	running := fmt.Sprintf(`"response":{%s,"status":"in_progress","output":[],"usage":null}`, openaiHead)
	o := &openaiWriter{w: w}
	o.writeEvent(fmt.Appendf(nil, `{"type":"response.created","sequence_number":0,%s}`, running))
	o.writeEvent(fmt.Appendf(nil, `{"type":"response.in_progress","sequence_number":0,%s}`, running))
	if oneBlock {
		o.writeOneBlock(s.deltas, events-1)
	}
	for i := 0; w.events < events-1; i++ {
		o.writeItem(s.blocks[i%len(s.blocks)], i)
	}
	o.writeEvent(fmt.Appendf(
		nil,
		`{"type":"response.completed","sequence_number":0,"response":{%s,"status":"completed","output":[%s],"usage":{"input_tokens":12,"input_tokens_details":{"cached_tokens":0},"output_tokens":4711,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":4723}}}`,
		openaiHead, bytes.Join(o.output, []byte(",")),
	))
}

// openaiWriter numbers events and collects the finished items, which the last
// event repeats as in life.
type openaiWriter struct {
	w      *writer
	output [][]byte
}

func (o *openaiWriter) writeEvent(p []byte) {
	o.w.writeNamedEvent(replaceNumber(p, "sequence_number", o.w.events))
}

// writeItem writes one run as item n, with an id of its own.
func (o *openaiWriter) writeItem(run wireBlock, n int) {
	old := memberAt(run[0], "item", "id")
	fresh := fmt.Appendf(nil, `"%s_%d"`, jsontok.String(old), n)
	for _, p := range run {
		if len(old) > 2 {
			p = bytes.ReplaceAll(p, old, fresh)
		}
		p = replaceNumber(p, "output_index", n)
		o.writeEvent(p)
		if stringAt(p, "type") == "response.output_item.done" {
			o.output = append(o.output, memberAt(p, "item"))
		}
	}
}

// writeOneBlock writes a single message item that all deltas go to.
func (o *openaiWriter) writeOneBlock(deltas [][]byte, until int) {
	const id = `"msg_0123456789abcdef0123456789abcdef0123456789abcdef"`
	o.writeEvent([]byte(
		`{"type":"response.output_item.added","sequence_number":0,"output_index":0,"item":{"id":` + id +
			`,"type":"message","status":"in_progress","content":[],"role":"assistant"}}`,
	))
	var all []byte
	for i := 0; o.w.events < until-1; i++ {
		p := deltas[i%len(deltas)]
		p = bytes.ReplaceAll(p, memberAt(p, "item_id"), []byte(id))
		p = replaceNumber(replaceNumber(p, "output_index", 0), "content_index", 0)
		o.writeEvent(p)
		all = append(all, stringAt(p, "delta")...)
	}
	item := fmt.Appendf(
		nil,
		`{"id":%s,"type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":%s}],"role":"assistant"}`,
		id, jsontok.AppendQuoted(nil, all),
	)
	o.writeEvent(fmt.Appendf(
		nil, `{"type":"response.output_item.done","sequence_number":0,"output_index":0,"item":%s}`, item,
	))
	o.output = append(o.output, item)
}
