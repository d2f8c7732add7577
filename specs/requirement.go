package specs

import (
	"slices"
	"strings"
	"time"
)

// Requirement is one sentence an agent is held to. Ids are never reused and
// never renumbered; a requirement that no longer holds is withdrawn.
type Requirement struct {
	// ID is AREA-NNN, e.g. "SIG-001".
	ID    string `yaml:"id" data:"required,is=id" json:"id"`
	Title string `yaml:"title" data:"required,is=title" json:"title"`
	// Consequence is what a breach leads to where no row of Where says otherwise;
	// see ConsequenceAt.
	Consequence Consequence `yaml:"consequence" data:"required,is=consequence" json:"consequence"`
	Where       []Where     `yaml:"where,omitempty" json:"where,omitempty"`
	// Text is the normative sentence.
	Text string `yaml:"text" data:"required" json:"text"`
	// Sources says where the sentence comes from; at least one.
	Sources []Source `yaml:"source" data:"required" json:"source"`
	// Judges is "source" where the subject cannot break the sentence: it judges the
	// provider, simulator, cassette or gateway that the replies come from.
	Judges string `yaml:"judges,omitempty" data:"one=source" json:"judges,omitempty"`
	// Applies says what evidence the sentence speaks of.
	Applies Applies `yaml:"applies,omitempty" json:"applies,omitzero"`
	Status  Status  `yaml:"status" data:"required,one=draft provisional stable withdrawn" json:"status"`
	// Added is the month, yyyy-mm, the requirement entered the catalogue.
	Added string `yaml:"added" data:"required,is=month" json:"added"`
	// Since and Until are the days, yyyy-mm-dd, from which on and up to which the
	// provider's rule holds; Until is the first day without it. Empty means always.
	Since string `yaml:"since,omitempty" data:"is=day" json:"since,omitempty"`
	Until string `yaml:"until,omitempty" data:"is=day" json:"until,omitempty"`
	// Why says what breaks for users; Fix says how to mend a breach where no row of Fixes does; see FixOf.
	Why   string `yaml:"why" data:"required" json:"why"`
	Fix   string `yaml:"fix" data:"required" json:"fix"`
	Fixes []Fix  `yaml:"fixes,omitempty" json:"fixes,omitempty"`
	// Unseen says what is missing where nothing could break the requirement; "" where
	// every agent shows it in our cases.
	Unseen   string   `yaml:"unseen,omitempty" json:"unseen,omitempty"`
	Examples Examples `yaml:"examples,omitempty" json:"examples,omitzero"`
	// Checks are the ids, ID/aspect, of the checks that judge it; at least one.
	Checks []string `yaml:"checks" data:"required,empty" json:"checks"`
	// Mutants names the distortions of evidence its checks must catch; at
	// least one.
	Mutants []string `yaml:"mutants" data:"required,empty,is=kebab,unique" json:"mutants"`

	frozen *frozenRequirement // what it was, for one of a frozen set
}

// AppliesTo reports whether the requirement speaks of evidence from source with
// provider. One of a frozen set speaks of nothing that it did not speak of then.
func (r Requirement) AppliesTo(provider, source string) bool {
	return r.Applies.To(provider, source) && (r.frozen == nil || r.frozen.Applies.To(provider, source))
}

// JudgesSource reports whether r judges where the replies come from, not the subject.
func (r Requirement) JudgesSource() bool { return r.Judges == sourceOfReplies }

const sourceOfReplies = "source"

// JudgesServer is what Judges says where a server is the subject: a breach of its duties decides
// the verdict.
const JudgesServer = "server"

// Area is the part of the id before the dash.
func (r Requirement) Area() string {
	area, _ := areaOf(r.ID)
	return area
}

// Status is the state of a requirement's life.
type Status string

// The statuses. Withdrawn requirements stay in the catalogue so that their ids
// are not used again; they are not judged.
const (
	Draft       Status = "draft"
	Provisional Status = "provisional"
	Stable      Status = "stable"
	Withdrawn   Status = "withdrawn"
)

// Source cites where a requirement comes from: a public URL with the day of the
// page or thread, a document of this project, or the reason why there is neither.
type Source struct {
	URL string `yaml:"url,omitempty" json:"url,omitempty"`
	Doc string `yaml:"doc,omitempty" data:"is=document" json:"doc,omitempty"`
	// Section is the heading, paragraph or rule id inside it.
	Section string `yaml:"section,omitempty" json:"section,omitempty"`
	// Retrieved is the day, yyyy-mm-dd, of the page or thread that is relied on.
	Retrieved string `yaml:"retrieved,omitempty" data:"is=day" json:"retrieved,omitempty"`
	// Unverified is set where no public page says it; Reason says what is relied on
	// instead.
	Unverified bool   `yaml:"unverified,omitempty" data:"one=true" json:"unverified,omitempty"`
	Reason     string `yaml:"reason,omitempty" json:"reason,omitempty"`
}

// Applies narrows a requirement. An empty list means all.
type Applies struct {
	// Provider holds names of wires.
	Provider []string `yaml:"provider,omitempty" data:"is=provider,unique" json:"provider,omitempty"`
	// Source is any of cassette, simulator, live, recording: what the evidence
	// came from (conform/evidence).
	Source []string `yaml:"source,omitempty" data:"is=source,unique" json:"source,omitempty"`
}

// To reports whether the requirement speaks of evidence from source with
// provider.
func (a Applies) To(provider, source string) bool {
	return emptyOrContains(a.Provider, provider) && emptyOrContains(a.Source, source)
}

func emptyOrContains(list []string, name string) bool {
	if len(list) == 0 {
		return true
	}
	for _, l := range list {
		if l == name {
			return true
		}
	}
	return false
}

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
		then := Requirement{ID: f.ID, Consequence: f.Consequence, Where: f.Where, Since: f.Since, Until: f.Until}
		if was := then.ConsequenceAt(at); was.Severity() < r.ConsequenceAt(at).Severity() {
			return was
		}
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

// Fix is one row of a requirement: how to mend the breaches that the row matches. Fields left out match
// everything.
type Fix struct {
	Checks []string `yaml:"checks,omitempty" data:"unique,empty" json:"checks,omitempty"`
	// Rules are ids of rules of providers.
	Rules []string `yaml:"rules,omitempty" data:"unique,empty" json:"rules,omitempty"`
	// Says is a part of the message of the finding.
	Says string `yaml:"says,omitempty" json:"says,omitempty"`
	Fix  string `yaml:"fix" data:"required" json:"fix"`
}

// FixOf says how to mend a breach that a check found: what the first row says that matches, else the
// requirement's own fix.
func (r *Requirement) FixOf(check, rule, message string) string {
	for _, row := range r.Fixes {
		if emptyOrContains(row.Checks, check) && emptyOrContains(row.Rules, rule) &&
			strings.Contains(message, row.Says) {
			return row.Fix
		}
	}
	return r.Fix
}

// FixesOfRule say how to mend breaches of a provider's rule, by requirement: what its rows say that name the rule, else
// the fix of one that cites the rule.
func FixesOfRule(id string) (fixes []string) {
	all, _ := embedded() // tested
	for _, r := range all {
		from := len(fixes)
		for _, row := range r.Fixes {
			if slices.Contains(row.Rules, id) {
				fixes = append(fixes, r.ID+": "+row.Fix)
			}
		}
		isCited := slices.ContainsFunc(r.Sources,
			func(s Source) bool { return s.Doc != "" && slices.Contains(strings.Split(s.Section, ", "), id) })
		if isCited && len(fixes) == from {
			fixes = append(fixes, r.ID+": "+r.Fix)
		}
	}
	return fixes
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

// Examples are two conversations that show a requirement. The self-test judges
// both: the failing one must be found, the passing one must be seen and pass.
type Examples struct {
	Failing Example `yaml:"failing" data:"required" json:"failing"`
	Passing Example `yaml:"passing" data:"required" json:"passing"`
}

// IsZero reports whether there is neither example.
func (e Examples) IsZero() bool { return len(e.Failing.Exchanges)+len(e.Passing.Exchanges) == 0 }

// Example is a short conversation as it stands on the wire.
type Example struct {
	// Provider is whose API the exchanges speak, unless they say otherwise.
	Provider string `yaml:"provider" data:"required,is=provider" json:"provider"`
	// Model is the model in the URL of Gemini's requests; others name it in the body.
	Model string `yaml:"model,omitempty" json:"model,omitempty"`
	// Note says in one sentence what to look at.
	Note string `yaml:"note,omitempty" json:"note,omitempty"`
	// Source is what the evidence comes from. Empty means recording, or where the
	// requirement does not apply to recordings the first source it applies to.
	Source string `yaml:"source,omitempty" data:"is=source" json:"source,omitempty"`
	// Limits are what the agent was told that it may spend.
	Limits    Limits            `yaml:"limits,omitempty" json:"limits,omitzero"`
	Exchanges []ExampleExchange `yaml:"exchanges" data:"empty" json:"exchanges"`
	// Processes are those that the exchanges name by ordinal.
	Processes []ExampleProcess `yaml:"processes,omitempty" json:"processes,omitempty"`
}

// ExampleExchange is one request and its reply.
type ExampleExchange struct {
	// Provider is set where it differs from the example's.
	Provider string `yaml:"provider,omitempty" data:"is=provider" json:"provider,omitempty"`
	// URL is the provider's own endpoint where it is left out.
	URL string `yaml:"url,omitempty" json:"url,omitempty"`
	// Headers are added to the content type.
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
	// Request is the body, JSON as sent.
	Request string `yaml:"request" data:"required" json:"request"`
	// Reply is the body that came back: a JSON document, or events of a stream
	// where it begins with "event:" or "data:". Left out, the model says "ok".
	Reply string `yaml:"reply,omitempty" json:"reply,omitempty"`
	// Status is 200 where it is left out.
	Status int `yaml:"status,omitempty" json:"status,omitempty"`
	// ReplyHeaders are added to the content type of the reply.
	ReplyHeaders map[string]string `yaml:"reply-headers,omitempty" json:"reply_headers,omitempty"`
	// ContentType is set where it differs from that of the reply's form.
	ContentType string `yaml:"content-type,omitempty" json:"content_type,omitempty"`
	// End is how the reply ended: eof where it is left out, reset or client_abort.
	End string `yaml:"end,omitempty" json:"end,omitempty"`
	// Process is the ordinal of the process that sent it, from 0.
	Process int `yaml:"process,omitempty" json:"process,omitempty"`
	// WebSocket is the ordinal, from 1, of the WebSocket that carried the request as a message.
	WebSocket int `yaml:"websocket,omitempty" json:"websocket,omitempty"`
	// Missed is set for a request that a replaying proxy had no answer for.
	Missed bool `yaml:"missed,omitempty" json:"missed,omitempty"`
}

// ExampleProcess is one run of the agent.
type ExampleProcess struct {
	Args    []string `yaml:"args,omitempty" json:"args,omitempty"`
	Exit    int      `yaml:"exit,omitempty" json:"exit,omitempty"`
	Stdout  string   `yaml:"stdout,omitempty" json:"stdout,omitempty"`
	Stderr  string   `yaml:"stderr,omitempty" json:"stderr,omitempty"`
	Resumed bool     `yaml:"resumed,omitempty" json:"resumed,omitempty"`
}
