package specs

import "slices"

func consequenceNames() (names []string) {
	for _, c := range Consequences {
		names = append(names, string(c))
	}
	return names
}

// requireRange checks the days between which something holds.
func (f *faults) requireRange(since, until string) {
	f.addUnless(since == "" || isDate("2006-01-02", since), "since %q is not a day written yyyy-mm-dd", since)
	f.addUnless(until == "" || isDate("2006-01-02", until), "until %q is not a day written yyyy-mm-dd", until)
	f.addUnless(since == "" || until == "" || since < until, "since %s is not before until %s", since, until)
}

func (r Requirement) whereFaults(f *faults) {
	for i, w := range r.Where {
		f.requireSubset("where.provider", w.Provider, providers)
		f.requireSubset("where.checks", w.Checks, r.Checks)
		if w.Host != "" {
			f.oneOf("where.host", w.Host, OwnHost, OtherHost)
		}
		f.oneOf("where.consequence", string(w.Consequence), append(consequenceNames(), string(None))...)
		f.requireRange(w.Since, w.Until)
		matchesAll := len(w.Provider)+len(w.Checks) == 0 && w.Models.IsZero() && w.Host == "" && w.Since == "" && w.Until == ""
		f.addUnless(!matchesAll, "where row %d matches everything; write its consequence as that of the requirement", i+1)
	}
}

// rulesDocument is the only document of the project that a source cites: specs/wire-rules.md.
const rulesDocument = "wire rules"

func (r Requirement) sourceFaults(f *faults) {
	isPublic := false
	for _, s := range r.Sources {
		f.addUnless(s.URL == "" || s.Doc == "", "source needs either url or doc")
		f.addUnless(s.Doc == "" || s.Doc == rulesDocument, "source.doc %q is unknown; use %s, or a url", s.Doc, rulesDocument)
		f.addUnless(s.URL != "" || s.Doc != "" || s.Unverified, "source needs url, doc, or unverified with a reason")
		f.addUnless(s.URL == "" || isDate("2006-01-02", s.Retrieved), "source %s: retrieved %q is not a day written yyyy-mm-dd", s.URL, s.Retrieved)
		f.addUnless(s.Unverified == (s.Reason != ""), "source: unverified and reason stand together; say what is relied on instead of a public page")
		isPublic = isPublic || s.URL != "" || s.Unverified
	}
	f.addUnless(isPublic, "has no public source; cite a url, or say unverified: true with a reason")
}

func (r Requirement) exampleFaults(f *faults) {
	if r.Examples.IsZero() {
		f.addUnless(r.Status == Withdrawn, "has no examples; write a failing and a passing one")
		return
	}
	for _, named := range []struct {
		name string
		Example
	}{{"failing", r.Examples.Failing}, {"passing", r.Examples.Passing}} {
		name := "examples." + named.name
		f.oneOf(name+".provider", named.Provider, providers...)
		f.addUnless(len(named.Exchanges)+len(named.Processes) > 0, "%s has no exchange; write one", name)
		if named.Source != "" {
			f.oneOf(name+".source", named.Source, sources...)
		}
		for i, x := range named.Exchanges {
			f.addUnless(x.Request != "", "%s.exchanges[%d].request is empty; write the body as sent", name, i)
			f.addUnless(x.Provider == "" || slices.Contains(providers, x.Provider), "%s.exchanges[%d].provider %q is unknown", name, i, x.Provider)
			f.addUnless(x.Process == 0 || x.Process < len(named.Processes), "%s.exchanges[%d].process %d is not among its processes", name, i, x.Process)
		}
	}
}
