package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// statistics are what many answers of one provider have in common.
type statistics struct {
	events  map[string]*eventStatistics
	follows map[[2]string]int // one event upon another
	from    map[string]int    // how many events follow one
	headers map[string]int    // answers that have them, of those with headers
	answers [2]int            // streams, documents
	headed  int
	ids     map[string]map[string]*idShape // by field and shape
	seals   map[string]*sealStatistics
	sizes   map[string][]int // runes of deltas
	deltas  map[string][]int // of a block
}

type eventStatistics struct {
	count int
	keys  map[string]int
	kinds map[string]map[string]bool // of values, by key
}

// idShape is a prefix, a length and an alphabet.
type idShape struct {
	count int
	chars map[rune]bool
}

// sealStatistics are of continuity tokens.
type sealStatistics struct {
	lengths  []int
	prefixes map[string]int
	chars    map[rune]bool
}

func measured(samples []sample, provider string, only func(sample) bool) *statistics {
	s := &statistics{events: map[string]*eventStatistics{}, follows: map[[2]string]int{}, from: map[string]int{},
		headers: map[string]int{},
		ids:     map[string]map[string]*idShape{}, seals: map[string]*sealStatistics{}, sizes: map[string][]int{},
		deltas: map[string][]int{}}
	for _, r := range samples {
		if r.provider == provider && only(r) {
			s.add(r)
		}
	}
	return s
}

func (s *statistics) add(r sample) {
	s.answers[map[bool]int{false: 0, true: 1}[r.document]]++
	if len(r.header) > 1 {
		s.headed++
		for name := range r.header {
			s.headers[name]++
		}
	}
	if id := r.header.Get("Request-Id") + r.header.Get("X-Request-Id"); r.genuine && r.provider != "gemini" {
		s.id("request id (header)", r.provider, id)
	}
	blocks := map[string]int{}
	last := "(start)"
	for _, e := range r.events {
		label := labelOf(r, e)
		s.event(r, label, e)
		if r.document {
			return
		}
		s.size(r, e, blocks)
		step := label
		if r.provider == "gemini" {
			step = kindsOf(e)
		}
		s.follows[[2]string{last, step}]++
		s.from[last]++
		last = step
	}
	s.follows[[2]string{last, "(end)"}]++
	s.from[last]++
	for block, n := range blocks {
		kind, _, _ := strings.Cut(block, "#")
		s.deltas[kind] = append(s.deltas[kind], n)
	}
}

// labelOf names an event by its type and that of what it carries.
func labelOf(r sample, e event) string {
	if r.document {
		return "document"
	}
	if r.provider == "gemini" {
		return "chunk"
	}
	label := strings.TrimPrefix(e.str("type"), "response.")
	if of := cmp.Or(e.str("content_block", "type"), e.str("delta", "type"), e.str("item", "type")); of != "" {
		label += " " + of
	}
	return label
}

func (s *statistics) event(r sample, label string, e event) {
	one := s.events[label]
	if one == nil {
		one = &eventStatistics{keys: map[string]int{}, kinds: map[string]map[string]bool{}}
		s.events[label] = one
	}
	one.count++
	seen := map[string]bool{}
	walk("", e.data, func(path string, v any) {
		if !seen[path] {
			seen[path] = true
			one.keys[path]++
		}
		if one.kinds[path] == nil {
			one.kinds[path] = map[string]bool{}
		}
		one.kinds[path][jsonKind(v)] = true
		if text, ok := v.(string); ok && r.genuine {
			s.token(r.provider, label, path, text)
		}
	})
}

// opaque are members whose insides are the client's or the model's business.
var opaque = []string{"args", "input", "arguments", "parameters", "input_schema", "schema", "metadata", "response",
	"tools", "instructions"}

// walk visits every member of an object, those in arrays by their type.
func walk(path string, v any, visit func(path string, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			at := strings.TrimPrefix(path+"."+name, ".")
			visit(at, member)
			if !slices.Contains(opaque, name) || name == "response" && path == "" {
				walk(at, member, visit)
			}
		}
	case []any:
		for _, item := range v {
			m, _ := item.(map[string]any)
			kind, _ := m["type"].(string)
			walk(path+"["+kind+"]", item, visit)
		}
	}
}

func jsonKind(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

// place is where an id or a token stands.
type place struct {
	provider, label, path *regexp.Regexp
	field                 string
	begin                 int // characters of a token that tell its kind; 0 for ids
}

// fields say where ids and tokens stand: by provider, the end of the label and
// of the path.
var fields = []place{
	field("anthropic", `message_start`, `^message\.id$`, "message", 0),
	field("anthropic", `document`, `^id$`, "message", 0),
	field("anthropic", ` tool_use`, `^content_block\.id$`, "tool_use", 0),
	field("anthropic", `document`, `^content\[tool_use\]\.id$`, "tool_use", 0),
	field("anthropic", ` server_tool_use`, `^content_block\.id$`, "server_tool_use", 0),
	field("anthropic", `document`, `^content\[server_tool_use\]\.id$`, "server_tool_use", 0),
	field("anthropic", ``, `^delta\.signature$|^content\[thinking\]\.signature$`, "signature", 1),
	field("anthropic", ``, `^content_block\.data$|^content\[redacted_thinking\]\.data$`, "redacted data", 1),
	field("openai", `^(created|in_progress|completed)$`, `^response\.id$`, "response", 0),
	field("openai", `document`, `^id$`, "response", 0),
	field("openai", ` reasoning`, `^item\.id$`, "reasoning", 0),
	field("openai", ``, `output\[reasoning\]\.id$`, "reasoning", 0),
	field("openai", ` message`, `^item\.id$`, "message", 0),
	field("openai", ``, `output\[message\]\.id$`, "message", 0),
	field("openai", ` function_call`, `^item\.id$`, "function_call", 0),
	field("openai", ``, `output\[function_call\]\.id$`, "function_call", 0),
	field("openai", ``, `(^item|output\[function_call\])\.call_id$`, "call_id", 0),
	field("openai", ` web_search_call`, `^item\.id$`, "web_search_call", 0),
	field("openai", ` code_interpreter_call`, `^item\.id$`, "code_interpreter_call", 0),
	field("openai", `item.added reasoning`, `^item\.encrypted_content$`, "encrypted_content, added", 6),
	field("openai", `item.done reasoning`, `^item\.encrypted_content$`, "encrypted_content, done", 6),
	field("openai", ``, `output\[reasoning\]\.encrypted_content$`, "encrypted_content, completed", 6),
	field("gemini", ``, `^responseId$`, "responseId", 0),
	field("gemini", ``, `functionCall\.id$`, "functionCall", 0),
	field("gemini", ``, `\.thoughtSignature$`, "thoughtSignature", 1),
}

func field(provider, label, path, name string, begin int) place {
	c := regexp.MustCompile
	return place{c(provider), c(label), c(path), name, begin}
}

func (s *statistics) token(provider, label, path, text string) {
	for _, f := range fields {
		if !f.provider.MatchString(provider) || !f.label.MatchString(label) || !f.path.MatchString(path) || text == "" {
			continue
		}
		if f.begin == 0 {
			s.id(f.field, provider, text)
			return
		}
		if s.seals[f.field] == nil {
			s.seals[f.field] = &sealStatistics{prefixes: map[string]int{}, chars: map[rune]bool{}}
		}
		one := s.seals[f.field]
		one.lengths = append(one.lengths, len(text))
		one.prefixes[text[:min(f.begin, len(text))]]++
		addRunes(one.chars, text)
		return
	}
}

func addRunes(to map[rune]bool, text string) {
	for _, c := range text {
		to[c] = true
	}
}

var idPrefix = map[string]*regexp.Regexp{
	"anthropic": regexp.MustCompile(`^[a-z]+_01`), "openai": regexp.MustCompile(`^[a-z]+_`),
	"gemini": regexp.MustCompile(`^`),
}

// id notes the shape of an id that was not hidden by its recorder.
func (s *statistics) id(field, provider, text string) {
	if text == "" || strings.ContainsAny(text, "<> ") || strings.Contains(text, "REDACTED") {
		return
	}
	prefix := idPrefix[provider].FindString(text)
	shape := fmt.Sprintf("%s +%d", prefix, len(text)-len(prefix))
	if s.ids[field] == nil {
		s.ids[field] = map[string]*idShape{}
	}
	if s.ids[field][shape] == nil {
		s.ids[field][shape] = &idShape{chars: map[rune]bool{}}
	}
	s.ids[field][shape].count++
	addRunes(s.ids[field][shape].chars, text[len(prefix):])
}

// alphabet names the smallest usual alphabet that holds all characters.
func alphabet(chars map[rune]bool) string {
	for _, a := range [][2]string{{"hex", "0-9a-f"}, {"base36", "0-9a-z"}, {"base62", "0-9a-zA-Z"},
		{"base64", "0-9a-zA-Z+/="}, {"base64url", "0-9a-zA-Z_=-"}} {
		all := slices.Collect(maps.Keys(chars))
		if regexp.MustCompile(`^[` + a[1] + `]*$`).MatchString(string(all)) {
			return a[0]
		}
	}
	return "other"
}

// size notes how long deltas are and how many of them a block has.
func (s *statistics) size(r sample, e event, blocks map[string]int) {
	note := func(kind, text string, block any) {
		s.sizes[kind] = append(s.sizes[kind], utf8.RuneCountInString(text))
		blocks[fmt.Sprintf("%s#%v", kind, block)]++
	}
	switch r.provider {
	case "anthropic":
		if kind := e.str("delta", "type"); e.str("type") == "content_block_delta" {
			note(kind, e.str("delta", "text")+e.str("delta", "thinking")+e.str("delta", "partial_json")+e.str("delta",
				"signature"), e.num("index"))
		}
	case "openai":
		if kind, ok := strings.CutSuffix(e.str("type"), ".delta"); ok {
			note(strings.TrimPrefix(kind, "response."), e.str("delta"),
				[]int{e.num("output_index"), e.num("content_index"), e.num("summary_index")})
		}
	default:
		for _, c := range e.list("candidates") {
			for _, p := range c.list("content", "parts") {
				if text := p.str("text"); text != "" {
					note(map[bool]string{true: "thought", false: "text"}[p.at("thought") == true], text, 0)
				}
			}
		}
	}
}

// quantile of sorted numbers.
func quantile(n []int, q float64) int {
	if len(n) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(n))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
