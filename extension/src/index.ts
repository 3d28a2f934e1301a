// The plugins: the panel with its commands, and the item of the status bar. Every service of the front end is optional,
// so that they work in JupyterLab, in Notebook 7 and in others that are built of the same parts.

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, MainAreaWidget } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import { Badges } from './badges';
import { deedsOf } from './deeds';
import { icon } from './icon';
import { Notebooks } from './notebooks';
import { type Deeds, Panel, PANEL_ID } from './panel';
import { takeOrders } from './second_way';
import { Server } from './server';
import { StatusItem } from './status';
import { TimelinePage } from './timeline';
import { Watch } from './watch';

const PLUGIN = '@nbaccel/lab:panel';
const DOMAIN = 'nbaccel_lab';
const RANK = 850;
const STATUS_RANK = 50;

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN,
  description: 'Shows who uses which accelerator, for which cell.',
  autoStart: true,
  optional: [ITranslator, INotebookTracker, ILayoutRestorer, ICommandPalette, ISettingRegistry, IStatusBar],
  activate
};

function activate(
  app: JupyterFrontEnd,
  translator: ITranslator | null,
  tracker: INotebookTracker | null,
  restorer: ILayoutRestorer | null,
  palette: ICommandPalette | null,
  settings: ISettingRegistry | null,
  statusBar: IStatusBar | null
): void {
  const trans = (translator ?? nullTranslator).load(DOMAIN);
  const server = new Server(app.serviceManager.serverSettings);
  const watch = new Watch(server, document);
  const notebooks = new Notebooks(app, tracker);
  const deeds = deedsOf(server, notebooks, trans, (runtime, title) => openTimeline(app, runtime, title, watch, server, trans));
  const panel = new Panel(watch, server, notebooks, deeds, trans);
  panel.title.icon = icon;
  panel.title.caption = trans.__('Accelerators: nbaccel');
  app.shell.add(panel, 'right', { rank: RANK, type: 'nbaccel' });
  restorer?.add(panel, PANEL_ID);
  new Badges(watch, notebooks, trans);
  takeOrders(document, watch, server, { notebook: () => notebooks.path, onlyMine: () => false, go: () => undefined });
  addCommands(app, palette, panel, watch, notebooks, deeds, trans);
  void addStatusItem(statusBar, settings, watch, trans, () => void app.commands.execute('nbaccel:open'));
}

function addCommands(
  app: JupyterFrontEnd,
  palette: ICommandPalette | null,
  panel: Panel,
  watch: Watch,
  notebooks: Notebooks,
  deeds: Deeds,
  trans: TranslationBundle
): void {
  const add = (id: string, label: string, execute: () => unknown, isEnabled?: () => boolean) => {
    app.commands.addCommand(id, { label, execute, isEnabled });
    palette?.addItem({ command: id, category: trans.__('Accelerators') });
  };
  const own = () => watch.runtimes.find(each => each.kernel_id !== '' && each.kernel_id === notebooks.kernel);
  const open = () => {
    app.shell.expandRight?.(PANEL_ID);
    app.shell.activateById(PANEL_ID);
  };
  add('nbaccel:open', trans.__('Show Accelerators'), open);
  add('nbaccel:insert-init', trans.__('Insert %accel_init'), () => panel.say(deeds.insertInit()), () => notebooks.current !== null);
  add('nbaccel:start', trans.__('Start a Shared Head'), async () => {
    open();
    panel.say(await deeds.start());
  }, () => watch.mayExecute);
  add('nbaccel:timeline', trans.__("Timeline of This Notebook's Devices"), () => {
    const runtime = own();
    if (runtime) deeds.openTimeline(runtime.id, runtime.title);
  }, () => own() !== undefined);
  add('nbaccel:shutdown', trans.__("Shut Down This Notebook's nbaccel"), async () => {
    const runtime = own();
    if (runtime) panel.say(await deeds.shutDown(runtime.id, runtime.title));
  }, () => watch.mayExecute && own() !== undefined);
  const changed = () => app.commands.notifyCommandChanged();
  notebooks.changed(changed);
}

function openTimeline(
  app: JupyterFrontEnd,
  runtime: string,
  title: string,
  watch: Watch,
  server: Server,
  trans: TranslationBundle
): void {
  const id = `nbaccel-timeline-${runtime}`;
  const reader = { notebook: () => '', onlyMine: () => false, go: () => void app.commands.execute('nbaccel:open') };
  const page = new MainAreaWidget({ content: new TimelinePage(runtime, watch, server, reader) });
  page.id = id;
  page.title.label = trans.__('Devices of %1', title);
  page.title.icon = icon;
  page.title.closable = true;
  app.shell.add(page, 'main');
  app.shell.activateById(id);
}

async function addStatusItem(
  statusBar: IStatusBar | null,
  settings: ISettingRegistry | null,
  watch: Watch,
  trans: TranslationBundle,
  open: () => void
): Promise<void> {
  if (!statusBar) return;
  const chosen = await settings?.load(PLUGIN).catch(() => undefined);
  let shown: { dispose(): void } | null = null;
  const follow = () => {
    const wanted = chosen?.composite.statusBar !== false;
    if (wanted && !shown) {
      const item = new StatusItem(watch, trans, open);
      shown = statusBar.registerStatusItem(`${PLUGIN}-status`, { item, align: 'left', rank: STATUS_RANK });
    } else if (!wanted && shown) {
      shown.dispose();
      shown = null;
    }
  };
  chosen?.changed.connect(follow);
  follow();
}

export default plugin;
