"""The look of everything nbaccel shows as HTML: one style sheet, in the colours of wherever it is shown.

JupyterLab and Notebook define `--jp-*`, VS Code defines `--vscode-*`, and a page that has neither (nbconvert, GitHub)
falls back to the system's colours, which follow its light or dark mode. The class stands twice in each rule, so that it
outweighs JupyterLab's own rules for HTML outputs, which set tables to the right.
"""

STYLE = """
.nbaccel.nbaccel{color:var(--jp-ui-font-color1,var(--vscode-foreground,CanvasText));
background:var(--jp-layout-color1,var(--vscode-editor-background,Canvas));
border:1px solid var(--jp-border-color1,var(--vscode-panel-border,GrayText));border-radius:4px;
padding:8px 12px;margin:2px 0;max-width:100%;overflow-x:auto;
font:var(--jp-ui-font-size1,13px)/1.4 var(--jp-ui-font-family,var(--vscode-font-family,system-ui,sans-serif))}
.nbaccel.nbaccel p{margin:0 0 4px}
.nbaccel.nbaccel .nbaccel-quiet{color:var(--jp-ui-font-color2,var(--vscode-descriptionForeground,inherit))}
.nbaccel.nbaccel table{border-collapse:collapse;margin:6px 0;font-variant-numeric:tabular-nums;color:inherit}
.nbaccel.nbaccel caption{text-align:left;font-weight:600;padding:2px 0;color:inherit}
.nbaccel.nbaccel th,.nbaccel.nbaccel td{text-align:left;vertical-align:top;padding:2px 14px 2px 0;border:0;
white-space:normal;background:transparent;color:inherit}
.nbaccel.nbaccel tbody tr:nth-child(n){background:transparent}
.nbaccel.nbaccel thead th{font-weight:600;
border-bottom:1px solid var(--jp-border-color2,var(--vscode-panel-border,GrayText))}
.nbaccel.nbaccel .nbaccel-alert{padding-left:8px;
border-left:4px solid var(--jp-warn-color1,var(--vscode-editorWarning-foreground,#b35900))}
@media (forced-colors:active){.nbaccel.nbaccel,.nbaccel.nbaccel .nbaccel-alert{border-color:CanvasText}}
""".strip()
