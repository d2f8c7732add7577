package rule

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/tree"
)

// Book is what a wire knows of requests: the rules that the referee judges by, and the words in
// which the provider refuses.
type Book struct {
	// Rules states the rules in the order in which the provider looks at them.
	Rules []Info
	// Aspects are the aspects of requirements that the rules judge.
	Aspects []string
	// Judge runs the rules over a request and returns their passes by aspect. It leaves out the
	// rules whose hosts are others, as holds says.
	Judge func(seen Seen, holds func(Hosts) bool) map[string][]*Pass
	// Betas returns the betas that a request asks for, nil where a recording may have dropped them. The
	// function is nil for a wire without betas.
	Betas func(http.Header) []string
	// Claims reports whether a body of which nothing else is known is a request of the wire; nil if the
	// wire's Member alone says that.
	Claims func(body *tree.Node) bool
	// Members returns the description of the members that a request has.
	Members func() *members.Description
	// TakesUnknown reports whether the host of a request takes members that are not described; nil if none does.
	TakesUnknown func(seen *Seen) bool
	// KeepsReasoning returns the rule by which the server of a request wants the reasoning of a turn back, which it
	// does not refuse to miss, and whether that holds for signed and encrypted reasoning alone. The rule is empty if
	// no source says so; the function is nil for a wire without such servers.
	KeepsReasoning func(seen *Seen) (rule string, isSealed bool)
	// Words are the refusals. The first row that fits a text names the rule.
	Words []Words
	// Replies states the reply rules of the wire. JudgeReply runs them over an exchange of which both
	// sides are decoded; nil for a wire without such rules.
	Replies    []ReplyInfo
	JudgeReply func(x *Exchange) []*ReplyPass
}

// Words is how a provider words the refusal of one rule.
type Words struct {
	Rule string `yaml:"rule" data:"required"`
	// Quote is the part of the text that does not vary; empty where a finding quotes nothing.
	Quote string `yaml:"quote"`
	// Reads are patterns that know the text again, in lower case; a star stands for anything.
	Reads []string `yaml:"reads"`
	// AnyStatus says that some servers say this with the status of a fault of their own.
	AnyStatus bool `yaml:"anyStatus"`
}

// Match reports whether the parts of a pattern between the stars stand in a text in their order.
func Match(text, pattern string) bool {
	for part := range strings.SplitSeq(pattern, "*") {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// DoesClaim reports whether a body is a request of the wire whose member it may have.
func (b *Book) DoesClaim(member string, body *tree.Node) bool {
	if b.Claims != nil {
		return b.Claims(body)
	}
	return body.Get(member) != nil
}

// WordsOf returns the row that knows the words of a refusal again, the empty one if none does.
func (b *Book) WordsOf(said string) Words {
	said = strings.ToLower(said)
	for _, row := range b.Words {
		if slices.ContainsFunc(row.Reads, func(pattern string) bool { return Match(said, pattern) }) {
			return row
		}
	}
	return Words{}
}

// RuleOf returns the rule that the words of a refusal speak of, empty if none is known.
func (b *Book) RuleOf(said string) string { return b.WordsOf(said).Rule }

// QuoteOf returns what the provider says to a breach of a rule, empty if that is not known.
func (b *Book) QuoteOf(rule string) string {
	for _, row := range b.Words {
		if row.Rule == rule && row.Quote != "" {
			return row.Quote
		}
	}
	return ""
}

// books are the registered books.
var books wires.Table[*Book]

// Register adds the book of a wire. The error names the wire and what is wrong with its book.
func Register(wire string, b *Book) error {
	if b == nil {
		return fmt.Errorf("wire %q: lacks its book of rules", wire)
	}
	for _, r := range b.Rules {
		if r.ID == "" || r.Demand == "" || r.Source == "" || r.Confidence == "" {
			return fmt.Errorf("wire %q: rule %q (%s) needs an id, a demand, a source and a confidence", wire,
				r.ID, r.Demand)
		}
	}
	for i, aspect := range b.Aspects {
		if slices.Contains(b.Aspects[:i], aspect) {
			return fmt.Errorf("wire %q: the aspect %s is listed twice", wire, aspect)
		}
	}
	switch {
	case b.Judge == nil, b.Members == nil:
		return fmt.Errorf("wire %q: the book of rules lacks Judge or Members", wire)
	case slices.ContainsFunc(b.Words, func(w Words) bool { return w.Rule == "" }):
		return fmt.Errorf("wire %q: words of a refusal lack the id of their rule", wire)
	}
	return books.Add(wire, "a book of rules", b)
}

// Books returns the registered books by the name of the wire. The map is read-only.
func Books() map[string]*Book { return books.All() }

// Kinds are the kinds of refusals that need no rule: of requests that reach no model, of the state of the provider with
// a prompt that is too long, of what a request holds, and of a script.
var Kinds = strings.Fields(`
not_found wrong_key not_allowed too_large upgrade coding no_model
rate_limit quota overloaded server timeout context
image token tool effort
script_invalid script_auth script_model script_overloaded script_server`)

// Texts are what a provider says, word for word: the file refusals.yaml in the folder of its wire.
type Texts struct {
	// Kinds are the refusals that need no rule, by the words of [Kinds].
	Kinds map[string]Refusal `yaml:"kinds" data:"required,keys=kind"`
	// Words are the refusals by rule, see [Book].
	Words []Words `yaml:"words" data:"required"`
	// Accepted states what looks like a fault and is none.
	Accepted []Info `yaml:"accepted"`
}

// ReadTexts reads the file refusals.yaml of a wire. It panics if the file, which is part of the program, is wrong.
func ReadTexts(wire string, file []byte) Texts {
	return datafile.Embedded[Texts]("wires/"+wire+"/refusals.yaml", file,
		datafile.Options{Rules: map[string]datafile.Rule{"kind": datafile.OneOf(Kinds...)}})
}
