package simulator

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/seal"
)

// The most that is stored: responses, and bytes of the requests they answer.
const (
	maxStored      = 1024
	maxStoredBytes = 16 << 20 // a request that was read takes several times its bytes
)

// table holds the responses that clients ask for again, the oldest
// leaving first. A response is a function of its request, so that is all it
// keeps. Safe for concurrent use.
type table struct {
	mu    sync.Mutex
	byID  map[string]*script.Kept
	order []string
	bytes int
}

func newTable() *table { return &table{byID: map[string]*script.Kept{}} }

func (t *table) put(id string, e *script.Kept) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, ok := t.byID[id]; ok {
		t.bytes -= len(old.Reply.Request.Body)
	} else {
		t.order = append(t.order, id)
	}
	t.byID[id] = e
	t.bytes += len(e.Reply.Request.Body)
	for len(t.order) > maxStored || t.bytes > maxStoredBytes && len(t.order) > 1 {
		t.removeEntry(t.order[0])
	}
}

// removeEntry removes id, which is there; the caller holds the lock.
func (t *table) removeEntry(id string) {
	e := t.byID[id]
	t.bytes -= len(e.Reply.Request.Body)
	delete(t.byID, id)
	t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == id })
}

// get calls f with the entry, under the table's lock. An entry of another
// account is not found.
func (t *table) get(id, account string, f func(*script.Kept)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.byID[id]
	if ok = ok && e.Reply.Request.Account == account; ok {
		f(e)
	}
	return ok
}

// accountOf returns the account of the key that the request carries.
func (c *call) accountOf() string {
	takes := c.Wire.Credentials
	return seal.Account(strings.TrimPrefix(c.Request.Header.Get(takes.Header), takes.Prefix))
}

// expandPrevious puts the conversation that the request goes on with before it and checks the whole of it.
func (h *handler) expandPrevious(c *call) *rule.Refusal {
	if c.Storage == nil {
		return nil
	}
	previous := c.Storage.Previous(c.asked.Document())
	if previous == "" {
		return nil
	}
	before, found := c.socket.recallReply(previous)
	if !found && !h.stored.get(previous, c.accountOf(), func(kept *script.Kept) { before = kept.Reply }) {
		if h.ForeignTokens {
			return nil // it was issued elsewhere, so what it said is not known
		}
		return c.Storage.Lost(previous)
	}
	whole, alone := c.Storage.Continue(c.asked.Document(), before)
	c.body = whole
	c.asked = c.Parse(c.Request, c.body)
	return c.Parse(c.Request, alone).Check(c.env)
}

// storeReply stores a response that the client may ask for again.
func (h *handler) storeReply(c *call, reply script.Reply, plan script.Plan) script.Plan {
	if c.Storage == nil || plan.Status != http.StatusOK || reply.Turn.Lost {
		return plan
	}
	id := c.Storage.ID(reply)
	s := c.socket
	if s != nil {
		s.id, s.last = id, reply
	}
	keeps, inBackground := c.Storage.Keeps(reply)
	if !keeps {
		return plan
	}
	h.stored.put(id, &script.Kept{Reply: reply, InBackground: inBackground})
	if inBackground && reply.Request.Form == script.FormUnary {
		plan.Writes = [][]byte{c.Storage.Queued(plan.Writes[0])}
	}
	return plan
}
