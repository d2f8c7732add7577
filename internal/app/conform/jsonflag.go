package conform

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/specs"
)

// jsonVersion is the value of --json: "" for text, else the version of the schema.
type jsonVersion string

const (
	jsonV1 jsonVersion = "v1"
	jsonV2 jsonVersion = "v2"
)

// addJSONFlag adds --json, which prints the present schema, and --json=v1.
func addJSONFlag(cmd *cobra.Command, version *jsonVersion) {
	flag := cmd.Flags().VarPF(version, "json", "", "print the result as JSON, with --json=v1 in the schema of the last release")
	flag.NoOptDefVal = string(jsonV2)
	cli.CommandLineOnly(cmd.Flags(), "json")
}

func (v jsonVersion) String() string { return string(v) }

// Type is that of a flag that is used without a value.
func (jsonVersion) Type() string { return "bool" }

// Set takes a version, or what a flag without a value may be given.
func (v *jsonVersion) Set(text string) error {
	switch text {
	case "v1":
		*v = jsonV1
	case "v2", "true":
		*v = jsonV2
	case "false":
		*v = ""
	default:
		return errors.New("is neither v1 nor v2")
	}
	return nil
}

// pick returns the document of the version that is asked for.
func (v jsonVersion) pick(current any, v1 func() any) any {
	if v == jsonV1 {
		return v1()
	}
	return current
}

// requirementV1 is a requirement as schema requirement.v1 has it.
type requirementV1 struct {
	ID      string        `json:"id"`
	Title   string        `json:"title"`
	Level   string        `json:"level"`
	Text    string        `json:"text"`
	Sources []sourceV1    `json:"source"`
	Applies specs.Applies `json:"applies,omitzero"`
	Status  specs.Status  `json:"status"`
	Since   string        `json:"since"`
	Why     string        `json:"why"`
	Fix     string        `json:"fix"`
	Checks  []string      `json:"checks"`
	Mutants []string      `json:"mutants"`
}

type sourceV1 struct {
	URL       string `json:"url,omitempty"`
	Doc       string `json:"doc,omitempty"`
	Section   string `json:"section,omitempty"`
	Retrieved string `json:"retrieved,omitempty"`
}

func newRequirementV1(r specs.Requirement) requirementV1 {
	doc := requirementV1{
		ID: r.ID, Title: r.Title, Level: r.Consequence.Level(), Text: r.Text, Applies: r.Applies, Status: r.Status, Since: r.Added,
		Why: r.Why, Fix: r.Fix, Checks: r.Checks, Mutants: r.Mutants,
	}
	for _, s := range r.Sources {
		source := sourceV1{s.URL, s.Doc, s.Section, s.Retrieved}
		if s.URL == "" && s.Doc == "" {
			source.Doc = "unverified: " + s.Reason
		}
		doc.Sources = append(doc.Sources, source)
	}
	return doc
}

// listingV1 is the output of conform list --json=v1.
type listingV1 struct {
	Schema       string          `json:"schema"`
	Requirements []requirementV1 `json:"requirements"`
}

func newListingV1(selected []specs.Requirement) listingV1 {
	doc := listingV1{Schema: "conform.list.v1", Requirements: []requirementV1{}}
	for _, r := range selected {
		doc.Requirements = append(doc.Requirements, newRequirementV1(r))
	}
	return doc
}
