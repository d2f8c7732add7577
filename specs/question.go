package specs

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/wires"
)

// Question is what a client asks a server to see whether it keeps its duties. Beside what the
// question expects, every reply is judged by the reply rules of its wire.
type Question struct {
	// ID is the name of the question, in lower case with dashes.
	ID string `yaml:"id" data:"required,is=kebab"`
	// Title says what is asked, in one line.
	Title string `yaml:"title" data:"required"`
	// Level says for whom the question matters.
	Level DutyLevel `yaml:"level" data:"required,one=core agent faithful"`
	// Wires are those that the question can be asked on; nil for all.
	Wires []string `yaml:"wires" data:"is=provider"`
	// Forms are "stream" and "unary"; nil for both.
	Forms []string `yaml:"forms" data:"is=form"`
	// Needs are what must be there: "thinking" is a model that thinks, "key" a key that was given,
	// "system messages" a model that is not known to refuse the role system in the conversation.
	Needs []string `yaml:"needs" data:"is=need"`
	// Steps follow one another in one conversation. A step after one that was not answered is not asked.
	Steps []QuestionStep `yaml:"steps" data:"required"`
}

// QuestionStep is one request, or with tools and without Once as many as the model's calls draw.
type QuestionStep struct {
	Prompt string `yaml:"prompt"`
	System string `yaml:"system"`
	// Tools are roles of our own tools: echo, noargs, fail, large, image, awkward.
	Tools []string `yaml:"tools" data:"is=tool"`
	// Choose is what tool_choice says: any, none, or a role.
	Choose string `yaml:"choose"`
	// Once says that the calls of the reply are not answered.
	Once      bool     `yaml:"once" data:"one=true"`
	Think     bool     `yaml:"think" data:"one=true"`
	MaxTokens int      `yaml:"max_tokens" data:"min=1"`
	Stops     []string `yaml:"stops"`
	// Image sends an image along.
	Image bool `yaml:"image" data:"one=true"`
	// History is what the client says was said before, as JSON elements of the wire, by wire.
	History map[string]string `yaml:"history" data:"keys=provider"`
	// Alter changes a character in the middle of every token that the client sends back.
	Alter bool `yaml:"alter" data:"one=true"`
	// Extra are more members of the body, as JSON, by name; by wire where the name has a prefix
	// WIRE: as in "openai:text".
	Extra map[string]string `yaml:"extra"`
	// Header are headers of the request; an empty value takes one away.
	Header map[string]string `yaml:"header"`
	// Query is added to the path.
	Query string `yaml:"query"`
	// Method, Path and Body replace the request as a whole. {model} stands in both, and {body} in Body
	// for what would be sent otherwise.
	Method string `yaml:"method" data:"one=GET HEAD OPTIONS POST"`
	Path   string `yaml:"path"`
	Body   string `yaml:"body"`
	// Pad makes the prompt so many bytes longer.
	Pad int `yaml:"pad" data:"min=1"`
	// Gzip compresses the body.
	Gzip bool `yaml:"gzip" data:"one=true"`
	// Key is another key than the one that was given: "wrong", or "none".
	Key string `yaml:"key" data:"one=wrong none"`
	// Model is another model than the one that was given.
	Model string `yaml:"model"`
	// Times asks so many times at once.
	Times  int                   `yaml:"times" data:"min=2"`
	Expect []QuestionExpectation `yaml:"expect"`
}

// QuestionExpectation is what an answer must be, and the duty that a server breaks otherwise.
type QuestionExpectation struct {
	Duty string `yaml:"duty" data:"required,is=known duty"`
	// Be is what the last answer of the step is; see package conform/questions for the words.
	Be string `yaml:"be" data:"required"`
	// Consequence is what a breach leads to where the duty does not say it.
	Consequence Consequence `yaml:"consequence" data:"is=harm"`
}

// AskedClient says how a well-known client asks, and by which names duties speak of it.
type AskedClient struct {
	Name   string            `yaml:"name" data:"required,is=kebab"`
	Title  string            `yaml:"title" data:"required"`
	Wire   string            `yaml:"wire" data:"required,is=provider"`
	Names  []string          `yaml:"names" data:"required"`
	Query  string            `yaml:"query"`
	Header map[string]string `yaml:"header"`
	Source string            `yaml:"source" data:"required"`
}

//go:embed server/*.yaml
var serverFiles embed.FS

var questionRules = func() map[string]datafile.Rule {
	all := map[string]datafile.Rule{"form": datafile.OneOf("stream", "unary"),
		"need": datafile.OneOf("thinking", "key", "system messages"),
		"tool": datafile.OneOf("echo", "noargs", "fail", "large", "image", "awkward", "slow"),
		"known duty": func(_, id string) error {
			if FindDuty(id) != nil {
				return nil
			}
			return fmt.Errorf("there is no duty %q; did you mean %s?", id,
				spelling.Rank(id, slices.Sorted(maps.Keys(dutiesByID())))[0])
		}}
	for name, rule := range rules {
		all[name] = rule
	}
	return all
}

var loadQuestions = sync.OnceValues(func() (all []Question, err error) {
	data, err := serverFiles.ReadFile("server/questions.yaml")
	if err != nil {
		return nil, err
	}
	if _, err := loadDuties(); err != nil {
		return nil, err // instead of one fault for each duty that a question names
	}
	f := datafile.Read("server/questions.yaml", data, &all, datafile.Options{Rules: questionRules()})
	seen := map[string]bool{}
	for i, q := range all {
		f.AddUnless(!seen[q.ID], f.Entry(i, q.ID), "%q is already used; ids are unique", q.ID)
		seen[q.ID] = true
		for _, step := range q.Steps {
			for name := range step.Extra {
				wire, _, isOne := strings.Cut(name, ":")
				f.AddUnless(!isOne || wires.Find(wire) != nil, f.Entry(i, q.ID), "extra %q: there is no wire %q",
					name, wire)
			}
		}
	}
	return all, f.Err()
})

// Questions returns the embedded questions for servers, in the order of their file. The slice is the
// caller's.
func Questions() ([]Question, error) {
	all, err := loadQuestions()
	return slices.Clone(all), err
}

var loadAskedClients = sync.OnceValues(func() (all []AskedClient, err error) {
	data, err := serverFiles.ReadFile("server/clients.yaml")
	if err != nil {
		return nil, err
	}
	f := datafile.Read("server/clients.yaml", data, &all, datafile.Options{Rules: questionRules()})
	return all, f.Err()
})

// AskedClients returns the well-known clients as which a server can be asked.
func AskedClients() ([]AskedClient, error) {
	all, err := loadAskedClients()
	return slices.Clone(all), err
}

// ExtraFor returns the members of the body that a step adds on a wire, in order of name.
func (s *QuestionStep) ExtraFor(wire string) (list [][2]string) {
	for _, name := range slices.Sorted(maps.Keys(s.Extra)) {
		value := s.Extra[name]
		if only, member, isOne := strings.Cut(name, ":"); isOne {
			if only != wire {
				continue
			}
			name = member
		}
		list = append(list, [2]string{name, value})
	}
	return list
}

// Duty is what a server or a gateway owes its clients. A duty that one reply shows is judged by
// the reply rules of its wire with this id; the others need a question, or both sides of a gateway.
type Duty struct {
	// ID is never reused: "SV-A7" for servers, "GW-14" for gateways.
	ID string `yaml:"id" data:"required,is=duty"`
	// Demand is one sentence: what the server does.
	Demand string `yaml:"demand" data:"required"`
	// Fix says in the imperative what to change in the server to mend a breach.
	Fix string `yaml:"fix" data:"required"`
	// Sources are URLs, and reports as OWNER/REPO#NUMBER of GitHub.
	Sources []string `yaml:"source" data:"required"`
	// Sure says how sure the demand is: high, medium, low.
	Sure string `yaml:"sure" data:"required,one=high medium low"`
	// Consequence is what a breach leads to where the place does not say more.
	Consequence Consequence `yaml:"consequence" data:"required,is=harm"`
	// Level says for whom the duty holds.
	Level DutyLevel `yaml:"level" data:"required,one=core agent faithful"`
	// Breaks says by the names of clients what a breach does to them.
	Breaks map[string]string `yaml:"breaks,omitempty"`
	// Live says that only an answer which conform itself gets shows a breach: recordings lack the calls, or may lack
	// the headers.
	Live bool `yaml:"live,omitempty"`
	// OnlyNamed says that no other clients are harmed: on a wire that none of them speaks, a breach is no
	// more than degraded.
	OnlyNamed bool `yaml:"only_named,omitempty"`
}

// DutyLevel says for whom a duty of servers holds.
type DutyLevel string

// The levels, the most important first.
const (
	// Core duties are those that every client needs.
	Core DutyLevel = "core"
	// Agent duties are those that some well-known agent needs.
	Agent DutyLevel = "agent"
	// Faithful duties are those of a server that behaves exactly as the provider does.
	Faithful DutyLevel = "faithful"
)

// DutyLevels lists the levels, the most important first.
var DutyLevels = []DutyLevel{Core, Agent, Faithful}

// Clients returns the names of the clients that a breach is known to break, in lexical order.
func (d *Duty) Clients() []string { return slices.Sorted(maps.Keys(d.Breaks)) }

// Requirement returns the duty in the form in which reports know what is judged.
func (d *Duty) Requirement() Requirement {
	r := Requirement{ID: d.ID, Title: d.Demand, Consequence: d.Consequence, Text: d.Demand + ".",
		Judges: sourceOfReplies,
		Status: Provisional, Fix: d.Fix, Checks: []string{d.ID + DutyAspect}}
	for _, source := range d.Sources {
		r.Sources = append(r.Sources, Source{URL: SourceURL(source)})
	}
	for _, client := range d.Clients() {
		r.Why += client + " " + d.Breaks[client] + ". "
	}
	r.Why = strings.TrimSpace(r.Why)
	return r
}

// DutyAspect ends the id of the check of a duty: "SV-A7/reply".
const DutyAspect = "/reply"

// ClientsOn returns those of Clients that may speak a wire: well-known agents of other wires are left out.
func (d *Duty) ClientsOn(wire string) []string {
	known, _ := AskedClients() // embedded, and tested
	return slices.DeleteFunc(d.Clients(), func(name string) bool {
		id := strings.ReplaceAll(strings.ToLower(name), " ", "-")
		return slices.ContainsFunc(known, func(c AskedClient) bool { return c.Name == id && c.Wire != wire })
	})
}

// SourceURL returns the URL of a source.
func SourceURL(source string) string {
	if repo, number, ok := strings.Cut(source, "#"); ok && !strings.Contains(repo, ":") {
		return "https://github.com/" + repo + "/issues/" + number
	}
	return source
}

//go:embed duties/*.yaml
var dutyFiles embed.FS

var loadDuties = sync.OnceValues(func() (all []Duty, err error) {
	home := map[string]string{}
	err = datafile.EachFile(dutyFiles, "duties/*.yaml", func(file string, data []byte) error {
		var list []Duty
		f := datafile.Read(file, data, &list, datafile.Options{Rules: rules})
		for i, d := range list {
			f.AddUnless(home[d.ID] == "", f.Entry(i, d.ID), "%q is already used in %s; ids are unique", d.ID,
				home[d.ID])
			home[d.ID] = file
		}
		all = append(all, list...)
		return f.Err()
	})
	return all, err
})

// Duties returns what servers and gateways owe their clients, in the order of the files below
// duties. The slice is the caller's.
func Duties() ([]Duty, error) {
	all, err := loadDuties()
	return slices.Clone(all), err
}

// FindDuty returns the duty with an id, nil if there is none.
func FindDuty(id string) *Duty { return dutiesByID()[id] }

var dutiesByID = sync.OnceValue(func() map[string]*Duty {
	all, _ := loadDuties()
	byID := map[string]*Duty{}
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	return byID
})
