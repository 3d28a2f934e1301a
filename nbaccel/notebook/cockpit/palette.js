// Written by tools/join_cockpit.py from nbaccel/views/palette.json. Change it there.

export const PALETTE = {
  hues: [
    ["#1575c3", "#207cca", "#056ebb"],
    ["#99612a", "#a06731", "#a76e38"],
    ["#149599", "#229da0", "#2da4a7"],
    ["#b74977", "#be507e", "#c65785"],
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
