package check

import (
	"errors"
	"slices"
	"strconv"

	"github.com/meerkat-go/conformance/schemas"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// schemaRules hold messages against the JSON Schemas of the providers.
var schemaRules = map[string]rule{
	"HYG-001/schema": followsSchema,
}

// followsSchema: what the schema says of single fields, whatever their history.
func followsSchema(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if x.wire.RequestSchema == "" {
			return
		}
		r.addObserved(1)
		invalid := (*schemas.Invalid)(nil)
		if !errors.As(schemas.Validate(schemas.Name(x.wire.RequestSchema), x.Request.Body), &invalid) {
			return
		}
		for _, p := range onePerPlace(invalid.Problems) {
			if x.seen.IsModelInPath && p.Message == "model is required" {
				continue // the address names it
			}
			n := x.req.Doc
			for _, step := range tree.Steps(p.Path) {
				n = n.Child(step)
			}
			r.addFinding(x, wire.At(n, p.Path), "", "request breaks the schema %s: %s", invalid.Schema, p.Message)
		}
	})
}

// onePerPlace makes one problem of those at one path.
func onePerPlace(problems []schemas.Problem) (out []schemas.Problem) {
	for _, p := range problems {
		if i := slices.IndexFunc(out, func(o schemas.Problem) bool { return o.Path == p.Path }); i >= 0 {
			out[i].Message += "; " + p.Message
			continue
		}
		out = append(out, p)
	}
	return out
}

// BrokenReply says which reply of the evidence breaks its provider's schema, and
// how; "" when none does. A last event that was cut is not judged; what a proxy said
// in place of the provider is judged, too.
func (s *Trace) BrokenReply() string {
	for _, x := range s.x {
		if x.wire.EventSchema == "" {
			continue
		}
		for i, doc := range x.replyDocuments() {
			if err := schemas.Validate(schemas.Name(x.wire.EventSchema), doc); err != nil {
				return "the reply to request " + strconv.Itoa(x.Index) + ", document " + strconv.Itoa(i) +
					", breaks the schema " + err.Error()
			}
		}
	}
	return ""
}

// replyDocuments are the JSON documents of a reply, each as an event of its provider.
func (x *exchange) replyDocuments() (docs [][]byte) {
	for _, e := range x.reply.Events {
		if !e.Unterminated && e.HasData && e.Data != "[DONE]" {
			docs = append(docs, []byte(e.Data))
		}
	}
	if x.reply.Doc == nil || len(docs) > 0 {
		return docs
	}
	body := string(x.Response.Body)
	switch isReply := x.reply.End != wire.Refused; {
	case isReply && x.isCompactCall():
		body = `{"type":"response.compaction","response":` + body + `}`
	case isReply && x.wire.EventStart != "":
		body = x.wire.EventStart + body + `}`
	case x.wire.Has(wires.ItemList):
		return nil // its error documents have no event's form
	}
	return [][]byte{[]byte(body)}
}
