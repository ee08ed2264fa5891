package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// bufferBytes is the size of the buffers on stdin and stdout; a line may be longer.
const bufferBytes = 1 << 20

// queuedPerWorker bounds how many cases wait for a worker, so that a fast writer cannot fill the memory.
const queuedPerWorker = 64

// job is one line of input and the place where its answer will appear.
type job struct {
	line   []byte
	answer chan []byte
}

// serve answers every line of input on output, in order, with the given number of workers; timed adds how long
// upstream's code took.
// It returns the first error that makes the answers untrustworthy (see errUntrustworthy) or that breaks the pipe.
func serve(input io.Reader, output io.Writer, workers int, timed bool) error {
	waiting := make(chan job, workers*queuedPerWorker)
	ordered := make(chan job, workers*queuedPerWorker)
	stopped := make(chan struct{})
	failures := make(chan error, workers+2)

	var running sync.WaitGroup
	for range workers {
		evaluator, err := newEvaluator()
		if err != nil {
			return err
		}
		evaluator.timed = timed
		running.Go(func() { answerJobs(evaluator, waiting, failures) })
	}
	go func() {
		defer close(waiting)
		defer close(ordered)
		if err := readJobs(input, waiting, ordered, stopped); err != nil {
			failures <- err
		}
	}()

	err := writeAnswers(output, ordered, failures)
	close(stopped)
	if err != nil {
		// The reader may be blocked on stdin for ever; the process ends without it.
		return err
	}
	running.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

// readJobs turns lines into jobs; blank lines are not cases.
func readJobs(input io.Reader, waiting, ordered chan<- job, stopped <-chan struct{}) error {
	reader := bufio.NewReaderSize(input, bufferBytes)
	for {
		line, err := reader.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			next := job{line: line, answer: make(chan []byte, 1)}
			for _, queue := range []chan<- job{ordered, waiting} {
				select {
				case queue <- next:
				case <-stopped:
					return nil
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading cases: %w", err)
		}
	}
}

func answerJobs(evaluator *evaluator, waiting <-chan job, failures chan<- error) {
	for next := range waiting {
		answer, err := evaluator.answerLine(next.line)
		if err != nil {
			failures <- err
			return
		}
		next.answer <- answer
	}
}

// writeAnswers writes in the order of the input and flushes whenever no further case is waiting, so that a peer which
// sends one case and waits for its answer gets it.
func writeAnswers(output io.Writer, ordered <-chan job, failures <-chan error) error {
	writer := bufio.NewWriterSize(output, bufferBytes)
	for next := range ordered {
		select {
		case answer := <-next.answer:
			if _, err := writer.Write(answer); err != nil {
				return fmt.Errorf("writing answers: %w", err)
			}
		case err := <-failures:
			return errors.Join(err, writer.Flush())
		}
		if len(ordered) == 0 {
			if err := writer.Flush(); err != nil {
				return fmt.Errorf("writing answers: %w", err)
			}
		}
	}
	return writer.Flush()
}
