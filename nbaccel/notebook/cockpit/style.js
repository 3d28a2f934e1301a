// The look: the colours of JupyterLab and Notebook, of VS Code, or of the system, in this order.

import { colourRules } from "./colours.js";
import { PALETTE } from "./palette.js";

export const STYLE = `
.nbaccel-cockpit{
--ink:var(--jp-ui-font-color1,var(--vscode-foreground,CanvasText));
--quiet:var(--jp-ui-font-color2,var(--vscode-descriptionForeground,color-mix(in srgb,CanvasText 72%,Canvas)));
--ground:var(--jp-layout-color1,var(--vscode-editor-background,Canvas));
--raised:var(--jp-layout-color2,var(--vscode-editorWidget-background,color-mix(in srgb,CanvasText 7%,Canvas)));
--line:var(--jp-border-color2,var(--vscode-panel-border,color-mix(in srgb,CanvasText 22%,Canvas)));
--edge:color-mix(in srgb,var(--ink) 55%,transparent);
--focus:var(--jp-brand-color1,var(--vscode-focusBorder,Highlight));
--warn:${PALETTE.attention};
--failed:color-mix(in srgb,${PALETTE.failure} 65%,var(--ink));
color:var(--ink);background:var(--ground);border:1px solid var(--line);border-radius:6px;
padding:10px 14px;margin:2px 0;box-sizing:border-box;max-width:100%;container-type:inline-size;
font:var(--jp-ui-font-size1,13px)/1.45 var(--jp-ui-font-family,var(--vscode-font-family,system-ui,sans-serif));
font-variant-numeric:tabular-nums}
.nbaccel-cockpit *{box-sizing:border-box}
.nbaccel-cockpit .quiet{color:var(--quiet)}
.nbaccel-cockpit .small{font-size:.92em}
.nbaccel-cockpit .nowrap{white-space:nowrap}
.nbaccel-cockpit .unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.nbaccel-cockpit p{margin:6px 0}
.nbaccel-cockpit .line{display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline}
.nbaccel-cockpit .aside{margin-left:auto}
.nbaccel-cockpit button,.nbaccel-cockpit select,.nbaccel-cockpit input{font:inherit;color:var(--ink);background:transparent;
border:1px solid var(--line);border-radius:4px;padding:1px 8px;min-height:24px;margin:0;width:auto;box-shadow:none}
.nbaccel-cockpit select,.nbaccel-cockpit input{background:var(--ground);border-color:var(--edge)}
.nbaccel-cockpit option{color:var(--ink);background:var(--ground)}
.nbaccel-cockpit button{white-space:nowrap;overflow-wrap:normal;cursor:pointer;transition:background-color .12s}
.nbaccel-cockpit button:hover{background:var(--raised)}
.nbaccel-cockpit button[disabled]{cursor:default;color:var(--quiet);border-style:dashed}
.nbaccel-cockpit button[aria-pressed=true]{background:var(--raised);border-color:var(--edge);font-weight:600}
.nbaccel-cockpit :focus-visible{outline:2px solid var(--focus);outline-offset:1px}
.nbaccel-cockpit .chip{border:1px solid var(--line);border-radius:9px;padding:0 7px;font-size:.88em;color:var(--quiet);white-space:nowrap}
.nbaccel-cockpit .chip.urgent{border-color:var(--warn);color:var(--ink);font-weight:600}
.nbaccel-cockpit .tabs{display:flex;flex-wrap:wrap;gap:2px;border-bottom:1px solid var(--line);margin-top:8px}
.nbaccel-cockpit [role=tab]{border:0;border-bottom:2px solid transparent;border-radius:4px 4px 0 0;padding:3px 10px;color:var(--quiet)}
.nbaccel-cockpit [role=tab][aria-selected=true]{color:var(--ink);font-weight:600;border-bottom-color:var(--focus)}
.nbaccel-cockpit .first{font-size:1.08em}
.nbaccel-cockpit .count{border:0;padding:0;min-height:24px;border-radius:3px;text-decoration:underline;text-decoration-color:var(--line);text-underline-offset:3px}
.nbaccel-cockpit .count.failed,.nbaccel-cockpit .state.failed{color:var(--failed)}
.nbaccel-cockpit .count.finished,.nbaccel-cockpit .count.cancelled,.nbaccel-cockpit .state.cancelled .sign,.nbaccel-cockpit .state.waiting .sign{color:var(--quiet)}
.nbaccel-cockpit .ink{background:none!important;color:var(--c)}
.nbaccel-cockpit .cut{display:inline-block;max-width:24ch;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;vertical-align:bottom}
.nbaccel-cockpit .below{display:block;margin-left:0!important}
.nbaccel-cockpit .sorts{border:0;padding:0;min-height:0;color:inherit;font-weight:inherit}
.nbaccel-cockpit .opens{border:0;padding:0 4px 0 0}
.nbaccel-cockpit tr.group .bar{display:inline-flex;width:84px;vertical-align:middle}
.nbaccel-cockpit tr.inner th{padding-left:18px}
.nbaccel-cockpit tr.gap{border:0}
.nbaccel-cockpit .models{margin:8px 0 -2px}
.nbaccel-cockpit code{font-family:var(--jp-code-font-family,var(--vscode-editor-font-family,monospace));background:var(--raised);color:var(--ink);border-radius:3px;padding:0 4px}
.nbaccel-cockpit .tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(68px,1fr));gap:4px;list-style:none;margin:8px 0 0;padding:0}
.nbaccel-cockpit .tiles li{margin:0;min-width:0}
.nbaccel-cockpit .tile{display:block;width:100%;padding:3px 6px 6px;text-align:left}
.nbaccel-cockpit .tile[aria-expanded=true]{border-color:var(--focus);background:var(--raised)}
.nbaccel-cockpit .tile .number{display:flex;justify-content:space-between;gap:4px;white-space:nowrap;overflow:hidden;font-size:.92em}
.nbaccel-cockpit .tile .bar{width:100%;height:8px}
.nbaccel-cockpit .badge.failed{background:none;color:var(--failed);border:1px solid var(--failed)}
.nbaccel-cockpit .badge{margin-left:6px;padding:0 6px;border-radius:9px;background:var(--raised);color:var(--ink);font-size:.88em;font-weight:400}
.nbaccel-cockpit .scroll{overflow:auto;max-height:460px;margin-top:6px}
.nbaccel-cockpit table{border-collapse:collapse;margin:0;width:100%;color:inherit;background:none;font-size:inherit;table-layout:auto}
.nbaccel-cockpit tr,.nbaccel-cockpit thead,.nbaccel-cockpit tbody tr:nth-child(n),.nbaccel-cockpit tbody tr:hover{background:none;border:0}
.nbaccel-cockpit th,.nbaccel-cockpit td{text-align:left;vertical-align:middle;padding:4px 16px 4px 0;border:0;font-weight:400;
white-space:normal;max-width:none;color:inherit;line-height:inherit}
.nbaccel-cockpit td.quiet{color:var(--quiet)}
.nbaccel-cockpit thead th{color:var(--quiet);font-size:.92em;border-bottom:1px solid var(--line);white-space:nowrap;
position:sticky;top:0;background:var(--ground);z-index:1}
.nbaccel-cockpit tbody tr+tr th,.nbaccel-cockpit tbody tr+tr td{border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)}
.nbaccel-cockpit th[scope=row]{white-space:nowrap}
.nbaccel-cockpit th[scope=row]>*+*{margin-left:8px}
.nbaccel-cockpit .label,.nbaccel-cockpit .name{font-weight:600}
.nbaccel-cockpit .why{min-width:15em;overflow-wrap:anywhere}
.nbaccel-cockpit .two-lines{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}
.nbaccel-cockpit .acts{white-space:nowrap;text-align:right;padding:4px 3px 4px 8px;position:sticky;right:0;background:var(--ground)}
.nbaccel-cockpit .acts button+button{margin-left:4px}
.nbaccel-cockpit .bar{display:flex;width:110px;height:12px;border-radius:3px;background:var(--raised);overflow:hidden;
outline:1px solid var(--edge);outline-offset:-1px}
.nbaccel-cockpit .part{height:100%;transition:width .2s}.nbaccel-cockpit .measure .part{background:var(--edge)}
.nbaccel-cockpit .part+.part{border-left:2px solid var(--ground)}
.nbaccel-cockpit td.use .bar{width:84px;margin-bottom:3px}
.nbaccel-cockpit td.use{white-space:nowrap}
.nbaccel-cockpit .model{display:block;margin-left:0!important}
.nbaccel-cockpit .measure{display:flex;gap:8px;align-items:center;white-space:nowrap}
.nbaccel-cockpit .measure .bar{width:52px;height:8px}
.nbaccel-cockpit .holders ul,.nbaccel-cockpit .lines,.nbaccel-cockpit .alerts{list-style:none;margin:0;padding:0}
.nbaccel-cockpit .holders li{display:flex;gap:8px;align-items:center;margin:0;min-height:27px}
.nbaccel-cockpit .holders .who{min-width:0;overflow-wrap:anywhere}
.nbaccel-cockpit .holders .name{margin-right:8px}
.nbaccel-cockpit .holders .facts{display:inline-block}
.nbaccel-cockpit .holders li>button,.nbaccel-cockpit .holders li>.ask{margin-left:auto}
.nbaccel-cockpit .holders{padding-right:2px;min-width:230px}
.nbaccel-cockpit .swatch{width:10px;height:10px;border-radius:3px;flex:none}
.nbaccel-cockpit .lines{margin-top:6px}
.nbaccel-cockpit .alerts{margin-top:6px}
.nbaccel-cockpit .alerts li{border-left:4px solid var(--warn);padding:3px 0 3px 10px;margin:6px 0}
.nbaccel-cockpit .filters{display:flex;flex-wrap:wrap;gap:6px 14px;align-items:center;margin-top:8px}
.nbaccel-cockpit .filters label{color:var(--quiet)}
.nbaccel-cockpit .said{min-height:0;margin:0}
.nbaccel-cockpit .said:not(:empty){margin-top:8px}
.nbaccel-cockpit .empty{margin:10px 0 4px}
.nbaccel-cockpit .log{margin-top:8px;border-top:1px solid var(--line);padding-top:6px}
.nbaccel-cockpit pre{margin:6px 0 0;padding:8px;max-height:240px;overflow:auto;background:var(--raised);color:var(--ink);border-radius:4px;
font:var(--jp-code-font-size,12px)/1.4 var(--jp-code-font-family,var(--vscode-editor-font-family,monospace));white-space:pre-wrap}
.nbaccel-cockpit .timeline{display:block;width:100%;height:auto}
.nbaccel-cockpit .timeline text{font-size:12px;fill:var(--ink)}
.nbaccel-cockpit .timeline .tick-label{fill:var(--quiet);font-size:11px}
.nbaccel-cockpit .timeline .bar-name{fill:#fff;font-size:11px;pointer-events:none}
.nbaccel-cockpit .timeline .tick,.nbaccel-cockpit .timeline .rule{stroke:var(--line);stroke-width:1;stroke-dasharray:2 4}
.nbaccel-cockpit .timeline .rule{stroke-dasharray:none;opacity:.6}
.nbaccel-cockpit .timeline{touch-action:pan-y;cursor:crosshair;user-select:none}
.nbaccel-cockpit .timeline .cancelled{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:4 2}
.nbaccel-cockpit .timeline .failed{stroke:${PALETTE.failure};stroke-width:2.5}
.nbaccel-cockpit .timeline .depth{fill:${PALETTE.waiting};fill-opacity:.35;stroke:${PALETTE.waiting}}
@container (max-width:960px){.nbaccel-cockpit th,.nbaccel-cockpit td{padding-right:10px}
.nbaccel-cockpit td.nowrap{white-space:normal}.nbaccel-cockpit td.state{white-space:nowrap}
.nbaccel-cockpit .why{min-width:8em}.nbaccel-cockpit .acts button{padding:1px 5px}.nbaccel-cockpit td .cut,.nbaccel-cockpit th .cut{max-width:20ch}}
@container (max-width:700px){.nbaccel-cockpit th[scope=row]{white-space:normal}.nbaccel-cockpit td .cut,.nbaccel-cockpit th .cut{max-width:24ch}
.nbaccel-cockpit .model,.nbaccel-cockpit .measure .bar{display:none}
.nbaccel-cockpit thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
.nbaccel-cockpit table,.nbaccel-cockpit tbody{display:block}
.nbaccel-cockpit tbody tr{display:flex;flex-wrap:wrap;align-items:center;gap:2px 12px;padding:5px 0}
.nbaccel-cockpit tbody tr+tr{border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)!important}
.nbaccel-cockpit tbody tr th[scope=row]{flex:1 1 calc(100% - 160px);padding:0;border:0!important;min-width:0}
.nbaccel-cockpit tbody tr td{order:2;padding:0;border:0!important;min-width:0;max-width:100%}
.nbaccel-cockpit tbody tr td:empty{display:none}
.nbaccel-cockpit tbody tr td.why,.nbaccel-cockpit tbody tr td.holders{flex:1 0 100%;order:3;white-space:normal}
.nbaccel-cockpit tbody tr td.acts{order:1;flex:0 0 130px;margin-left:auto;position:static}
.nbaccel-cockpit tbody tr td{overflow-wrap:anywhere}
.nbaccel-cockpit tr.gap{padding:0;border:0!important}}
@media (prefers-reduced-motion:reduce){.nbaccel-cockpit *{transition:none!important;animation:none!important}}
@media (forced-colors:active){.nbaccel-cockpit .ink{color:CanvasText}.nbaccel-cockpit,.nbaccel-cockpit button,.nbaccel-cockpit .chip{border-color:CanvasText}
.nbaccel-cockpit .bar{outline-color:CanvasText;forced-color-adjust:none;background:Canvas}
.nbaccel-cockpit .tile .bar{forced-color-adjust:none}
.nbaccel-cockpit .bar .part{background:Highlight!important;border-right:1px solid CanvasText}
.nbaccel-cockpit .swatch{forced-color-adjust:none}
.nbaccel-cockpit [role=tab][aria-selected=true]{border-bottom-color:Highlight}
.nbaccel-cockpit .timeline .run{fill:Highlight;stroke:CanvasText}.nbaccel-cockpit .timeline .bar-name{fill:HighlightText}}
${colourRules(".nbaccel-cockpit")}
`.replaceAll(".nbaccel-cockpit", ".nbaccel-cockpit.nbaccel-cockpit"); // twice: it outweighs JupyterLab's rules for HTML outputs
