package longshore

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

func decodeText(text string) (Arguments, error) {
	return decodeArguments(&runtime.Unknown{Raw: []byte(text), ContentType: runtime.ContentTypeJSON})
}

func TestArgumentsDefaults(t *testing.T) {
	got, err := decodeText(`{"modelPath": "/model"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := defaultArguments()
	want.ModelPath = "/model"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, expected %+v", got, want)
	}
}

func TestArgumentsAreRead(t *testing.T) {
	got, err := decodeText(`{"modelPath": "/model", "deadline": "5ms", "shadow": true,
		"readingsFile": "/readings", "readingsMaxAge": "10s", "envelopeTolerance": 1,
		"decisionLog": "https://longshore:8000/decisions", "circuit": {"failures": 3, "openFor": "1m"}, "eventInterval": "5m"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got.Deadline.Duration != 5*time.Millisecond || !got.Shadow ||
		got.Circuit.Failures != 3 || got.Circuit.OpenFor.Duration != time.Minute || got.EnvelopeTolerance != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestATokenMayGoToThisMachineInPlainText(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1:8000/d", "https://decisions.example/d"} {
		if _, err := decodeText(`{"modelPath": "/m", "decisionLogTokenFile": "/t", "decisionLog": "` + address + `"}`); err != nil {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

func TestArgumentsKeepTheDefaultsOfACircuitGivenInPart(t *testing.T) {
	got, err := decodeText(`{"modelPath": "/model", "circuit": {"failures": 3}}`)
	if err != nil || got.Circuit.OpenFor.Duration != defaultCircuitOpenFor {
		t.Errorf("got %+v and %v, expected openFor %v", got, err, defaultCircuitOpenFor)
	}
}

func TestWrongArgumentsNameTheField(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no model":              {`{}`, "args.modelPath: "},
		"a relative path":       {`{"modelPath": "model"}`, "args.modelPath: got model, expected an absolute path"},
		"a misspelt field":      {`{"modelPath": "/m", "deadlin": "5ms"}`, `args.deadlin: `},
		"the wrong case":        {`{"modelpath": "/m"}`, `args.modelpath: `},
		"no deadline":           {`{"modelPath": "/m", "deadline": "0s"}`, "args.deadline: got 0s"},
		"a deadline of seconds": {`{"modelPath": "/m", "deadline": "20s"}`, "args.deadline: got 20s"},
		"a number as duration":  {`{"modelPath": "/m", "deadline": 20}`, "args.deadline: "},
		"a duration in words":   {`{"modelPath": "/m", "readingsMaxAge": "long"}`, "args.readingsMaxAge: "},
		"one of the past":       {`{"modelPath": "/m", "mixWeight": 0.5}`, "args.mixWeight: no such argument any more (hint: give Longshore a smaller weight"},
		"another of the past":   {`{"modelPath": "/m", "stockPluginConfig": []}`, "args.stockPluginConfig: no such argument any more"},
		"no room for the log":   {`{"modelPath": "/m", "decisionLogMaxSize": "0"}`, "args.decisionLogMaxSize: got 0"},
		"no memory":             {`{"modelPath": "/m", "memoryLimit": "0"}`, "args.memoryLimit: got 0"},
		"memory in words":       {`{"modelPath": "/m", "memoryLimit": "much"}`, "args.memoryLimit: "},
		"a relative folder":     {`{"modelPath": "/m", "stateFolder": "state"}`, "args.stateFolder: got state, expected an absolute path"},
		"a string as bool":      {`{"modelPath": "/m", "shadow": "yes"}`, "args.shadow: "},
		"a choice of nobody's":  {`{"modelPath": "/m", "onMissingReadings": "guess"}`, "args.onMissingReadings: got guess, expected place or wait"},
		"a negative share":      {`{"modelPath": "/m", "envelopeTolerance": -0.5}`, "args.envelopeTolerance: got -0.5, expected a number from 0 to 1"},
		"a field of circuit":    {`{"modelPath": "/m", "circuit": {"failure": 3}}`, "args.circuit: "},
		"no failures":           {`{"modelPath": "/m", "circuit": {"failures": 0}}`, "args.circuit.failures: got 0"},
		"an address w/o host":   {`{"modelPath": "/m", "decisionLog": "http:///decisions"}`, "args.decisionLog: "},
		"a digest of another":   {`{"modelPath": "/m", "modelDigests": ["md5:1"]}`, "args.modelDigests[0]: got md5:1, expected sha256: and 64"},
		"a token, no log":       {`{"modelPath": "/m", "decisionLogTokenFile": "/t"}`, "args.decisionLogTokenFile: got /t, expected nothing"},
		"a token for a file":    {`{"modelPath": "/m", "decisionLog": "/log", "decisionLogTokenFile": "/t"}`, "args.decisionLogTokenFile: got /t, expected nothing"},
		"a token for all":       {`{"modelPath": "/m", "decisionLog": "http://10.0.0.1/d", "decisionLogTokenFile": "/t"}`, "could read the token"},
		"a log's authorities":   {`{"modelPath": "/m", "decisionLog": "https://d/", "decisionLogCAFile": "ca"}`, "args.decisionLogCAFile: got ca"},
		"events all the time":   {`{"modelPath": "/m", "eventInterval": "1ms"}`, "args.eventInterval: got 1ms"},
		"folder and address":    {withRegistry(`"url": "https://m/live/", "cacheFolder": "/c"`), "args.registry.url: got https://m/live/, expected nothing beside modelPath"},
		"registry, no address":  {withRegistry(`"cacheFolder": "/c"`), `args.registry.url: got "", expected the address of a bundle`},
		"registry, misspelt":    {registryAlone(`"uri": "https://m/"`), "args.registry: "},
		"no scheme":             {registryAlone(`"url": "models.example/live", "cacheFolder": "/c"`), "args.registry.url: "},
		"another scheme":        {registryAlone(`"url": "ftp://m/live", "cacheFolder": "/c"`), "args.registry.url: "},
		"a password":            {registryAlone(`"url": "https://me:secret@m/live", "cacheFolder": "/c"`), "args.registry.url: "},
		"a query":               {registryAlone(`"url": "https://m/live?x=1", "cacheFolder": "/c"`), "args.registry.url: "},
		"plain to elsewhere":    {registryAlone(`"url": "http://10.0.0.1/live", "cacheFolder": "/c"`), "expected https, or allowPlainHTTP: true"},
		"no cache":              {registryAlone(`"url": "https://m/live"`), `args.registry.cacheFolder: got "", expected an absolute path`},
		"a relative cache":      {registryAlone(`"url": "https://m/live", "cacheFolder": "c"`), `args.registry.cacheFolder: got "c"`},
		"polls all the time":    {registryAlone(`"url": "https://m/live", "cacheFolder": "/c", "pollInterval": "1s"`), "args.registry.pollInterval: got 1s, expected 2s or more"},
		"a relative token":      {registryAlone(`"url": "https://m/live", "cacheFolder": "/c", "tokenFile": "t"`), "args.registry.tokenFile: got t"},
		"relative authorities":  {registryAlone(`"url": "https://m/live", "cacheFolder": "/c", "caFile": "ca"`), "args.registry.caFile: got ca"},
		"a weight below 0":      {`{"modelPath": "/m", "preference": {"watts": -1, "ee": 2}}`, "args.preference.watts: got -1, expected a weight of 0 or more"},
		"weights of nothing":    {`{"modelPath": "/m", "preference": {"watts": 0}}`, "args.preference: got map[watts:0], expected at least one weight above 0"},
		"a weight in words":     {`{"modelPath": "/m", "preference": {"watts": "much"}}`, "args.preference: "},
		"no object":             {`[1]`, "args: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := decodeText(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, expected %q", err, test.want)
			}
		})
	}
}

func TestArgumentsNameAllThatIsWrong(t *testing.T) {
	_, err := decodeText(`{"envelopeTolerance": 2, "deadline": "-1s"}`)
	for _, field := range []string{"modelPath", "envelopeTolerance", "deadline"} {
		if err == nil || !strings.Contains(err.Error(), "args."+field) {
			t.Errorf("got %v, expected %s in it", err, field)
		}
	}
}

func withRegistry(fields string) string {
	return `{"modelPath": "/m", "registry": {` + fields + `}}`
}

func registryAlone(fields string) string { return `{"registry": {` + fields + `}}` }

func TestARegistryTakesThePlaceOfAFolder(t *testing.T) {
	tests := map[string]string{
		"https":                  `"url": "https://m/models/el-rl/live/"`,
		"http to this machine":   `"url": "http://localhost:8090/models/el-rl/live"`,
		"http to ::1":            `"url": "http://[::1]:8090/models/el-rl/live"`,
		"http to another, asked": `"url": "http://m/models/el-rl/live", "allowPlainHTTP": true`,
	}
	for name, fields := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := decodeText(registryAlone(fields + `, "cacheFolder": "/c", "tokenFile": "/t", "caFile": "/ca"`))
			if err != nil || got.Registry.PollInterval.Duration != defaultRegistryInterval {
				t.Errorf("got %+v and %v, expected no error and an interval of %v", got.Registry, err, defaultRegistryInterval)
			}
		})
	}
}

func TestPreferenceIsRead(t *testing.T) {
	got, err := decodeText(`{"modelPath": "/m", "preference": {"watts": 1, "fragmentation": 0.25}}`)
	if want := (map[string]float64{"watts": 1, "fragmentation": 0.25}); err != nil || !reflect.DeepEqual(got.Preference, want) {
		t.Errorf("got %v and %v, expected %v", got.Preference, err, want)
	}
}
