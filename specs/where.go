package specs

import "time"

// Place is where a requirement is judged: one exchange and one check.
type Place struct {
	Provider, Model string
	Check           string
	// Date is the day of the exchange; zero when unknown.
	Date time.Time
	// OtherHost is set for a host that only speaks the provider's format: a gateway,
	// a local server, a cloud that is not the provider's.
	OtherHost bool
}

// Where is one row of a requirement: what a breach leads to at the places that the
// row matches. Fields left out match everything.
type Where struct {
	Provider []string       `yaml:"provider,omitempty" data:"is=provider,unique" json:"provider,omitempty"`
	Models   ModelPredicate `yaml:"models,omitempty" json:"models,omitzero"`
	Checks   []string       `yaml:"checks,omitempty" data:"unique,empty" json:"checks,omitempty"`
	// Host is "own" for the provider's own host, "other" for a host that only
	// speaks its format and need not share its policies, such as forms of ids.
	Host string `yaml:"host,omitempty" data:"one=own other" json:"host,omitempty"`
	// Since and Until are as in Requirement.
	Since       string      `yaml:"since,omitempty" data:"is=day" json:"since,omitempty"`
	Until       string      `yaml:"until,omitempty" data:"is=day" json:"until,omitempty"`
	Consequence Consequence `yaml:"consequence" data:"required,is=effect" json:"consequence"`
}

// The hosts that a row can name.
const (
	OwnHost   = "own"
	OtherHost = "other"
)

// ConsequenceAt says what a breach of r leads to at a place: what the first row
// says that matches, else the requirement's own consequence. It is None where the
// rule does not hold. For a requirement of a frozen set it is the milder one of what it
// is now and what it was then.
func (r Requirement) ConsequenceAt(at Place) Consequence {
	if f := r.frozen; f != nil {
		r.frozen = nil
		return milderConsequence(r.ConsequenceAt(at), f.asRequirement().ConsequenceAt(at))
	}
	if !isInForce(r.Since, r.Until, at.Date) {
		return None
	}
	for _, row := range r.Where {
		if row.matchesPlace(at) {
			return row.Consequence
		}
	}
	return r.Consequence
}

func (w Where) matchesPlace(at Place) bool {
	return emptyOrContains(w.Provider, at.Provider) && emptyOrContains(w.Checks, at.Check) &&
		(w.Models.IsZero() || w.Models.Matches(ParseModel(at.Model))) &&
		(w.Host == "" || (w.Host == OtherHost) == at.OtherHost) &&
		isInForce(w.Since, w.Until, at.Date)
}

// isInForce reports whether a day lies between two others, the last one excluded.
// An unknown day is later than all: what has begun holds, what has ended does not.
func isInForce(since, until string, day time.Time) bool {
	if day.IsZero() {
		return until == ""
	}
	date := day.UTC().Format(time.DateOnly)
	return (since == "" || date >= since) && (until == "" || date < until)
}
