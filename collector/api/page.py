"""The plain page at `/`: links to what the API offers."""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Trailhound</title>
<h1>Trailhound</h1>
<p>Watches LLM agents: rebuilds every run from its traces and judges it while it is still running.</p>
<ul>
<li><a href="/api/v1/trajectories">Runs</a></li>
<li><a href="/api/v1/findings">Findings</a></li>
<li><a href="/api/v1/sessions">Sessions</a></li>
<li><a href="/api/v1/alerts">Alerts</a></li>
<li><a href="/api/v1/silences">Silences</a></li>
<li><a href="/api/v1/stats">Stats</a></li>
<li><a href="/metrics">Metrics</a></li>
<li><a href="/readyz">Readiness</a></li>
<li><a href="/openapi.json">Description of the API (OpenAPI)</a></li>
</ul>
</html>
"""
