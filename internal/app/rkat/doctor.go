package rkat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/session/jsonl"
)

// errFound ends doctor when it found something; the report is printed already.
var errFound = errors.New("doctor: something needs attention; see above")

func (a *app) doctorCommand() *cobra.Command {
	var online, asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Show every setting and where it comes from, and check sessions and providers",
		Example: "  rkat doctor\n  rkat doctor --online --json | jq .providers",
		Long:    "Show every setting and where it comes from, secrets masked, and read all sessions:\nthose that are damaged, cut by a crash (resuming them repairs that), or in which tools\nwere running when they ended. The database of rkat serve is asked for the version of its\ntables, and not changed. With --online ask each provider that has a key whether it\nanswers and accepts the key; that costs nothing. Exits 1 when something needs attention.",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadConfig(cmd)
			if err != nil {
				return err
			}
			d, err := a.diagnoseAll(cmd.Context(), cfg, online)
			if err != nil {
				return err
			}
			return a.reportDiagnosis(d, asJSON)
		},
	}
	cmd.Flags().BoolVar(&online, "online", false, "ask the providers")
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

// diagnosis is the JSON of doctor.
type diagnosis struct {
	Schema    string                `json:"schema"`
	Version   string                `json:"version"`
	Files     []string              `json:"files"` // of the configuration, the strongest last
	Settings  []config.SettingValue `json:"settings"`
	Store     storeReport           `json:"store"`
	Database  *databaseReport       `json:"database,omitempty"` // nil: no setting names one
	Providers []providerReport      `json:"providers"`
	OK        bool                  `json:"ok"`
}

// storeReport describes the sessions.
type storeReport struct {
	Backend  string    `json:"backend"`
	Folder   string    `json:"folder,omitempty"`
	Sessions int       `json:"sessions"`
	Findings []finding `json:"findings"`
}

// finding is one observation about one session.
type finding struct {
	Session session.ID `json:"session"`
	// Kind is unreadable, torn or open_calls; only the first is damage.
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

func (a *app) diagnoseAll(ctx context.Context, cfg *config.Loaded, online bool) (diagnosis, error) {
	d := diagnosis{
		Schema: "rkat.doctor.v1", Version: cli.Version(), Files: append([]string{}, cfg.Files...),
		Settings: cfg.Settings(),
	}
	var err error
	if d.Store, err = a.examineStore(ctx, cfg); err != nil {
		return d, err
	}
	if d.Database, err = a.examineDatabase(ctx, cfg); err != nil {
		return d, err
	}
	if d.Providers, err = a.checkProviders(ctx, cfg, online); err != nil {
		return d, err
	}
	d.OK = d.isHealthy()
	return d, nil
}

func (d *diagnosis) isHealthy() bool {
	for _, f := range d.Store.Findings {
		if f.Kind == unreadable {
			return false
		}
	}
	if d.Database != nil && d.Database.Problem != "" {
		return false
	}
	for _, p := range d.Providers {
		if p.Problem != "" {
			return false
		}
	}
	return true
}

const (
	unreadable = "unreadable"
	torn       = "torn"
	openCalls  = "open_calls"
)

func (a *app) examineStore(ctx context.Context, cfg *config.Loaded) (storeReport, error) {
	r := storeReport{Backend: cfg.Storage.Backend, Findings: []finding{}}
	if r.Backend == "memory" {
		return r, nil
	}
	var err error
	if r.Folder, err = cfg.SessionFolder(); err != nil {
		return r, &cli.UsageError{Err: err}
	}
	if _, err := os.Stat(r.Folder); errors.Is(err, os.ErrNotExist) {
		return r, nil // doctor creates nothing
	}
	store, err := a.openStore(cfg)
	if err != nil {
		return r, err
	}
	defer closeStore(store)
	infos, err := store.List(ctx, session.Filter{})
	if err != nil {
		return r, err
	}
	r.Sessions = len(infos)
	for _, i := range infos {
		r.Findings = append(r.Findings, examineSession(ctx, store, i)...)
	}
	return r, nil
}

func examineSession(ctx context.Context, store session.Store, i session.Info) []finding {
	s, err := store.Load(ctx, i.ID)
	if err != nil {
		return []finding{{i.ID, unreadable, cli.OneLine(err)}}
	}
	var found []finding
	if files, ok := store.(*jsonl.Store); ok {
		if n := tornBytes(files.Path(i.ID)); n > 0 {
			found = append(found, finding{
				i.ID, torn,
				fmt.Sprintf(
					"the last %s of its file broke off; resuming it cuts them off and notes it", countOf(n, "byte"),
				),
			})
		}
	}
	var names []string
	for _, e := range s.Ledger.Open() {
		names = append(names, fmt.Sprintf("%s (%s, %s)", e.Name, e.CallID, e.Status))
	}
	if names != nil {
		found = append(found, finding{
			i.ID, openCalls,
			"tools without a result: " + strings.Join(names, ", ") + "; resuming it tells the model so",
		})
	}
	return found
}

// tornBytes returns the length of the incomplete record at the end of a session
// file. A file that is being written may have one for a moment.
func tornBytes(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	p, err := session.Parse(path, data)
	if err != nil {
		return 0
	}
	return len(strings.TrimSpace(string(data[p.Good:])))
}
