package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/viper"
)

// Layer names where a value comes from, from the weakest on.
type Layer string

// The layers of seed 001 §11.
const (
	Default     Layer = "default"
	User        Layer = "user"
	Project     Layer = "project"
	Given       Layer = "file" // --config
	Environment Layer = "environment"
	Flag        Layer = "flag"
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
	// Flags are values by key, such as "agent.model"; Names says which flag it
	// was, for messages.
	Flags map[string]any
	Names map[string]string
	// Trust lets the project's file set everything.
	Trust bool
}

// Loaded is a Config and where each of its values comes from.
type Loaded struct {
	Config
	// Files are the files that were read, the strongest last.
	Files   []string
	sources map[string]Source
	values  map[string]any
	home    string // "" if it is not known
}

// Load reads all layers. An error names the file, variable or flag, the key and
// what is wrong; see also *TrustError.
func Load(o Options) (*Loaded, error) {
	l := &Loaded{sources: map[string]Source{}, values: map[string]any{}, home: home(o.Env)}
	for _, k := range keys {
		if k.basic != nil {
			l.set(k, k.basic, Source{Layer: Default})
		}
	}
	for _, read := range []func(Options) error{l.files, l.environment, l.flags} {
		if err := read(o); err != nil {
			return nil, err
		}
	}
	return l, l.fill()
}

func (l *Loaded) set(k key, value any, from Source) {
	l.values[k.name], l.sources[k.name] = value, from
}

// take reads one value into the setting k.
func (l *Loaded) take(k key, value any, from Source) error {
	parsed, err := k.read(value)
	if err != nil && k.secret {
		err = errors.New("it is not a text") // never the value
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", from.Where, k.name, err)
	}
	if k.path {
		parsed = l.atHome(parsed)
	}
	l.set(k, parsed, from)
	return nil
}

// atHome puts the user's home in the place of ~ at the beginning of paths.
func (l *Loaded) atHome(v any) any {
	switch v := v.(type) {
	case string:
		if rest, ok := strings.CutPrefix(v, "~/"); ok && l.home != "" {
			return filepath.Join(l.home, rest)
		}
	case []string:
		out := make([]string, len(v))
		for i := range v {
			out[i] = l.atHome(v[i]).(string)
		}
		return out
	}
	return v
}

// fill lays the values into the Config.
func (l *Loaded) fill() error {
	v := viper.New()
	for name, value := range l.values {
		v.Set(name, value)
	}
	if err := v.UnmarshalExact(&l.Config); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	return nil
}

// UserFile returns the path of the user's file: $XDG_CONFIG_HOME or ~/.config,
// and meerkat/config.toml in it; "" if neither is known.
func UserFile(env map[string]string) string {
	if dir := env["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "meerkat", "config.toml")
	}
	if home := home(env); home != "" {
		return filepath.Join(home, ".config", "meerkat", "config.toml")
	}
	return ""
}

func home(env map[string]string) string { return cmp.Or(env["HOME"], env["USERPROFILE"]) }

// ProjectFile returns the first .rkat/config.toml in dir or above it, "" if
// there is none.
func ProjectFile(dir string) string {
	for dir != "" {
		path := filepath.Join(dir, ".rkat", "config.toml")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
	return ""
}

func (l *Loaded) files(o Options) error {
	if o.File != "" {
		return l.file(o, o.File, Given)
	}
	if path := UserFile(o.Env); path != "" {
		if err := l.file(o, path, User); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if o.Dir == "" {
		return nil
	}
	if path := ProjectFile(o.Dir); path != "" && path != UserFile(o.Env) {
		return l.file(o, path, Project)
	}
	return nil
}

// maxFile bounds a configuration file in bytes.
const maxFile = 4 << 20

func (l *Loaded) file(o Options, path string, layer Layer) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	if info.Size() > maxFile {
		return fmt.Errorf("%s: larger than %d MB; a configuration is not", path, maxFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	values, err := Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	l.Files = append(l.Files, path)
	trusted := layer != Project || o.Trust || l.trusts(path)
	for _, k := range keys {
		value, ok := values[k.name]
		if !ok {
			continue
		}
		if !trusted && (k.risk != "" || hasVariable(value)) {
			return newTrustError(path, k)
		}
		if value, err = Expand(value, o.Env); err != nil {
			return fmt.Errorf("%s: %s: %w", path, k.name, err)
		}
		if err := l.take(k, value, Source{layer, path}); err != nil {
			return err
		}
	}
	return nil
}

// Parse reads a file into values by key and refuses keys that it does not
// know. The values are as TOML has them.
func Parse(data []byte) (map[string]any, error) {
	var tree map[string]any
	data = bytes.TrimPrefix(data, []byte("\uFEFF")) // some editors put it there
	if err := toml.Unmarshal(data, &tree); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			row, column := at.Position()
			return nil, fmt.Errorf("line %d, column %d: %s", row, column, at.Error())
		}
		return nil, err
	}
	values := map[string]any{}
	return values, flatten(values, "", tree)
}

func flatten(values map[string]any, section string, tree map[string]any) error {
	for _, name := range sortedKeys(tree) {
		path := section + name
		if _, known := lookup(path); known {
			values[path] = tree[name]
			continue
		}
		table, isTable := tree[name].(map[string]any)
		if !isTable || !isSection(path) {
			return unknown(path)
		}
		if err := flatten(values, path+".", table); err != nil {
			return err
		}
	}
	return nil
}

func unknown(path string) error {
	if near := nearest(path); near != "" {
		return fmt.Errorf("%s: unknown key; perhaps one of %s", path, near)
	}
	return fmt.Errorf("%s: unknown key", path)
}

func isSection(path string) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return strings.HasPrefix(k.name, path+".") })
}

func (l *Loaded) environment(o Options) error {
	for _, k := range keys {
		if k.name == trustedProjects {
			continue // files were read before: it would come too late
		}
		for _, name := range k.environment() {
			if value := o.Env[name]; value != "" {
				if err := l.take(k, value, Source{Environment, name}); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

func (l *Loaded) flags(o Options) error {
	for _, name := range sortedKeys(o.Flags) {
		k, ok := lookup(name)
		if !ok {
			return fmt.Errorf("%s: unknown key", name)
		}
		where := o.Names[name]
		if where == "" {
			where = name
		}
		if err := l.take(k, o.Flags[name], Source{Flag, where}); err != nil {
			return err
		}
	}
	return nil
}
