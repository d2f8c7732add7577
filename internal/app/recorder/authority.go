package recorder

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/ca"
)

func (a *app) caCommand() *cobra.Command {
	cmd := cli.Group("ca", "The authority that clients of the proxy must trust", "")
	cmd.Example = "  recorder ca show\n  recorder ca export > ca.pem"
	cmd.RunE = func(*cobra.Command, []string) error { return cli.Usage("ca: say what: show, export or rotate") }
	cmd.AddCommand(a.caShowCommand(), a.caExportCommand(), a.caRotateCommand())
	return cmd
}

// loadAuthority loads the authority that is there, without renewing it.
func (a *app) loadAuthority() (dir string, authority *ca.Authority, err error) {
	if dir, err = a.ConfigDir(); err != nil {
		return "", nil, err
	}
	authority, err = ca.Load(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil,
			cli.Usage("%s: no authority there yet; it is made when first needed, or by: recorder ca rotate", dir)
	case err != nil:
		return "", nil, cli.Usage("%w", err)
	}
	return dir, authority, nil
}

func (a *app) caShowCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "Say which authority is in use, for which hosts and until when; -v names every region of Vertex",
		Args:    cli.NoArgs,
		Example: "  recorder ca show\n  recorder ca show --json",
		RunE:    func(*cobra.Command, []string) error { return a.showCA(asJSON) },
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) showCA(asJSON bool) error {
	dir, authority, err := a.loadAuthority()
	if err != nil {
		return err
	}
	cert := authority.Certificate()
	sum := sha256.Sum256(cert.Raw)
	var ranges []string
	for _, r := range cert.PermittedIPRanges {
		ranges = append(ranges, r.String())
	}
	shown := struct {
		Schema  string    `json:"schema"`
		Path    string    `json:"path"`
		Subject string    `json:"subject"`
		SHA256  string    `json:"sha256"`
		Expires time.Time `json:"expires"`
		Hosts   []string  `json:"hosts"`
		Ranges  []string  `json:"ranges"`
	}{"recorder.ca.v1", filepath.Join(dir, ca.CertFile), cert.Subject.String(), hex.EncodeToString(sum[:]),
		cert.NotAfter, authority.Hosts(), ranges}
	if asJSON {
		return a.WriteJSON(shown)
	}
	if !a.Verbose {
		// The regions of Vertex are many, and alike except for their names: people get their number.
		const vertex = "aiplatform.googleapis.com"
		regional := func(host string) bool { return strings.HasSuffix(host, "-"+vertex) }
		out := slices.DeleteFunc(slices.Clone(shown.Hosts), regional)
		if n := len(shown.Hosts) - len(out); n > 0 {
			out = append(out, cli.Count(n, "Vertex region", "Vertex regions")+", REGION-"+vertex)
		}
		shown.Hosts = out
	}
	fmt.Fprintf(a.Stdout,
		"certificate  %s\nsubject      %s\nsha256       %s\nexpires      %s\nhosts        %s\naddresses    %s\n",
		shown.Path, shown.Subject, shown.SHA256, shown.Expires.Format(time.RFC3339),
		strings.Join(shown.Hosts, "\n             "), strings.Join(ranges, ", "))
	return nil
}

func (a *app) caExportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Print the certificate, for clients to trust", Args: cli.NoArgs,
		Example: "  recorder ca export > ca.pem",
		RunE: func(*cobra.Command, []string) error {
			_, authority, err := a.loadAuthority()
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(authority.PEM())
			return err
		},
	}
}

func (a *app) caRotateCommand() *cobra.Command {
	var allowed []string
	asJSON := false
	cmd := &cobra.Command{
		Use: "rotate", Short: "Replace the authority; clients must be given the new one", Args: cli.NoArgs,
		Example: "  recorder ca rotate\n  recorder ca rotate --allow-host gateway.example",
		RunE: func(*cobra.Command, []string) error {
			authority, err := a.AuthorityBy(ca.Rotate, allowed)
			if err != nil {
				return err
			}
			a.Say("authority replaced, valid until %s", authority.Certificate().NotAfter.Format(time.DateOnly))
			if asJSON {
				return a.showCA(asJSON)
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&allowed, "allow-host", nil, "a `host` beside the providers'; may be repeated")
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}
