/**
 * The parts of JupyterLab's interfaces that the panel uses. JupyterLab provides these modules when it loads the panel,
 * so building it needs none of them (docs/decisions/0037-the-panel-is-built-without-jupyterlab.md).
 */

declare module '@lumino/widgets' {
  export interface Title {
    label: string;
    caption: string;
    icon: unknown;
    closable: boolean;
  }
  export class Widget {
    constructor(options?: { node?: HTMLElement });
    id: string;
    readonly title: Title;
    readonly node: HTMLElement;
    readonly isDisposed: boolean;
    readonly isVisible: boolean;
    readonly isAttached: boolean;
    addClass(name: string): void;
    show(): void;
    hide(): void;
    activate(): void;
    dispose(): void;
    protected onAfterAttach(message: unknown): void;
    protected onActivateRequest(message: unknown): void;
  }
}

declare module '@jupyterlab/coreutils' {
  export namespace URLExt {
    function join(...parts: string[]): string;
  }
}

declare module '@jupyterlab/services' {
  export namespace ServerConnection {
    interface ISettings {
      readonly baseUrl: string;
      readonly wsUrl: string;
      readonly token: string;
      readonly appendToken: boolean;
      readonly WebSocket: typeof WebSocket;
    }
    function makeSettings(): ISettings;
    function makeRequest(url: string, init: RequestInit, settings: ISettings): Promise<Response>;
  }
}

declare module '@jupyterlab/ui-components' {
  export class LabIcon {
    constructor(options: { name: string; svgstr: string });
  }
}

declare module '@jupyterlab/translation' {
  export interface TranslationBundle {
    __(text: string, ...values: unknown[]): string;
    _n(one: string, many: string, number: number, ...values: unknown[]): string;
  }
  export interface ITranslator {
    load(domain: string): TranslationBundle;
  }
  export const ITranslator: unique symbol;
  export const nullTranslator: ITranslator;
}

declare module '@jupyterlab/settingregistry' {
  export namespace ISettingRegistry {
    interface ISettings {
      readonly composite: Record<string, unknown>;
      readonly changed: { connect(slot: () => void): void };
    }
  }
  export interface ISettingRegistry {
    load(plugin: string): Promise<ISettingRegistry.ISettings>;
  }
  export const ISettingRegistry: unique symbol;
}

declare module '@jupyterlab/statusbar' {
  import { Widget } from '@lumino/widgets';
  export interface IStatusBar {
    registerStatusItem(
      id: string,
      item: { item: Widget; align: 'left' | 'right'; rank: number; isActive?: () => boolean }
    ): { dispose(): void };
  }
  export const IStatusBar: unique symbol;
}

declare module '@jupyterlab/apputils' {
  import { Widget } from '@lumino/widgets';
  export interface ICommandPalette {
    addItem(item: { command: string; category: string }): void;
  }
  export const ICommandPalette: unique symbol;
  export class MainAreaWidget<T extends Widget = Widget> extends Widget {
    constructor(options: { content: T });
    readonly content: T;
  }
  export class WidgetTracker<T extends Widget = Widget> {
    constructor(options: { namespace: string });
    add(widget: T): Promise<void>;
    find(test: (widget: T) => boolean): T | undefined;
  }
  export namespace Dialog {
    function cancelButton(options?: { label: string }): unknown;
    function warnButton(options?: { label: string }): unknown;
  }
  export function showDialog(options: {
    title: string;
    body: string;
    buttons: unknown[];
  }): Promise<{ button: { accept: boolean } }>;
}

declare module '@jupyterlab/notebook' {
  import { Widget } from '@lumino/widgets';
  export interface Cell extends Widget {
    readonly model: {
      readonly type: string;
      readonly executionCount?: number | null;
      readonly executionState?: string;
      readonly sharedModel: { setSource(text: string): void; getSource(): string };
    };
  }
  export interface Notebook extends Widget {
    readonly widgets: readonly Cell[];
    activeCellIndex: number;
    readonly activeCell: Cell | null;
    scrollToCell(cell: Cell): Promise<void>;
  }
  export interface NotebookPanel extends Widget {
    readonly content: Notebook;
    readonly context: { readonly path: string };
    readonly sessionContext: {
      readonly session: { readonly kernel: { readonly id: string } | null } | null;
      readonly kernelPreference: { readonly name?: string };
    };
  }
  export interface INotebookTracker {
    readonly currentWidget: NotebookPanel | null;
    readonly currentChanged: { connect(slot: () => void): void };
    find(test: (panel: NotebookPanel) => boolean): NotebookPanel | undefined;
    forEach(act: (panel: NotebookPanel) => void): void;
  }
  export const INotebookTracker: unique symbol;
  export namespace NotebookActions {
    function insertAbove(notebook: Notebook): void;
  }
}

declare module '@jupyterlab/application' {
  import { Widget } from '@lumino/widgets';
  export interface CommandOptions {
    label: string;
    caption?: string;
    icon?: unknown;
    execute: (given: Record<string, unknown>) => unknown;
    isEnabled?: (given: Record<string, unknown>) => boolean;
  }
  export interface JupyterFrontEnd {
    readonly commands: {
      addCommand(id: string, options: CommandOptions): void;
      execute(id: string, given?: Record<string, unknown>): Promise<unknown>;
      hasCommand(id: string): boolean;
      notifyCommandChanged(id?: string): void;
    };
    readonly shell: {
      readonly currentWidget: Widget | null;
      add(widget: Widget, area?: string, options?: { rank?: number; type?: string }): unknown;
      activateById(id: string): void;
      expandRight?(id?: string): void;
    };
    readonly serviceManager: {
      readonly serverSettings: import('@jupyterlab/services').ServerConnection.ISettings;
    };
    readonly restored: Promise<unknown>;
  }
  export interface JupyterFrontEndPlugin<T> {
    id: string;
    description: string;
    autoStart: boolean;
    requires?: unknown[];
    optional?: unknown[];
    activate: (app: JupyterFrontEnd, ...services: any[]) => T;
  }
  export interface ILayoutRestorer {
    add(widget: Widget, name: string): void;
    restore<T extends Widget>(
      tracker: import('@jupyterlab/apputils').WidgetTracker<T>,
      options: { command: string; args: (widget: T) => Record<string, string>; name: (widget: T) => string }
    ): Promise<unknown>;
  }
  export const ILayoutRestorer: unique symbol;
}
