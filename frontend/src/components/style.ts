// The look: the colours of JupyterLab and Notebook, of VS Code, or of the system, in this order. `&` is a view's root.

import { PALETTE, colourRules } from "../model/colours";

export const STYLE = `
&{
--ink:var(--jp-ui-font-color1,var(--vscode-foreground,CanvasText));
--quiet:var(--jp-ui-font-color2,var(--vscode-descriptionForeground,color-mix(in srgb,CanvasText 72%,Canvas)));
--ground:var(--jp-layout-color1,var(--vscode-editor-background,Canvas));
--raised:var(--jp-layout-color2,var(--vscode-editorWidget-background,color-mix(in srgb,CanvasText 7%,Canvas)));
--line:var(--jp-border-color2,var(--vscode-panel-border,color-mix(in srgb,CanvasText 22%,Canvas)));
--edge:color-mix(in srgb,var(--ink) 55%,transparent);
--focus:var(--jp-brand-color1,var(--vscode-focusBorder,CanvasText));
--warn:${PALETTE.attention};
--failed:color-mix(in srgb,${PALETTE.failure} 65%,var(--ink));
color:var(--ink);background:var(--ground);border:1px solid var(--line);border-radius:6px;
position:relative;padding:10px 14px;margin:2px 0;box-sizing:border-box;max-width:100%;container-type:inline-size;
font:var(--jp-ui-font-size1,13px)/1.45 var(--jp-ui-font-family,var(--vscode-font-family,system-ui,sans-serif));
font-variant-numeric:tabular-nums}
& *{box-sizing:border-box}
& .quiet{color:var(--quiet)}
& .small{font-size:.92em}
& .nowrap,& .short{white-space:nowrap}
& .unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
& p{margin:6px 0;overflow-wrap:anywhere}
& .line{display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline}
& .aside{margin-left:auto}
& .top{flex-wrap:nowrap}& .top>:not(.first){flex:none}& .first{flex:1 1 0;min-width:0;font-size:1.08em}
& .one-line{display:flex;gap:4px 14px;align-items:center;min-height:24px;white-space:nowrap;overflow:hidden}
& .one-line .has{flex:0 1 auto;min-width:0;overflow:hidden;text-overflow:ellipsis}
& .one-line button,& .one-line .line,& .one-line style+*{flex:none}
& .one-line .sign{margin:0}& .one-line .cut{vertical-align:bottom}
& .device{flex:1 1 0;min-width:0;display:flex;gap:6px;align-items:center;max-width:34em}
& .device .bar{flex:0 0 28px;height:10px}& .strip>.bar{flex:0 0 160px;height:10px}
& .few .cut{max-width:16ch}& .many .name+.quiet{display:none}
& .most .alert{border:0;border-left:4px solid var(--warn);border-radius:0;padding-left:8px;text-align:left}
& button,& select,& input{font:inherit;color:var(--ink);background:transparent;
border:1px solid var(--line);border-radius:4px;padding:1px 8px;min-height:24px;margin:0;width:auto;box-shadow:none}
& select,& input{background:var(--ground);border-color:var(--edge)}
& option{color:var(--ink);background:var(--ground)}
& button{white-space:nowrap;overflow-wrap:normal;cursor:pointer;transition:background-color .12s}
& button:hover{background:var(--raised)}
& button[disabled]{cursor:default;color:var(--quiet);border-style:dashed}
& button[aria-pressed=true]{background:var(--raised);border-color:var(--edge);font-weight:600}
& :focus-visible{outline:2px solid var(--focus);outline-offset:1px}
& .chip{border:1px solid var(--line);border-radius:9px;padding:0 7px;font-size:.88em;color:var(--quiet);white-space:nowrap}
& .chip.urgent{border-color:var(--warn);color:var(--ink);font-weight:600}
& .tabs{display:grid;grid-template-columns:repeat(auto-fill,minmax(86px,1fr));gap:2px;border-bottom:1px solid var(--line);margin-top:8px}
& [role=tab]{border:0;border-bottom:2px solid transparent;border-radius:4px 4px 0 0;padding:3px 6px;color:var(--quiet);text-align:left}
& [role=tab][aria-selected=true]{color:var(--ink);font-weight:600;border-bottom-color:var(--focus)}
& .count,& .goes{border:0;padding:0;text-decoration:underline var(--line);text-underline-offset:3px}& .goes{min-height:0}
& .count.failed,& .state.failed{color:var(--failed)}
& .count.finished,& .count.cancelled,& .state.cancelled .sign,& .state.waiting .sign{color:var(--quiet)}
& .ink{background:none!important;color:var(--c)}
& .cut{display:inline-block;max-width:24ch;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;vertical-align:bottom}
& .below,& .model{display:block;margin-left:0!important}
& .sorts{border:0;padding:0;min-height:0;color:inherit;font-weight:inherit}
& .opens{border:0;padding:0 4px 0 0}
& .part.failed{background:${PALETTE.failure}}
& tr.group .bar{display:inline-flex;width:84px;vertical-align:middle}
& tr.inner th{padding-left:18px}& tr.group th{padding-right:3px}& .group th>:last-child:not(.quiet){float:right;margin-left:auto}
& tr.gap{border:0}
& .models{margin:8px 0 -2px}
& code{font-family:var(--jp-code-font-family,var(--vscode-editor-font-family,monospace));background:var(--raised);color:var(--ink);border-radius:3px;padding:0 4px}
& .tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(76px,1fr));gap:4px;list-style:none;margin:8px 0 0;padding:0}
& .tiles{--tall:calc(1.34em + 20px)}& .tiles.lined{--tall:calc(1.34em + 38px)}
& .tiles li{margin:0;min-width:0;height:var(--tall);contain:size layout style}
& .of-nodes{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,max(110px,var(--wide)*80px)),1fr));gap:4px 20px}
& .of-nodes .gap,& .tiles li.gap{grid-column:1/-1}
& .node{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding-top:4px}
& .of-node .tiles{margin:0;grid-template:repeat(var(--lines),var(--tall))/repeat(var(--wide),1fr)}
& .scroll.of-tiles{max-height:300px}& .of-tiles .tiles{margin:2px}
& .tile{display:flex;flex-direction:column;position:relative;width:100%;height:100%;padding:3px 6px 6px;text-align:left}
& .tile[aria-expanded=true]{border-color:var(--focus);background:var(--raised)}
& .tile.gone{border-style:dashed;color:var(--quiet)}& .tile.gone .bar{visibility:hidden}
& .tile .number{white-space:nowrap;overflow:hidden;font-size:.92em}
& .tile .load{position:absolute;right:6px;top:3px;width:42px;height:20px;contain:strict;text-align:right;white-space:nowrap;font-size:.92em}
& .tile .bar{width:100%;height:8px}
& .badge.failed{background:none;color:var(--failed);border:1px solid var(--failed)}
& .badge{padding:0 6px;border-radius:9px;background:var(--raised);color:var(--ink);font-size:.88em;font-weight:400}
& .scroll{overflow:auto;max-height:600px;margin-top:6px;background:linear-gradient(transparent,var(--ground) 70%) bottom/100% 48px no-repeat local,
linear-gradient(transparent,var(--line)) bottom/100% 12px no-repeat scroll}
& .scroll.whole{max-height:none}
& select{max-width:24ch}
& table{border-collapse:collapse;margin:0;width:100%;color:inherit;background:none;font-size:inherit;table-layout:auto}
& tr,& thead,& tbody tr:nth-child(n),& tbody tr:hover{background:none;border:0}
& th,& td{text-align:left;vertical-align:middle;padding:4px 16px 4px 0;border:0;font-weight:400;
white-space:normal;max-width:none;color:inherit;line-height:inherit}
& td.quiet{color:var(--quiet)}
& thead th{color:var(--quiet);font-size:.92em;border-bottom:1px solid var(--line);white-space:nowrap;
position:sticky;top:0;background:var(--ground);z-index:1}
& tbody tr+tr th,& tbody tr+tr td{border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)}
& th[scope=row]{white-space:nowrap}
& th[scope=row]>*+*{margin-left:8px}
& .label,& .name{font-weight:600}
& .why{min-width:15em;overflow-wrap:anywhere}
& tr.reason td{border:0!important;padding:0 0 5px;max-width:0}& tr.reason span{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
& .acts{white-space:nowrap;text-align:right;padding:4px 3px 4px 8px}
& .acts button+button{margin-left:4px}
& .bar{display:flex;width:110px;height:12px;border-radius:3px;background:var(--raised);overflow:hidden;
outline:1px solid var(--edge);outline-offset:-1px}
& .part{height:100%;transition:width .2s}& .measure .part{background:var(--edge)}
& .part.taken{width:100%;background:repeating-linear-gradient(135deg,${PALETTE.waiting} 0 3px,transparent 3px 6px)}
& .part+.part{border-left:2px solid var(--ground)}
& td.use .bar{width:84px;margin-bottom:3px}
& td.use{white-space:nowrap}
& .measure{display:flex;gap:8px;align-items:center;white-space:nowrap}
& .measure .bar{width:52px;height:8px}
& .trend{width:64px;flex:none;box-shadow:0 1px var(--line)}
& .trend[role=meter],& .tile .spark{box-shadow:0 0 0 1px var(--line);border-radius:2px}
& .spark{display:block;width:100%;height:16px;overflow:visible}
& .spark path{vector-effect:non-scaling-stroke;fill:none;stroke:var(--quiet);stroke-width:1.2}
& .spark .under{fill:color-mix(in srgb,var(--quiet) 25%,transparent);stroke:none}
& .measure+.measure{margin-top:2px}
& .spark .dots{stroke-dasharray:1 3}
& .tile .spark{height:14px;margin-top:4px}
& .holders ul,& .alerts,& .lines{list-style:none;margin:0;padding:0}
& .holders li{display:flex;gap:8px;align-items:baseline;margin:0;min-height:27px}
& .holders .who{min-width:0;overflow-wrap:anywhere}
& .holders .name{margin-right:8px}
& .holders .facts,& .key{display:inline-block}
& .holders .who+*{margin-left:auto}
& .holders{padding-right:2px;min-width:230px}
& .swatch{display:inline-block;width:10px;height:10px;border-radius:3px;flex:none}
& .alerts,& .lines{margin-top:6px}& .lines li{margin:4px 0}
& .alerts li{display:flex;flex-wrap:wrap;gap:4px 12px;align-items:center;border-left:4px solid var(--warn);padding:3px 0 3px 10px;margin:6px 0;overflow-wrap:anywhere}
& .alerts div{flex:1}& li[data-act]{cursor:pointer}& tr:focus,& li:focus{outline:2px solid var(--focus)}
& .filters{display:flex;flex-wrap:wrap;gap:6px 14px;align-items:center;margin-top:8px}
& .filters label{color:var(--quiet)}
& .said{min-height:0;margin:0}
& .said:not(:empty){margin-top:8px}
& .empty{margin:10px 0 4px}
& .hover{position:absolute;z-index:2;background:var(--ground);border:1px solid var(--line);border-radius:6px;padding:6px 10px;
pointer-events:none;box-shadow:0 2px 8px rgba(0,0,0,.2);overflow-wrap:anywhere}
& .hover .swatch{margin-right:8px}
@container (min-width:1200px){& td.load{white-space:nowrap}& .measure{display:inline-flex;margin:0 12px 0 0!important;width:132px;vertical-align:top}& .measure:nth-child(2){width:208px}
& td.use .bar{display:inline-flex;margin:0 8px 0 0;vertical-align:middle}}
@container (max-width:960px){& th,& td{padding-right:10px}
& td.nowrap{white-space:normal}& thead th{white-space:normal}& td.where .cut{max-width:12ch}& td.where{min-width:6.2em}& td.state{white-space:nowrap}
& .why{min-width:6em}& .acts button{padding:1px 5px}& td .cut,& th .cut{max-width:14ch}}
@container (max-width:700px){& .of-node .tiles{grid-template:repeat(var(--more),var(--tall))/repeat(var(--narrow),1fr)}& .first>.dot,& .device.many .has{display:none}& .top{flex-wrap:wrap}& .first{display:contents}& .first>strong{flex:1}
& .counts{order:1;flex:1 0 100%}& .strip>.bar{flex-basis:80px}
& td.load{display:flex;flex-wrap:wrap;gap:2px 12px}& .measure+.measure{margin:0}& .trend{width:40px}
& .alerts div{flex-basis:100%}& th[scope=row]{white-space:normal}& td .cut,& th .cut{max-width:24ch}
& td.where{min-width:0}& .model,& .measure .bar{display:none}& td.use{display:flex;gap:8px;align-items:center;flex:0 0 164px}& .group th{display:flex;flex-wrap:wrap;align-items:center}& .group th>.quiet{order:1;flex:1 0 100%;margin:0}& td.use .bar{margin:0}
& thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
& table,& tbody{display:block}
& tbody tr{display:flex;flex-wrap:wrap;align-items:center;gap:2px 12px;padding:5px 0}
& tbody tr+tr{border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)!important}
& tbody tr th[scope=row]{flex:1 1 calc(100% - 220px);padding:0;border:0!important;min-width:0}
& tbody tr td{order:2;padding:0;border:0!important;min-width:0;max-width:100%}
& tbody tr td:empty{display:none}
& tbody tr.reason{border:0!important;padding:0 0 5px}& tr.reason td{max-width:none;flex:1 0 100%}& tr.reason span{white-space:normal}
& tbody tr td.why,& tbody tr td.holders{flex:1 0 100%;order:3;white-space:normal}
& tbody tr td.acts{order:1;flex:0 0 170px;margin-left:auto}
& tbody tr td{overflow-wrap:anywhere}
& td[data-head]:not(:empty):before{content:attr(data-head) " ";color:var(--quiet)}
& tr.gap{padding:0;border:0!important}}
@container (max-width:340px){& .top>.urgent{display:none}}
@container (max-width:320px){& .holders{min-width:0}}
@media (prefers-reduced-motion:reduce){& *{transition:none!important;animation:none!important}}
@media (forced-colors:active){& .ink{color:CanvasText}&,& button,& .chip{border-color:CanvasText}
& .bar{outline-color:CanvasText;forced-color-adjust:none;background:Canvas}
& .tile .bar{forced-color-adjust:none}
& .bar .part{border-right:1px solid CanvasText}
& .swatch{forced-color-adjust:none}
& [role=tab]{border-color:Canvas}& [role=tab][aria-selected=true]{border-bottom-color:Highlight}}
${colourRules("&")}
`.replaceAll("&", ".nbaccel-cockpit.nbaccel-cockpit"); // twice: it outweighs JupyterLab's rules for HTML outputs
