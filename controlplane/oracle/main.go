// Command oracle says what kube-scheduler's own code decides for a case.
//
// It reads one case per line on stdin (the nodes, pods and other objects of a cluster, and the pod to place) and writes
// one answer per line on stdout, in the same order: for every node the filter that rejects it and why, every score
// plugin's raw and normalised score, and the totals. The code that decides is upstream's scheduling framework with its
// default profile; nothing of it is imitated here except the few lines of the scheduling loop that tie its steps
// together. README.md, beside this module, has the wire format.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"longshore.dev/controlplane/upstream"
)

func main() {
	workers := flag.Int("workers", 1, "number of parallel workers, each with a framework of its own")
	printVersion := flag.Bool("version", false, "print the upstream version as JSON and exit")
	timed := flag.Bool("timed", false, "add the seconds that upstream's filter and score phases took to every answer")
	printProfile := flag.Bool("profile", false, "print the plugins in order and the feature gates as JSON and exit")
	flag.Parse()

	if err := run(*workers, *timed, *printVersion, *printProfile, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "oracle: %v\n", err)
		os.Exit(1)
	}
}

func run(workers int, timed, printVersion, printProfile bool, rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("got the argument %q, expected none\nhint: cases are read from standard input, one a line", rest[0])
	}
	if workers < 1 {
		return fmt.Errorf("got -workers %d, expected 1 or more\nhint: use the number of cores", workers)
	}
	if printVersion {
		return json.NewEncoder(os.Stdout).Encode(map[string]string{"upstream": upstream.Version()})
	}
	upstream.SilenceLogs()
	if printProfile {
		evaluator, err := newEvaluator()
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(evaluator.profile())
	}
	// Cases are short-lived garbage and the live heap is small, so that collecting less often costs little memory and
	// saves time.
	debug.SetGCPercent(400)
	return serve(os.Stdin, os.Stdout, workers, timed)
}
