"""A run as one HTML file that plays without a server: the same JavaScript, the same picture."""

from __future__ import annotations

import base64
import json
from html import escape

from plotly.offline import get_plotlyjs

from core.figures.theatre import PLACE_CHART, envelope, script
from core.figures.theatre.view import View, chart_of, marks_of

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
{place}<style>
:root{{--st-background-color:#ffffff;--st-text-color:#31333f;--st-border-color:#d6d9de;
 --st-secondary-background-color:#f4f5f7;--st-primary-color:#c8384a;--st-font:system-ui,sans-serif}}
@media (prefers-color-scheme:dark){{:root{{--st-background-color:#191a1d;--st-text-color:#fafafa;
 --st-border-color:#3d4048;--st-secondary-background-color:#26282d}}}}
body{{margin:14px 20px;background:var(--st-background-color);color:var(--st-text-color);
 font-family:var(--st-font)}}h1{{font-size:1.05rem;margin:0 0 8px}}
</style></head><body><h1>{title}</h1>
<div class="st-key-stage"><div class="host"></div>
<div class="st-key-chart_box"><div id="chart" class="js-plotly-plot"></div></div></div>
<script>{plotly}</script><script>{script}</script><script>
const figure = {figure};
Plotly.newPlot('chart', figure.data, figure.layout, {{responsive: true, displaylogo: false}});
const text = atob("{run}");
window.schedulerTheatre(document.querySelector('.st-key-stage'),
  Uint8Array.from(text, (c) => c.charCodeAt(0)));
window.schedulerTheatre.tell({marks});
</script></body></html>
"""


def standalone_html(view: View) -> bytes:
    """The run's theatre as a page of its own, some 5 MB with the chart library inside."""
    scenario = view.trace.scenario
    figure = json.loads(chart_of(view).to_json())
    run = base64.b64encode(envelope(view.packed, view.version, scenario.name)).decode()
    return PAGE.format(
        title=escape(f"{scenario.name}: {scenario.scheduler}"), place=PLACE_CHART,
        plotly=get_plotlyjs(), script=_inline(script()), figure=_json(figure),
        run=run, marks=_json(marks_of(view))).encode()


def _inline(code: str) -> str:
    """Code that can neither end the script element in which it stands nor open a comment."""
    return code.replace("</", "<\\/").replace("<!--", "<\\!--")


def _json(data: object) -> str:
    """Data inside of a script."""
    return json.dumps(data).replace("<", "\\u003c")
