package specs

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/datafile"
)

// Duty is what a server or a gateway owes its clients. A duty that one reply shows is judged by
// the reply rules of its wire with this id; the others need a question, or both sides of a gateway.
type Duty struct {
	// ID is never reused: "SV-A7" for servers, "GW-14" for gateways.
	ID string `yaml:"id" data:"required,is=duty"`
	// Demand is one sentence: what the server does.
	Demand string `yaml:"demand" data:"required"`
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
func (d *Duty) Clients() (names []string) {
	for name := range d.Breaks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Requirement returns the duty in the form in which reports know what is judged.
func (d *Duty) Requirement() Requirement {
	r := Requirement{ID: d.ID, Title: d.Demand, Consequence: d.Consequence, Text: d.Demand + ".",
		Judges: sourceOfReplies,
		Status: Provisional, Fix: "Change the server, or what passes its replies on: " + d.Demand + ".", Checks: []string{d.ID + DutyAspect}}
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
func FindDuty(id string) *Duty {
	all, _ := loadDuties()
	if i := slices.IndexFunc(all, func(d Duty) bool { return d.ID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}
