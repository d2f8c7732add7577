package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/meerkat-go/conformance/meerkat/config/setting"
)

// userFile returns the path of the user's file: $XDG_CONFIG_HOME or ~/.config,
// and meerkat/config.toml in it; "" if neither is known.
func userFile(env map[string]string) string {
	if dir := env["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "meerkat", "config.toml")
	}
	if home := homeFolder(env); home != "" {
		return filepath.Join(home, ".config", "meerkat", "config.toml")
	}
	return ""
}

func homeFolder(env map[string]string) string { return cmp.Or(env["HOME"], env["USERPROFILE"]) }

// projectFile returns the first .rkat/config.toml in dir or above it, "" if
// there is none.
func projectFile(dir string) string {
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

func (l *Loaded) readFiles(o Options) error {
	if o.File != "" {
		return l.readFile(o, o.File, Given)
	}
	if path := userFile(o.Env); path != "" {
		if err := l.readFile(o, path, User); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if o.Dir == "" {
		return nil
	}
	if path := projectFile(o.Dir); path != "" && path != userFile(o.Env) {
		return l.readFile(o, path, Project)
	}
	return nil
}

// maxFile bounds a configuration file in bytes.
const maxFile = 4 << 20

func (l *Loaded) readFile(o Options, path string, layer Layer) error {
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
	values, err := parseFile(l.table, data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	l.Files = append(l.Files, path)
	trusted := layer != Project || o.Trust || l.isTrusted(path)
	for _, s := range l.table {
		value, ok := values[s.Key]
		if !ok {
			continue
		}
		if !trusted && (s.Risk != "" || hasVariable(value)) {
			risk := s.Risk
			if risk == "" {
				risk = "it would send a variable of your environment to a provider"
			}
			return &TrustError{path, s.Key, risk}
		}
		if value, err = expandVariables(value, o.Env); err != nil {
			return fmt.Errorf("%s: %s: %w", path, s.Key, err)
		}
		if err := l.setValue(s, value, Source{layer, path}); err != nil {
			return err
		}
	}
	return nil
}

// parseFile reads TOML into values by key and refuses keys that are not in the
// table. The values have the types that TOML gives them.
func parseFile(table setting.Table, data []byte) (map[string]any, error) {
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
	return values, flattenTree(table, values, "", tree)
}

// flattenTree puts the values below a section into values by key.
func flattenTree(table setting.Table, values map[string]any, section string, tree map[string]any) error {
	for _, name := range sortedKeys(tree) {
		path := section + name
		if _, known := table.Find(path); known {
			values[path] = tree[name]
			continue
		}
		below, isTable := tree[name].(map[string]any)
		if !isTable || !table.HasSection(path) {
			return table.UnknownKey(path)
		}
		if err := flattenTree(table, values, path+".", below); err != nil {
			return err
		}
	}
	return nil
}
