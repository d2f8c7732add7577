package questions

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/toolserver"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// wrongKey is no key of anybody.
const wrongKey = "conform-wrong-key"

// askQuestion asks step by step. A step that follows one without a whole answer shows nothing and is
// left out.
func (j *judge) askQuestion(ctx context.Context, d *report.DutyCase, q *asking) {
	talk := j.newConversation(q.isStream)
	for i := range q.Steps {
		step := &q.Steps[i]
		answers := j.askStep(ctx, talk, step)
		if ctx.Err() != nil {
			return // what the end of the run cut off is no fault of the server
		}
		for _, a := range answers {
			d.Calls.Made++
			if a.Response.Status != 0 {
				d.Calls.Accepted++ // any answer shows something
			}
			if a.isEndless() {
				j.endless++
			}
			n := len(d.Exchanges)
			d.Exchanges = append(d.Exchanges, a.Exchange)
			isExplained := j.judgeAnswer(d, n, a)
			switch {
			case a.isLimited():
				j.limited++
				continue // shows nothing about the question
			case i == 0 && step.Think && !specs.FindCapability(j.Wire.Name, j.Model).TellsThinking() &&
				a.Response.Status/100 == 4:
				j.refusedThinking = outcomeText(a)
				continue // it may be a model that does not think
			}
			for _, e := range step.Expect {
				if !isExplained {
					j.judgeExpectation(d, n, a, e)
				}
			}
		}
		if len(answers) == 0 || !answers[len(answers)-1].IsOK() {
			return
		}
	}
}

// askStep sends the request of a step, and adds to the conversation what a client adds. Answers that only limited the
// rate stand before the others. A step that shall alter a token where none came asks nothing.
func (j *judge) askStep(ctx context.Context, talk *client.Conversation, step *specs.QuestionStep) (answers []*answer) {
	w := wire.ClientOf(j.Wire.Name)
	before := strings.Join(talk.History, "")
	if j.prepareStep(ctx, talk, step); step.Alter && strings.Join(talk.History, "") == before {
		return nil
	}
	server := talk.Server
	switch step.Key {
	case "wrong":
		server.Key = wrongKey
	case "none":
		server.Key = ""
	}
	body := w.Body(&talk.Question, talk.History)
	if step.Body == "{count}" {
		body = client.CountBody(j.Wire, talk.Model, "Count the tokens of this prompt.")
	} else if step.Body != "" {
		body = []byte(strings.NewReplacer("{model}", talk.Model, "{body}", string(body)).Replace(step.Body))
	}
	header := http.Header{}
	for name, value := range step.Header {
		header[http.CanonicalHeaderKey(name)] = []string{value}
	}
	if step.Gzip {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(body) // a buffer takes all
		_ = z.Close()
		body, header["Content-Encoding"] = packed.Bytes(), []string{"gzip"}
	}
	method := http.MethodPost
	if step.Method != "" {
		method = step.Method
	}
	if method != http.MethodPost {
		body = nil
	}
	path := j.pathOf(talk, step)
	sent := make([][]*answer, max(step.Times, 1))
	var all sync.WaitGroup
	for i := range sent {
		all.Go(func() {
			sent[i] = j.send(ctx, func() *client.Answer { return server.Send(ctx, method, path, header, body) })
		})
	}
	all.Wait()
	for _, list := range sent {
		answers = append(answers, list[:len(list)-1]...)
	}
	for _, list := range sent {
		answers = append(answers, list[len(list)-1])
	}
	j.left -= len(answers)
	if last := answers[len(answers)-1]; last.IsOK() {
		talk.History = append(talk.History, w.Replay(last.Reply)...)
		if results := client.RunCalls(last.Reply); results != nil {
			talk.History = append(talk.History, w.Results(results)...)
		}
	}
	return answers
}

// prepareStep sets what the request of a step asks for.
func (j *judge) prepareStep(ctx context.Context, talk *client.Conversation, step *specs.QuestionStep) {
	w := wire.ClientOf(j.Wire.Name)
	if given := step.History[j.Wire.Name]; given != "" {
		talk.History = append(talk.History, given)
	}
	if step.Prompt != "" {
		var images []wire.Image
		if step.Image {
			images = toolserver.Run("conform_image", "{}").Images
		}
		prompt := step.Prompt
		if step.Pad > 0 {
			prompt += "\n" + strings.Repeat("padding ", step.Pad/8)
		}
		talk.History = append(talk.History, w.Prompt(prompt, images...))
	}
	if step.Alter {
		for i, element := range talk.History {
			talk.History[i] = alterTokens(element, j.Wire.Body.Tokens)
		}
	}
	q := wire.Question{Model: talk.Model, System: step.System, Stream: talk.Stream, MaxTokens: step.MaxTokens,
		Stops: step.Stops}
	if step.Model != "" {
		q.Model = step.Model
	}
	for _, t := range toolserver.Tools() {
		if slices.Contains(step.Tools, strings.TrimPrefix(t.Name, "conform_")) {
			q.Tools = append(q.Tools, t)
		}
	}
	switch q.Choice = step.Choose; step.Choose {
	case "", "any", "none":
	default:
		q.Choice = "conform_" + step.Choose
	}
	if step.Think {
		client.AskToThink(&q, j.Wire.Name, "low")
	}
	for _, extra := range step.ExtraFor(j.Wire.Name) {
		q.Extra = append(q.Extra, wire.Extra{Name: extra[0], JSON: extra[1]})
	}
	talk.Question = q
}

// pathOf returns the path of a step with its query.
func (j *judge) pathOf(talk *client.Conversation, step *specs.QuestionStep) string {
	m := &j.Wire.Models
	path := m.Path
	if talk.Stream && m.StreamPath != "" {
		path = m.StreamPath
	}
	switch step.Path {
	case "":
	case "{models}":
		path = modelsPath(j.Wire)
	case "{count}":
		path = client.CountPath(j.Wire)
	default:
		path = step.Path
	}
	path = strings.ReplaceAll(path, "{model}", url.PathEscape(talk.Model))
	query := step.Query
	if query == "" && j.As != nil && step.Method == "" {
		query = j.As.Query
	}
	switch {
	case query == "":
		return path
	case strings.Contains(path, "?"):
		return path + "&" + query
	}
	return path + "?" + query
}

// modelsPath is where a wire lists its models: the collection in which its path names one.
func modelsPath(w *wires.Wire) string {
	if before, _, ok := strings.Cut(w.Models.Path, "/{model}"); ok {
		return before
	}
	return "/v1/models"
}

// alterTokens changes a character in the middle of every token of a history's element.
func alterTokens(element string, members []string) string {
	n, err := tree.Parse(element)
	if err != nil {
		return element
	}
	var walk func(n *tree.Node)
	walk = func(n *tree.Node) {
		for i, item := range n.Items() {
			if n.Is(tree.Object) && slices.Contains(members, n.Names()[i]) && item.Is(tree.String) {
				if text := item.Text(); len(text) > 20 {
					at := len(text) / 2
					changed := byte('A')
					if text[at] == changed {
						changed = 'B'
					}
					element = strings.ReplaceAll(element, text, text[:at]+string(changed)+text[at+1:])
				}
			}
			walk(item)
		}
	}
	walk(n)
	return element
}
