package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/viper"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/config/setting"
	"github.com/meerkat-go/conformance/meerkat/provider"
)

// prefix is that of the variables.
const prefix = "RKAT_"

// Layer names where a value comes from, from the weakest on.
type Layer string

// The layers.
const (
	Default     Layer = "default"
	User        Layer = "user"
	Project     Layer = "project"
	Given       Layer = "file" // --config
	Environment Layer = "environment"
	Flag        Layer = "flag"
	Option      Layer = "option" // a value that a program gives
)

// Source says where a value comes from: the layer, and the file, variable or
// flag in it.
type Source struct {
	Layer Layer  `json:"layer"`
	Where string `json:"where,omitempty"`
}

// Options say where to look. Nothing else is looked at.
type Options struct {
	Env map[string]string
	// Dir is where the search for a project's .rkat/config.toml begins; it goes
	// up to the root. "" searches for none.
	Dir string
	// File is read instead of the user's and the project's file.
	File string
	// Flags are values by key, such as "agent.model"; Names says by key which flag
	// it was, for messages.
	Flags map[string]any
	Names map[string]string
	// Values are values by key that a program gives. They are stronger than
	// everything else and have the types of package config's fields, or those that
	// a file has.
	Values map[string]any
	// Table has the settings; nil: those of Table.
	Table setting.Table
	// Trust lets the project's file set everything.
	Trust bool
}

// Loaded is a Config and where each of its values comes from.
type Loaded struct {
	Config
	// Files are the files that were read, the strongest last.
	Files []string

	table    setting.Table
	layers   *viper.Viper // the values by key
	sources  map[string]Source
	home     string // "" if it is not known
	dataHome string // $XDG_DATA_HOME
}

// Load reads all layers. An error names the file, variable or flag, the key and
// what is wrong; see also *TrustError.
func Load(o Options) (*Loaded, error) {
	l := &Loaded{
		Config: Config{Agent: agent.Config{Retry: provider.DefaultRetry}}, // no setting sets the rest of it
		table:  o.Table, layers: viper.New(), sources: map[string]Source{},
		home: homeFolder(o.Env), dataHome: o.Env["XDG_DATA_HOME"],
	}
	if l.table == nil {
		l.table = Table()
	}
	for _, s := range l.table {
		if s.Default != nil {
			l.layers.SetDefault(s.Key, s.Default)
			l.sources[s.Key] = Source{Layer: Default}
		}
	}
	for _, readLayer := range []func(Options) error{l.readFiles, l.readEnvironment, l.readFlags, l.readValues} {
		if err := readLayer(o); err != nil {
			return nil, err
		}
	}
	// Put each value into the field that its setting names.
	for _, s := range tableOf(&l.Config) {
		if value := l.layers.Get(s.Key); value != nil && s.Field != nil {
			assignValue(reflect.ValueOf(s.Field).Elem(), reflect.ValueOf(value))
		}
	}
	l.convertSpecialValues()
	return l, nil
}

// setValue reads the value of s in one layer. Layers come from the weakest to the
// strongest.
func (l *Loaded) setValue(s setting.Row, value any, from Source) error {
	parsed, err := s.Parse(value)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", from.Where, s.Key, err)
	}
	if s.Path {
		parsed = l.expandHome(parsed)
	}
	l.sources[s.Key] = from
	if from.Layer == Flag || from.Layer == Option {
		l.layers.Set(s.Key, parsed)
		return nil
	}
	return l.layers.MergeConfigMap(nestValue(s.Key, parsed))
}

// nestValue returns {"a": {"b": value}} for the key a.b.
func nestValue(key string, value any) map[string]any {
	section, rest, nested := strings.Cut(key, ".")
	if !nested {
		return map[string]any{key: value}
	}
	return map[string]any{section: nestValue(rest, value)}
}

// expandHome replaces ~ at the beginning of paths by the user's home.
func (l *Loaded) expandHome(v any) any {
	switch v := v.(type) {
	case string:
		if rest, ok := strings.CutPrefix(v, "~/"); ok && l.home != "" {
			return filepath.Join(l.home, rest)
		}
	case []string:
		out := make([]string, len(v))
		for i := range v {
			out[i] = l.expandHome(v[i]).(string)
		}
		return out
	}
	return v
}

// assignValue sets a field; the type of the field differs from that of the value
// at most by its name or by being a pointer.
func assignValue(field, value reflect.Value) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	field.Set(value.Convert(field.Type()))
}

func (l *Loaded) readEnvironment(o Options) error {
	// Variables that look like settings and are none are refused.
	known := l.table.Variables(prefix)
	for _, name := range slices.Sorted(maps.Keys(o.Env)) {
		if strings.HasPrefix(name, prefix) && !slices.Contains(known, name) {
			return fmt.Errorf("%s: no setting has this variable; %s", name, adviceFor(name, known, "unset it"))
		}
	}
	for _, s := range l.table {
		for _, name := range s.EnvironmentVariables(prefix) {
			if value := o.Env[name]; value != "" {
				if err := l.setValue(s, value, Source{Environment, name}); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

func (l *Loaded) readFlags(o Options) error {
	for _, key := range sortedKeys(o.Flags) {
		s, ok := l.table.Find(key)
		if !ok {
			return fmt.Errorf("%s: unknown key", key)
		}
		if err := l.setValue(s, o.Flags[key], Source{Flag, cmp.Or(o.Names[key], key)}); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loaded) readValues(o Options) error {
	for _, key := range sortedKeys(o.Values) {
		s, ok := l.table.Find(key)
		if !ok {
			return fmt.Errorf("option: %w", l.table.UnknownKey(key))
		}
		if err := l.setValue(s, o.Values[key], Source{Option, "option"}); err != nil {
			return err
		}
	}
	return nil
}
