package specs

import (
	"testing"

	"github.com/meerkat-go/conformance/internal/datafile"
)

func TestQuestions(t *testing.T) {
	questions, err := Questions()
	if err != nil {
		t.Fatal(err)
	}
	if len(questions) < 50 {
		t.Errorf("only %d questions", len(questions))
	}
	clients, err := AskedClients()
	if err != nil || len(clients) < 5 {
		t.Errorf("%d clients: %v", len(clients), err)
	}
}

// A question that names an unknown duty is refused with the place of the name and the nearest duty.
func TestUnknownDutyOfAQuestion(t *testing.T) {
	const text = "- id: hello\n  title: a short answer\n  level: core\n  steps:\n    - expect: [{duty: SV-A77, be: answered}]\n"
	err := datafile.Read("q.yaml", []byte(text), new([]Question), datafile.Options{Rules: questionRules()}).Err()
	const want = `q.yaml:5:23: hello.steps[0].expect[0].duty: there is no duty "SV-A77"; did you mean SV-A17?`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
