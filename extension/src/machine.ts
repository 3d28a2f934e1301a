// The devices of the whole machine, with the processes of all users.

import type { TranslationBundle } from '@jupyterlab/translation';
import { count, h, nameOf, plain, type Shape, size } from './cockpit';
import type { Machine, MachineDevice, MachineProcess } from './messages';

const MOST_PROCESSES = 6; // of one device; more are counted

/** The section; null while nothing is known. */
export function drawMachine(machine: Machine | null, trans: TranslationBundle): Shape | null {
  if (!machine) return null;
  const model = onlyModel(machine.devices);
  const devices = machine.devices.map(device => drawDevice(device, model === null, trans));
  return h(
    'section',
    { key: 'machine', class: 'nbaccel-section', 'aria-label': trans.__('Devices of this machine') },
    h('div', { class: 'line' }, h('h3', {}, trans.__('This machine')), host(machine, trans)),
    model !== null && h('p', { class: 'quiet small' }, model),
    devices.length > 0 && h('ul', { class: 'devices' }, devices),
    !devices.length && h('p', { class: 'quiet empty' }, [machine.reason, machine.others].filter(Boolean).join(' '))
  );
}

/** "8 × NVIDIA H100", where all devices are alike; else null, and each says its own. */
function onlyModel(devices: MachineDevice[]): string | null {
  const reached = devices.filter(({ reasons }) => !reasons.device);
  const names = new Set(reached.map(({ name }) => plain(name)));
  return names.size === 1 ? `${reached.length} × ${[...names][0]}` : null;
}

function host({ host }: Machine, trans: TranslationBundle): Shape | null {
  if (!host) return null;
  const load = host.cpu_percent == null ? '' : ` · ${Math.round(host.cpu_percent)} %`;
  const memory = host.memory_total_bytes ? ` · ${ofSizes(host.memory_used_bytes, host.memory_total_bytes)}` : '';
  return h('span', { class: 'quiet small' }, `${trans.__('%1 CPUs', host.cpus)}${load}${memory}`);
}

function drawDevice(device: MachineDevice, saysModel: boolean, trans: TranslationBundle): Shape {
  const label = `GPU ${plain(device.id)}`;
  const { memory_used_bytes: used, memory_total_bytes: total, utilisation_percent: load, reasons } = device;
  const facts = [
    plain(device.name),
    device.temperature_celsius != null && `${device.temperature_celsius} °C`,
    device.power_watts != null && `${Math.round(device.power_watts)} W`,
    device.uuid && plain(device.uuid)
  ];
  if (reasons.device) {
    const why = trans.__('not to be reached: %1', plain(reasons.device));
    return h('li', { key: `lost ${device.id}` }, h('span', { class: 'label' }, label), ' ', h('span', { class: 'quiet small' }, why));
  }
  const memory = used == null || !total ? null : (100 * used) / total;
  return h(
    'li',
    { key: device.uuid ?? device.id },
    h(
      'div',
      { class: 'gauges', title: facts.filter(Boolean).join(' · ') },
      h('span', { class: 'label' }, label),
      meter(trans.__('load'), label, load, `${Math.round(load ?? 0)} %`, reasons.utilisation_percent, trans),
      meter(trans.__('memory'), label, memory, ofSizes(used, total), reasons.memory_used_bytes, trans)
    ),
    saysModel && h('div', { class: 'quiet small' }, plain(device.name)),
    processes(device, trans)
  );
}

/** "41 / 80 GiB": the unit once, where it is the same. */
function ofSizes(used: number | null, total: number | null): string {
  const [amount, unit] = size(used).split(' ');
  return size(total).endsWith(` ${unit}`) ? `${amount} / ${size(total)}` : `${size(used)} / ${size(total)}`;
}

function meter(what: string, label: string, percent: number | null, words: string, reason: string | undefined, trans: TranslationBundle): Shape {
  if (percent == null) return h('span', { class: 'measure quiet small', title: plain(reason) }, trans.__('%1 unknown', what));
  const whole = Math.min(100, Math.max(0, Math.round(percent)));
  const scale = { role: 'meter', 'aria-label': `${label} ${what}`, 'aria-valuemin': '0', 'aria-valuemax': '100', 'aria-valuenow': whole, 'aria-valuetext': words };
  return h('span', { class: 'measure', title: `${what} ${words}` }, h('span', { class: 'bar', ...scale }, h('span', { class: 'part', style: `width:${whole}%` })), h('span', { class: 'small' }, words));
}

function processes(device: MachineDevice, trans: TranslationBundle): Shape | null {
  if (!device.processes.length) return null;
  const shown = device.processes.slice(0, MOST_PROCESSES).map(each => drawProcess(each, trans));
  const more = device.processes.length - shown.length;
  if (more > 0) shown.push(h('li', { key: 'more', class: 'quiet small' }, trans.__('and %1 more', count(more, 'process'))));
  return h('ul', { class: 'processes', 'aria-label': trans.__('Processes') }, shown);
}

function drawProcess({ pid, name, user, own, memory_bytes }: MachineProcess, trans: TranslationBundle): Shape {
  const memory = memory_bytes == null ? '' : ` · ${size(memory_bytes)}`;
  return h(
    'li',
    { key: String(pid), class: own ? null : 'other' },
    nameOf(plain(name) || trans.__('a process')),
    h('span', { class: 'quiet small' }, ` pid ${pid}${memory}`),
    !own && h('span', { class: 'chip aside' }, user ? trans.__('of %1', plain(user)) : trans.__("another user's"))
  );
}
