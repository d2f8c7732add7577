package recorder

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
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/event"
)

func (a *app) textconvCommand() *cobra.Command {
	return &cobra.Command{
		Use: "textconv F", Short: "Print a cassette so that git diff shows what really changed", Args: OneFile,
		Example: "  recorder textconv loop.yaml",
		Long: `Print a cassette as a text that is the same for every recording of the same
conversation: texts in one piece, ids by names of their own (id#1), no times,
nothing twice. What is not a cassette is printed as it is. For git:

  git config diff.cassette.textconv "recorder textconv"
  echo 'cassettes/**/*.yaml diff=cassette' >> .gitattributes`,
		RunE: func(_ *cobra.Command, args []string) error { return a.convertToText(args[0]) },
	}
}

// convertToText reads one interaction at a time, because git passes files of any size. It fails
// only for a file that cannot be read at all: on an error git shows nothing of the whole diff.
func (a *app) convertToText(file string) error {
	c := textConverter{out: a.Stdout, names: event.NewNames(), previous: map[string]requestPart{}}
	t, err := cassette.Open(file)
	if err != nil {
		raw, rerr := os.ReadFile(file)
		if rerr != nil {
			return cli.Usage("%w", err)
		}
		c.writeLine("!! %s\n%s", problemText(err), raw)
		return c.err
	}
	c.writeMeta(t.Meta())
	for i := range t.Len() {
		in, err := t.At(i)
		if err != nil {
			c.writeLine("\n!! %d  %s", i, problemText(err))
			continue
		}
		c.writeInteraction(i, in)
	}
	return c.err
}

// problemText returns what an error says is wrong, without the name of the file and without the
// advice, which names it as well: git gives the file a new temporary name each time.
func problemText(err error) string {
	if e := (*cassette.Error)(nil); errors.As(err, &e) {
		problem, _, _ := strings.Cut(e.Problem, "; ")
		return problem
	}
	return cli.OneLine(err)
}

// textConverter writes a cassette's readable text.
type textConverter struct {
	out      io.Writer
	err      error
	names    *event.Names
	previous map[string]requestPart // what the last request said, by its fields' roots
}

// requestPart is a part of a request, and the number of the request.
type requestPart struct {
	text string
	n    int
}

func (c *textConverter) writeLine(format string, args ...any) {
	if c.err == nil {
		_, c.err = fmt.Fprintf(c.out, format+"\n", args...)
	}
}

func (c *textConverter) writeMeta(m cassette.Meta) {
	c.writeLine("cassette  %s", terminal.Line(m.Provenance))
	c.writeLine("redacted  %s", terminal.Line(cmp.Or(strings.Join(m.Redaction, " "), "unknown")))
	if len(m.Declared) > 0 {
		c.writeLine("declared  %s", terminal.Line(strings.Join(m.Declared, " ")))
	}
}

func (c *textConverter) writeInteraction(i int, in cassette.Interaction) {
	c.writeLine("\n== %d  %s", i, terminal.Line(in.Request.Method+" "+in.Request.URL))
	c.writeHeaders("  ", in.Request.Header, RequestHeaders)
	c.writeRequest(i, in.Request)
	status := strconv.Itoa(in.Response.Status)
	if in.Response.Status == 0 {
		status = "no reply"
	}
	c.writeLine("\n-- %d  %s", i,
		terminal.Line(status+"  "+endingText(string(in.End), cmp.Or(in.Incomplete, cassette.Judge(in)))))
	c.writeHeaders("  ", in.Response.Header, nil)
	c.writeHeaders("  trailer ", in.Response.Trailer, nil)
	c.writeReply(event.Fold(event.Of(in), c.names))
}

// RequestHeaders are the headers of a request that decide what the provider replies.
var RequestHeaders = []string{"Accept", "Content-Type", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta",
	"X-Stainless-Package-Version", "User-Agent"}

// writeHeaders prints the headers in names. When names is nil, h is a reply's, whose values change
// from one reply to the next: it prints the content type and the names of the others.
func (c *textConverter) writeHeaders(prefix string, h http.Header, names []string) {
	families := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		switch {
		case slices.Contains(names, name), names == nil && name == "Content-Type":
			c.writeLine("%s%s: %s", prefix, terminal.Line(name), Abbreviate(strings.Join(h[name], ", ")))
		case names == nil && event.Family(name) != "":
			families[event.Family(name)] = true
		}
	}
	if len(families) > 0 {
		c.writeLine("%swith %s", prefix, strings.Join(slices.Sorted(maps.Keys(families)), " "))
	}
}

// root matches the beginning of a field's path: a member of the request, or an element of it.
var root = regexp.MustCompile(`^([^.\[]*)(\[\d+\])?`)

// writeRequest prints a body by its fields. What is equal in the request before is only referred
// to, unless it is short, because conversations repeat themselves.
func (c *textConverter) writeRequest(n int, r cassette.Request) {
	now := map[string]requestPart{}
	var order []string
	fields := event.Fields(r.Body, c.names)
	for _, f := range fields {
		at := root.FindString(f.Path)
		if _, seen := now[at]; !seen {
			order = append(order, at)
		}
		now[at] = requestPart{now[at].text + namedValue("  ", strings.TrimSpace(f.Path), f.Value), n}
	}
	for i := 0; i < len(order); i++ {
		at := order[i]
		old, repeated := c.previous[at]
		if repeated = repeated && old.text == now[at].text && len(old.text) > maxShown/2; !repeated {
			c.writeLine("%s", strings.TrimSuffix(now[at].text, "\n"))
			continue
		}
		now[at] = old
		last := i
		for last+1 < len(order) && sameArray(at, order[last+1]) &&
			c.previous[order[last+1]].text == now[order[last+1]].text {
			last++
			now[order[last]] = c.previous[order[last]]
		}
		c.writeLine("  %s  as in %d", terminal.Line(elementRange(at, order[last])),
			max(old.n, c.previous[order[last]].n))
		i = last
	}
	c.previous = now
}

func sameArray(a, b string) bool {
	ma, mb := root.FindStringSubmatch(a), root.FindStringSubmatch(b)
	return ma[2] != "" && mb[2] != "" && ma[1] == mb[1]
}

// elementRange names elements of one array.
func elementRange(first, last string) string {
	if first == last {
		return first
	}
	return strings.TrimSuffix(first, "]") + "–" + last[strings.LastIndexByte(last, '[')+1:]
}

// writeReply prints what was said; the counts of tokens come last.
func (c *textConverter) writeReply(items []event.Item) {
	var counts []event.Field
	for _, item := range items {
		label := strings.TrimSpace(item.Token() + " " + item.Place)
		if item.Pieces {
			c.writeLine("%s", strings.TrimSuffix(namedValue("  ", label, textOf(item)), "\n"))
		} else {
			c.writeLine("  %s", terminal.Line(label))
		}
		for _, f := range item.Fields {
			switch {
			case f.Class == event.Usage:
				counts = setCount(counts, f)
			case !isEmptyValue(f.Value):
				c.writeLine("%s", strings.TrimSuffix(namedValue("    ", f.Path, f.Value), "\n"))
			}
		}
	}
	for _, f := range counts {
		if f.Value != "0" && !isEmptyValue(f.Value) {
			c.writeLine("  usage %s: %s", terminal.Line(strings.TrimPrefix(f.Path, "usage.")), Abbreviate(f.Value))
		}
	}
}

// setCount adds a count of tokens, or replaces an earlier one: providers send running totals.
func setCount(counts []event.Field, f event.Field) []event.Field {
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

// namedValue returns a value with its name before it. A text of several lines is a block of lines,
// so that a diff shows the line that changed.
func namedValue(indent, name, value string) string {
	name = terminal.Line(name)
	text, err := strconv.Unquote(value)
	if err != nil || !strings.Contains(text, "\n") {
		return indent + name + ": " + terminal.Line(value) + "\n"
	}
	var b strings.Builder
	b.WriteString(indent + name + ": |\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight(indent+"    "+terminal.Line(line), " ") + "\n")
	}
	return b.String()
}
