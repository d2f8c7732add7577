package record

import (
	"net/url"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Report says what became of the interactions. Its sentences name requests by method and URL
// without the query, and quote no content.
type Report struct {
	// Saved counts the interactions in the cassette, including those in Cut.
	Saved int
	// Answered counts the interactions, saved or not, to which a server replied at
	// all.
	Answered int
	// Cut names replies that are incomplete ([cassette.Judge]): ended early by
	// the server or the client, or without the event that ends a stream of that
	// provider. They are saved and marked, except for requests without any
	// reply and for what WholeOnly keeps out.
	Cut []string
	// Withheld counts the replies in Cut that were not saved.
	Withheld int
	// Declared counts the replies that would be in Cut without
	// Config.AllowIncomplete.
	Declared int
	// Refused names interactions that the gate kept from being saved.
	Refused []string
	// Masked names what the gate found and Config.Mask took out. Those interactions are
	// saved.
	Masked []string
	// Lost names interactions that could not be saved for another reason.
	Lost []string
}

// add adds what became of an exchange.
func (r *Report) add(x *exchange, cfg *Config) {
	out := &x.out
	if out.in.Response.Status != 0 {
		r.Answered++
	}
	if out.refusal == nil {
		for _, found := range out.masked {
			r.Masked = append(r.Masked, x.outcomeSentence(found))
		}
	}
	switch {
	case out.refusal != nil:
		r.Refused = append(r.Refused, x.outcomeSentence(out.refusal.Error()))
		return
	case out.lost != nil:
		r.Lost = append(r.Lost, x.outcomeSentence(out.lost.Error()))
		return
	case cfg.Writer == nil:
		return
	case cfg.withholds(&out.in):
		r.Withheld++
	default:
		r.Saved++
	}
	switch why := out.in.Incomplete; {
	case why != "" && cfg.AllowIncomplete:
		r.Declared++
	case why != "":
		r.Cut = append(r.Cut, x.outcomeSentence(cutSentence(why, out.in.End, x.failure)))
	}
}

func cutSentence(why string, end cassette.End, failure error) string {
	switch why {
	case cassette.IncompleteNoReply:
		if failure != nil && end != cassette.EndClientAbort {
			return "no reply (" + failure.Error() + ")"
		}
		return "no reply (" + string(end) + ")"
	case cassette.IncompleteOpen:
		return "the reply ended without what that provider ends it with"
	}
	return "the reply was cut (" + string(end) + ")"
}

// outcomeSentence says what became of the exchange, for the report. The sentence begins with the
// method of the request and its URL without the query.
func (x *exchange) outcomeSentence(what string) string {
	where := x.in.Request.URL
	if u, err := url.Parse(where); err == nil {
		where = u.Scheme + "://" + u.Host + u.Path
	}
	return x.in.Request.Method + " " + where + ": " + what
}
