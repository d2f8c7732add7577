package profiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// Template is a text with placeholders: {name}, or {name:json} for the value as a
// JSON string. {{name}} is a literal {name}, and ${name} is left as it is, because
// shells use it.
type Template string

// Placeholder is one name that templates may use.
type Placeholder struct {
	Name, Meaning string
	// Within are the keys of a profile below which the placeholder has a value.
	// Nil: everywhere.
	Within []string
}

// Placeholders lists what templates may name, in the order of the guide.
var Placeholders = []Placeholder{
	{"prompt", "what the user says in this step", []string{"run", "resume"}},
	{"session", "the id of the session, as `session` finds it", []string{"run", "resume"}},
	{"args", "an argument of its own: here stand the arguments that the profile adds",
		[]string{"run", "resume", "acp", "driver"}},
	{"model", "the model to ask for", nil},
	{"effort", "how much the model is to think: low, medium, high", []string{"effort"}},
	{"max_turns", "how many replies of the model the process may ask for", []string{"max_turns"}},
	{"system", "the system prompt of the case", []string{"system"}},
	{"provider", "the provider, as the agent calls it", nil},
	{"key", "the made-up key of the provider", nil},
	{"base_url", "where requests to the provider go, as its official SDK takes it", []string{"base_url"}},
	{"proxy_url", "the intercepting proxy", []string{"mitm"}},
	{"ca_file", "the certificate to trust, a PEM file", []string{"mitm"}},
	{"home", "HOME of the process", nil},
	{"work", "the folder in which the process starts", nil},
	{"temp", "a folder for temporary files", nil},
	{"profile_dir", "the folder of the profile's file", nil},
	{"mcp_config", "a JSON file with our tool server below mcpServers", []string{"mcp"}},
	{"mcp_program", "the program of our tool server on stdio", []string{"mcp"}},
	{"mcp_args", "its arguments, always as a JSON list", []string{"mcp"}},
	{"mcp_argv", "program and arguments, always as a JSON list", []string{"mcp"}},
	{"mcp_url", "our tool server over HTTP", []string{"mcp"}},
}

// placeholderPattern finds {name} and {name:json}, and what must not be taken for
// one: {{name}} and ${name}.
var placeholderPattern = regexp.MustCompile(`\{\{[a-z_]+(?::[a-z]+)?\}\}|\$\{[a-z_]+(?::[a-z]+)?\}|\{[a-z_]+(?::[a-z]+)?\}`)

// Names returns the placeholders of t, in order.
func (t Template) Names() (names []string) {
	for _, found := range placeholderPattern.FindAllString(string(t), -1) {
		if name, _, ok := splitPlaceholder(found); ok {
			names = append(names, name)
		}
	}
	return names
}

// Has reports whether t uses a placeholder.
func (t Template) Has(name string) bool {
	for _, n := range t.Names() {
		if n == name {
			return true
		}
	}
	return false
}

// Check says what is wrong with the placeholders of t, nil when all are known.
func (t Template) Check() error {
	for _, found := range placeholderPattern.FindAllString(string(t), -1) {
		name, form, ok := splitPlaceholder(found)
		switch {
		case !ok:
		case !isPlaceholder(name):
			names := make([]string, len(Placeholders))
			for i, p := range Placeholders {
				names[i] = "{" + p.Name + "}"
			}
			return fmt.Errorf("placeholder {%s} unknown, write {{%s}} for the text itself; %s", name, name,
				spelling.Advice("{"+name+"}", names))
		case form != "" && form != "json":
			return fmt.Errorf("placeholder {%s:%s} unknown; use {%s} or {%s:json}", name, form, name, name)
		}
	}
	return nil
}

// CheckIn is Check, and says which placeholder has no value below the given keys of a
// profile.
func (t Template) CheckIn(keys ...string) error {
	if err := t.Check(); err != nil {
		return err
	}
	for _, name := range t.Names() {
		within := Placeholders[slices.IndexFunc(Placeholders,
			func(p Placeholder) bool { return p.Name == name })].Within
		if within != nil && !slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(within, key) }) {
			return fmt.Errorf("placeholder {%s} has no value here; it has one below %s", name,
				strings.Join(within, " and "))
		}
		if name == "args" && t != "{args}" {
			return errors.New("placeholder {args} stands for several arguments; make it an entry of its own")
		}
	}
	return nil
}

// Fill replaces the placeholders of t. One without a value is an error that names
// it.
func (t Template) Fill(values map[string]string) (string, error) {
	var missing error
	text := placeholderPattern.ReplaceAllStringFunc(string(t), func(found string) string {
		name, form, ok := splitPlaceholder(found)
		if !ok && found[0] == '$' {
			return found
		}
		if !ok {
			return found[1 : len(found)-1] // {{name}}
		}
		value, known := values[name]
		if !known {
			missing = fmt.Errorf("{%s} has no value here", name)
		}
		if form == "json" {
			var out bytes.Buffer
			enc := json.NewEncoder(&out)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(value); err != nil {
				panic(err) // a string always encodes
			}
			return strings.TrimSuffix(out.String(), "\n")
		}
		return value
	})
	return text, missing
}

// splitPlaceholder takes {name:form} apart; ok is false for what only looks like
// a placeholder.
func splitPlaceholder(found string) (name, form string, ok bool) {
	if strings.HasPrefix(found, "{{") || strings.HasPrefix(found, "$") {
		return "", "", false
	}
	name, form, _ = strings.Cut(strings.Trim(found, "{}"), ":")
	return name, form, true
}

func isPlaceholder(name string) bool {
	for _, p := range Placeholders {
		if p.Name == name {
			return true
		}
	}
	return false
}
