package questions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/lint"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Config says which server is judged.
type Config struct {
	Wire *wires.Wire
	// Base is the base URL, with or without what base URLs of the wire end in.
	Base string
	// Model is asked for. Key is sent as the wire says; "" for a server that needs none.
	Model, Key string
	// Level leaves out questions for fewer clients: specs.Core asks what every client needs.
	Level specs.DutyLevel
	// As asks as a well-known client does, and judges what that client needs; nil for all duties.
	As *specs.AskedClient
	// Transport carries the requests, see [client.NewTransport]. Budget bounds them, 0 for no bound.
	Transport http.RoundTripper
	Budget    int
	// Timeout bounds one exchange, 0 for [client.DefaultTimeout].
	Timeout time.Duration
	// Only, if not nil, selects questions by their ids.
	Only func(id string) bool
	// Progress, if not nil, is told how many questions were asked.
	Progress func(done, total int)
}

// Outcome is what a server showed.
type Outcome struct {
	Cases []*report.DutyCase
	Took  []time.Duration
	// Unasked are the questions that the budget, a server that is too slow or the end of the context left out.
	Unasked int
	// Limited counts the answers with status 429, which show nothing else.
	Limited int
	// RefusedThinking is how the server refused to be asked for thinking, where nothing is known of the model; "" where
	// it did not. UnaskedThinking says that the model is known not to think.
	RefusedThinking string
	UnaskedThinking bool
}

// ErrNothingSelected says that no question is left to ask.
var ErrNothingSelected = errors.New("selects no question; leave it out to ask all")

// Judge asks all questions that apply. It returns early with what it has when the context ends or the
// budget is spent. The error says what came back where the server does not answer at all.
func Judge(ctx context.Context, c Config) (*Outcome, error) {
	questions, err := specs.Questions()
	if err != nil {
		return nil, err
	}
	j := &judge{Config: c, mask: evidence.NewMask([]string{c.Key}), streamed: map[string]*answer{}}
	j.left = c.Budget
	j.patience.Store(int64(patience))
	if c.Budget == 0 {
		j.left = 1 << 30
	}
	var list []asking
	for _, q := range questions {
		if !j.appliesTo(&q) {
			continue
		}
		for _, form := range []string{"stream", "unary"} {
			if q.Forms == nil || slices.Contains(q.Forms, form) {
				list = append(list, asking{q, form == "stream"})
			}
		}
	}
	if len(list) == 0 {
		return nil, ErrNothingSelected
	}
	if err := j.tryServer(ctx); err != nil {
		return nil, err
	}
	out := &Outcome{UnaskedThinking: specs.FindCapability(c.Wire.Name, c.Model).Reasoning == "never"}
	for i, a := range list {
		if ctx.Err() != nil || j.left <= 0 || j.endless >= maxEndless {
			out.Unasked = len(list) - i
			break
		}
		began, d := time.Now(), report.NewDutyCase(a.caseName(), c.Wire.Name)
		j.askQuestion(ctx, d, &a)
		j.keepNeeded(d)
		out.Cases, out.Took = append(out.Cases, d), append(out.Took, time.Since(began))
		if c.Progress != nil {
			c.Progress(i+1, len(list))
		}
	}
	out.Limited, out.RefusedThinking = j.limited, j.refusedThinking
	return out, nil
}

type judge struct {
	Config
	mask            *evidence.Mask // of the key
	left            int            // of the budget
	patience        atomic.Int64   // nanoseconds of it that are left
	limited         int            // answers with status 429
	endless         int            // answers that conform had to end
	refusedThinking string
	streamed        map[string]*answer // by question, what isSameInBothForms compares
}

// asking is a question in one form.
type asking struct {
	specs.Question
	isStream bool
}

func (a *asking) caseName() string {
	if a.isStream {
		return a.ID + "/stream"
	}
	return a.ID + "/unary"
}

// appliesTo reports whether a question is asked.
func (j *judge) appliesTo(q *specs.Question) bool {
	thinks := specs.FindCapability(j.Wire.Name, j.Model).Reasoning != "never"
	return (q.Wires == nil || slices.Contains(q.Wires, j.Wire.Name)) &&
		slices.Index(specs.DutyLevels, q.Level) <= slices.Index(specs.DutyLevels, cmp.Or(j.Level, specs.Faithful)) &&
		(j.Only == nil || j.Only(q.ID)) &&
		(thinks || !slices.Contains(q.Needs, "thinking")) && (!slices.Contains(q.Needs, "system messages") ||
		j.takesSystem()) && (j.Key != "" || !slices.Contains(q.Needs, "key"))
}

// takesSystem reports whether the model may take the role system in a conversation: clients know the models that do
// not, and send it to others.
func (j *judge) takesSystem() bool {
	found, err := lint.Request(lint.Target{Provider: j.Wire.Name, Model: j.Model},
		[]byte(`{"model":`+wire.Quote(j.Model)+
			`,"max_tokens":1,"messages":[{"role":"user","content":"Hello."},{"role":"system","content":"Be brief."}]}`))
	return err != nil || !slices.ContainsFunc(found.Findings,
		func(f lint.Finding) bool { return f.Verdict == decide.Fail })
}

// keepNeeded forgets what the client that is asked as does not need.
func (j *judge) keepNeeded(d *report.DutyCase) {
	if j.As == nil && j.Level == "" {
		return
	}
	d.Keep(func(id string) bool {
		duty := specs.FindDuty(id)
		switch {
		case duty == nil:
			return true
		case j.As == nil:
			return slices.Index(specs.DutyLevels, duty.Level) <= slices.Index(specs.DutyLevels, j.Level)
		}
		return duty.Level == specs.Core ||
			slices.ContainsFunc(duty.Clients(), func(name string) bool { return slices.Contains(j.As.Names, name) })
	})
}

// tryServer asks once, so that a wrong address or key is one clear error and no list of failures.
func (j *judge) tryServer(ctx context.Context) error {
	talk := j.newConversation(false)
	talk.MaxTokens = 50
	answers := j.send(ctx, func() *client.Answer { return talk.Say(ctx, "Say hello.")[0] })
	j.left -= len(answers)
	a := answers[len(answers)-1]
	where := "POST " + a.Request.URL
	switch {
	case a.Err != nil && a.Response.Status == 0:
		return fmt.Errorf("%s: no answer: %w", where, a.Err)
	case a.isLate():
		return fmt.Errorf("%s: %d and no whole answer: %w; give more time with --timeout", where,
			a.Response.Status, a.Err)
	case a.isLimited():
		return fmt.Errorf("%s: 429; ask again when the key may ask more: %s", where,
			report.Shorten(string(a.Response.Body)))
	case a.Response.Status == http.StatusUnauthorized, a.Response.Status == http.StatusForbidden:
		return fmt.Errorf("%s: %d; give a key with --key-env: %s", where, a.Response.Status,
			report.Shorten(string(a.Response.Body)))
	case a.Response.Status == http.StatusNotFound, a.Response.Status == http.StatusMethodNotAllowed:
		return fmt.Errorf("%s: %d; give the base URL of the wire, or another --model: %s", where, a.Response.Status,
			report.Shorten(string(a.Response.Body)))
	case a.Response.Status >= http.StatusInternalServerError:
		return fmt.Errorf("%s: %d at the simplest question; see what the server logs: %s", where, a.Response.Status,
			report.Shorten(string(a.Response.Body)))
	case a.Response.Status/100 == 3:
		return fmt.Errorf("%s: %d, a redirect to %s; give the address that answers", where, a.Response.Status,
			report.Shorten(a.Response.Header.Get("Location")))
	}
	return nil
}

func (j *judge) newConversation(isStream bool) *client.Conversation {
	talk := &client.Conversation{Server: client.Server{Wire: j.Wire, Base: j.Base, Key: j.Key, Transport: j.Transport,
		Timeout: j.Timeout, MaxReply: maxBody, Header: http.Header{}}}
	talk.Model, talk.Stream, talk.MaxRounds = j.Model, isStream, 1
	if j.As != nil {
		for name, value := range j.As.Header {
			talk.Header.Set(name, value)
		}
	}
	return talk
}
