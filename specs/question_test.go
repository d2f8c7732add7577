package specs

import "testing"

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
