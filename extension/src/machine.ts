// The devices of the whole machine, with the processes of all users.

import type { TranslationBundle } from '@jupyterlab/translation';
import { count, h, nameOf, plain, type Shape, size } from './cockpit';
import type { Machine, MachineDevice, MachineProcess } from './messages';

const MOST_PROCESSES = 6; // of one device; more are counted

/** The section; null while nothing is known. */
export function drawMachine(machine: Machine | null, trans: TranslationBundle): Shape | null {
  if (!machine) return null;
  const devices = machine.devices.map(device => drawDevice(device, trans));
  return h(
    'section',
    { key: 'machine', class: 'nbaccel-section', 'aria-label': trans.__('Devices of this machine') },
    h('div', { class: 'line' }, h('h3', {}, trans.__('This machine')), host(machine, trans)),
    devices.length > 0 && h('ul', { class: 'devices' }, devices),
    !devices.length && h('p', { class: 'quiet empty' }, [machine.reason, machine.others].filter(Boolean).join(' '))
  );
}

function host({ host }: Machine, trans: TranslationBundle): Shape | null {
  if (!host) return null;
  const load = host.cpu_percent == null ? '' : ` · ${Math.round(host.cpu_percent)} %`;
  const memory = host.memory_total_bytes ? ` · ${size(host.memory_used_bytes)} / ${size(host.memory_total_bytes)}` : '';
  return h('span', { class: 'quiet small' }, `${trans.__('%1 CPUs', host.cpus)}${load}${memory}`);
}

function drawDevice(device: MachineDevice, trans: TranslationBundle): Shape {
  const label = `GPU ${plain(device.id)}`;
  const facts = [
    device.temperature_celsius != null && `${device.temperature_celsius} °C`,
    device.power_watts != null && `${Math.round(device.power_watts)} W`
  ].filter(Boolean);
  const memory = memoryPercent(device);
  return h(
    'li',
    { key: device.uuid ?? device.id, title: device.uuid },
    h('div', { class: 'line' }, h('span', { class: 'label' }, label), h('span', { class: 'quiet small' }, plain(device.name)), facts.length > 0 && h('span', { class: 'quiet small' }, facts.join(' · '))),
    meter(trans.__('load'), label, device.utilisation_percent, device.utilisation_percent == null ? '' : `${Math.round(device.utilisation_percent)} %`, device.reasons.utilisation_percent),
    meter(trans.__('memory'), label, memory, `${size(device.memory_used_bytes)} / ${size(device.memory_total_bytes)}`, device.reasons.memory_used_bytes),
    processes(device, trans)
  );
}

function memoryPercent({ memory_used_bytes: used, memory_total_bytes: total }: MachineDevice): number | null {
  return used == null || !total ? null : (100 * used) / total;
}

function meter(what: string, label: string, percent: number | null, words: string, reason?: string): Shape {
  if (percent == null) return h('div', { class: 'measure quiet small', title: plain(reason) }, `${what} unknown`);
  const whole = Math.min(100, Math.max(0, Math.round(percent)));
  const scale = { role: 'meter', 'aria-label': `${label} ${what}`, 'aria-valuemin': '0', 'aria-valuemax': '100', 'aria-valuenow': whole, 'aria-valuetext': words };
  return h('div', { class: 'measure' }, h('div', { class: 'bar', ...scale }, h('span', { class: 'part', style: `width:${whole}%` })), h('span', { class: 'small' }, `${what} ${words}`));
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
    !own && h('span', { class: 'chip' }, user ? trans.__('of %1', plain(user)) : trans.__("another user's"))
  );
}
