// The colours of every view, in the file that Python reads too.

import palette from "../../../nbaccel/views/palette.json" with { type: "json" };

export const PALETTE = palette;
