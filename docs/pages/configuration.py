"""docs/configuration.md: every setting of the configuration file."""

from __future__ import annotations

import inspect

from pydantic import BaseModel

from pages import NOTE, code, table
from pages.settings import Setting, sections, settings
from trailhound.config import Config

_INTRO = f"""# Configuration

{NOTE}
One YAML file, given with `--config`; everything has a default, so no file is needed to start. An unknown key is an error that names the known ones.

```sh
trailhound config check trailhound.yaml
trailhound config schema
```

A whole file could look like this:

```yaml
data_dir: ./trailhound-data
receive: {{grpc: "127.0.0.1:4317", http: "127.0.0.1:4318", max_request: 64MiB}}
api: {{listen: "127.0.0.1:4320"}}
runs: {{grace: 3s, idle: 15m, waiting: 24h}}
retention: {{spans: 30d, trajectories: 1y, findings: 1y}}
tools:
  - {{match: [issue_refund, "delete_*"], risk: high, approval: required, when: "args.amount > 200"}}
  - {{match: get_job_status, poll: true}}
  - {{match: search, volatile: [request_id, ts], error_when: "result.status == 'failed'"}}
rules:
  loop: {{max_repeats: 2}}
  budget:
    run: {{turns: 30, tokens: 400000, cost_usd: 2.00, duration: 15m}}
contracts:
  - agent: returns_desk
    must: [lookup_order, create_return_label]
    must_not: [issue_refund]
    order: {{mode: IN_ORDER, tools: [lookup_order, {{any_of: [check_policy], optional: true}}, create_return_label]}}
    arguments:
      create_return_label:
        reason: {{one_of: [damaged, wrong_item]}}
        parcels: {{between: [1, 5]}}
        address.country: {{matches: "^[A-Z]{{2}}$"}}
```

**Environment.** `TRAILHOUND_` variables win over the file; sections nest by `__`: `TRAILHOUND_RECEIVE__GRPC=127.0.0.1:14317` is `receive.grpc`. The value is read as YAML.

**Durations** are written `500ms`, `30s`, `15m`, `24h`, `7d`, `1y`; a bare number means seconds, and the log says so; **sizes** `64MiB`, `1GB` or a number of bytes.
"""


def page() -> str:
    parts = {key: (model, many) for key, model, many in sections(Config)}
    loose = [s for s in settings(Config) if s.key.split(".")[0] not in parts]
    text = _INTRO + "\n## At the top\n\n" + rows(loose)
    return text + "".join(_section(key, model, many) for key, (model, many) in parts.items())


def _section(key: str, model: type[BaseModel], many: bool) -> str:
    about = inspect.cleandoc(model.__doc__ or "")
    prefix = f"{key}[]." if many else f"{key}."
    return f"\n## {key}\n\n{about}{' A list.' if many else ''}\n\n" + rows(list(settings(model, prefix)))


def rows(found: list[Setting]) -> str:
    head = ("setting", "type", "default", "meaning")
    return table(head, ((code(s.key), s.type, code(s.default), s.meaning) for s in found))
