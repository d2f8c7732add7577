package questions

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// judgeAnswer judges an answer by the reply rules, and by what holds for every answer. It reports whether what was
// found says already why the answer is no reply.
func (j *judge) judgeAnswer(d *report.DutyCase, n int, a *answer) (isExplained bool) {
	if a.Response.Status == 0 {
		d.Breach("SV-H10", report.DutyBreach{Exchange: n, Consequence: specs.Crash}, "the server gave no answer: %s",
			reasonText(a.Err))
		return false
	}
	if a.holdsKey {
		d.Breach("GW-19", report.DutyBreach{Exchange: n}, "the answer holds the key of the client")
	}
	if m := a.Request.Method; m == http.MethodHead || m == http.MethodOptions {
		return false // what stands before a server may answer these
	}
	found := 0
	if !errors.Is(a.Err, client.ErrTooLong) { // of a body without end nothing else is worth saying
		x := report.ReplyExchange(&a.Exchange, a.Reply)
		x.Sent, x.Cut = a.sent, a.Err != nil
		found = d.JudgeReply(n, x, nil)
	}
	if a.Err != nil {
		d.Breach("SV-H10", report.DutyBreach{Exchange: n, Consequence: specs.Crash}, "the reply does not end: %s",
			reasonText(a.Err))
		found++
	}
	return found > 0 && a.Response.Status/100 == 2 && !a.IsOK()
}

func reasonText(err error) string {
	if err == nil {
		return "it is cut off"
	}
	return report.Shorten(err.Error())
}

// errNotSeen says that an answer shows nothing about an expectation.
var errNotSeen = errors.New("not seen")

// judgeExpectation judges an answer by what its question expects.
func (j *judge) judgeExpectation(d *report.DutyCase, n int, a *answer, e specs.QuestionExpectation) {
	err := j.faultOf(d.Name, a, e.Be)
	if errors.Is(err, errNotSeen) {
		return
	}
	if d.See(e.Duty); err != nil && !d.IsBroken(e.Duty, n) { // a rule of replies may have said it
		d.Breach(e.Duty, report.DutyBreach{Exchange: n, Consequence: e.Consequence}, "%s", err)
	}
}

// faultOf says what is wrong with an answer of a case, nil if it is as it should be, errNotSeen if it shows nothing.
func (j *judge) faultOf(name string, a *answer, be string) error {
	word, rest, _ := strings.Cut(be, " ")
	switch {
	case word == "answered":
		return isOneOf(a, strings.Split(be, " or "))
	case be == "refused":
		return isRefused(a)
	case word == "status":
		return hasStatus(a, rest)
	case be == "no server error":
		if a.Response.Status >= 500 || a.Response.Status == 0 {
			return fmt.Errorf("the answer is %s", outcomeText(a))
		}
	case be == "no call", word == "calls":
		return callsAre(a, be)
	case be == "names the model":
		return j.namesModel(a)
	case be == "no thinking":
		if a.IsOK() && slices.ContainsFunc(a.Reply.Items, func(it wire.Item) bool { return it.What == wire.Thinking }) {
			return errors.New("the reply holds thinking that nobody asked for")
		}
	case be == "cut by the limit":
		return j.isCut(a)
	case word == "without":
		if a.IsOK() && strings.Contains(textOf(a.Reply), rest) {
			return fmt.Errorf("the reply holds %q, at which it should have ended: %q", rest,
				report.Shorten(textOf(a.Reply)))
		}
	case be == "a list of models":
		return isModelList(a)
	case be == "a count or 404":
		return isCount(a)
	case be == "quick and not a redirect":
		switch {
		case a.Response.Status/100 == 3:
			return fmt.Errorf("the answer is a redirect (%d)", a.Response.Status)
		case a.Took > quick:
			return fmt.Errorf("the answer took %d ms", a.Took.Milliseconds())
		}
	case be == "open to browsers":
		if a.Response.Header.Get("Access-Control-Allow-Origin") == "" {
			return fmt.Errorf("the answer %d has no Access-Control-Allow-Origin", a.Response.Status)
		}
	case be == "spread over time":
		return isSpread(a)
	case be == "the same in both forms":
		return j.isSameInBothForms(name, a)
	default:
		return fmt.Errorf("the question expects %q, which this program does not know", be)
	}
	return nil
}

// quick is how long a client waits for a list of models.
const quick = 3 * time.Second

func outcomeText(a *answer) string {
	switch {
	case a.Response.Status == 0:
		return "nothing: " + reasonText(a.Err)
	case a.Err != nil:
		return fmt.Sprintf("%d and breaks off: %s", a.Response.Status, reasonText(a.Err))
	}
	return fmt.Sprintf("%d: %s", a.Response.Status, report.Shorten(string(a.Response.Body)))
}

func isAnswered(a *answer) error {
	if a.IsOK() {
		return nil
	}
	return fmt.Errorf("the server should answer; it gave %s", outcomeText(a))
}

// isRefused holds that an answer is the client's fault, said in JSON with words.
func isRefused(a *answer) error {
	if a.Response.Status/100 != 4 {
		return fmt.Errorf("the server should refuse with 4xx; it gave %s", outcomeText(a))
	}
	if wire.ErrorOf(a.Reply.Doc).Text("message") == "" {
		return fmt.Errorf("the refusal does not say in error.message why: %s", outcomeText(a))
	}
	return nil
}

// isOneOf holds that an answer is one of "answered", "refused", a status, or "names TEXT", which is a refusal with the text.
func isOneOf(a *answer, ways []string) error {
	var names []string
	err := isAnswered(a)
	for _, way := range ways {
		text, isNamed := strings.CutPrefix(way, "names ")
		switch {
		case err == nil:
			return nil
		case way == "refused" && isRefused(a) == nil, hasStatus(a, way) == nil:
			return nil
		case isNamed && a.Response.Status/100 == 4 &&
			strings.Contains(strings.ToLower(string(a.Response.Body)), strings.ToLower(text)):
			return nil
		case isNamed:
			names = append(names, strconv.Quote(text))
		}
	}
	if names != nil {
		return fmt.Errorf("the server should answer, or refuse with 4xx and name %s; it gave %s",
			strings.Join(names, " or "), outcomeText(a))
	}
	return err
}

func hasStatus(a *answer, list string) error {
	if slices.Contains(strings.Fields(list), strconv.Itoa(a.Response.Status)) {
		return nil
	}
	return fmt.Errorf("the status should be %s; the answer is %s", strings.ReplaceAll(list, " ", " or "),
		outcomeText(a))
}

func callsAre(a *answer, be string) error {
	if !a.IsOK() {
		return errNotSeen
	}
	var names []string
	for _, it := range a.Reply.Items {
		if it.What == wire.Call {
			names = append(names, it.Name)
		}
	}
	_, role, isNamed := strings.Cut(be, "calls ")
	switch {
	case be == "no call" && names != nil:
		return fmt.Errorf("tool_choice forbids calls, and the reply calls %s", strings.Join(names, ", "))
	case be != "no call" && names == nil:
		return errors.New("tool_choice demands a call, and the reply has none")
	case isNamed && slices.ContainsFunc(names, func(name string) bool { return name != "conform_"+role }):
		return fmt.Errorf("tool_choice demands conform_%s, and the reply calls %s", role, strings.Join(names, ", "))
	}
	return nil
}

// namesModel holds that an answer names the model that was asked, or a dated form of its name.
func (j *judge) namesModel(a *answer) error {
	switch got := a.Reply.Model; {
	case !a.IsOK():
		return errNotSeen
	case got == "":
		return errors.New("the reply names no model")
	case !strings.Contains(got, j.Model) && !strings.Contains(j.Model, got):
		return fmt.Errorf("%s was asked, and the reply names %s", j.Model, got)
	}
	return nil
}

// maxOverLimit is how many characters 16 tokens have at most.
const maxOverLimit = 16 * 12

func (j *judge) isCut(a *answer) error {
	text := textOf(a.Reply)
	switch {
	case !a.IsOK():
		return errNotSeen
	case len(text) > maxOverLimit:
		return fmt.Errorf("16 tokens were allowed, and the reply has %d characters", len(text))
	case (len(text) > maxOverLimit/4 || isCounting.MatchString(text)) &&
		!slices.Contains(j.Wire.Stops.Unanswered, a.Reply.Stop):
		return fmt.Errorf("the reply is cut after %q, and says that it stopped with %q", report.Shorten(text),
			a.Reply.Stop)
	}
	return nil
}

// isCounting finds the numbers that the question asked for. Sixteen tokens do not reach their end.
var isCounting = regexp.MustCompile(`\b1\D+2\D+3\D+4\b`)

func textOf(r *wire.Reply) string {
	var b strings.Builder
	for _, it := range r.Items {
		if it.What == wire.Text {
			b.WriteString(it.Text)
		}
	}
	return b.String()
}

func isModelList(a *answer) error {
	if a.Response.Status == http.StatusNotFound {
		return nil
	}
	doc, _ := tree.Parse(a.Response.Body)
	list := doc.Any("data", "models")
	if a.Response.Status != http.StatusOK || !list.Is(tree.Array) {
		return fmt.Errorf("the list of models should be JSON with a list; it is %s", outcomeText(a))
	}
	for i, m := range list.Items() {
		if m.Any("id", "name", "slug").Text() == "" {
			return fmt.Errorf("model %d of the list has no id", i)
		}
	}
	return nil
}

func isCount(a *answer) error {
	if slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented},
		a.Response.Status) {
		return nil
	}
	doc, _ := tree.Parse(a.Response.Body)
	if n, ok := doc.Any("input_tokens", "totalTokens").Whole(); a.Response.Status == http.StatusOK && ok && n > 0 {
		return nil
	}
	return fmt.Errorf("a count of tokens is exact, or 404; it is %s", outcomeText(a))
}

// longStream is how long a stream takes in which pieces can be told apart.
const longStream = time.Second

func isSpread(a *answer) error {
	chunks := a.Response.Chunks
	if !a.IsOK() || a.Took < longStream || len(chunks) == 0 {
		return errNotSeen
	}
	if first := a.Began + chunks[0].At; first > a.Took*9/10 {
		return fmt.Errorf("the reply took %d ms, and its first byte came after %d ms", a.Took.Milliseconds(),
			first.Milliseconds())
	}
	return nil
}

// isSameInBothForms holds that a streamed reply and a whole one agree in all that does not depend on what the model
// chose to say. Of a question with both forms the streamed one is asked first.
func (j *judge) isSameInBothForms(name string, a *answer) error {
	question, form, _ := strings.Cut(name, "/")
	was := j.streamed[question]
	switch {
	case a.IsOK() && form == "stream":
		j.streamed[question] = a
		return errNotSeen
	case !a.IsOK() || was == nil:
		return errNotSeen
	}
	streamed, whole := j.traitsOf(was), j.traitsOf(a)
	for i := range whole {
		if streamed[i] != whole[i] && streamed[i] != "" && whole[i] != "" {
			return fmt.Errorf("the same request is answered with %s as a stream, and with %s as a whole",
				streamed[i], whole[i])
		}
	}
	return nil
}

// traitsOf describes what the two forms of a reply must have in common. A trait is "" where the reply does not show it.
func (j *judge) traitsOf(a *answer) [4]string {
	traits := [4]string{fmt.Sprintf("the stop reason %q", a.Reply.Stop), "no call", "", "no count of tokens"}
	for _, it := range a.Reply.Items {
		switch {
		case it.What == wire.Call:
			traits[1] = "a call of " + it.Name
		case it.What == wire.Thinking && it.HasToken:
			traits[2] = "thinking that has a token to send back"
		case it.What == wire.Thinking:
			traits[2] = "thinking without a token to send back"
		}
	}
	if u := wire.UsageOf(j.Wire.Name, a.Reply); u != nil {
		traits[3] = fmt.Sprintf("counts of input (%t) and of output (%t)", u.Input > 0, u.Output > 0)
	}
	return traits
}
