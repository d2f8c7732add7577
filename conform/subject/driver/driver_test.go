package driver

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// shell returns a driver that is a shell script.
func shell(script string) Config {
	return Config{Args: []string{"sh", "-c", script}, Path: os.Getenv("PATH")}
}

func TestHello(t *testing.T) {
	agent, err := New(t.Context(),
		shell(`echo banner; read line; echo '{"type":"hello_ok","id":1,"name":"x","version":"2","abilities":["tools","later"],"newer":{}}'; read line; exit 0`))
	if err != nil {
		t.Fatal(err)
	}
	about := agent.About()
	if about.Name != "x" || about.Version != "2" || !about.Can(specs.AbilityTools) || len(about.Abilities) != 1 ||
		about.Providers != nil {
		t.Errorf("%+v", about)
	}
}

func TestBadDrivers(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"dies":     {"echo broken >&2; exit 3", "ended before it answered hello (exit code 3): broken"},
		"garbage":  {"read x; yes garbage | head -2000", "lines that are not answers"},
		"long":     {"read x; head -c 9000000 /dev/zero", "a line of more than 8 MiB"},
		"error":    {`read x; echo '{"type":"error","id":1,"message":"no key"}'`, "no key"},
		"no id":    {`read x; echo '{"type":"hello_ok"}'`, "without the id"},
		"a type":   {`read x; echo '{"type":"hi","id":1}'`, `of the type "hi"`},
		"provider": {`read x; echo '{"type":"hello_ok","id":1,"providers":["acme"]}'; read x`, `the provider "acme"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(t.Context(), shell(c.script))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestExamplesSayHello(t *testing.T) {
	for program, file := range map[string]string{"python3": "agent.py", "node": "agent.mjs"} {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(program + " is not installed")
			}
			agent, err := New(t.Context(), Config{Args: []string{program, example(t, file)}})
			if err != nil {
				t.Fatal(err)
			}
			if about := agent.About(); about.Level() != "L4" {
				t.Errorf("%+v", about)
			}
		})
	}
}

func example(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(dir, "conform/subject/driver") + "docs/examples/driver/" + name
}

func FuzzAnswers(f *testing.F) {
	f.Add("warning\n{\"type\":\"ok\",\"id\":1}\n")
	f.Add(`{"type":"ok","id":1,"session":[1]}`)
	f.Add("{\"type\":3,\"id\":1}\n{}\nnull\n")
	f.Fuzz(func(t *testing.T, text string) {
		in := newAnswerReader(strings.NewReader(text))
		for range len(text) + 2 {
			a, err := in.nextAnswer()
			if err != nil {
				return
			}
			if a.ID < 1 || a.Type == "" {
				t.Fatalf("%+v is no answer", a)
			}
		}
		t.Fatal("the reader does not end")
	})
}
