package simulator

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/simulator/seal"
	"github.com/meerkat-go/conformance/wires/openai"
	"github.com/meerkat-go/conformance/wires/rule"
)

// The most that is stored: responses, and bytes of the requests they answer.
const (
	maxStored      = 1024
	maxStoredBytes = 16 << 20 // a request that was read takes several times its bytes
)

// table holds the responses that OpenAI's clients ask for again, the oldest
// leaving first. A response is a function of its request, so that is all it
// keeps. Safe for concurrent use.
type table struct {
	mu    sync.Mutex
	byID  map[string]*entry
	order []string
	bytes int
}

// entry is a stored response.
type entry struct {
	reply script.Reply
	// background says that it is made in the background; asked counts the
	// times it was looked at, cancelled that it will never be finished.
	background, cancelled bool
	asked                 int
}

func newTable() *table { return &table{byID: map[string]*entry{}} }

func (t *table) put(id string, e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, ok := t.byID[id]; ok {
		t.bytes -= len(old.reply.Request.Body)
	} else {
		t.order = append(t.order, id)
	}
	t.byID[id] = e
	t.bytes += len(e.reply.Request.Body)
	for len(t.order) > maxStored || t.bytes > maxStoredBytes && len(t.order) > 1 {
		t.removeEntry(t.order[0])
	}
}

// removeEntry removes id, which is there; the caller holds the lock.
func (t *table) removeEntry(id string) {
	e := t.byID[id]
	t.bytes -= len(e.reply.Request.Body)
	delete(t.byID, id)
	for i, other := range t.order {
		if other == id {
			t.order = append(t.order[:i:i], t.order[i+1:]...)
			break
		}
	}
}

func (t *table) deleteResponse(id, account string) bool {
	return t.get(id, account, func(*entry) { t.removeEntry(id) })
}

// get calls f with the entry, under the table's lock. An entry of another
// account is not found.
func (t *table) get(id, account string, f func(*entry)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.byID[id]
	if ok = ok && e.reply.Request.Account == account; ok {
		f(e)
	}
	return ok
}

// notStored is the error for an id that is not, or no longer, stored.
func notStored(id string) *rule.Refusal {
	return &rule.Refusal{Status: http.StatusNotFound, Type: "invalid_request_error",
		Message: fmt.Sprintf("Response with id '%s' not found.", id)}
}

// accountOf returns the account of the key that the request carries.
func (c *call) accountOf() string {
	return seal.Account(strings.TrimPrefix(c.Header.Get("Authorization"), "Bearer "))
}

// expandPrevious puts the conversation that previous_response_id names before the
// request's input and checks the whole of it (rule O-25).
func (h *handler) expandPrevious(c *call) *rule.Refusal {
	if c.route.provider != "openai" {
		return nil
	}
	previous, input := c.asked.Document().Get("previous_response_id").Text(), c.asked.Document().Get("input")
	if previous == "" {
		return nil
	}
	before, found := c.socket.recallReply(previous)
	if !found && !h.stored.get(previous, c.accountOf(), func(e *entry) { before = e.reply }) {
		if h.ForeignTokens {
			return nil // it was issued elsewhere, so what it said is not known
		}
		return &rule.Refusal{Rule: "O-25", Status: http.StatusBadRequest, Type: "invalid_request_error",
			Code: "previous_response_not_found", Param: "previous_response_id",
			Message: fmt.Sprintf("Previous response with id '%s' not found.", previous)}
	}
	c.body = withInput(c.asked.Document(), append(storedInput(c, before), inputItems(input)...))
	c.asked = c.provider.parse(c.Request, c.body)
	return c.provider.parse(c.Request, withMembers(c.asked.Document(), "previous_response_id", "null")).Check(c.env)
}

// storeReply stores a response that the client may ask for again.
func (h *handler) storeReply(c *call, reply script.Reply, plan script.Plan) script.Plan {
	if c.route.provider != "openai" || plan.Status != http.StatusOK {
		return plan
	}
	if reply.Turn.Lost {
		return plan
	}
	c.socket.rememberReply(openai.ResponseID(reply), reply)
	id, background := openai.Kept(reply)
	if id == "" {
		return plan
	}
	h.stored.put(id, &entry{reply: reply, background: background})
	if background && reply.Request.Form == script.FormUnary {
		plan.Writes = [][]byte{unfinishedResponse(plan.Writes[0], "queued")}
	}
	return plan
}
