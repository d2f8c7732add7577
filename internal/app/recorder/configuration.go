package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// configFiles are looked for in the working directory when --config names none.
var configFiles = []string{"recorder.yaml", ".recorder.yaml"}

// notConfigured are flags that a file or a variable cannot set.
var notConfigured = []string{"config", "help", "version", "json"}

// configure sets the flags that the command line left alone: by their RECORDER_*
// variables, else by the configuration file.
func (a *app) configure(cmd *cobra.Command) error {
	a.note(cmd)
	known := flagNames(cmd.Root())
	if err := a.misspelt(known); err != nil {
		return err
	}
	path, err := a.configPath(cmd)
	if err != nil {
		return err
	}
	settings, err := a.readConfig(path, known)
	if err != nil {
		return err
	}
	var used []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if err != nil || flag.Changed || slices.Contains(notConfigured, flag.Name) {
			return
		}
		if value := a.getenv(variable(flag.Name)); value != "" {
			err = a.set(cmd, flag, variable(flag.Name), value)
		} else if settings.IsSet(flag.Name) {
			used = append(used, flag.Name)
			err = a.set(cmd, flag, path+": "+flag.Name, settings.Get(flag.Name))
		}
	})
	if len(used) > 0 && err == nil {
		a.say("from %s: %s", path, strings.Join(used, ", "))
	}
	return err
}

// variable is the environment variable for a flag.
func variable(flag string) string {
	return "RECORDER_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// configPath is the file to read, "" for none.
func (a *app) configPath(cmd *cobra.Command) (string, error) {
	if flag := cmd.Flags().Lookup("config"); flag != nil && flag.Changed {
		return flag.Value.String(), nil
	}
	if path := a.getenv(variable("config")); path != "" {
		return path, nil
	}
	var found []string
	for _, name := range configFiles {
		if _, err := os.Lstat(name); err == nil {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", usage("%s: both are here; keep one, or name one with --config", strings.Join(found, ", "))
}

// readConfig reads a file of settings named like flags. What no command knows
// is refused: a misspelt gate would pass everything.
func (a *app) readConfig(path string, known []string) (*viper.Viper, error) {
	v := viper.New()
	if path == "" {
		return v, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usage("%s: does not exist; name a configuration file that does with --config", path)
		}
		return nil, usage("%s: cannot be read: %w", path, fileutil.Reason(err))
	}
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(data)); err != nil {
		line, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "While parsing config: "), "\n")
		return nil, usage("%s: not YAML settings: %s", path, line)
	}
	for _, key := range slices.Sorted(slices.Values(v.AllKeys())) {
		if name, _, _ := strings.Cut(key, "."); !slices.Contains(known, name) {
			return nil, usage("%s: %s: unknown; the settings are the flags: %s", path, name, strings.Join(known, ", "))
		}
	}
	return v, nil
}

// flagNames lists the flags of all commands that can be configured.
func flagNames(root *cobra.Command) (names []string) {
	note := func(flag *pflag.Flag) {
		if !slices.Contains(notConfigured, flag.Name) && !flag.Hidden {
			names = append(names, flag.Name)
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(note)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	slices.Sort(names)
	return slices.Compact(names)
}

// set gives flag a value from elsewhere, which from names.
func (a *app) set(cmd *cobra.Command, flag *pflag.Flag, from string, value any) error {
	texts, err := texts(value)
	if err != nil {
		return usage("%s: %w", from, err)
	}
	for _, text := range texts {
		if a.secretIn(text) {
			return usage("%s: holds a secret, which belongs in the environment of the program that needs it", from)
		}
	}
	list, many := flag.Value.(pflag.SliceValue)
	switch {
	case many && fmt.Sprintf("%T", value) != "string":
		err = list.Replace(texts)
		flag.Changed = true
	case len(texts) == 1:
		err = cmd.Flags().Set(flag.Name, texts[0])
	default:
		return usage("%s: takes one value, not a list", from)
	}
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		if flag.Value.Type() == "bool" {
			return usage("%s: %q: use true or false", from, texts[0])
		}
		return usage("%s: %w", from, err)
	}
	return nil
}

// texts are the scalars of a setting, as flags are written.
func texts(value any) ([]string, error) {
	switch v := value.(type) {
	case []any:
		var out []string
		for _, element := range v {
			inner, err := texts(element)
			if err != nil || len(inner) != 1 {
				return nil, errors.New("a list holds single values")
			}
			out = append(out, inner...)
		}
		return out, nil
	case string, bool, int, int64, uint64, float64:
		return []string{fmt.Sprint(v)}, nil
	}
	return nil, errors.New("use a single value or a list of them")
}

// secretIn reports whether a setting holds what must not lie about in files.
func (a *app) secretIn(text string) bool {
	guard := gate.New()
	for _, secret := range a.secrets() {
		guard.Learn(secret)
	}
	return guard.Check(cassette.Interaction{Request: cassette.Request{URL: text}}) != nil
}
