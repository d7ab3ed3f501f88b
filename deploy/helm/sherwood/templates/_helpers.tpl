{{- /* Labels of every object. They also select the server's pods, which no other pod shares them with. */}}
{{- define "sherwood.labels" -}}
app.kubernetes.io/name: sherwood
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Name of a shard's StatefulSet, of (list $ shard). */}}
{{- define "sherwood.set" -}}
{{- $root := index . 0 -}}
{{- $root.Release.Name }}{{ if gt (int $root.Values.shards) 1 }}-s{{ index . 1 }}{{ end }}
{{- end }}

{{- /* First 39 digits of the ids of a shard's nodes, of (list $ shard). The number of the member is the last digit. */}}
{{- define "sherwood.node" -}}
{{- printf "node %s" (include "sherwood.set" .) | sha1sum | trunc 39 }}
{{- end }}

{{- /* Members of etcd and the prefix of this release. */}}
{{- define "sherwood.etcd" -}}
etcd{{ if .Values.etcd.secret }}s{{ end }}://{{ join "," .Values.etcd.endpoints }}/$(NAMESPACE)/{{ .Release.Name }}
{{- end }}

{{- /* Volumes and mounts of the Secrets. */}}
{{- define "sherwood.secrets" -}}
{{- dict "users" .Values.users.secret "tls" .Values.tls.secret "etcd" .Values.etcd.secret | toYaml }}
{{- end }}
{{- define "sherwood.volumes" -}}
{{- range $name, $secret := include "sherwood.secrets" . | fromYaml }}
{{- if $secret }}
- {name: {{ $name }}, secret: {secretName: {{ $secret }}, defaultMode: 0440}}
{{- end }}
{{- end }}
{{- end }}
{{- define "sherwood.mounts" -}}
{{- range $name, $secret := include "sherwood.secrets" . | fromYaml }}
{{- if $secret }}
- {name: {{ $name }}, mountPath: /run/secrets/{{ $name }}, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- /* Rights of the pods and of their containers: none. */}}
{{- define "sherwood.podSecurity" -}}
runAsNonRoot: true
runAsUser: 7379
runAsGroup: 7379
fsGroup: 7379
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- define "sherwood.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "sherwood.probe" -}}
httpGet: {path: {{ index . 1 }}, port: http{{ if (index . 0).Values.tls.secret }}, scheme: HTTPS{{ end }}}
{{- end }}

{{- /* With a GPU, nvidia.com/gpu is one of the limits. */}}
{{- define "sherwood.resources" -}}
{{- $gpu := dict "limits" (dict "nvidia.com/gpu" 1) }}
{{- ternary (mergeOverwrite (deepCopy .Values.resources) $gpu) .Values.resources .Values.gpu | toYaml }}
{{- end }}
