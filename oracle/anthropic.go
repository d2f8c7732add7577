package oracle

import (
	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
)

// Anthropic decodes a Messages stream with anthropic-sdk-go's Accumulate.
func Anthropic(body []byte) ([]Block, error) {
	msg, err := AccumulateAnthropic(body)
	if err != nil {
		return nil, err
	}
	var out []Block
	for _, c := range msg.Content {
		out = append(out, anthropicBlock(c))
	}
	return out, nil
}

// AccumulateAnthropic is the SDK's own read loop; the benchmark times it.
func AccumulateAnthropic(body []byte) (anthropic.Message, error) {
	s := ssestream.NewStream[anthropic.MessageStreamEventUnion](ssestream.NewDecoder(response(body)),
		nil) //nolint:bodyclose // Close of the stream does
	defer func() { _ = s.Close() }() // the body is in memory
	var msg anthropic.Message
	for s.Next() {
		if err := msg.Accumulate(s.Current()); err != nil {
			return msg, err
		}
	}
	return msg, s.Err()
}

func anthropicBlock(c anthropic.ContentBlockUnion) Block {
	switch c.Type {
	case "text":
		return Block{Kind: "text", Text: c.Text}
	case "thinking":
		return Block{Kind: "reasoning", Text: c.Thinking, Token: c.Signature}
	case "redacted_thinking":
		return Block{Kind: "reasoning", Token: c.Data}
	case "tool_use":
		return Block{Kind: "tool_use", ID: c.ID, Name: c.Name, Args: canonical(c.Input)}
	}
	return Block{Kind: c.Type}
}
