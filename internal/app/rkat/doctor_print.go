package rkat

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/config"
)

// providerReport describes one provider.
type providerReport struct {
	Provider string `json:"provider"`
	HasKey   bool   `json:"has_key"`
	Address  string `json:"address,omitempty"` // "": the provider's own
	// Health is ok, failed, or empty without --online.
	Health  string `json:"health,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// checkProviders describes the providers and, with online, asks each that has a key.
func (a *app) checkProviders(ctx context.Context, cfg *config.Loaded, online bool) ([]providerReport, error) {
	client, err := a.env.httpClient(cfg.HeaderBytes)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	var all []providerReport
	for _, p := range catalog.ProviderNames() {
		r := providerReport{Provider: p, HasKey: cfg.Key(p) != "", Address: withoutSecrets(cfg.BaseURL(p))}
		if online && r.HasKey {
			r.Health = "ok"
			made, err := meerkat.NewAgent().WithKey(p,
				cfg.Key(p)).WithBaseURL(cfg.BaseURL(p)).WithHTTPClient(client).Build() //nolint:contextcheck // nothing is started
			if err == nil {
				err = made.Health(ctx)
			}
			if err != nil {
				r.Health, r.Problem = "failed", cli.OneLine(err)
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// withoutSecrets returns an address without the parts that may hold a secret.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(not an address)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func (a *app) reportDiagnosis(d diagnosis, asJSON bool) error {
	var err error
	if asJSON {
		err = a.writeLine(d)
	} else {
		err = a.printDiagnosis(&d)
	}
	if err == nil && !d.OK {
		err = errFound
	}
	return err
}

func (a *app) printDiagnosis(d *diagnosis) error {
	fmt.Fprintf(a.Stdout, "rkat %s\n\n", d.Version)
	err := printTable(a.Stdout, "SETTING\tVALUE\tFROM", d.Settings, func(s config.SettingValue) []string {
		from := cmp.Or(s.Source.Where, string(s.Source.Layer), "not set")
		if s.Source.Where != "" {
			from = fmt.Sprintf("%s %s", s.Source.Layer, s.Source.Where)
		}
		return []string{s.Key, s.Value, from}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "\nsessions: %d, %s %s\n", d.Store.Sessions, d.Store.Backend, terminal.Line(d.Store.Folder))
	for _, f := range d.Store.Findings {
		fmt.Fprintf(a.Stdout, "  %s: %s: %s\n", f.Session, f.Kind, terminal.Line(f.Detail))
	}
	if d.Database != nil {
		printDatabase(a.Stdout, d.Database)
	}
	fmt.Fprintln(a.Stdout)
	return printTable(a.Stdout, "PROVIDER\tKEY\tADDRESS\tHEALTH", d.Providers, func(p providerReport) []string {
		key := "no"
		if p.HasKey {
			key = "yes"
		}
		return []string{p.Provider, key, cmp.Or(p.Address, "its own"), cmp.Or(p.Problem, p.Health, "not asked")}
	})
}
