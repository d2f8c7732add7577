package providertest

import (
	"bytes"
	"fmt"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
)

// geminiBlocks takes the chunks of a stream that carry parts and do not end it,
// as one run. Streamed arguments are left out: they belong together.
func geminiBlocks(payloads [][]byte) []wireBlock {
	var run wireBlock
	for _, p := range payloads {
		if containsAll(p, `"parts"`, `"responseId"`, `"modelVersion"`) && !containsAll(p, `"finishReason"`) &&
			!containsAll(p, `willContinue`) && !containsAll(p, `"functionCall":{}`) && !containsAll(p, "partialArgs") {
			run = append(run, p)
		}
	}
	if run == nil {
		return nil
	}
	return []wireBlock{run}
}

// containsAll reports whether p contains all of the strings.
func containsAll(p []byte, all ...string) bool {
	for _, s := range all {
		if !bytes.Contains(p, []byte(s)) {
			return false
		}
	}
	return true
}

const (
	geminiID    = `"SynthRespIdLong0000000"`
	geminiModel = `"gemini-3-flash-preview"`
	geminiTail  = `"usageMetadata":{"promptTokenCount":88,"candidatesTokenCount":17,"totalTokenCount":149,"promptTokensDetails":[{"modality":"TEXT","tokenCount":88}],"thoughtsTokenCount":44},"modelVersion":` + geminiModel + `,"responseId":` + geminiID + `}`
)

func geminiSynthetic() []wireBlock {
	var run wireBlock
	for _, t := range proseSentences() {
		run = append(run, fmt.Appendf(
			nil, `{"candidates":[{"content":{"parts":[{"text":%s}],"role":"model"},"index":0}],%s`,
			jsontok.AppendQuoted(nil, t), geminiTail,
		))
	}
	return []wireBlock{run}
}

func geminiStream(w *writer, s stock, events int, oneBlock bool) {
	var chunks [][]byte
	for _, b := range s.blocks {
		chunks = append(chunks, b...)
	}
	if oneBlock {
		chunks = s.deltas
	}
	for i := 0; w.events < events-1; i++ {
		p := chunks[i%len(chunks)]
		p = bytes.ReplaceAll(p, memberAt(p, "responseId"), []byte(geminiID))
		w.writeBareEvent(bytes.ReplaceAll(p, memberAt(p, "modelVersion"), []byte(geminiModel)))
	}
	w.writeBareEvent([]byte(
		`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],` +
			geminiTail,
	))
}
