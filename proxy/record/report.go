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

// addToReport adds a batch to the report.
func (rec *Recorder) addToReport(all []pendingSave) {
	r := &rec.report
	for _, k := range all {
		if k.in.Response.Status != 0 {
			r.Answered++
		}
		if k.gate == nil {
			for _, found := range k.masked {
				r.Masked = append(r.Masked, k.x.outcomeSentence(found))
			}
		}
		switch {
		case k.gate != nil:
			r.Refused = append(r.Refused, k.x.outcomeSentence(k.gate.Error()))
		case k.lost != nil:
			r.Lost = append(r.Lost, k.x.outcomeSentence(k.lost.Error()))
		case rec.cfg.Writer != nil:
			if rec.isWithheld(&k) {
				r.Withheld++
			} else {
				r.Saved++
			}
			switch why := k.in.Incomplete; {
			case why != "" && rec.cfg.AllowIncomplete:
				r.Declared++
			case why != "":
				r.Cut = append(r.Cut, k.x.outcomeSentence(cutSentence(why, k.in.End, k.x.failure)))
			}
		}
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

// outcomeSentence returns what for the report, with the request before it: its method and its
// URL without the query.
func (x *exchange) outcomeSentence(what string) string {
	where := x.in.Request.URL
	if u, err := url.Parse(where); err == nil {
		where = u.Scheme + "://" + u.Host + u.Path
	}
	return x.in.Request.Method + " " + where + ": " + what
}
