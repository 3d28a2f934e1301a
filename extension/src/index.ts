// The plugins: the panel with its commands, and the item of the status bar. Every service of the front end is optional,
// so that they work in JupyterLab, in Notebook 7 and in others that are built of the same parts.

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import { Badges } from './badges';
import { deedsOf } from './deeds';
import { icon } from './icon';
import { Notebooks } from './notebooks';
import { type Deeds, Panel, PANEL_ID } from './panel';
import { drawInPlaces } from './places';
import { titleOf } from './runtimes';
import { takeOrders } from './second_way';
import { Server } from './server';
import { StatusItem } from './status';
import { RUNS, TIMELINE, Timelines } from './timeline';
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
  const timelines = new Timelines(app, watch, server, trans);
  const deeds = deedsOf(server, watch, notebooks, trans, {
    openTimeline: (runtime, title) => timelines.open(runtime, title),
    openRuns: () => timelines.openRuns(() => notebooks.kernelspec)
  });
  const panel = new Panel(watch, server, notebooks, deeds, trans);
  panel.title.icon = icon;
  panel.title.caption = trans.__('Accelerators: nbaccel');
  app.shell.add(panel, 'right', { rank: RANK, type: 'nbaccel' });
  new Badges(watch, notebooks, trans);
  drawInPlaces(document, watch, server, notebooks);
  takeOrders(document, watch, server, { notebook: () => notebooks.path, onlyMine: () => false, go: () => undefined });
  addCommands(app, palette, panel, watch, notebooks, deeds, trans);
  if (restorer) {
    restorer.add(panel, PANEL_ID);
    timelines.restoreBy(restorer);
  }
  void addStatusItem(statusBar, settings, watch, panel, trans, () => void app.commands.execute('nbaccel:open'));
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
  type Given = Record<string, unknown>;
  const add = (id: string, label: string, execute: (given: Given) => unknown, isEnabled?: (given: Given) => boolean) => {
    app.commands.addCommand(id, { label, execute, isEnabled });
    palette?.addItem({ command: id, category: trans.__('Accelerators') });
  };
  const own = () => watch.runtimes.find(each => each.kernel_id !== '' && each.kernel_id === notebooks.kernel);
  /** The runtime that a command is given, or else the notebook's. */
  const meant = (given: Given) => {
    const runtime = own();
    if (given.runtime) return { id: String(given.runtime), title: String(given.title) };
    return runtime && { id: runtime.id, title: titleOf(runtime) };
  };
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
  add(TIMELINE, trans.__("Timeline of This Notebook's Devices"), given => {
    const runtime = meant(given);
    if (runtime) deeds.openTimeline(runtime.id, runtime.title);
  }, given => meant(given) !== undefined);
  add(RUNS, trans.__('Show All Training Runs and Experiments'), () => deeds.openRuns());
  add('nbaccel:shutdown', trans.__("Shut Down This Notebook's nbaccel"), async () => {
    const runtime = own();
    if (runtime) await panel.shutDown(runtime.id, titleOf(runtime));
  }, () => watch.mayExecute && own() !== undefined);
  const changed = () => app.commands.notifyCommandChanged();
  notebooks.changed(changed);
}

async function addStatusItem(
  statusBar: IStatusBar | null,
  settings: ISettingRegistry | null,
  watch: Watch,
  panel: Panel,
  trans: TranslationBundle,
  open: () => void
): Promise<void> {
  if (!statusBar) return;
  const chosen = await settings?.load(PLUGIN).catch(() => undefined);
  let shown: { dispose(): void } | null = null;
  const follow = () => {
    const wanted = chosen?.composite.statusBar !== false;
    if (wanted && !shown) {
      const item = new StatusItem(watch, trans, runtime => panel.isMine(runtime), open);
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
