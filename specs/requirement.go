package specs

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
	// Why says what breaks for users; Fix says how to mend a breach.
	Why string `yaml:"why" data:"required" json:"why"`
	Fix string `yaml:"fix" data:"required" json:"fix"`
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
	// Provider is any of anthropic, openai, gemini.
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
