// Written by tools/join_cockpit.py from nbaccel/views/palette.json. Change it there.

export const PALETTE = {
  hues: [
    ["#1870d3", "#3378c2", "#2371ab"],
    ["#a8631d", "#976e40", "#926037"],
    ["#149599", "#229da0", "#2da4a7"],
    ["#bb3d68", "#b94182", "#a74f6a"],
    ["#978d17", "#9e9423", "#908606"],
    ["#9082f1", "#897be9", "#8274e1"],
    ["#6aa173", "#639a6d", "#5c9366"],
    ["#c27bc6", "#bb74bf", "#b36db8"],
  ],
  failure: "#ec1c24",
  attention: "#c77700",
  waiting: "#808080",
  grounds: ["#ffffff", "#212121"],
};
