package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/drift"
	"github.com/meerkat-go/conformance/proxy/event"
)

func (a *app) textconvCommand() *cobra.Command {
	return &cobra.Command{
		Use: "textconv F", Short: "Print a cassette so that git diff shows what really changed", Args: recorderenv.OneFile,
		Example: "  recorder textconv loop.yaml",
		Long: `Print a cassette as a text that is the same for every recording of the same
conversation: texts in one piece, ids by names of their own (id#1), no times,
nothing twice. What is no cassette is printed as it is. For git:

  git config diff.cassette.textconv "recorder textconv"
  echo 'cassettes/**/*.yaml diff=cassette' >> .gitattributes`,
		RunE: func(_ *cobra.Command, args []string) error { return a.textconv(args[0]) },
	}
}

// textconv reads one interaction at a time: git hands over files of any size.
// It fails only for a file that cannot be read at all: git would give up the
// whole diff, for one damaged cassette in a history.
func (a *app) textconv(file string) error {
	c := converter{out: a.Stdout, names: event.NewNames(), before: map[string]said{}}
	t, err := cassette.Open(file)
	if err != nil {
		raw, rerr := os.ReadFile(file)
		if rerr != nil {
			return cli.Usage("%w", err)
		}
		c.line("!! %s\n%s", nameless(err), raw)
		return c.err
	}
	c.meta(t.Meta())
	for i := range t.Len() {
		in, err := t.At(i)
		if err != nil {
			c.line("\n!! %d  %s", i, nameless(err))
			continue
		}
		c.interaction(i, in)
	}
	return c.err
}

// nameless is what an error says is wrong, without the name of the file: git
// made it up, and another one each time. What to do names it, too.
func nameless(err error) string {
	if e := (*cassette.Error)(nil); errors.As(err, &e) {
		problem, _, _ := strings.Cut(e.Problem, "; ")
		return problem
	}
	return cli.OneLine(err)
}

// converter writes a cassette's readable text.
type converter struct {
	out    io.Writer
	err    error
	names  *event.Names
	before map[string]said // what the last request said, by its fields' roots
}

// said is a part of a request, and the number of the request.
type said struct {
	text string
	n    int
}

func (c *converter) line(format string, args ...any) {
	if c.err == nil {
		_, c.err = fmt.Fprintf(c.out, format+"\n", args...)
	}
}

func (c *converter) meta(m cassette.Meta) {
	c.line("cassette  %s", m.Provenance)
	c.line("redacted  %s", cmp.Or(strings.Join(m.Redaction, " "), "by nobody we know of"))
	if len(m.Declared) > 0 {
		c.line("declared  %s", strings.Join(m.Declared, " "))
	}
}

func (c *converter) interaction(i int, in cassette.Interaction) {
	c.line("\n== %d  %s %s", i, in.Request.Method, in.Request.URL)
	c.headers("  ", in.Request.Header, RequestHeaders)
	c.request(i, in.Request)
	status := strconv.Itoa(in.Response.Status)
	if in.Response.Status == 0 {
		status = "no reply"
	}
	c.line("\n-- %d  %s", i, strings.TrimSpace(status+"  "+ending(string(in.End), cmp.Or(in.Incomplete, cassette.Judge(in)))))
	c.headers("  ", in.Response.Header, nil)
	c.headers("  trailer ", in.Response.Trailer, nil)
	c.reply(event.Fold(event.Of(in), c.names))
}

// requestHeaders are the ones by which a request chooses what it gets.
var RequestHeaders = []string{"Accept", "Content-Type", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta", "X-Stainless-Package-Version", "User-Agent"}

// headers prints those of names, or of a reply the names that carry meaning:
// their values change from one reply to the next.
func (c *converter) headers(prefix string, h http.Header, names []string) {
	families := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		switch {
		case slices.Contains(names, name), names == nil && name == "Content-Type":
			c.line("%s%s: %s", prefix, name, Printable(strings.Join(h[name], ", ")))
		case names == nil && drift.Family(name) != "":
			families[drift.Family(name)] = true
		}
	}
	if len(families) > 0 {
		c.line("%swith %s", prefix, strings.Join(slices.Sorted(maps.Keys(families)), " "))
	}
}

// root is the member of a request, or the element of its array, that a field
// belongs to.
var root = regexp.MustCompile(`^([^.\[]*)(\[\d+\])?`)

// request prints a body by its fields; what the request before said the same
// way, but for short values, is only mentioned: conversations repeat
// themselves.
func (c *converter) request(n int, r cassette.Request) {
	now := map[string]said{}
	var order []string
	fields := event.Fields(r.Body, c.names)
	for _, f := range fields {
		at := root.FindString(f.Path)
		if _, seen := now[at]; !seen {
			order = append(order, at)
		}
		now[at] = said{now[at].text + shown("  ", strings.TrimSpace(f.Path), f.Value), n}
	}
	for i := 0; i < len(order); i++ {
		at := order[i]
		old, repeated := c.before[at]
		if repeated = repeated && old.text == now[at].text && len(old.text) > maxShown/2; !repeated {
			c.line("%s", strings.TrimSuffix(now[at].text, "\n"))
			continue
		}
		now[at] = old
		last := i
		for last+1 < len(order) && sameArray(at, order[last+1]) && c.before[order[last+1]].text == now[order[last+1]].text {
			last++
			now[order[last]] = c.before[order[last]]
		}
		c.line("  %s  as in %d", span(at, order[last]), max(old.n, c.before[order[last]].n))
		i = last
	}
	c.before = now
}

func sameArray(a, b string) bool {
	ma, mb := root.FindStringSubmatch(a), root.FindStringSubmatch(b)
	return ma[2] != "" && mb[2] != "" && ma[1] == mb[1]
}

// span names elements of one array.
func span(first, last string) string {
	if first == last {
		return first
	}
	return strings.TrimSuffix(first, "]") + "–" + last[strings.LastIndexByte(last, '[')+1:]
}

// reply prints what was said; the counts of tokens come last.
func (c *converter) reply(items []event.Item) {
	var counts []event.Field
	for _, item := range items {
		label := strings.TrimSpace(item.Token() + " " + item.Place)
		if item.Pieces {
			c.line("%s", strings.TrimSuffix(shown("  ", label, textOf(item)), "\n"))
		} else {
			c.line("  %s", cli.Printable(label))
		}
		for _, f := range item.Fields {
			switch {
			case f.Class == event.Usage:
				counts = set(counts, f)
			case !hollow(f.Value):
				c.line("%s", strings.TrimSuffix(shown("    ", f.Path, f.Value), "\n"))
			}
		}
	}
	for _, f := range counts {
		if f.Value != "0" && !hollow(f.Value) {
			c.line("  usage %s: %s", strings.TrimPrefix(f.Path, "usage."), Printable(f.Value))
		}
	}
}

// set adds a count of tokens or puts it in the place of an earlier one: the
// providers count on as they go.
func set(counts []event.Field, f event.Field) []event.Field {
	for _, prefix := range []string{"message.", "response."} {
		f.Path = strings.TrimPrefix(f.Path, prefix)
	}
	if i := slices.IndexFunc(counts, func(o event.Field) bool { return o.Path == f.Path }); i >= 0 {
		counts[i] = f
		return counts
	}
	return append(counts, f)
}

func textOf(item event.Item) string {
	if item.Class == event.Opaque {
		return item.Text
	}
	return strconv.Quote(item.Text)
}

// shown is a value behind its name; a text of several lines is a block of
// them, so that a diff shows the line that changed.
func shown(indent, name, value string) string {
	text, err := strconv.Unquote(value)
	if err != nil || !strings.Contains(text, "\n") {
		return indent + name + ": " + cli.Printable(value) + "\n"
	}
	var b strings.Builder
	b.WriteString(indent + name + ": |\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight(indent+"    "+cli.Printable(line), " ") + "\n")
	}
	return b.String()
}
