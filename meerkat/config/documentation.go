package config

import (
	"fmt"
	"strings"
)

// Markdown returns table as the documentation shows it.
func Markdown(table []Setting) string {
	var out strings.Builder
	out.WriteString("| key | flag | variable | default | |\n|---|---|---|---|---|\n")
	for _, s := range table {
		flag, variable, value := "", "", ""
		if s.Flag != "" {
			flag = "`--" + s.Flag + "`"
		}
		if !s.inFile {
			variable = "`" + s.EnvironmentVariables()[0] + "`"
		}
		if s.Default != nil {
			value = fmt.Sprintf("`%v`", s.Default)
		}
		help := strings.NewReplacer("`", "", "|", `\|`, "*", `\*`).Replace(s.Help)
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", s.Key, flag, variable, value, help)
	}
	return out.String()
}
