// The parts of the one renderer that the panel uses: the sources of nbaccel/notebook, bundled as they are.

export { mount } from '../../frontend/src/cockpit/cockpit.js';
export { subjectOf } from '../../frontend/src/cockpit/colours.js';
export { draw, h } from '../../frontend/src/cockpit/dom.js';
export { button, nameOf } from '../../frontend/src/cockpit/draw_parts.js';
export { OFFERED } from '../../frontend/src/cockpit/second_way.js';
export { cover, headOf, stateOf, takePlaces } from '../../frontend/src/cockpit/places.js';
export { shownOf } from '../../frontend/src/cockpit/shown.js';
export { newState } from '../../frontend/src/cockpit/state.js';
export { STYLE } from '../../frontend/src/cockpit/style.js';
export { age, count, ENDED, plain, shortId, size } from '../../frontend/src/cockpit/words.js';
export { viewOfPast } from '../../frontend/src/past/past.js';
export { viewOfRuns } from '../../frontend/src/runs/runs.js';

export type { Shape } from '../../frontend/src/cockpit/dom.js';
export type { Cover } from '../../frontend/src/cockpit/places.js';
export type { State } from '../../frontend/src/cockpit/state.js';
export type { DeviceRow, Filter, Snapshot, Source, TaskRow } from '../../frontend/src/cockpit/types.js';
