package longshore

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// What an argument is when it is left out.
const (
	defaultDeadline           = 20 * time.Millisecond
	defaultReadingsMaxAge     = time.Minute
	defaultEnvelopeTolerance  = 0.25
	defaultCircuitFailures    = 5
	defaultCircuitOpenFor     = 30 * time.Second
	defaultEventInterval      = time.Minute
	defaultRegistryInterval   = 30 * time.Second
	defaultMemoryLimit        = "256Mi"
	defaultDecisionLogMaxSize = "100Mi"
)

// What onMissingReadings may be.
const (
	placeWithoutReadings = "place"
	waitForReadings      = "wait"
)

// mostDeadline keeps a typing error (20s for 20ms) from stopping all scheduling: pods are scored one after the other.
const mostDeadline = 5 * time.Second

// Arguments are the plugin's arguments, the `args` of its `pluginConfig`.
type Arguments struct {
	metav1.TypeMeta `json:",inline"`

	// ModelPath is the folder of the bundle. It may come into being later; until then the profile's other score plugins rank.
	ModelPath string `json:"modelPath"`
	// ModelDigests are those of the bundles that may be used, as sha256:HEX of their policy.json, which names that of
	// the weights; none = any bundle.
	ModelDigests []string `json:"modelDigests"`
	// Registry is where the bundle is fetched from, in the place of ModelPath.
	Registry RegistryArguments `json:"registry"`
	// Preference are weights by the terms of the policy's objective, for a policy that takes them; none = its own.
	Preference map[string]float64 `json:"preference"`
	// Deadline is how long scoring one pod may take before the profile's other score plugins decide.
	Deadline metav1.Duration `json:"deadline"`
	// Shadow ranks and logs; the profile's other score plugins decide.
	Shadow bool `json:"shadow"`
	// ReadingsFile is the JSON or YAML file of what is measured on the nodes; empty = nothing is measured.
	ReadingsFile string `json:"readingsFile"`
	// ReadingsMaxAge is the age from which on a reading is not known any more.
	ReadingsMaxAge metav1.Duration `json:"readingsMaxAge"`
	// OnMissingReadings says whether a node whose latency is not known takes pods with a hard limit: place or wait.
	OnMissingReadings string `json:"onMissingReadings"`
	// EnvelopeTolerance is the share of what the model reads that may lie outside of what it met in training; above it
	// the profile's other score plugins decide. 1 = the model's are used, however far out.
	EnvelopeTolerance float64 `json:"envelopeTolerance"`
	// DecisionLog is where decisions go: the path of a file, unix:PATH or an http(s) address; empty = nowhere.
	DecisionLog string `json:"decisionLog"`
	// DecisionLogMaxSize is how large a file may become; then it gets the ending .1, in the place of an older one.
	DecisionLogMaxSize resource.Quantity `json:"decisionLogMaxSize"`
	// DecisionLogTokenFile holds what an address is sent as `Authorization: Bearer`; empty = nothing.
	DecisionLogTokenFile string `json:"decisionLogTokenFile"`
	// DecisionLogCAFile holds the authorities (PEM) that may vouch for an address; empty = the system's.
	DecisionLogCAFile string `json:"decisionLogCAFile"`
	// MemoryLimit is how much a policy may keep; one that would need more for the cluster's nodes is not used.
	MemoryLimit resource.Quantity `json:"memoryLimit"`
	// StateFolder is where it is written down that a new bundle is on trial; it has to outlive the container, and one
	// kube-scheduler alone uses it. Empty = the lease alone has the mark.
	StateFolder string `json:"stateFolder"`
	// Circuit says when a failing model is left alone for a while.
	Circuit CircuitArguments `json:"circuit"`
	// EventInterval is the shortest time between two Kubernetes events of the same reason.
	EventInterval metav1.Duration `json:"eventInterval"`
}

// RegistryArguments say where a bundle is fetched from.
type RegistryArguments struct {
	// URL is the address of the folder with manifest.json and the bundle's files, such as
	// https://models.example/models/el-rl/live/; empty = nothing is fetched.
	URL string `json:"url"`
	// CacheFolder is where the last good bundle is kept for the next start.
	CacheFolder string `json:"cacheFolder"`
	// PollInterval is how often the address is asked, give or take a fifth.
	PollInterval metav1.Duration `json:"pollInterval"`
	// TokenFile holds what is sent as `Authorization: Bearer`; empty = nothing. It is read anew every time.
	TokenFile string `json:"tokenFile"`
	// CAFile holds the authorities (PEM) that may vouch for the server; empty = the system's. It is read anew every time.
	CAFile string `json:"caFile"`
	// AllowPlainHTTP lets http:// lead to other machines than this one, where anybody between may change what is fetched.
	AllowPlainHTTP bool `json:"allowPlainHTTP"`
}

// CircuitArguments say when a failing model is left alone for a while.
type CircuitArguments struct {
	// Failures open the circuit: the model is not asked. Twenty successes in a row make up for one of them.
	Failures int `json:"failures"`
	// OpenFor is how long it stays open; then one pod tries the model again.
	OpenFor metav1.Duration `json:"openFor"`
}

// goneArguments are those of earlier releases, with what to do instead.
var goneArguments = map[string]string{
	"mixWeight":         "give Longshore a smaller weight in the profile's plugins.score",
	"stockPluginConfig": "give upstream's plugins their arguments in the profile's pluginConfig",
}

func defaultArguments() Arguments {
	return Arguments{
		Deadline:          metav1.Duration{Duration: defaultDeadline},
		ReadingsMaxAge:    metav1.Duration{Duration: defaultReadingsMaxAge},
		OnMissingReadings: placeWithoutReadings,
		EnvelopeTolerance: defaultEnvelopeTolerance,
		Circuit: CircuitArguments{
			Failures: defaultCircuitFailures,
			OpenFor:  metav1.Duration{Duration: defaultCircuitOpenFor},
		},
		DecisionLogMaxSize: resource.MustParse(defaultDecisionLogMaxSize),
		EventInterval:      metav1.Duration{Duration: defaultEventInterval},
		MemoryLimit:        resource.MustParse(defaultMemoryLimit),
		Registry:           RegistryArguments{PollInterval: metav1.Duration{Duration: defaultRegistryInterval}},
	}
}

// decodeArguments reads the plugin's arguments. Upstream's DecodeInto lets unknown fields pass, so that a misspelt
// name would silently mean the default; here it is an error. What the framework hands over is JSON or YAML, and YAML's
// reader takes both.
func decodeArguments(object runtime.Object) (Arguments, error) {
	arguments := defaultArguments()
	if object == nil {
		return arguments, arguments.validate()
	}
	unknown, ok := object.(*runtime.Unknown)
	if !ok {
		return Arguments{}, fmt.Errorf("args: got %T, expected a *runtime.Unknown", object)
	}
	text, err := yaml.YAMLToJSONStrict(unknown.Raw)
	if err != nil {
		return Arguments{}, fmt.Errorf("args: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return Arguments{}, fmt.Errorf("args: %w", err)
	}
	// Field by field, as a duration's error does not say whose it is.
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if instead, isGone := goneArguments[name]; isGone {
			problems = append(problems, fmt.Errorf("args.%s: no such argument any more (hint: %s)", name, instead))
			continue
		}
		one, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		var strict []error
		if err == nil {
			strict, err = kjson.UnmarshalStrict(one, &arguments)
		}
		if err := errors.Join(append(strict, err)...); err != nil {
			problems = append(problems, fmt.Errorf("args.%s: %w", name, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return Arguments{}, err
	}
	return arguments, arguments.validate()
}

// expectation notes what is wrong with a field where it is not ok.
type expectation func(ok bool, field string, got any, expected string)

// validate returns what is wrong with the arguments, each with the field's name; nil = nothing.
func (a Arguments) validate() error {
	var problems []error
	var expect expectation = func(ok bool, field string, got any, expected string) {
		if !ok {
			problems = append(problems, fmt.Errorf("args.%s: got %v, expected %s", field, got, expected))
		}
	}
	expect(a.ModelPath != "" || a.Registry.URL != "", "modelPath", `""`, "the folder of a bundle, or registry.url")
	expect(a.ModelPath == "" || a.Registry.URL == "", "registry.url", a.Registry.URL, "nothing beside modelPath")
	a.Registry.check(expect)
	checkPreference(a.Preference, expect)
	expect(a.ModelPath == "" || filepath.IsAbs(a.ModelPath), "modelPath", a.ModelPath, "an absolute path")
	expect(a.Deadline.Duration > 0 && a.Deadline.Duration <= mostDeadline, "deadline", a.Deadline.Duration,
		fmt.Sprintf("a duration above 0 and at most %v", mostDeadline))
	expect(a.ReadingsMaxAge.Duration > 0, "readingsMaxAge", a.ReadingsMaxAge.Duration, "a duration above 0")
	expect(a.OnMissingReadings == placeWithoutReadings || a.OnMissingReadings == waitForReadings, "onMissingReadings",
		a.OnMissingReadings, fmt.Sprintf("%s or %s", placeWithoutReadings, waitForReadings))
	expect(a.EnvelopeTolerance >= 0 && a.EnvelopeTolerance <= 1, "envelopeTolerance", a.EnvelopeTolerance, "a number from 0 to 1")
	expect(a.Circuit.Failures >= 1, "circuit.failures", a.Circuit.Failures, "1 or more")
	expect(a.Circuit.OpenFor.Duration > 0, "circuit.openFor", a.Circuit.OpenFor.Duration, "a duration above 0")
	expect(a.MemoryLimit.Value() > 0, "memoryLimit", a.MemoryLimit.String(), "an amount above 0, such as 256Mi")
	expect(a.StateFolder == "" || filepath.IsAbs(a.StateFolder), "stateFolder", a.StateFolder, "an absolute path")
	expect(a.EventInterval.Duration >= time.Second, "eventInterval", a.EventInterval.Duration, "1s or more")
	a.checkDecisionLog(expect)
	for i, digest := range a.ModelDigests {
		expect(digestPattern.MatchString(digest), fmt.Sprintf("modelDigests[%d]", i), digest, "sha256: and 64 hexadecimal digits")
	}
	return errors.Join(problems...)
}

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (a Arguments) checkDecisionLog(expect expectation) {
	address, err := url.Parse(a.DecisionLog)
	isOne := isAddress(a.DecisionLog)
	expect(!isOne || (err == nil && address.Host != ""), "decisionLog", a.DecisionLog, "an address such as http://host:8000/decisions")
	expect(a.DecisionLogMaxSize.Value() > 0, "decisionLogMaxSize", a.DecisionLogMaxSize.String(), "an amount above 0, such as 100Mi")
	for _, file := range []fileArgument{{"decisionLogTokenFile", a.DecisionLogTokenFile}, {"decisionLogCAFile", a.DecisionLogCAFile}} {
		expect(file.path == "" || filepath.IsAbs(file.path), file.name, file.path, "an absolute path")
		expect(file.path == "" || isOne, file.name, file.path, "nothing: decisionLog is no address")
	}
	isSecret := err != nil || address.Scheme == "https" || isLoopback(address.Hostname())
	expect(a.DecisionLogTokenFile == "" || !isOne || isSecret, "decisionLogTokenFile", a.DecisionLogTokenFile,
		"nothing with http to another machine: anybody between could read the token")
}

func (r RegistryArguments) check(expect expectation) {
	if r.URL == "" {
		expect(r == defaultArguments().Registry, "registry.url", `""`, "the address of a bundle, as other fields of registry are given")
		return
	}
	address, err := url.Parse(r.URL)
	isOne := err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Hostname() != "" &&
		address.User == nil && address.RawQuery == "" && address.Fragment == "" && !strings.ContainsAny(r.URL, "?#")
	expect(isOne, "registry.url", r.URL, "an address such as https://models.example/models/el-rl/live/, without user, query and fragment")
	expect(!isOne || address.Scheme == "https" || r.AllowPlainHTTP || isLoopback(address.Hostname()), "registry.url", r.URL,
		"https, or allowPlainHTTP: true: http to another machine lets anybody between change the bundle")
	expect(filepath.IsAbs(r.CacheFolder), "registry.cacheFolder", strconv.Quote(r.CacheFolder), "an absolute path")
	expect(r.PollInterval.Duration >= pollInterval, "registry.pollInterval", r.PollInterval.Duration, fmt.Sprintf("%v or more", pollInterval))
	expect(r.TokenFile == "" || filepath.IsAbs(r.TokenFile), "registry.tokenFile", r.TokenFile, "an absolute path")
	expect(r.CAFile == "" || filepath.IsAbs(r.CAFile), "registry.caFile", r.CAFile, "an absolute path")
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || (address != nil && address.IsLoopback())
}

// checkPreference looks at the numbers alone: which terms there are is the bundle's to say.
func checkPreference(weights map[string]float64, expect expectation) {
	total := 0.0
	for _, term := range slices.Sorted(maps.Keys(weights)) {
		expect(weights[term] >= 0, "preference."+term, weights[term], "a weight of 0 or more")
		total += max(weights[term], 0)
	}
	expect(len(weights) == 0 || total > 0, "preference", weights, "at least one weight above 0")
}

// isAddress says whether decisions are posted.
func isAddress(destination string) bool {
	return strings.HasPrefix(destination, "http://") || strings.HasPrefix(destination, "https://")
}
