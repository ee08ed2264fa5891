{{- define "longshore.fullname" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "longshore.isPlugin" -}}
{{- if eq .Values.mode "plugin" -}}true{{- end -}}
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
{{- $repository := .Values.image.repository | default $default -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
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
{{- $given := list -}}
{{- range $source := list "configMap" "persistentVolumeClaim" "image" -}}
{{- if index $.Values.model $source -}}{{- $given = append $given $source -}}{{- end -}}
{{- end -}}
{{- if .Values.model.registry.url -}}{{- $given = append $given "registry" -}}{{- end -}}
{{- if gt (len $given) 1 -}}
{{- fail (printf "model: got %s, expected one of them" (join " and " $given)) -}}
{{- end -}}
{{- if and .Values.model.registry.url (ne .Values.mode "plugin") -}}
{{- fail "model.registry: got an address with mode standalone, expected mode plugin: only the plugin fetches models" -}}
{{- end -}}
{{- with .Values.model.registry -}}
{{- if and (hasPrefix "http://" .url) (not .allowPlainHTTP) (not (regexMatch "^http://(localhost|127\\.|\\[::1\\])" .url)) -}}
{{- fail (printf "model.registry.url: got %s, expected https, or allowPlainHTTP: true" .url) -}}
{{- end -}}
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

{{/* The port of the registry's address. */}}
{{- define "longshore.registryPort" -}}
{{- $url := urlParse .Values.model.registry.url -}}
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
{{- with .Values.decisionLog -}}{{- $_ := set $arguments "decisionLog" . -}}{{- end -}}
{{- with .Values.readingsFile -}}{{- $_ := set $arguments "readingsFile" . -}}{{- end -}}
{{- with .Values.model.registry -}}
{{- if .url -}}
{{- $_ := unset $arguments "modelPath" -}}
{{- $registry := dict "url" .url "cacheFolder" "/var/cache/longshore" "pollInterval" .pollInterval -}}
{{- if .tokenSecret -}}{{- $_ := set $registry "tokenFile" "/var/run/longshore/token/token" -}}{{- end -}}
{{- if .caConfigMap -}}{{- $_ := set $registry "caFile" "/var/run/longshore/ca/ca.crt" -}}{{- end -}}
{{- if .allowPlainHTTP -}}{{- $_ := set $registry "allowPlainHTTP" true -}}{{- end -}}
{{- $_ := set $arguments "registry" $registry -}}
{{- end -}}
{{- end -}}
{{- $_ := mergeOverwrite $arguments .Values.pluginArguments -}}
{{- toYaml (list $profile) -}}
{{- end -}}
