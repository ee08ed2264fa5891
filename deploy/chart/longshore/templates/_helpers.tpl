{{- define "longshore.fullname" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "longshore.isPlugin" -}}
{{- if eq .Values.mode "plugin" -}}true{{- end -}}
{{- end -}}

{{/* Whether metrics are served by HTTPS, to those alone to whom the API server grants it. */}}
{{- define "longshore.hasTls" -}}
{{- if or (eq .Values.mode "plugin") .Values.metrics.tlsSecret -}}true{{- end -}}
{{- end -}}

{{- define "longshore.selectorLabels" -}}
app.kubernetes.io/name: longshore
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: scheduler
{{- end -}}

{{- define "longshore.labels" -}}
{{ include "longshore.selectorLabels" . }}
app.kubernetes.io/part-of: longshore
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "longshore.image" -}}
{{- $default := ternary "longshore-kube-scheduler" "longshore" (eq .Values.mode "plugin") -}}
{{- include "longshore.imageName" (dict "image" .Values.image "repository" $default "tag" .Chart.AppVersion) -}}
{{- end -}}

{{/* The name of an image, from its values and from what stands in where those are empty. */}}
{{- define "longshore.imageName" -}}
{{- $repository := .image.repository | default .repository -}}
{{- if .image.digest -}}
{{ $repository }}@{{ .image.digest }}
{{- else -}}
{{ $repository }}:{{ .image.tag | default .tag }}
{{- end -}}
{{- end -}}

{{- define "longshore.priorityClassName" -}}
{{- if .Values.priorityClass.create -}}
{{ .Values.priorityClass.name | default (include "longshore.fullname" .) }}
{{- else -}}
{{ .Values.priorityClass.name }}
{{- end -}}
{{- end -}}

{{/* What the schema cannot say. */}}
{{- define "longshore.check" -}}
{{- if eq .Values.schedulerName "default-scheduler" -}}
{{- fail "schedulerName: got default-scheduler, expected another name: the cluster's own scheduler has that one" -}}
{{- end -}}
{{- if and (eq .Values.mode "plugin") (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "mode: got plugin on Kubernetes %s, expected 1.36 or newer: the image is a kube-scheduler 1.36" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- $given := list -}}
{{- range $source := list "configMap" "persistentVolumeClaim" "image" -}}
{{- if index $.Values.model $source -}}{{- $given = append $given $source -}}{{- end -}}
{{- end -}}
{{- $registry := include "longshore.registry" . | fromYaml -}}
{{- if $registry.url -}}{{- $given = append $given "registry" -}}{{- end -}}
{{- if gt (len $given) 1 -}}
{{- fail (printf "model: got %s, expected one of them" (join " and " $given)) -}}
{{- end -}}
{{- if and .Values.model.registry.url (ne .Values.mode "plugin") -}}
{{- fail "model.registry: got an address with mode standalone, expected mode plugin: only the plugin fetches models" -}}
{{- end -}}
{{- with $registry -}}
{{- if and (hasPrefix "http://" .url) (not .allowPlainHTTP) (not (regexMatch "^http://(localhost|127\\.|\\[::1\\])" .url)) -}}
{{- if not $.Values.model.registry.url -}}
{{- fail "registryServer.tlsSecret: got none, expected one, or model.registry.allowPlainHTTP: true" -}}
{{- end -}}
{{- fail (printf "model.registry.url: got %s, expected https, or allowPlainHTTP: true" .url) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.registryServer.enabled (gt (int .Values.registryServer.replicas) 1) (not .Values.registryServer.database.secret) -}}
{{- fail "registryServer.replicas: got several without database.secret, expected 1: a volume is one pod's" -}}
{{- end -}}
{{- if and (or .Values.decisionLogTokenSecret .Values.decisionLogCAConfigMap) (not (and (eq .Values.mode "plugin") (regexMatch "^https?://" .Values.decisionLog))) -}}
{{- fail "decisionLogTokenSecret: got one or decisionLogCAConfigMap, expected mode plugin and a decisionLog with an address" -}}
{{- end -}}
{{- if and .Values.featureGates (ne .Values.mode "plugin") -}}
{{- fail "featureGates: got some with mode standalone, expected mode plugin: they are kube-scheduler's" -}}
{{- end -}}
{{- if and .Values.shadow (ne .Values.mode "plugin") -}}
{{- fail "shadow: got true with mode standalone, expected mode plugin: only kube-scheduler has a shadow" -}}
{{- end -}}
{{- if and .Values.shadow (not .Values.decisionLog) -}}
{{- fail "shadow: got true without decisionLog, expected a decisionLog: what a shadow decides is seen nowhere else" -}}
{{- end -}}
{{- end -}}

{{/* The volume of the bundle; nothing where there is none. */}}
{{- define "longshore.modelVolume" -}}
{{- with .Values.model.configMap -}}
configMap:
  name: {{ . }}
  # Without it pods start all the same: upstream's scores rank until it is there.
  optional: true
{{- end -}}
{{- with .Values.model.persistentVolumeClaim -}}
persistentVolumeClaim:
  claimName: {{ . }}
  readOnly: true
{{- end -}}
{{- with .Values.model.image -}}
image:
  reference: {{ . }}
{{- end -}}
{{- end -}}

{{/* What of model.registry is in force: where the registry is deployed here and no model is given, it is that one. */}}
{{- define "longshore.registry" -}}
{{- $registry := deepCopy .Values.model.registry -}}
{{- $server := .Values.registryServer -}}
{{- if include "longshore.usesOwnRegistry" . -}}
{{- $host := printf "%s.%s.svc:8090" (include "longshore.registryName" .) .Release.Namespace -}}
{{- $scheme := ternary "https" "http" (ne $server.tlsSecret "") -}}
{{- $_ := set $registry "url" (printf "%s://%s/models/%s/live/" $scheme $host $server.model) -}}
{{- $_ := set $registry "tokenSecret" ($registry.tokenSecret | default $server.tokenSecret) -}}
{{- if not $registry.caConfigMap -}}{{- $_ := set $registry "caSecret" $server.tlsSecret -}}{{- end -}}
{{- end -}}
{{- toYaml $registry -}}
{{- end -}}

{{/* Whether the plugin takes its model from the server that this release has. */}}
{{- define "longshore.usesOwnRegistry" -}}
{{- $model := .Values.model -}}
{{- $isGiven := or $model.registry.url $model.configMap $model.persistentVolumeClaim $model.image -}}
{{- if and .Values.registryServer.enabled (eq .Values.mode "plugin") (not $isGiven) -}}true{{- end -}}
{{- end -}}

{{/* The rule of a NetworkPolicy for looking up names. */}}
{{- define "longshore.dns" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
  {{- with .Values.networkPolicy.dnsTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Nine tenths of the memory limit in bytes, for Go; nothing where there is none, or none that can be read. */}}
{{- define "longshore.goMemoryLimit" -}}
{{- $given := dig "limits" "memory" "" .Values.resources -}}
{{- $text := ternary (int64 $given | toString) (toString $given) (kindIs "float64" $given) -}}
{{- $factors := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- if regexMatch "^[0-9]+(\\.[0-9]+)?([kMGT]|[KMGT]i)?$" $text -}}
{{- $unit := regexFind "[A-Za-z]*$" $text -}}
{{- mulf 0.9 (trimSuffix $unit $text | float64) (index $factors $unit) | floor | int64 -}}
{{- end -}}
{{- end -}}

{{/* Its environment: what the values say, and Go's memory limit unless they say that. */}}
{{- define "longshore.env" -}}
{{- $names := list -}}
{{- range .Values.extraEnv -}}{{- $names = append $names .name -}}{{- end -}}
{{- $limit := include "longshore.goMemoryLimit" . -}}
{{- if and $limit (eq .Values.mode "plugin") (not (has "GOMEMLIMIT" $names)) }}
- name: GOMEMLIMIT
  value: {{ $limit | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "longshore.registryName" -}}
{{- include "longshore.fullname" . }}-registry
{{- end -}}

{{- define "longshore.registrySelectorLabels" -}}
{{- include "longshore.selectorLabels" . | replace "component: scheduler" "component: registry" -}}
{{- end -}}

{{- define "longshore.registryLabels" -}}
{{- include "longshore.labels" . | replace "component: scheduler" "component: registry" -}}
{{- end -}}

{{/* The port of the registry's address. */}}
{{- define "longshore.registryPort" -}}
{{- $url := urlParse (include "longshore.registry" . | fromYaml).url -}}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- end -}}

{{/*
The profile of scheduler/config, of which files/ has copies: the last of the file, as the first of profile-plugin.yaml is
the cluster's own scheduler's. Its name and Longshore's arguments come from the values.
*/}}
{{- define "longshore.profile" -}}
{{- $source := .Files.Get (printf "files/%s.yaml" (ternary "profile-shadow" "profile-plugin" .Values.shadow)) | fromYaml -}}
{{- $profile := last $source.profiles -}}
{{- $_ := set $profile "schedulerName" .Values.schedulerName -}}
{{- if not .Values.preemption -}}
{{- $_ := set $profile.plugins "postFilter" (dict "disabled" (list (dict "name" "*"))) -}}
{{- end -}}
{{- $arguments := (first $profile.pluginConfig).args -}}
{{- $_ := set $arguments "stateFolder" "/var/run/longshore/state" -}}
{{- with .Values.decisionLog -}}{{- $_ := set $arguments "decisionLog" . -}}{{- end -}}
{{- if .Values.decisionLogTokenSecret -}}
{{- $_ := set $arguments "decisionLogTokenFile" "/var/run/longshore/decisions-token/token" -}}
{{- end -}}
{{- if .Values.decisionLogCAConfigMap -}}
{{- $_ := set $arguments "decisionLogCAFile" "/var/run/longshore/decisions-ca/ca.crt" -}}
{{- end -}}
{{- with .Values.readingsFile -}}{{- $_ := set $arguments "readingsFile" . -}}{{- end -}}
{{- if eq .Values.onMissingReadings "wait" -}}{{- $_ := set $arguments "onMissingReadings" "wait" -}}{{- end -}}
{{- with include "longshore.registry" . | fromYaml -}}
{{- if .url -}}
{{- $_ := unset $arguments "modelPath" -}}
{{- $registry := dict "url" .url "cacheFolder" "/var/cache/longshore" "pollInterval" .pollInterval -}}
{{- if .tokenSecret -}}{{- $_ := set $registry "tokenFile" "/var/run/longshore/token/token" -}}{{- end -}}
{{- if or .caConfigMap .caSecret -}}{{- $_ := set $registry "caFile" "/var/run/longshore/ca/ca.crt" -}}{{- end -}}
{{- if .allowPlainHTTP -}}{{- $_ := set $registry "allowPlainHTTP" true -}}{{- end -}}
{{- $_ := set $arguments "registry" $registry -}}
{{- end -}}
{{- end -}}
{{- $_ := mergeOverwrite $arguments .Values.pluginArguments -}}
{{- toYaml (list $profile) -}}
{{- end -}}
