package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func get(path string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	handler(Answer{Pod: "p", Node: "n"}).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder
}

func TestAnswerNamesPodAndNode(t *testing.T) {
	var got Answer
	if err := json.Unmarshal(get("/").Body.Bytes(), &got); err != nil || got != (Answer{Pod: "p", Node: "n"}) {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestDelayIsWaitedFor(t *testing.T) {
	started := time.Now()
	if code := get("/?delay=30ms").Code; code != http.StatusOK {
		t.Fatalf("got status %d", code)
	}
	if took := time.Since(started); took < 30*time.Millisecond {
		t.Fatalf("answered after %s", took)
	}
}

func TestWrongDelayIsRefused(t *testing.T) {
	for _, delay := range []string{"soon", "-1s", "2m"} {
		if code := get("/?delay=" + delay).Code; code != http.StatusBadRequest {
			t.Errorf("delay %q: got status %d", delay, code)
		}
	}
}
