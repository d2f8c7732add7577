package inspector

import (
	"math"
	"time"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/wire"
)

// stallAfter is how long a pause in a response must be to be shown.
const stallAfter = time.Second

// storeOutput is storeBytes for what a process printed; what printed nothing has none.
func (b *Builder) storeOutput(text []byte) *Body {
	if len(text) == 0 {
		return nil
	}
	return b.storeBytes(text)
}

// decoder makes exchanges of one case. It keeps the requests, for the comparison with
// those that continue them.
type decoder struct {
	*Builder
	placements map[int]check.Placement // by index of the exchange
	earlier    map[int]*decoded
}

type decoded struct {
	body    []byte
	request *wire.Request
}

func (d *decoder) newExchange(x *evidence.Exchange) Exchange {
	request := x.ReadRequest()
	reply := x.ReadReply()
	at := d.placements[x.Index]
	out := Exchange{
		Index: x.Index, Provider: x.Provider, Process: x.Process,
		Conversation: at.Conversation, Previous: at.Previous, Kind: string(at.Kind),
		Model: d.shownModel(x.Provider, request.Model), Method: x.Request.Method, URL: d.shownURL(x),
		RequestHeaders: d.newHeaders(x.Request.Header, d.quoteText), Request: d.storeBytes(x.Request.Body),
		Status: x.Response.Status, ResponseHeaders: d.newHeaders(x.Response.Header, lengthOf), Response: d.storeBytes(x.Response.Body),
		End: x.Response.End, Outcome: reply.End.String(), Error: d.quoteText(errorMessage(reply)),
		Provenance: string(x.Provenance), Missed: x.Missed,
	}
	out.addTimes(x.Response.Chunks)
	if out.Usage = wire.UsageOf(x.Provider, reply); out.Usage != nil && d.options.Cost != nil {
		out.Cost = d.options.Cost(x.Provider, request.Model, *out.Usage)
	}
	if before := d.earlier[at.Previous]; before != nil && !request.Stateful {
		out.Prefix = comparePrefix(x.Provider, before, &decoded{x.Request.Body, request})
		if out.Prefix != nil {
			out.Prefix.Previous = at.Previous
		}
	}
	d.earlier[x.Index] = &decoded{x.Request.Body, request}
	return out
}

// errorMessage is what the provider says is wrong, "" when it says nothing.
func errorMessage(r *wire.Reply) string {
	if text := r.Err.Get("message").Text(); text != "" {
		return text
	}
	return r.Err.Text()
}

func (x *Exchange) addTimes(chunks []evidence.Chunk) {
	x.Pieces, x.FirstByteMS, x.LastByteMS = len(chunks), -1, -1
	if len(chunks) == 0 {
		return
	}
	x.FirstByteMS, x.LastByteMS = toMilliseconds(chunks[0].At), toMilliseconds(chunks[len(chunks)-1].At)
	for i := 1; i < len(chunks); i++ {
		if pause := chunks[i].At - chunks[i-1].At; pause >= stallAfter {
			x.Stalls = append(x.Stalls, Stall{AtMS: toMilliseconds(chunks[i-1].At), ForMS: toMilliseconds(pause)})
		}
	}
}

func toMilliseconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e4) / 10 }
