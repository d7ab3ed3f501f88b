{{- /* Arguments of sherwoodd, of (list $ shard). Kubernetes replaces $(NAME) by the container's variables. */}}
{{- define "sherwood.arguments" -}}
{{- $root := index . 0 }}
{{- $values := $root.Values }}
{{- $host := printf "$(POD).%s-headless.$(NAMESPACE)" $root.Release.Name }}
- --bind=0.0.0.0
- --http-bind=0.0.0.0
- --backend={{ ternary "cuda" "cpu" $values.gpu }}
- --data-dir=/var/lib/sherwood
{{- if gt (int $values.members) 1 }}
- --ha={{ include "sherwood.etcd" $root }}?shard=s{{ index . 1 }}&announce={{ $host }}:7379
{{- end }}
{{- if gt (int $values.shards) 1 }}
- --cluster-config={{ include "sherwood.etcd" $root }}
- --cluster-node-id={{ include "sherwood.node" . }}$(NUMBER)
{{- end }}
{{- if $values.etcd.secret }}
- --ha-tls-ca=/run/secrets/etcd/ca.crt
- --ha-tls-cert=/run/secrets/etcd/tls.crt
- --ha-tls-key=/run/secrets/etcd/tls.key
{{- end }}
{{- if $values.tls.secret }}
- --tls-port=7379
- --tls-only=yes
- --http-tls=yes
- --tls-cert=/run/secrets/tls/tls.crt
- --tls-key=/run/secrets/tls/tls.key
- --tls-ca=/run/secrets/tls/ca.crt
- --tls-replication=yes
{{- if gt (int $values.shards) 1 }}
- --cluster-preferred-endpoint-type=hostname
{{- end }}
{{- end }}
{{- if not $values.users.secret }}
- --protected-mode=no
{{- else if $values.users.acl }}
- --acl-file=/run/secrets/users/users.acl
{{- else }}
- --requirepass-file=/run/secrets/users/password
{{- end }}
{{- if and $values.users.secret (gt (int $values.members) 1) }}
- --primary-user={{ $values.users.name }}
- --primary-password-file=/run/secrets/users/password
{{- end }}
{{- if $values.local.socketDirectory }}
- --unix-socket=/run/sherwood/$(POD).sock
{{- end }}
{{- range $name, $value := $values.options }}
{{- $text := toString $value }}
{{- if kindIs "bool" $value }}
{{- $text = ternary "yes" "no" $value }}
{{- end }}
- {{ printf "--%s=%s" $name $text | quote }}
{{- end }}
{{- end }}
