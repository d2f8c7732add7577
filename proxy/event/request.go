package event

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// Provider returns the provider that a recorded request is for, or "".
func Provider(r cassette.Request) string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return ""
	}
	return llm.Provider(u.Host, u.Path)
}

// Operation returns what a recorded request asks for.
func Operation(r cassette.Request) llm.Operation {
	u, err := url.Parse(r.URL)
	if err != nil {
		return llm.Other
	}
	return llm.OperationOf(r.Method, u, r.Body)
}

// Summary is a request in a few words. What the body does not say is zero.
type Summary struct {
	Model     string   `json:"model,omitempty"`
	Messages  int      `json:"messages"`
	Tools     []string `json:"tools,omitempty"` // names, or types of the provider's own tools
	MaxTokens int      `json:"max_tokens,omitempty"`
}

var (
	modelInPath = regexp.MustCompile(`/models/([^/:]+)`)
	aMessage    = regexp.MustCompile(`^(messages|input|contents)\[\d+\]$`)
	aTool       = regexp.MustCompile(`^tools\[\d+\](\.functionDeclarations\[\d+\]|\.function)?\.(name|type)$`)
)

// limits are the fields that bound a reply's tokens.
var limits = []string{"max_tokens", "max_output_tokens", "generationConfig.maxOutputTokens"}

// Summarise reads a request of any provider.
func Summarise(r cassette.Request) (s Summary) {
	if m := modelInPath.FindStringSubmatch(r.URL); m != nil {
		s.Model = m[1]
	}
	named := map[string]string{} // a tool's path: its name, or else its type
	var order []string
	for _, n := range Nodes(r.Body) {
		switch {
		case n.Path == "model" && n.Kind == '"':
			s.Model = n.Text()
		case aMessage.MatchString(n.Path):
			s.Messages++
		case n.Path == "input" && n.Kind == '"':
			s.Messages = 1
		case slices.Contains(limits, n.Path):
			s.MaxTokens, _ = strconv.Atoi(string(n.Raw))
		case aTool.MatchString(n.Path) && n.Kind == '"':
			at := strings.TrimSuffix(strings.TrimSuffix(n.Path, ".name"), ".type")
			if named[at] == "" {
				order = append(order, at)
			}
			if named[at] == "" || n.Key() == "name" {
				named[at] = n.Text()
			}
		}
	}
	for _, at := range order {
		s.Tools = append(s.Tools, named[at])
	}
	return s
}

// Fields lists the values of a request body, written as in every recording of
// the conversation. A body that is not JSON is one value.
func Fields(body []byte, names *Names) []Field {
	nodes := Nodes(body)
	if len(nodes) == 0 && len(body) > 0 {
		return []Field{{Value: strconv.Quote(string(body))}}
	}
	var list []Field
	for _, n := range nodes {
		if n.Leaf() {
			list = append(list, Field{n.Path, names.Of(n), classOf(n)})
		}
	}
	return list
}

// inputs and outputs are the fields that count tokens. Gemini counts thoughts
// apart from what they led to.
var (
	inputs  = []string{"input_tokens", "promptTokenCount", "totalTokens"}
	outputs = [][]string{{"output_tokens"}, {"candidatesTokenCount", "thoughtsTokenCount"}}
)

// Tokens returns how many tokens a reply reports: providers send running totals,
// so the highest number of each kind counts. 0 means that the reply does not
// say.
func Tokens(events []Event) (input, output int) {
	highest := map[string]int{}
	for _, e := range events {
		for _, n := range Nodes(e.Data) {
			if v, err := strconv.Atoi(string(n.Raw)); err == nil && (classOf(n) == Usage || n.Path == n.Key()) {
				highest[n.Key()] = max(highest[n.Key()], v)
			}
		}
	}
	for _, name := range inputs {
		input = max(input, highest[name])
	}
	for _, names := range outputs {
		sum := 0
		for _, name := range names {
			sum += highest[name]
		}
		output = max(output, sum)
	}
	return input, output
}
