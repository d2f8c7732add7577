// Package setting describes the settings of a program: one [Row] for each. The flag, the
// variable, the key in files, completion, help and documentation of a setting follow from its
// row. Who reads the values is not said here: see package config for rkat, and internal/app/cli
// for the commands whose settings are their flags.
package setting

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/spelling"
)

// Row is one value that flags, variables and files can set.
type Row struct {
	// Key is the name in files, such as "agent.max_turns".
	Key string
	// Flag is the name of a flag without dashes, Shorthand its one letter; ""
	// for none. Commands says which commands have the flag.
	Flag, Shorthand string
	Commands        Commands
	// Help is one sentence for the help text and the documentation. A word in
	// backquotes stands for the value.
	Help string
	// Default is the value when nothing sets it; nil: none.
	Default any
	// Variables set it as well, in this order and before that of its key.
	Variables []string
	// Repeated says that the flag may be given several times and its values are a
	// list.
	Repeated bool
	// Switch says that the flag alone means true.
	Switch bool
	// Choices are all values there are; nil: any value that Read takes.
	Choices []string
	// Read turns the value of a file, a variable or a flag into that of the setting; nil: a
	// text. Variables and flags are always texts.
	Read func(v any) (any, error)
	// Field points to what takes the value; nil: nothing does.
	Field any
	// Secret says that the value is never shown, Form how it is written, for errors that must
	// not repeat it; "": a text.
	Secret bool
	Form   string
	// FileOnly says that no flag and no variable sets it.
	FileOnly bool
	// Path says that ~/ at the beginning of the value is the user's home.
	Path bool
	// Risk says what a project that is not trusted could do with it; "": nothing.
	Risk string
}

// Commands is the group of commands that have a setting's flag. A program numbers its groups.
type Commands int

// Table are the settings of a program, in the order in which they are shown.
type Table []Row

// EnvironmentVariables lists the variables that set r. The first that is not
// empty counts. prefix is that of the program's variables, such as RKAT_.
func (r Row) EnvironmentVariables(prefix string) []string {
	if r.FileOnly {
		return nil
	}
	return append(
		slices.Clone(r.Variables), prefix+strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(r.Key)),
	)
}

// Parse reads a value of r. The error of a secret does not repeat the value.
func (r Row) Parse(v any) (any, error) {
	var err error
	switch {
	case r.Read != nil:
		v, err = r.Read(v)
	case r.Choices != nil:
		err = CheckChoice(v, r.Choices)
	default:
		if _, isText := v.(string); !isText {
			err = fmt.Errorf("%v is not a text", v)
		}
	}
	if err != nil && r.Secret {
		form := r.Form
		if form == "" {
			form = "a text"
		}
		err = errors.New("it is not " + form)
	}
	return v, err
}

// CheckChoice refuses a value that is none of the choices.
func CheckChoice(v any, choices []string) error {
	if text, ok := v.(string); ok && slices.Contains(choices, text) {
		return nil
	}
	return fmt.Errorf("%v is none of %s%s", v, strings.Join(choices, ", "), spelling.Hint(fmt.Sprint(v), choices))
}

// Find returns the row of a key.
func (t Table) Find(key string) (Row, bool) {
	if i := slices.IndexFunc(t, func(r Row) bool { return r.Key == key }); i >= 0 {
		return t[i], true
	}
	return Row{}, false
}

// HasSection reports whether path is the beginning of keys.
func (t Table) HasSection(path string) bool {
	return slices.ContainsFunc(t, func(r Row) bool { return strings.HasPrefix(r.Key, path+".") })
}

// Variables lists the variables of all rows.
func (t Table) Variables(prefix string) (names []string) {
	for _, r := range t {
		names = append(names, r.EnvironmentVariables(prefix)...)
	}
	return names
}

// UnknownKey returns the error about a key that is not in the table: with the key that was
// probably meant, with one that has the same last word, or with those of its section.
func (t Table) UnknownKey(key string) error {
	last := func(key string) string { return key[strings.LastIndex(key, ".")+1:] }
	section, _, _ := strings.Cut(key, ".")
	var known, near []string
	for _, r := range t {
		above, _, _ := strings.Cut(r.Key, ".")
		known = append(known, r.Key, above)
		if rest, ok := strings.CutPrefix(r.Key, section+"."); ok {
			near = append(near, rest)
		}
	}
	if meant := spelling.Nearest(key, known); meant != "" {
		return fmt.Errorf("%s: unknown key; did you mean %s?", key, meant)
	}
	if i := slices.IndexFunc(t, func(r Row) bool { return last(r.Key) == last(key) }); i >= 0 {
		return fmt.Errorf("%s: unknown key; perhaps one of %s", key, t[i].Key)
	}
	if len(near) > 0 {
		return fmt.Errorf("%s: unknown key; perhaps one of %s.%s", key, section, strings.Join(near, ", "))
	}
	return fmt.Errorf("%s: unknown key", key)
}

// Markdown returns the table as the documentation shows it.
func (t Table) Markdown(prefix string) string {
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + text + "`"
	}
	var out strings.Builder
	out.WriteString("| key | flag | variable | default | |\n|---|---|---|---|---|\n")
	for _, r := range t {
		flag, variable, value := "", "", ""
		if r.Flag != "" {
			flag = "--" + r.Flag
		}
		if !r.FileOnly {
			variable = r.EnvironmentVariables(prefix)[0]
		}
		if r.Default != nil {
			value = fmt.Sprint(r.Default)
		}
		help := strings.NewReplacer("`", "", "|", `\|`, "*", `\*`).Replace(r.Help)
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", code(r.Key), code(flag), code(variable), code(value), help)
	}
	return out.String()
}
