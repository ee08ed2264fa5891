// Command responder answers HTTP with the names of its pod and node, at once or after a delay that the caller asks for.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const longestDelay = time.Minute

// Answer is what a caller gets.
type Answer struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
}

func main() {
	port := flag.Int("port", 8080, "port to listen on")
	flag.Parse()
	host, _ := os.Hostname()
	server := &http.Server{
		Addr:              fmt.Sprintf(":%d", *port),
		Handler:           handler(Answer{Pod: host, Node: os.Getenv("NODE_NAME")}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	asked, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	go func() {
		<-asked.Done()
		_ = server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// handler answers every path; `delay` in the query is how long it waits first.
func handler(answer Answer) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if text := request.URL.Query().Get("delay"); text != "" {
			delay, err := time.ParseDuration(text)
			if err != nil || delay < 0 || delay > longestDelay {
				http.Error(writer, "delay: got "+text+", expected a duration from 0s to 1m", http.StatusBadRequest)
				return
			}
			select {
			case <-time.After(delay):
			case <-request.Context().Done():
				return
			}
		}
		writer.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(writer).Encode(answer)
	})
}
