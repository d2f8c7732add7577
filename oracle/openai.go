package oracle

import (
	"errors"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
)

// errNoFinal says that a stream never named its final output.
var errNoFinal = errors.New("oracle: no response.completed or response.incomplete in the stream")

// OpenAI decodes the output that the stream's own terminal event repeats: the
// provider's last word, read by openai-go.
func OpenAI(body []byte) ([]Block, error) {
	final, err := FinalOpenAI(body)
	if err != nil {
		return nil, err
	}
	var out []Block
	for i := range final.Output {
		out = append(out, openaiBlock(&final.Output[i]))
	}
	return out, nil
}

// FinalOpenAI is the SDK's read loop up to the terminal response; the
// benchmark times it.
func FinalOpenAI(body []byte) (responses.Response, error) {
	s := ssestream.NewStream[responses.ResponseStreamEventUnion](ssestream.NewDecoder(response(body)),
		nil) //nolint:bodyclose // Close of the stream does
	defer func() { _ = s.Close() }() // the body is in memory
	var final responses.Response
	found := false
	for s.Next() {
		switch e := s.Current(); e.Type {
		case "response.completed", "response.incomplete":
			final, found = e.Response, true
		}
	}
	if err := s.Err(); err != nil {
		return final, err
	}
	if !found {
		return final, errNoFinal
	}
	return final, nil
}

func openaiBlock(item *responses.ResponseOutputItemUnion) Block {
	switch item.Type {
	case "message":
		return Block{Kind: "text", Text: openaiText(item)}
	case "reasoning":
		var parts []string
		for _, s := range item.Summary {
			parts = append(parts, s.Text)
		}
		return Block{Kind: "reasoning", Text: strings.Join(parts, "\n")}
	case "function_call":
		return Block{Kind: "tool_use", ID: item.CallID, Name: item.Name,
			Args: canonical([]byte(item.Arguments.OfString))}
	}
	return Block{Kind: item.Type}
}

func openaiText(item *responses.ResponseOutputItemUnion) string {
	var s strings.Builder
	for _, c := range item.Content {
		switch c.Type {
		case "output_text":
			s.WriteString(c.Text)
		case "refusal":
			s.WriteString(c.Refusal)
		}
	}
	return s.String()
}
