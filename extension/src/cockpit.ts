// The parts of the one renderer that the panel uses: the sources of nbaccel/notebook, bundled as they are.

export { button, nameOf } from '../../frontend/src/components/parts';
export { STYLE } from '../../frontend/src/components/style';
export { draw } from '../../frontend/src/components/tree';
export { subjectOf } from '../../frontend/src/model/colours';
export { shownOf, whatEnds } from '../../frontend/src/model/scene';
export { newState } from '../../frontend/src/model/state';
export { age, count, ENDED, plain, shortId, size } from '../../frontend/src/model/words';
export { viewOfPast } from '../../frontend/src/past/past';
export { showStored, type Storage } from '../../frontend/src/runs/stored';
export { viewOfRuns } from '../../frontend/src/runs/runs';
export { OFFERED } from '../../frontend/src/widget/actions';
export { mount } from '../../frontend/src/widget/cockpit';
export { cover, headOf, stateOf, takePlaces } from '../../frontend/src/widget/places';
export { h } from 'preact';
export type { Shape } from '../../frontend/src/components/tree';
export type { State } from '../../frontend/src/model/state';
export type { DeviceRow, Filter, Snapshot, Source, TaskRow } from '../../frontend/src/model/types';
export type { Cover } from '../../frontend/src/widget/places';
