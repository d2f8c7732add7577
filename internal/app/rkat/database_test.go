package rkat

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/schemas"
)

// TestDoctorDatabase holds what doctor says of a database, and its exit code. The
// password of the address is never shown.
func TestDoctorDatabase(t *testing.T) {
	const password = "pw-canary"
	tables := []server.TableInfo{{Part: "sessions", Version: 1, Newest: 1}, {Part: "runs", Newest: 2}}
	for name, c := range map[string]struct {
		found server.DatabaseInfo
		err   error
		code  int
		want  string
	}{
		"in use": {
			server.DatabaseInfo{Name: "db:5432/rkat", Sessions: 3, Tables: tables}, nil, 0,
			"\ndatabase: db:5432/rkat, 3 sessions\n  sessions: tables of version 1\n  runs: tables of version 0; rkat serve brings them to 2 when it starts\n",
		},
		"away": {
			server.DatabaseInfo{Name: "db:5432/rkat"}, errors.New("session database db:5432/rkat: cannot be reached"),
			exitError, "\ndatabase: db:5432/rkat: cannot be reached\n",
		},
		"silent": {
			server.DatabaseInfo{Name: "db:5432/rkat"}, context.DeadlineExceeded, exitError, ": no answer within 10s\n",
		},
		"no address": {
			server.DatabaseInfo{}, cli.Usage("its address has an unknown sslmode"), exitUsage,
			"rkat: RKAT_DATABASE_URL: its address has an unknown sslmode\n",
		},
	} {
		b := allBackends
		b.ExamineDatabase = func(context.Context, string) (server.DatabaseInfo, error) { return c.found, c.err }
		env := []string{"HOME=" + t.TempDir(), "RKAT_DATABASE_URL=postgres://u:" + password + "@db/rkat"}
		for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}} {
			var out, errs bytes.Buffer
			code := b.Run(t.Context(), args, strings.NewReader(""), &out, &errs, env)
			text := out.String() + errs.String()
			if code != c.code || strings.Contains(text, password) || len(args) == 1 && !strings.Contains(text, c.want) {
				t.Errorf("%s: %v: %d, want %d; %s", name, args, code, c.code, text)
			}
			if len(args) == 2 && out.Len() > 0 {
				if err := schemas.Validate(schemas.RkatDoctor, out.Bytes()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// TestServeAddress: an address that only PostgreSQL's client library can refuse is wrong
// usage, as any other bad setting.
func TestServeAddress(t *testing.T) {
	var errs bytes.Buffer
	env := []string{
		"HOME=" + t.TempDir(), "RKAT_SERVER_TOKEN=" + serveToken,
		"RKAT_DATABASE_URL=postgres://u:pw-canary@127.0.0.1:1/db?sslmode=requires",
	}
	code := allBackends.Run(
		t.Context(), []string{"serve", "--demo"}, strings.NewReader(""), &bytes.Buffer{}, &errs, env,
	)
	if text := errs.String(); code != exitUsage ||
		!strings.HasPrefix(text,
			"rkat: RKAT_DATABASE_URL: session database: its address has an unknown sslmode; use one of") ||
		strings.Contains(text, "canary") {
		t.Errorf("%d %s", code, text)
	}
}
