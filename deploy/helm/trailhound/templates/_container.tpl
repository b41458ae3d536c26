{{/*
One container of the pod. Takes a dict: `top`, the root context, and `role`, `receiver` or `monitor`.
*/}}
{{- define "trailhound.container" -}}
{{- $own := index .top.Values .role -}}
- name: {{ .role }}
  image: "{{ .top.Values.image.repository }}:{{ .top.Values.image.tag | default .top.Chart.AppVersion }}"
  imagePullPolicy: {{ .top.Values.image.pullPolicy }}
  args: [{{ ternary "receive" "monitor" (eq .role "receiver") }}, --config, /etc/trailhound/trailhound.yaml, --data, /var/lib/trailhound]
  {{- if eq .role "receiver" }}
  {{- include "trailhound.receiver" . | nindent 2 }}
  {{- else }}
  {{- include "trailhound.monitor" . | nindent 2 }}
  {{- end }}
  resources: {{- toYaml $own.resources | nindent 4 }}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL]}
  volumeMounts:
    - {name: config, mountPath: /etc/trailhound, readOnly: true}
    - {name: data, mountPath: /var/lib/trailhound}
    - {name: {{ .role }}-tmp, mountPath: /tmp}
{{- end }}

{{/* Stations 1 and 2: needs no secret and no store. */}}
{{- define "trailhound.receiver" -}}
env:
  - {name: TRAILHOUND_RECEIVE__GRPC, value: "0.0.0.0:4317"}
  - {name: TRAILHOUND_RECEIVE__HTTP, value: "0.0.0.0:4318"}
  - {name: TRAILHOUND_RECEIVE__ALLOW_REMOTE, value: "true"}
  {{- with .top.Values.receiver.env }}{{ toYaml . | nindent 2 }}{{ end }}
ports:
  - {name: otlp-grpc, containerPort: 4317}
  - {name: otlp-http, containerPort: 4318}
startupProbe:
  httpGet: {path: /healthz, port: otlp-http}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: otlp-http}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /healthz, port: otlp-http}
  periodSeconds: 5
  timeoutSeconds: 2
{{- end }}

{{/* Stations 3 to 8 and the API. A store that is away is no reason to end it: the journal keeps what it cannot store. */}}
{{- define "trailhound.monitor" -}}
{{- $name := include "trailhound.name" .top -}}
env:
  - {name: TRAILHOUND_API__LISTEN, value: "0.0.0.0:4320"}
  - {name: TRAILHOUND_API__ALLOW_REMOTE, value: "true"}
  - name: TRAILHOUND_API__HOSTS
    value: {{ printf "[%s, %s.%s, %s.%s.svc]" $name $name .top.Release.Namespace $name .top.Release.Namespace | quote }}
  {{- if .top.Values.store.dsnSecret.name }}
  - name: TRAILHOUND_STORE__DSN
    valueFrom:
      secretKeyRef: {name: {{ .top.Values.store.dsnSecret.name | quote }}, key: {{ .top.Values.store.dsnSecret.key | quote }}}
  {{- else if .top.Values.store.dsn }}
  - {name: TRAILHOUND_STORE__DSN, value: {{ .top.Values.store.dsn | quote }}}
  {{- end }}
  {{- with .top.Values.monitor.env }}{{ toYaml . | nindent 2 }}{{ end }}
ports:
  - {name: api, containerPort: 4320}
startupProbe:
  httpGet: {path: /healthz, port: api}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: api}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /healthz, port: api}
  periodSeconds: 5
  timeoutSeconds: 2
{{- end }}
