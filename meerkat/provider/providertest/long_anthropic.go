package providertest

import (
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
)

// anthropicBlocks cuts a stream into the runs from content_block_start to
// content_block_stop. Runs that overlap are left out.
func anthropicBlocks(payloads [][]byte) []wireBlock {
	var out []wireBlock
	var run wireBlock
	for _, p := range payloads {
		switch stringAt(p, "type") {
		case "content_block_start":
			run = wireBlock{p}
		case "content_block_delta":
			if len(run) > 0 && string(memberAt(p, "index")) == string(memberAt(run[0], "index")) {
				run = append(run, p)
			}
		case "content_block_stop":
			if len(run) > 0 && string(memberAt(p, "index")) == string(memberAt(run[0], "index")) {
				out = append(out, append(run, p))
			}
			run = nil
		}
	}
	return out
}

func anthropicSynthetic() []wireBlock {
	run := wireBlock{[]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""} }`)}
	for _, t := range proseSentences() {
		run = append(run, fmt.Appendf(
			nil, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}   }`,
			jsontok.AppendQuoted(nil, t),
		))
	}
	return []wireBlock{append(run, []byte(`{"type":"content_block_stop","index":0}`))}
}

func anthropicStream(w *writer, s stock, events int, oneBlock bool) {
	w.writeNamedEvent([]byte(`{"type":"message_start","message":{"model":"claude-sonnet-4-5-20250929","id":"msg_01SynthLong","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}`))
	if oneBlock {
		w.writeNamedEvent([]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`))
		for i := 0; w.events < events-3; i++ {
			w.writeNamedEvent(replaceNumber(s.deltas[i%len(s.deltas)], "index", 0))
		}
		w.writeNamedEvent([]byte(`{"type":"content_block_stop","index":0}`))
	}
	for i := 0; w.events < events-2; i++ {
		for _, p := range s.blocks[i%len(s.blocks)] {
			w.writeNamedEvent(replaceNumber(p, "index", i))
		}
	}
	w.writeNamedEvent([]byte(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4711}}`))
	w.writeNamedEvent([]byte(`{"type":"message_stop"}`))
}
