package anthropic

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// sentReply is a reply as the rules of replies read it: the blocks in the order of their starts, with
// the ordinals of the events that speak of them. Of a message in one piece the blocks are whole.
type sentReply struct {
	*rule.Exchange
	events                      []wire.StreamEvent
	starts, deltas, stops, errs []int // message_start, message_delta, message_stop, error
	blocks                      []*sentBlock
	strays                      []int // deltas and stops of blocks that are not open
	message                     *tree.Node
	at                          int // event that holds message, -1 for a document
}

// sentBlock is one content block. start, stop and the ordinals in deltas are events; stop is -1 for a
// block that is not closed.
type sentBlock struct {
	index, start, stop int
	deltas             []int
	kind               string
	node               *tree.Node
	text, input, seal  string
	signatures         int
	deltaTexts         [3]strings.Builder // of text, input and seal: a stream may have millions of deltas
}

// close joins what the deltas brought.
func (b *sentBlock) close() {
	for i, whole := range []*string{&b.text, &b.input, &b.seal} {
		*whole += b.deltaTexts[i].String()
	}
}

// readSent reads a reply once for all rules.
func readSent(x *rule.Exchange) *sentReply {
	a := &sentReply{Exchange: x, at: -1}
	if !x.IsStream() {
		if doc := x.Reply.Doc; x.Status == http.StatusOK && doc.Get("content") != nil && wire.ErrorOf(doc).Null() {
			a.message = x.Reply.Doc
			for i, n := range a.message.List("content") {
				b := &sentBlock{index: i, start: -1, stop: -1, node: n, kind: n.Text("type")}
				b.text, b.input = n.Any("text", "thinking").Text(), n.Raw("input")
				b.seal = n.Any("signature", "data").Text()
				a.blocks = append(a.blocks, b)
			}
		}
		return a
	}
	a.events = x.Reply.Events
	open := map[int]*sentBlock{} // the last block with an index
	for i, e := range a.events {
		index := e.JSON.Int("index")
		b := open[index]
		switch e.Type() {
		case "message_start":
			if a.starts = append(a.starts, i); a.message == nil {
				a.message, a.at = e.JSON.Get("message"), i
			}
		case "content_block_start":
			n := e.JSON.Get("content_block")
			b = &sentBlock{index: index, start: i, stop: -1, node: n, kind: n.Text("type")}
			open[index], a.blocks = b, append(a.blocks, b)
		case "content_block_delta":
			if b == nil || b.stop >= 0 {
				a.strays = append(a.strays, i)
			} else {
				d := e.JSON.Get("delta")
				b.deltas = append(b.deltas, i)
				b.deltaTexts[0].WriteString(d.Any("text", "thinking").Text())
				b.deltaTexts[1].WriteString(d.Text("partial_json"))
				if sig := d.Get("signature"); sig != nil {
					b.signatures++
					b.deltaTexts[2].WriteString(sig.Text())
				}
			}
		case "content_block_stop":
			if b == nil || b.stop >= 0 {
				a.strays = append(a.strays, i)
			} else {
				b.stop = i
			}
		case "message_delta":
			a.deltas = append(a.deltas, i)
		case "message_stop":
			a.stops = append(a.stops, i)
		case "error":
			a.errs = append(a.errs, i)
		}
	}
	for _, b := range a.blocks {
		b.close()
	}
	return a
}

// isWhole reports whether the reply reached its end, so that what lacks is no cut.
func (a *sentReply) isWhole() bool { return a.message != nil && a.Reply.End == wire.Complete && !a.Cut }

// place is where a block begins.
func (a *sentReply) place(b *sentBlock) wire.Place {
	if b.start >= 0 {
		return a.EventPlace(b.start)
	}
	return a.At(-1, b.node, "content["+strconv.Itoa(b.index)+"]")
}
