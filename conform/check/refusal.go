package check

import (
	_ "embed" // for refusals.yaml
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	rules "github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// RefusalKind says why a provider refused a request.
type RefusalKind string

// The kinds of refusals. Only RefusedForm is a fault of the agent; the others
// say what happened to a request whose form was not in question.
const (
	RefusedForm     RefusalKind = "form"
	RefusedKey      RefusalKind = "key"            // credentials, permissions, countries
	RefusedQuota    RefusalKind = "quota"          // no money or credit is left
	RefusedRate     RefusalKind = "rate"           // too many requests or tokens now
	RefusedModel    RefusalKind = "unknown model"  // the provider does not know the model (A-3, O-2, G-2)
	RefusedLength   RefusalKind = "context length" // A-45, O-27, G-29
	RefusedFetch    RefusalKind = "fetch"          // a URL in the request could not be read
	RefusedPolicy   RefusalKind = "policy"         // a content filter
	RefusedMissing  RefusalKind = "not found"      // anything else that is gone
	RefusedConflict RefusalKind = "conflict"       // 408, 409: try again
	RefusedOverload RefusalKind = "overload"
	RefusedServer   RefusalKind = "server"
)

// Refusal is an answer to one request that is an error and nothing else.
type Refusal struct {
	Exchange int
	Status   int
	Kind     RefusalKind
	// Words are the provider's, at most 300 bytes, on one line, with secrets
	// and tokens masked. They are "" when the body says nothing.
	Words string
	// Rule is the provider rule that the words speak of, "" when none is known.
	Rule string
}

// String says it in one line, for the reason of a verdict.
func (f Refusal) String() string {
	text := fmt.Sprintf("request %d was refused (%d, %s)", f.Exchange, f.Status, f.Kind)
	if f.Words != "" {
		text += ": " + f.Words
	}
	return text
}

// Refusals lists the requests that the provider, or a simulator, refused, in
// order. The answers of a replaying proxy that had no answer are not among them.
// The slice is the caller's.
func (s *Trace) Refusals() (list []Refusal) {
	for _, x := range s.x {
		if x.reply.End == wire.Refused && !x.Missed {
			list = append(list, x.refusal)
		}
	}
	return list
}

// AcceptedCalls counts the requests for an answer that the provider accepted,
// whatever became of the answer. An error document is no acceptance, also with
// status 200.
func (s *Trace) AcceptedCalls() (n int) {
	for _, x := range s.x {
		if x.req.Op == wire.Generate && x.wasAccepted() && !x.isErrorDocument() {
			n++
		}
	}
	return n
}

// wasAccepted reports whether the provider answered with a status of success, and with no error in the place of
// the reply.
func (x *exchange) wasAccepted() bool {
	return !x.Missed && x.Response.Status >= 200 && x.Response.Status < 300 && x.reply.End != wire.Refused
}

// isRefusedInReply reports whether an error stands in the place of a reply with status 200: servers that keep a
// client waiting, and gateways, have sent the status before they know of the error.
func (x *exchange) isRefusedInReply() bool {
	return x.wire.Has(wires.RefusesInReply) && x.reply.End == wire.Failed && len(x.reply.Items) == 0
}

// statusOfError is the error status of the answer, or the one that an error in a reply names; 0 for none.
func statusOfError(x *exchange) int {
	if status := x.Response.Status; status < 200 || status >= 300 {
		return status
	}
	for _, name := range []string{"code", "status_code"} {
		if code := x.reply.Err.Int(name); code >= 400 && code < 600 {
			return code
		}
	}
	return 0
}

// isErrorDocument reports whether the whole answer is an error object: a gateway gives
// it status 200, the providers do not. A Responses object that failed is a reply.
func (x *exchange) isErrorDocument() bool {
	doc := x.reply.Doc
	return x.reply.Form == wire.Document && doc.Has("error") && doc.Get("content") == nil &&
		doc.Get("output") == nil && doc.Get("candidates") == nil
}

// newRefusal reads an answer that is an error.
func newRefusal(x *exchange) Refusal {
	said := wordsOf(x)
	f := Refusal{Exchange: x.Index, Status: x.Response.Status, Words: presentWords(said)}
	f.Kind = kindOfRefusal(x, strings.ToLower(said))
	if f.Kind == RefusedForm {
		f.Rule = x.bookOf().RuleOf(said)
	}
	return f
}

// wordsOf finds what the error body says: the provider's message, the members
// that gateways use instead, or the text of a body that is not JSON.
func wordsOf(x *exchange) string {
	if raw := x.reply.Err.Text("metadata", "raw"); raw != "" {
		return raw // what OpenRouter was told
	}
	if said := x.reply.ErrorText(); said != "" {
		return said
	}
	if n := x.reply.Doc.Get("detail"); n != nil {
		return n.Raw()
	}
	return string(x.Response.Body[:min(len(x.Response.Body), maxWords)])
}

const maxWords = 300 // bytes of a refusal that are shown

var (
	secretForm = regexp.MustCompile(`\b(sk-|AIza|gsk_|xai-|ya29\.|Bearer )[A-Za-z0-9_.*-]{6,}`)
	tokenForm  = regexp.MustCompile(`[A-Za-z0-9+/_=-]{40,}`)
	idPrefix   = regexp.MustCompile(`^[a-z]{1,9}_`)
)

// presentWords makes a provider's words fit for a report: bounded, on one line, control
// characters visible, secrets masked.
func presentWords(said string) string {
	said = secretForm.ReplaceAllStringFunc(said, rules.Mask)
	said = tokenForm.ReplaceAllStringFunc(said, func(s string) string {
		if idPrefix.MatchString(s) || !strings.ContainsAny(s, "0123456789") || strings.ToLower(s) == s {
			return s // an id or a path
		}
		return rules.Mask(s)
	})
	quoted := strconv.Quote(strings.Join(strings.Fields(cutText(said, maxWords)), " "))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// nonForm is a row of refusals.yaml, which explains the keys.
type nonForm struct {
	Status int         `yaml:"status"`
	Kind   RefusalKind `yaml:"kind" data:"required"`
	Words  []string    `yaml:"words"`
}

//go:embed refusals.yaml
var refusalFile []byte

var nonForms = datafile.Embedded[[]nonForm]("conform/check/refusals.yaml", refusalFile, datafile.Options{})

func kindOfRefusal(x *exchange, said string) RefusalKind {
	status, known := statusOfError(x), x.bookOf().WordsOf(said)
	body := strings.ToLower(string(x.Response.Body[:min(len(x.Response.Body), 16<<10)]))
	for _, row := range nonForms {
		if row.Status != 0 && row.Status != status || row.Status == 0 && status >= 500 {
			continue
		}
		if row.Words == nil || containsAny(said, row.Words) || containsAny(body, row.Words) {
			return row.Kind
		}
	}
	switch inReply := x.Response.Status/100 == 2; {
	case inReply && known.Rule != "":
		return RefusedForm
	case inReply, status < 400, status >= 500 && !known.AnyStatus:
		return RefusedServer
	case (status == 404 || status == 410) && strings.HasPrefix(said, "model"):
		return RefusedModel
	case (status == 404 || status == 410) && known.Rule == "":
		return RefusedMissing
	}
	return RefusedForm
}

func containsAny(s string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return rules.Match(s, pattern) })
}

// placeOfRefusal finds where in the request the words point to: the param member, or
// a path that the words begin with. Names that are tags of a union, like custom
// in tools.0.custom.name, stand in no document and are passed over.
func placeOfRefusal(x *exchange) wire.Place {
	at := wire.At(nil, "")
	path := x.reply.Err.Text("param")
	if path == "" {
		path = pathForm.FindString(strings.TrimPrefix(strings.TrimPrefix(wordsOf(x), "* "), "GenerateContentRequest."))
	}
	node := x.req.Doc
	for _, step := range tree.Steps(path) {
		next, shown := node.Child(step), "."+tree.Camel(step)
		switch {
		case node.Get(step) != nil:
			shown = "." + step
		case node.Is(tree.Array):
			shown = "[" + step + "]"
		}
		if next != nil {
			node = next
			at.Off, at.Path = node.Offset(), strings.TrimPrefix(at.Path+shown, ".")
		}
	}
	return at
}

var pathForm = regexp.MustCompile(`^(messages|tools|tool_choice|system|thinking|output_config|max_tokens|temperature|top_p|top_k|contents|generation_config|tool_config)[\w.\[\]]*`)

// host is where the request went.
func (x *exchange) host() string {
	u, err := url.Parse(x.Request.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// serverName names who answered: the provider, or a host that only speaks its format.
func (x *exchange) serverName() string {
	if x.atOtherHost() {
		return "the server " + x.host()
	}
	return x.vendorName()
}

// vendorName is the host where many vendors offer the API. Which of them a simulator stands for, the model decides.
func (x *exchange) vendorName() string {
	switch {
	case x.wire.Vendor != x.wire.Title:
		return x.wire.Vendor
	case x.Provenance == evidence.ProvenanceSimulator:
		return "the simulator"
	case x.host() == x.wire.Host && specs.ParseModel(x.req.Model).Family == "": // sent to a base URL
		return "the model's vendor"
	}
	return x.host()
}

// isInjected reports whether a fault plan or a scenario, and no provider, gave the
// answer.
func (x *exchange) isInjected() bool { return x.Provenance == evidence.ProvenanceInjected }
