// The parts of the one renderer that the panel uses: the sources of nbaccel/notebook, bundled as they are.

export { mount } from '../../nbaccel/notebook/cockpit/cockpit.js';
export { numberOf, subjectOf } from '../../nbaccel/notebook/cockpit/colours.js';
export { draw, h } from '../../nbaccel/notebook/cockpit/dom.js';
export { button, nameOf } from '../../nbaccel/notebook/cockpit/draw_parts.js';
export { PALETTE } from '../../nbaccel/notebook/cockpit/palette.js';
export { OFFERED } from '../../nbaccel/notebook/cockpit/second_way.js';
export { cover, headOf, stateOf, takePlaces } from '../../nbaccel/notebook/cockpit/places.js';
export { newState } from '../../nbaccel/notebook/cockpit/state.js';
export { STYLE } from '../../nbaccel/notebook/cockpit/style.js';
export { age, count, ENDED, plain, shortId, size } from '../../nbaccel/notebook/cockpit/words.js';
export { viewOfPast } from '../../nbaccel/notebook/past/past.js';
export { viewOfRuns } from '../../nbaccel/notebook/runs/runs.js';

export type { Shape } from '../../nbaccel/notebook/cockpit/dom.js';
export type { Cover } from '../../nbaccel/notebook/cockpit/places.js';
export type { State } from '../../nbaccel/notebook/cockpit/state.js';
export type { DeviceRow, DrawRuns, Filter, Snapshot, Source, TaskRow } from '../../nbaccel/notebook/cockpit/types.js';
