package providertest

import (
	"bytes"
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
)

// geminiBlocks takes the chunks that carry parts and do not end a stream, each
// as a run of its own. Streamed arguments are left out: they belong together.
func geminiBlocks(payloads [][]byte) []wireBlock {
	var out []wireBlock
	for _, p := range payloads {
		if bytes.Contains(p, []byte(`"parts"`)) && bytes.Contains(p, []byte(`"responseId"`)) && bytes.Contains(p, []byte(`"modelVersion"`)) && !bytes.Contains(p, []byte(`"finishReason"`)) &&
			!bytes.Contains(p, []byte(`willContinue`)) && !bytes.Contains(p, []byte(`"functionCall":{}`)) && !bytes.Contains(p, []byte("partialArgs")) {
			out = append(out, wireBlock{p})
		}
	}
	return out
}

const (
	geminiID    = `"SynthRespIdLong0000000"`
	geminiModel = `"gemini-3-flash-preview"`
	geminiTail  = `"usageMetadata":{"promptTokenCount":88,"candidatesTokenCount":17,"totalTokenCount":149,"promptTokensDetails":[{"modality":"TEXT","tokenCount":88}],"thoughtsTokenCount":44},"modelVersion":` + geminiModel + `,"responseId":` + geminiID + `}`
)

func geminiSynthetic() []wireBlock {
	var out []wireBlock
	for _, t := range prose() {
		out = append(out, wireBlock{fmt.Appendf(nil, `{"candidates":[{"content":{"parts":[{"text":%s}],"role":"model"},"index":0}],%s`, jsontok.AppendQuoted(nil, t), geminiTail)})
	}
	return out
}

func geminiStream(w *writer, s stock, events int, oneBlock bool) {
	chunks := make([][]byte, 0, len(s.blocks))
	for _, b := range s.blocks {
		chunks = append(chunks, b[0])
	}
	if oneBlock {
		chunks = s.deltas
	}
	for i := 0; w.events < events-1; i++ {
		p := chunks[i%len(chunks)]
		p = bytes.ReplaceAll(p, get(p, "responseId"), []byte(geminiID))
		w.bare(bytes.ReplaceAll(p, get(p, "modelVersion"), []byte(geminiModel)))
	}
	w.bare([]byte(`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],` + geminiTail))
}
