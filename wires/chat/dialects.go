package chat

import (
	_ "embed" // for dialects.yaml and models.yaml
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/datafile"
)

// dialect is how one vendor's server differs from what all servers of Chat Completions share: a row of
// dialects.yaml, which explains the keys and the traits.
type dialect struct {
	Name   string         `yaml:"name" data:"required"`
	Hosts  []string       `yaml:"hosts"`
	More   *regexp.Regexp `yaml:"more"`
	Keeps  string         `yaml:"keeps"`
	Lacks  []string       `yaml:"lacks"`
	Says   string         `yaml:"lacks_says"`
	Traits []string       `yaml:"traits" data:"is=trait,unique"`
	Drops  struct {
		Member string `yaml:"member"`
		Code   string `yaml:"code"`
		Param  string `yaml:"param"`
		Says   string `yaml:"says"`
	} `yaml:"drops"`
	NeverBoth struct {
		Members []string `yaml:"members"`
		Says    string   `yaml:"says"`
	} `yaml:"never_both"`
	Answers struct {
		Types []string `yaml:"types"`
		Says  string   `yaml:"says"`
	} `yaml:"answers"`
	// NoModel is nil where the words are not known.
	NoModel *noModel `yaml:"no_model"`
}

// noModel is how a dialect refuses a model that it does not have; {model} stands for its name.
type noModel struct {
	Status int    `yaml:"status" data:"required"`
	Type   string `yaml:"type"`
	Code   string `yaml:"code"`
	Says   string `yaml:"says" data:"required"`
}

// The traits that a dialect may have.
const (
	officialMembers = "official-members"
	reasoningBack   = "reasoning-back"
	reasoningKept   = "reasoning-kept"
	nineCharacters  = "nine-characters"
	noUserAfterTool = "no-user-after-tool"
	alternates      = "alternates"
	noDeveloper     = "no-developer"
	uniqueCalls     = "unique-calls"
	shortIDs        = "short-ids"
	signsCalls      = "signs-calls"
	openAIModels    = "openai-models"
	filledCalls     = "filled-calls"
	wholeSchemas    = "whole-schemas"
	inContent       = "in-content"
	inDetails       = "in-details"
	isWrapped       = "is-wrapped"
	isListed        = "is-listed"
)

//go:embed dialects.yaml
var dialectFile []byte

var dialects = datafile.Embedded[[]dialect]("wires/chat/dialects.yaml", dialectFile,
	datafile.Options{Rules: map[string]datafile.Rule{
		"trait": datafile.OneOf(officialMembers, reasoningBack, reasoningKept, nineCharacters, noUserAfterTool,
			alternates, noDeveloper, uniqueCalls, shortIDs, signsCalls, openAIModels, filledCalls, wholeSchemas,
			inContent, inDetails, isWrapped, isListed),
	}})

// dialectOf returns the dialect that a host speaks, the empty one for an unknown host.
func dialectOf(host string) *dialect {
	host = strings.ToLower(host)
	for i := range dialects {
		if d := &dialects[i]; slices.Contains(d.Hosts, host) || d.More != nil && d.More.MatchString(host) {
			return d
		}
	}
	return &dialect{}
}

func (d *dialect) hasTrait(trait string) bool { return slices.Contains(d.Traits, trait) }

// modelLine is a row of models.yaml, which explains the keys.
type modelLine struct {
	Vendor string   `yaml:"vendor" data:"required,is=vendor"`
	Begin  []string `yaml:"begin" data:"required"`
	IDs    []string `yaml:"ids"`
}

//go:embed models.yaml
var modelFile []byte

var models = datafile.Embedded[[]modelLine]("wires/chat/models.yaml", modelFile,
	datafile.Options{Rules: map[string]datafile.Rule{
		"vendor": datafile.OneOf(dialectNames()...),
	}})

func dialectNames() (names []string) {
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return names
}

// vendorOf is the dialect of the vendor whose own name for a model this is, the empty one if several servers offer
// the model, so that the simulator enforces what all of them share.
func vendorOf(model string) *dialect {
	if !strings.HasSuffix(model, "-instruct") && !strings.HasPrefix(model, "gpt-oss") { // open weights
		for _, line := range models {
			if slices.ContainsFunc(line.Begin, func(begin string) bool { return strings.HasPrefix(model, begin) }) {
				return &dialects[slices.IndexFunc(dialects, func(d dialect) bool { return d.Name == line.Vendor })]
			}
		}
	}
	return &dialect{}
}

// listedModels are those that the simulator lists. It answers any other as well.
func listedModels() (ids []string) {
	for _, line := range models {
		ids = append(ids, line.IDs...)
	}
	return ids
}

// publicHosts are the hosts of all dialects.
func publicHosts() (hosts []string) {
	for _, d := range dialects {
		hosts = append(hosts, d.Hosts...)
	}
	return hosts
}

// ownHosts matches the hosts of all dialects.
func ownHosts() *regexp.Regexp {
	var all []string
	for _, d := range dialects {
		for _, host := range d.Hosts {
			all = append(all, regexp.QuoteMeta(host))
		}
		if d.More != nil {
			all = append(all, d.More.String())
		}
	}
	return regexp.MustCompile("^(" + strings.Join(all, "|") + ")$")
}
