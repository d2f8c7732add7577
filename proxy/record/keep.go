package record

import (
	"errors"
	"fmt"
	"net/url"
	"runtime"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/route"
)

// Report says what became of the interactions. Its sentences name requests by
// method and URL without the query and never quote content.
type Report struct {
	// Saved interactions are in the cassette, the Cut ones among them.
	Saved int
	// Cut names replies that ended early: broken off by the server or the
	// client, or without the event a stream of that provider ends with. They
	// are saved as they were.
	Cut []string
	// Refused names interactions that the gate kept from being saved.
	Refused []string
	// Lost names interactions that could not be saved for another reason.
	Lost []string
}

// keepAll saves ended interactions one after the other, so that only one of
// them is whole in memory and the cassette's order is theirs.
func (rec *Recorder) keepAll() {
	defer close(rec.done)
	for x := range rec.ended {
		if rec.keeps() {
			rec.keep(x)
		}
		x.close()
	}
}

func (rec *Recorder) keeps() bool { return rec.cfg.Writer != nil || rec.cfg.Observe != nil }

var errInternal = errors.New("internal error while saving")

// keep redacts, screens and saves one interaction. Whatever goes wrong, the
// next one is not affected.
func (rec *Recorder) keep(x *exchange) {
	defer func() {
		if p := recover(); p != nil {
			err := errInternal
			if bug, ok := p.(runtime.Error); ok {
				err = fmt.Errorf("%w: %w", errInternal, bug)
			}
			rec.report.Lost = append(rec.report.Lost, x.sentence(err))
		}
	}()
	in, err := x.interaction()
	if err != nil {
		rec.report.Lost = append(rec.report.Lost, x.sentence(err))
		return
	}
	in = rec.cfg.Redactor.Interaction(in)
	if rec.cfg.Gate != nil {
		if err := rec.cfg.Gate(in); err != nil {
			rec.report.Refused = append(rec.report.Refused, x.sentence(err))
			return
		}
	}
	if rec.cfg.Observe != nil {
		rec.cfg.Observe(in)
	}
	if rec.cfg.Writer != nil {
		rec.save(x, in)
	}
}

func (rec *Recorder) save(x *exchange, in cassette.Interaction) {
	if err := rec.cfg.Writer.Append(in); err != nil {
		rec.report.Lost = append(rec.report.Lost, x.sentence(err))
		return
	}
	rec.report.Saved++
	if why := cut(x.provider, in); why != "" {
		rec.report.Cut = append(rec.report.Cut, x.sentence(errors.New(why)))
	}
}

// cut says why a reply is not all the provider would have sent, or nothing.
func cut(provider string, in cassette.Interaction) string {
	switch {
	case in.Response.Status == 0:
		return "no reply (" + string(in.End) + ")"
	case in.End != cassette.EndEOF:
		return "the reply was cut (" + string(in.End) + ")"
	case in.Response.Status < 300 && provider != "" &&
		!route.Terminal(provider, in.Response.Header.Get("Content-Type"), in.Response.Body):
		return "the reply ended without what that provider ends it with"
	}
	return ""
}

// interaction puts the bodies where they belong, readable.
func (x *exchange) interaction() (in cassette.Interaction, err error) {
	in = x.in
	in.Duration = x.ended.Sub(x.sent)
	if in.Request.Body, err = x.request.bytes(); err != nil {
		return in, err
	}
	if in.Response.Body, err = x.response.bytes(); err != nil {
		return in, err
	}
	if _, in.Request.Body, err = readable(in.Request.Header, in.Request.Body); err != nil {
		return in, fmt.Errorf("request: %w", err)
	}
	decoded, body, err := readable(in.Response.Header, in.Response.Body)
	if decoded {
		in.Response.Body, in.Timeline = body, nil // the times were those of other bytes
	}
	return in, err
}

// sentence says of x that err befell it.
func (x *exchange) sentence(err error) string {
	where := x.in.Request.URL
	if u, perr := url.Parse(where); perr == nil {
		where = u.Scheme + "://" + u.Host + u.Path
	}
	return x.in.Request.Method + " " + where + ": " + err.Error()
}

func (x *exchange) close() {
	x.request.close()
	if x.response != nil {
		x.response.close()
	}
}
