package profiles

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/internal/spelling"
)

// Gateway says how a gateway is started and led to the simulator. It is plain data and read-only once
// loaded.
type Gateway struct {
	// Name is what reports call the gateway.
	Name string `yaml:"name" data:"required,is=name"`
	// About is one line for people.
	About string `yaml:"about"`
	// Run is the command that starts it, nil for one that runs already.
	Run []string `yaml:"run" data:"is=filled"`
	// Always holds for all routes.
	Always GatewaySettings `yaml:",inline"`
	// Routes are the wires that it can be asked on, the default first.
	Routes []GatewayRoute `yaml:"routes" data:"required"`
	// Install says what has to be installed for it; conform does not do that itself.
	Install *Install `yaml:"install"`
}

// GatewayRoute is a wire that clients speak to a gateway, with the wire that it speaks to the provider.
type GatewayRoute struct {
	Wire string `yaml:"wire" data:"required,is=provider"`
	// UpstreamWire is "" where both sides speak one wire.
	UpstreamWire string `yaml:"upstream_wire" data:"is=provider"`
	// Issues are the addresses where what is known to be wrong on the route is worked on.
	Issues          []string `yaml:"issues"`
	GatewaySettings `yaml:",inline"`
}

// GatewaySettings are what a gateway is told. Env, Files and Headers are templates, see [GatewayValues].
type GatewaySettings struct {
	// Env sets variables of the process.
	Env map[string]string `yaml:"env" data:"keys=variable,is=filled"`
	// Files are written before the start, by their paths below the home folder.
	Files map[string]string `yaml:"files" data:"keys=file,is=filled"`
	// Headers are sent by clients beside their own.
	Headers map[string]string `yaml:"headers" data:"is=filled"`
	// Model is what clients ask for, "" for the models of the scenarios.
	Model string `yaml:"model"`
	// PassesKey says that the gateway has no key of its own and passes the client's on.
	PassesKey bool `yaml:"passes_key"`
}

// Over returns settings in which those of s outrank those of base.
func (s GatewaySettings) Over(base GatewaySettings) GatewaySettings {
	join := func(under, over map[string]string) map[string]string {
		all := map[string]string{}
		maps.Copy(all, under)
		maps.Copy(all, over)
		return all
	}
	out := GatewaySettings{Env: join(base.Env, s.Env), Files: join(base.Files, s.Files),
		Headers: join(base.Headers, s.Headers), Model: s.Model}
	if out.Model == "" {
		out.Model = base.Model
	}
	out.PassesKey = s.PassesKey || base.PassesKey
	return out
}

// Route returns the route for the wires of both sides with all settings, those of the gateway included.
// "" as wire is the first route, "" as upstreamWire the first route of the wire.
func (g *Gateway) Route(wire, upstreamWire string) (GatewayRoute, error) {
	var known []string
	for _, r := range g.Routes {
		behind := r.UpstreamWire
		if behind == "" {
			behind = r.Wire
		}
		if (wire == "" || wire == r.Wire) && (upstreamWire == "" || upstreamWire == behind) {
			r.GatewaySettings = r.Over(g.Always)
			return r, nil
		}
		known = append(known, r.Wire+" to "+behind)
	}
	return GatewayRoute{}, fmt.Errorf("profile %s: has no such route; it has %s", g.Name, strings.Join(known, ", "))
}

// GatewayValues are what the templates of a gateway are filled with: {upstream} is the URL of the
// simulator, below which each wire has its name; {upstream_key} the key that the gateway has to send
// there; {client_key} the key that clients have to send to the gateway; {port} the port on which the
// gateway has to listen; {home} its home folder.
type GatewayValues struct{ Upstream, UpstreamKey, ClientKey, Port, Home string }

func (v GatewayValues) all() []string {
	return []string{"{upstream}", v.Upstream, "{upstream_key}", v.UpstreamKey, "{client_key}", v.ClientKey, "{port}",
		v.Port, "{home}", v.Home}
}

// Fill fills a template. Other braces stay as they are.
func (v GatewayValues) Fill(template string) string {
	return strings.NewReplacer(v.all()...).Replace(template)
}

var gatewayPlaceholder = regexp.MustCompile(`\{[a-z]+(_[a-z]+)*\}`)

// checkFilled finds placeholders that nothing fills.
func checkFilled(_, text string) error {
	known := GatewayValues{}.all()
	for _, found := range gatewayPlaceholder.FindAllString(text, -1) {
		if !slices.Contains(known, found) {
			var names []string
			for i := 0; i < len(known); i += 2 {
				names = append(names, known[i])
			}
			return fmt.Errorf("there is no placeholder %s; use %s", found, strings.Join(names, ", "))
		}
	}
	return nil
}

//go:embed gateways/*.yaml
var embeddedGateways embed.FS

// GatewayNames lists the embedded gateways in order.
func GatewayNames() []string {
	files, err := fs.Glob(embeddedGateways, "gateways/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(file, "gateways/"), ".yaml")
	}
	return files
}

// FindGateway returns the embedded gateway of a name, or the one in a file that ends in .yaml or .yml.
// For an unknown name the error names the nearest one.
func FindGateway(nameOrPath string) (*Gateway, error) {
	if isFile(nameOrPath) {
		data, err := readProfile(nameOrPath)
		if err != nil {
			return nil, err
		}
		return ParseGateway(nameOrPath, data)
	}
	data, err := embeddedGateways.ReadFile("gateways/" + nameOrPath + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("gateway %s: no such profile, and profiles of your own are files that end in .yaml; %s",
			nameOrPath, spelling.Advice(nameOrPath, GatewayNames()))
	}
	return ParseGateway("profiles/gateways/"+nameOrPath+".yaml", data)
}

// ParseGateway reads the profile of a gateway. file names it in errors.
func ParseGateway(file string, data []byte) (*Gateway, error) {
	g := new(Gateway)
	f := datafile.Read(file, data, g, datafile.Options{MaxBytes: maxSize, Rules: rules})
	if !f.OK() {
		return nil, f.Err()
	}
	return g, nil
}
