"""The style sheet of all HTML that nbaccel shows; it takes the colours of the page around it.

JupyterLab and Notebook define `--jp-*`, VS Code defines `--vscode-*`, and a page that has neither (nbconvert, GitHub)
falls back to the system's colours, which follow its light or dark mode. The class stands twice in each rule, so that it
outweighs JupyterLab's own rules for HTML outputs, which set tables to the right. The cockpit's own sheet
(`cockpit/style.js`) has the same sizes; docs/design.md says which.
"""

from __future__ import annotations

import re

from nbaccel.views import palette

_RULES = """
.nbaccel{--ink:var(--jp-ui-font-color1,var(--vscode-foreground,CanvasText));
--quiet:var(--jp-ui-font-color2,var(--vscode-descriptionForeground,color-mix(in srgb,CanvasText 72%,Canvas)));
--ground:var(--jp-layout-color1,var(--vscode-editor-background,Canvas));
--raised:var(--jp-layout-color2,var(--vscode-editorWidget-background,color-mix(in srgb,CanvasText 7%,Canvas)));
--line:var(--jp-border-color2,var(--vscode-panel-border,color-mix(in srgb,CanvasText 22%,Canvas)));
--edge:color-mix(in srgb,var(--ink) 55%,transparent);--failed:color-mix(in srgb,FAILURE 65%,var(--ink));
color:var(--ink);background:var(--ground);border:1px solid var(--line);border-radius:6px;
padding:8px 12px;margin:2px 0;box-sizing:border-box;max-width:100%;overflow-x:auto;font-variant-numeric:tabular-nums;
container-type:inline-size;overflow-wrap:anywhere;
font:var(--jp-ui-font-size1,13px)/1.45 var(--jp-ui-font-family,var(--vscode-font-family,system-ui,sans-serif))}
.nbaccel p{margin:0 0 4px}
.nbaccel p:last-child{margin-bottom:0}
.nbaccel .nbaccel-header{font-size:1.08em;display:flex;flex-wrap:wrap;gap:0 12px;align-items:baseline}
.nbaccel .nbaccel-at{margin-left:auto;color:var(--quiet);font-size:.92em;font-weight:400}
.nbaccel caption .nbaccel-at{float:right}
.nbaccel .nbaccel-quiet{color:var(--quiet)}
.nbaccel .nbaccel-small{font-size:.92em}
.nbaccel .nbaccel-unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.nbaccel .nbaccel-failed{color:var(--failed)}
.nbaccel .nbaccel-pill{white-space:nowrap}
.nbaccel .nbaccel-name{display:inline-block;max-width:24ch;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;
vertical-align:bottom;font-weight:600}
.nbaccel .nbaccel-chip{border:1px solid var(--line);border-radius:9px;padding:0 7px;font-size:.88em;color:var(--quiet);
white-space:nowrap}
.nbaccel .nbaccel-urgent{border-color:ATTENTION;color:var(--ink);font-weight:600}
.nbaccel .nbaccel-bar{border-radius:3px;background:var(--raised);outline:1px solid var(--edge);outline-offset:-1px;
vertical-align:baseline}
.nbaccel table{border-collapse:collapse;width:100%;margin:6px 0;color:inherit;font-size:inherit;table-layout:auto}
.nbaccel caption{text-align:left;font-weight:600;padding:2px 0;color:inherit;caption-side:top}
.nbaccel :is(th,td){text-align:left;vertical-align:top;padding:4px 16px 4px 0;border:0;font-weight:400;
white-space:normal;background:transparent;color:inherit;line-height:inherit;max-width:none}
.nbaccel td{min-width:9em}
.nbaccel .nbaccel-short{white-space:nowrap;min-width:0}
.nbaccel tbody tr:is(:nth-child(n),:hover){background:transparent}
.nbaccel thead th{color:var(--quiet);font-size:.92em;border-bottom:1px solid var(--line);white-space:nowrap;
vertical-align:bottom}
.nbaccel thead .nbaccel-long{white-space:normal;min-width:12ch}
.nbaccel tbody tr+tr :is(th,td){border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)}
.nbaccel .nbaccel-grid{table-layout:fixed}
.nbaccel .nbaccel-grid th:first-child{width:30%}
.nbaccel .nbaccel-grid th{white-space:normal}
.nbaccel .nbaccel-grid th:last-child{width:28%}
.nbaccel tbody tr.nbaccel-below td{border:0;padding-top:0;color:var(--quiet)}
.nbaccel .nbaccel-tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(64px,1fr));gap:4px;list-style:none;
margin:6px 0;padding:0}
.nbaccel .nbaccel-tiles li{border:1px solid var(--line);border-radius:4px;padding:2px 6px;margin:0;line-height:1.35}
.nbaccel .nbaccel-tiles li>strong{display:block;font-weight:400;white-space:nowrap}
.nbaccel .nbaccel-tiles li>span:last-child{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;
color:var(--quiet);font-size:.92em}
.nbaccel .nbaccel-nodes{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,620px),1fr));gap:6px 20px;
margin:6px 0}
.nbaccel .nbaccel-nodes .nbaccel-tiles{grid-template-columns:repeat(8,minmax(0,1fr));margin:0}
.nbaccel .nbaccel-nodes p{margin:0}
.nbaccel .nbaccel-nodes li{overflow:hidden}
.nbaccel .nbaccel-strip{display:flex;flex-wrap:wrap;gap:0 14px;white-space:nowrap}
.nbaccel .nbaccel-strip>span{flex:1 1 140px;min-width:0;max-width:max-content;overflow:hidden;text-overflow:ellipsis}
.nbaccel .nbaccel-between{display:none}
.nbaccel .nbaccel-attention{padding-left:8px;border-left:4px solid ATTENTION}
.nbaccel code{font-family:var(--jp-code-font-family,var(--vscode-editor-font-family,monospace));padding:0 3px;
background:var(--raised);color:var(--ink);border-radius:3px}
.nbaccel .nbaccel-plot{display:block;width:100%;max-width:560px;height:auto;fill:currentColor}
.nbaccel .nbaccel-plot text{font-size:11px;fill:var(--quiet);paint-order:stroke;stroke:var(--ground);stroke-width:3px}
@container (min-width:1200px){.nbaccel .nbaccel-measure{display:inline-block;min-width:10em;margin-right:12px}
.nbaccel .nbaccel-measure:nth-of-type(2){min-width:14.5em}
.nbaccel .nbaccel-measure+br{display:none}}
@container (max-width:960px){.nbaccel :is(th,td){padding-right:10px}.nbaccel td{min-width:6em}}
@container (max-width:700px){
.nbaccel .nbaccel-nodes .nbaccel-tiles{grid-template-columns:repeat(4,minmax(0,1fr))}
.nbaccel .nbaccel-strip{white-space:normal}
.nbaccel .nbaccel-strip>span{flex:0 1 auto}
.nbaccel thead{position:absolute;clip-path:inset(50%)}
.nbaccel :is(table,tbody,caption){display:block}
.nbaccel tbody tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:4px 0}
.nbaccel tbody tr :is(th,td){border:0;padding:0;min-width:0;flex:1 0 100%}
.nbaccel tbody tr+tr td{border:0}
.nbaccel tbody tr.nbaccel-below{margin-top:-4px}
.nbaccel tbody td:empty{display:none}
.nbaccel td[data-head]:before{content:attr(data-head) " ";color:var(--quiet)}
.nbaccel tbody td.nbaccel-short{flex:none}}
@media (forced-colors:active){.nbaccel,.nbaccel .nbaccel-attention{border-color:CanvasText}
.nbaccel .nbaccel-bar,.nbaccel .nbaccel-swatch{forced-color-adjust:none}}
"""
STYLE = (
    _RULES.strip()
    .replace("\n", "")
    .replace("FAILURE", palette.FAILURE)
    .replace("ATTENTION", palette.ATTENTION)
    .replace(".nbaccel{", ".nbaccel.nbaccel{")
    .replace(".nbaccel ", ".nbaccel.nbaccel ")
    .replace(".nbaccel,", ".nbaccel.nbaccel,")
)
# Classes that few outputs have: the rules of the others are left out.
_RARE = {
    kind: re.compile(rf"\.nbaccel\.nbaccel [^{{}},]*{kind}\b[^{{]*\{{[^}}]*\}}")
    for kind in ("nbaccel-nodes", "nbaccel-tiles", "nbaccel-grid", "nbaccel-below", "nbaccel-measure")
}


def style_of(shown: str) -> str:
    """The style sheet for this HTML."""
    style = STYLE
    for kind, rules in _RARE.items():
        style = style if kind in shown else rules.sub("", style)
    return style
