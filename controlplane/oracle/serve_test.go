package main

import (
	"bufio"
	"bytes"
	"io"
	"testing"
	"time"
)

func TestServeKeepsTheOrder(t *testing.T) {
	lines := randomLines(t, 300)
	input := append(bytes.Join(lines, []byte("\n\n")), '\n')
	var one, many bytes.Buffer
	if err := serve(bytes.NewReader(input), &one, 1, false); err != nil {
		t.Fatal(err)
	}
	if err := serve(bytes.NewReader(input), &many, 4, false); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), many.Bytes()) {
		t.Error("4 workers answered otherwise than 1")
	}
	if got := bytes.Count(one.Bytes(), []byte("\n")); got != len(lines) {
		t.Errorf("got %d answers, expected %d", got, len(lines))
	}
}

// TestServeAnswersBeforeTheInputEnds: a peer that sends one case and waits for its answer must not wait for ever.
func TestServeAnswersBeforeTheInputEnds(t *testing.T) {
	caseReader, caseWriter := io.Pipe()
	answerReader, answerWriter := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- serve(caseReader, answerWriter, 2, false) }()
	answers := bufio.NewReader(answerReader)
	stuck := time.AfterFunc(time.Minute, func() { panic("no answer came within a minute") })
	defer stuck.Stop()
	for i, line := range randomLines(t, 20) {
		if _, err := caseWriter.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		if _, err := answers.ReadBytes('\n'); err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
	}
	if err := caseWriter.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
