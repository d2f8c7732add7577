package oracle

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"google.golang.org/genai"
)

// Gemini decodes a streamGenerateContent reply with genai and concatenates the
// parts of the first candidate. Only unsigned text of one kind is joined.
func Gemini(body []byte) ([]Block, error) {
	var out []Block
	err := eachGemini(body, func(chunk *genai.GenerateContentResponse) error {
		if len(chunk.Candidates) == 0 || chunk.Candidates[0].Content == nil {
			return nil
		}
		for _, p := range chunk.Candidates[0].Content.Parts {
			b, err := geminiBlock(p)
			if err != nil {
				return err
			}
			out = appendGemini(out, b)
		}
		return nil
	})
	return out, err
}

// appendGemini joins unsigned text to unsigned text of the same kind and drops
// unsigned empty text, as any reader must.
func appendGemini(out []Block, b Block) []Block {
	isText := b.Kind == "text" || b.Kind == "reasoning"
	if isText && b.Token == "" && b.Text == "" {
		return out
	}
	if n := len(out) - 1; isText && b.Token == "" && n >= 0 && out[n].Kind == b.Kind && out[n].Token == "" {
		out[n].Text += b.Text
		return out
	}
	return append(out, b)
}

func geminiBlock(p *genai.Part) (Block, error) {
	b := Block{Kind: "text", Text: p.Text, Token: base64.StdEncoding.EncodeToString(p.ThoughtSignature)}
	switch {
	case p.FunctionCall != nil:
		args, err := json.Marshal(p.FunctionCall.Args)
		if err != nil {
			return b, err
		}
		if p.FunctionCall.Args == nil {
			args = []byte("{}")
		}
		return Block{Kind: "tool_use", ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: canonical(args),
			Token: b.Token}, nil
	case p.ExecutableCode != nil:
		return Block{Kind: "executableCode", Token: b.Token}, nil
	case p.CodeExecutionResult != nil:
		return Block{Kind: "codeExecutionResult", Token: b.Token}, nil
	case p.InlineData != nil:
		return Block{Kind: "inlineData", Token: b.Token}, nil
	case p.ToolCall != nil:
		return Block{Kind: "toolCall", Token: b.Token}, nil
	case p.ToolResponse != nil:
		return Block{Kind: "toolResponse", Token: b.Token}, nil
	case p.Thought:
		b.Kind = "reasoning"
	}
	return b, nil
}

// eachGemini runs genai's own stream loop over body; the benchmark times it.
func eachGemini(body []byte, visit func(*genai.GenerateContentResponse) error) error {
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey:     "not-a-key",
		Backend:    genai.BackendGeminiAPI,
		HTTPClient: &http.Client{Transport: canned(body)},
	})
	if err != nil {
		return err
	}
	for chunk, err := range client.Models.GenerateContentStream(context.Background(), "gemini-3-flash-preview",
		genai.Text("x"), nil) {
		if err != nil {
			return err
		}
		if err := visit(chunk); err != nil {
			return err
		}
	}
	return nil
}

// canned answers every request with one body.
type canned []byte

// RoundTrip implements http.RoundTripper without a network.
func (c canned) RoundTrip(*http.Request) (*http.Response, error) { return response(c), nil }
