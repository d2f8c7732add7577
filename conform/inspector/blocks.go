package inspector

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// States of a block that came back, best first; see [Return] and [Change].
const (
	returnSame      = "same"
	returnRespelled = "respelled"
	returnChanged   = "changed"
	returnMissing   = "missing"
)

var returnStates = []string{returnSame, returnRespelled, returnChanged, returnMissing}

// newBlocks lists what the provider emitted and what later requests made of it.
func (b *Builder) newBlocks(ev *evidence.Evidence, trace *check.Trace) (blocks []Block) {
	providers := map[int]string{}
	for i := range ev.Exchanges {
		providers[ev.Exchanges[i].Index] = ev.Exchanges[i].Provider
	}
	number := map[*wire.Item]int{}
	for _, r := range trace.Returned() {
		n, isKnown := number[r.Emitted]
		if !isKnown {
			n = len(blocks)
			number[r.Emitted] = n
			blocks = append(blocks, b.newBlock(r.From, r.Emitted))
		}
		blocks[n].Returns = append(blocks[n].Returns, b.newReturn(providers[r.To], r, len(blocks[n].Returns) == 0))
	}
	slices.SortStableFunc(blocks, func(a, b Block) int {
		if a.Exchange != b.Exchange {
			return a.Exchange - b.Exchange
		}
		return a.Offset - b.Offset
	})
	return blocks
}

func (b *Builder) newBlock(exchange int, it *wire.Item) Block {
	block := Block{Exchange: exchange, Event: it.Place.Event, Offset: it.Place.Off, What: it.What.String(), Type: it.Type, Name: b.quoteText(it.Name), Fields: []Field{}}
	for _, f := range fieldsOf(it) {
		if f.value != "" {
			block.Fields = append(block.Fields, Field{f.name, b.storeBytes([]byte(f.value))})
		}
	}
	return block
}

// newReturn says what a request made of a block. Only the first place of an unchanged
// block is worth its bytes.
func (b *Builder) newReturn(provider string, r check.Returned, isFirst bool) Return {
	if r.Sent == nil {
		return Return{Exchange: r.To, Offset: -1, State: returnMissing}
	}
	out := Return{Exchange: r.To, Offset: r.Sent.Place.Off, Path: b.shownPath(r.Sent.Place.Path), State: returnSame}
	was, is := fieldsOf(r.Emitted), fieldsOf(r.Sent)
	for i := range was {
		if state := was[i].compareField(provider, r.Emitted, is[i].value); state != returnSame {
			at := commonLength([]byte(was[i].value), []byte(is[i].value))
			out.Changes = append(out.Changes, Change{was[i].name, state, at, b.storeBytes([]byte(is[i].value))})
			out.State = returnStates[max(slices.Index(returnStates, out.State), slices.Index(returnStates, state))]
		}
	}
	if out.State == returnSame && !isFirst {
		out.Path = ""
	}
	return out
}

// itemField is one value of an item by which a provider recognises it.
type itemField struct{ name, value string }

// fieldsOf lists the same fields for every item, in the order in which they are shown.
func fieldsOf(it *wire.Item) []itemField {
	fields := []itemField{
		{"text", it.Text}, {"summary", strings.Join(it.Summary, "\n")}, {"name", it.Name}, {"id", it.ID},
		{"arguments", it.Args}, {"signature", it.Token}, {"content", ""},
	}
	if isCarried := it.What == wire.Opaque || it.What == wire.Media; isCarried && it.Node != nil {
		fields[len(fields)-1].value = it.Node.Raw()
	}
	return fields
}

// compareField says what became of the field of the emitted item.
func (f itemField) compareField(provider string, emitted *wire.Item, sent string) string {
	switch {
	case f.value == sent, f.name == "id" && (f.value == "" || sent == ""):
		return returnSame
	case f.name == "signature" && slices.Contains(emitted.AlsoTokens, sent):
		return returnSame
	case f.name == "signature" && wire.TokenKey(provider, f.value) == wire.TokenKey(provider, sent):
		return returnRespelled
	case (f.name == "arguments" || f.name == "content") && sameJSON(f.value, sent):
		return returnRespelled
	}
	return returnChanged
}

func sameJSON(a, b string) bool {
	if strings.TrimSpace(a) == "" && strings.TrimSpace(b) == "{}" {
		return true
	}
	x, errX := tree.Parse([]byte(a))
	y, errY := tree.Parse([]byte(b))
	return errX == nil && errY == nil && tree.Equal(x, y)
}
