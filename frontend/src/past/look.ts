// The look of the views of the past, beside the cockpit's own. `&` is a view's root.

import { PALETTE } from "../model/colours";

export const PAST_STYLE = `
& td.number,& td.share{white-space:nowrap}
& .accounts table{table-layout:fixed}& .accounts th:first-child{width:30%}& .accounts th:last-child{width:28%}
& .accounts th[scope=row]{white-space:normal}& .accounts th .cut{max-width:24ch}
& .bar.plain .part{background:var(--edge)}
& td.share .bar{display:inline-flex;margin-right:8px;width:clamp(60px,17cqw,220px);height:8px}
& .timeline{display:block;width:100%;height:auto}
& .timeline text{font-size:12px;fill:var(--ink)}
& .timeline .tick-label{fill:var(--quiet);font-size:11px}
& .timeline .bar-name{background:none;fill:var(--on);font-size:11px;pointer-events:none}
& .timeline .tick,& .timeline .rule{stroke:var(--line);stroke-width:1;stroke-dasharray:2 4}
& .timeline .rule{stroke-dasharray:none;opacity:.6}
& .timeline{touch-action:pan-y;cursor:crosshair;user-select:none}
& .timeline .cancelled{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:4 2}
& .timeline .failed{stroke:${PALETTE.failure};stroke-width:2.5}
& .axis{position:sticky;top:0;z-index:1;background:var(--ground)}
& .timeline .band{fill:color-mix(in srgb,var(--ink) 12%,transparent)}
& .timeline .depth{fill:${PALETTE.waiting};fill-opacity:.35;stroke:${PALETTE.waiting}}
& tr.logrow td{padding:2px 0 10px}
& .logrow td,& tbody tr.logrow td{border:0!important;flex:1 0 100%}
& .log{border-left:2px solid var(--line);padding:4px 0 2px 12px;min-width:0}
& .log details{margin-top:6px}
& .log summary{cursor:pointer;color:var(--quiet)}
& .failure pre:first-child{border-left:3px solid ${PALETTE.failure}}
& pre span{display:block;min-height:1.4em}
& pre .err{color:var(--quiet)}
& pre{margin:6px 0 0;padding:8px;max-height:240px;overflow:auto;background:var(--raised);color:var(--ink);border-radius:4px;
font:var(--jp-code-font-size,12px)/1.4 var(--jp-code-font-family,var(--vscode-editor-font-family,monospace));white-space:pre-wrap;overflow-wrap:anywhere}
@container (max-width:700px){& .accounts th[scope=row]{flex-basis:100%!important}}
@media (forced-colors:active){& .timeline .run,& .timeline .bar-name{forced-color-adjust:none}}
`.replaceAll("&", ".nbaccel-cockpit.nbaccel-cockpit");
