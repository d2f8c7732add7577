package cli

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

	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/meerkat/config/setting"
)

// Settings fills the flags that the command line left alone: from the environment
// variable PROGRAM_FLAG_NAME, else from a YAML file of settings named like flags.
// The declaration of a flag is the only place where a setting is added: help,
// manual page, variable and file follow from it. Every flag is a setting but those
// marked by [CommandLineOnly] and the ones that the frame adds itself.
type Settings struct {
	// Files are looked for in the working directory when --config names none. At
	// most one of them may exist.
	Files []string
	// Variables are environment variables with the program's prefix that are no
	// flags.
	Variables []string
	// Refuse says why a value must not be a setting, "" when it may. It may be
	// nil. What it returns must not quote the value.
	Refuse func(f *Frame, value string) string
}

const (
	commandLineOnly = "cli_command_line_only"
	filledIn        = "cli_filled_in"
)

// GivenFlags returns the names of the flags that stood on the command line, not
// those that a variable or a file filled.
func GivenFlags(cmd *cobra.Command) (names []string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Annotations[filledIn] == nil {
			names = append(names, flag.Name)
		}
	})
	return names
}

// CommandLineOnly marks flags that no variable and no file sets.
func CommandLineOnly(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, commandLineOnly, []string{"true"}); err != nil {
			panic(err) // a mistake in the program: the flag is declared before
		}
	}
}

// isSetting reports whether a flag can be set by a variable and a file.
func isSetting(flag *pflag.Flag) bool {
	own := []string{"config", "help", "version", "quiet", "verbose", "raw"}
	return flag.Annotations[commandLineOnly] == nil && !slices.Contains(own, flag.Name)
}

func (s *Settings) addConfigFlag(root *cobra.Command) {
	root.PersistentFlags().StringP(
		"config", "c", "",
		"`file` of settings named like flags (default "+strings.Join(s.Files, " or ")+", where there is one)",
	)
}

func (f *Frame) variablePrefix() string { return strings.ToUpper(f.Program.Name) + "_" }

// applySettings sets the flags of cmd that the command line left alone.
func (f *Frame) applySettings(cmd *cobra.Command) error {
	known := settingsOf(cmd.Root())
	if err := f.checkVariables(known); err != nil {
		return err
	}
	path, err := f.configPath(cmd)
	if err != nil {
		return err
	}
	file, err := readSettings(path, known)
	if err != nil {
		return err
	}
	var used []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if err != nil || flag.Changed || !isSetting(flag) {
			return
		}
		variable := rowOf(flag).EnvironmentVariables(f.variablePrefix())[0]
		if value := f.Getenv(variable); value != "" {
			err = f.applySetting(cmd, flag, variable, value)
		} else if file.IsSet(flag.Name) {
			used = append(used, flag.Name)
			err = f.applySetting(cmd, flag, path+": "+flag.Name, file.Get(flag.Name))
		}
	})
	if len(used) > 0 && err == nil {
		f.Note("from %s: %s", path, strings.Join(used, ", "))
	}
	return err
}

// checkVariables refuses variables that are nearly the one of a flag: a gate that
// is switched on by a misspelt name would be off. Others may belong to another tool.
func (f *Frame) checkVariables(settings setting.Table) error {
	prefix := f.variablePrefix()
	known := slices.Concat([]string{prefix + "CONFIG"}, f.Program.Settings.Variables, settings.Variables(prefix))
	bare := make([]string, len(known))
	for i, name := range known {
		bare[i] = strings.TrimPrefix(name, prefix)
	}
	for _, kv := range f.Environ {
		name, value, _ := strings.Cut(kv, "=")
		rest, ours := strings.CutPrefix(name, prefix)
		if value == "" || !ours || slices.Contains(bare, rest) {
			continue
		}
		if meant := spelling.Nearest(rest, bare); meant != "" {
			return Usage("%s: unknown; %s is meant, or rename it", name, prefix+meant)
		}
	}
	return nil
}

// configPath is the file to read, "" for none.
func (f *Frame) configPath(cmd *cobra.Command) (string, error) {
	if flag := cmd.Flags().Lookup("config"); flag != nil && flag.Changed {
		return flag.Value.String(), nil
	}
	if path := f.Getenv(f.variablePrefix() + "CONFIG"); path != "" {
		return path, nil
	}
	var found []string
	for _, name := range f.Program.Settings.Files {
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
	return "", Usage("%s: both are here; keep one, or name one with --config", strings.Join(found, ", "))
}

// readSettings reads a file of settings. A name that no command knows is refused:
// a misspelt gate would pass everything.
func readSettings(path string, known setting.Table) (*viper.Viper, error) {
	v := viper.New()
	if path == "" {
		return v, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Usage("%s: does not exist; name a configuration file that does with --config", path)
	}
	if err != nil {
		return nil, Unreadable(path, err)
	}
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(data)); err != nil {
		line, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "While parsing config: "), "\n")
		return nil, Usage("%s: not YAML settings: %s", path, line)
	}
	for _, key := range slices.Sorted(slices.Values(v.AllKeys())) {
		name, _, _ := strings.Cut(key, ".")
		if _, isKnown := known.Find(name); !isKnown {
			return nil, Usage("%s: %s: unknown; %s", path, name, settingAdvice(name, known))
		}
	}
	return v, nil
}

// settingAdvice names the setting that was meant, or all of them.
func settingAdvice(name string, known setting.Table) string {
	var names []string
	for _, row := range known {
		names = append(names, row.Key)
	}
	if meant := spelling.Nearest(name, names); meant != "" {
		return meant + " is meant"
	}
	return "the settings are the flags: " + strings.Join(names, ", ")
}

// rowOf returns the setting that a flag is.
func rowOf(flag *pflag.Flag) setting.Row {
	return setting.Row{Key: flag.Name, Flag: flag.Name, Shorthand: flag.Shorthand, Help: flag.Usage}
}

// settingsOf lists the flags of all commands that are settings, by their names.
func settingsOf(root *cobra.Command) (rows setting.Table) {
	WalkCommands(root, func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if _, have := rows.Find(flag.Name); isSetting(flag) && !flag.Hidden && !have {
				rows = append(rows, rowOf(flag))
			}
		})
	})
	slices.SortFunc(rows, func(a, b setting.Row) int { return strings.Compare(a.Key, b.Key) })
	return rows
}

// keyOfSetting annotates a flag with the key that it sets.
const keyOfSetting = "cli_setting"

// BindSettings adds to flags each row of table that is meant for group, and completes the values of rows
// that have choices. A flag keeps its value as text; [VisitSettings] reports the flags that were given,
// and their texts are parsed like those of environment variables and settings files.
func BindSettings(cmd *cobra.Command, flags *pflag.FlagSet, table setting.Table, group setting.Commands) {
	for _, s := range table {
		if s.Flag == "" || s.Commands != group {
			continue
		}
		if s.Repeated {
			flags.StringArrayP(s.Flag, s.Shorthand, nil, s.Help)
		} else {
			flags.StringP(s.Flag, s.Shorthand, "", s.Help)
		}
		flag := flags.Lookup(s.Flag)
		flag.Annotations = map[string][]string{keyOfSetting: {s.Key}}
		if s.Switch {
			flag.NoOptDefVal = "true"
		}
		if s.Choices != nil {
			// the flag is there
			_ = cmd.RegisterFlagCompletionFunc(
				s.Flag, cobra.FixedCompletions(s.Choices, cobra.ShellCompDirectiveNoFileComp),
			)
		}
	}
}

// VisitSettings calls visit with the key, the flag and the value of each setting that stands on
// the command line: a text, or a list for a flag that may be repeated. An empty text sets
// nothing, as in the environment.
func VisitSettings(flags *pflag.FlagSet, visit func(key, flag string, value any)) {
	flags.Visit(func(flag *pflag.Flag) {
		key := flag.Annotations[keyOfSetting]
		if key == nil || flag.Value.String() == "" {
			return
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			visit(key[0], flag.Name, list.GetSlice())
			return
		}
		visit(key[0], flag.Name, flag.Value.String())
	})
}

// WalkCommands visits a command and all below it, but not those that cobra adds.
func WalkCommands(cmd *cobra.Command, visit func(*cobra.Command)) {
	if cmd.Name() == "completion" || cmd.Name() == "help" {
		return
	}
	visit(cmd)
	for _, sub := range cmd.Commands() {
		WalkCommands(sub, visit)
	}
}

// applySetting gives a flag a value from a variable or a file, which from names.
func (f *Frame) applySetting(cmd *cobra.Command, flag *pflag.Flag, from string, value any) error {
	texts, err := settingTexts(value)
	if err != nil {
		return Usage("%s: %w", from, err)
	}
	for _, text := range texts {
		if refuse := f.Program.Settings.Refuse; refuse != nil {
			if why := refuse(f, text); why != "" {
				return Usage("%s: %s", from, why)
			}
		}
	}
	if err := cmd.Flags().SetAnnotation(flag.Name, filledIn, []string{from}); err != nil {
		return err
	}
	_, isText := value.(string)
	list, isList := flag.Value.(pflag.SliceValue)
	switch {
	case isList && !isText:
		err = list.Replace(texts)
		flag.Changed = true
	case len(texts) == 1:
		err = cmd.Flags().Set(flag.Name, texts[0])
	default:
		return Usage("%s: takes one value, not a list", from)
	}
	switch inner := errors.Unwrap(err); {
	case err == nil:
		return nil
	case flag.Value.Type() == "bool":
		return Usage("%s: %q: use true or false", from, texts[0])
	case inner != nil:
		return Usage("%s: %w", from, inner)
	}
	return Usage("%s: %w", from, err)
}

// settingTexts returns the scalars of a setting, as flags are written.
func settingTexts(value any) (texts []string, err error) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			inner, err := settingTexts(element)
			if err != nil || len(inner) != 1 {
				return nil, errors.New("a list holds single values")
			}
			texts = append(texts, inner...)
		}
		return texts, nil
	case string, bool, int, int64, uint64, float64:
		return []string{fmt.Sprint(v)}, nil
	}
	return nil, errors.New("use a single value or a list of them")
}
