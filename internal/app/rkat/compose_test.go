package rkat

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/meerkat/server"
)

const composeFile = "../../../docs/examples/replicas.compose.yaml"

// composition is what the tests read of a Compose file.
type composition struct {
	Services map[string]struct {
		Image       string
		Command     []string
		WorkingDir  string `yaml:"working_dir"`
		Volumes     []string
		Ports       []string
		Environment map[string]string
		DependsOn   yaml.Node `yaml:"depends_on"`
	}
	Volumes map[string]any
}

func readComposition(t *testing.T) (c composition, text string) {
	t.Helper()
	data, err := os.ReadFile(composeFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Services) == 0 {
		t.Fatal("no services")
	}
	return c, string(data)
}

// TestComposeNames: what the services of the Compose file name exists: other services,
// volumes, files, and the variables that its head tells the user to set.
func TestComposeNames(t *testing.T) {
	c, text := readComposition(t)
	for name, s := range c.Services {
		for _, n := range s.DependsOn.Content {
			if n.Kind == yaml.ScalarNode && c.Services[n.Value].Image == "" {
				t.Errorf("%s depends on %s, which is no service", name, n.Value)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			_, isNamed := c.Volumes[source]
			if _, err := os.Stat(filepath.Join(filepath.Dir(composeFile), source)); isNamed == (err == nil) {
				t.Errorf("%s: volume %s: named %v, %v", name, source, isNamed, err)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: other machines reach port %s", name, p)
			}
		}
	}
	head, _, _ := strings.Cut(text, "services:")
	for _, m := range regexp.MustCompile(`\$\{([A-Z_]+)(:\?[^}]+)?\}`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(head, m[1]+"=") {
			t.Errorf("%s: the head does not say how to set it", m[1])
		}
	}
}

// TestComposeReplica: rkat takes the command and the environment of a replica, which leads
// it to the database, and the balancer leads to the replica.
func TestComposeReplica(t *testing.T) {
	c, _ := readComposition(t)
	replica, database, balancer := c.Services["replica"], c.Services["database"], c.Services["balancer"]
	script := replica.Command[len(replica.Command)-1]
	build, serve, ok := strings.Cut(script, "/tmp/rkat serve ")
	if _, err := os.Stat("../../../cmd/rkat"); !ok || err != nil || !strings.Contains(build, " ./cmd/rkat ") ||
		!slices.Contains(replica.Volumes, "../..:"+replica.WorkingDir+":ro") {
		t.Errorf("%s, %v", script, err)
	}
	b := allBackends
	var asked string
	b.ExamineDatabase = func(_ context.Context, url string) (server.DatabaseInfo, error) {
		asked = url
		return server.DatabaseInfo{Name: "x"}, nil
	}
	env := []string{"HOME=" + t.TempDir()}
	set := regexp.MustCompile(`\$\{([A-Z_]+)[^}]*\}`)
	for name, value := range replica.Environment {
		env = append(env, name+"="+set.ReplaceAllString(value, "0123456789abcdef-of-$1"))
	}
	for _, args := range [][]string{append(append([]string{"serve"}, strings.Fields(serve)...), "--help"), {"doctor"}} {
		var out, errs bytes.Buffer
		if code := b.Run(t.Context(), args, strings.NewReader(""), &out, &errs, env); code != 0 {
			t.Errorf("%v: exit %d: %s", args, code, errs.String())
		}
	}
	u, err := url.Parse(asked)
	if err != nil || u.Hostname() != "database" || u.User.Username() != database.Environment["POSTGRES_USER"] ||
		u.Path != "/"+database.Environment["POSTGRES_DB"] {
		t.Errorf("the database of a replica is %s, %v", asked, err)
	}
	listen := strings.Fields(serve)[slices.Index(strings.Fields(serve), "--listen")+1]
	_, port, err := net.SplitHostPort(listen)
	if err != nil || !slices.Contains(balancer.Command, "replica:"+port) {
		t.Errorf("replicas listen at %s, the balancer runs %v, %v", listen, balancer.Command, err)
	}
	from := balancer.Command[slices.Index(balancer.Command, "--from")+1]
	if len(balancer.Ports) != 1 || !strings.HasSuffix(balancer.Ports[0], from) {
		t.Errorf("the balancer listens at %s, its port is %v", from, balancer.Ports)
	}
}

// TestComposeVersion: the image of a replica has a Go that can build it.
func TestComposeVersion(t *testing.T) {
	c, _ := readComposition(t)
	module, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimPrefix(c.Services["replica"].Image, "golang:")
	if !regexp.MustCompile(`(?m)^go ` + regexp.QuoteMeta(version) + `(\.\d+)?$`).Match(module) {
		t.Errorf("golang:%s is not the version of go.mod", version)
	}
}
