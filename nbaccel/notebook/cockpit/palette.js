// Written by tools/join_cockpit.py from nbaccel/views/palette.json. Change it there.

export const PALETTE = {
  hues: [
    ["#2f96e3", "#288dd6", "#1a83cc"],
    ["#da7360", "#ce6b59", "#c46250"],
    ["#05948b", "#008a82", "#269d94"],
    ["#af80c0", "#a578b5", "#9b6fac"],
    ["#899500", "#808c00", "#778200"],
    ["#7672c9", "#6e6abd", "#7f7cd1"],
    ["#317f40", "#3d884a", "#479153"],
    ["#9d5599", "#a35b9f", "#a962a4"],
  ],
  failure: "#ec1c24",
  attention: "#c77700",
  waiting: "#808080",
  grounds: ["#ffffff", "#212121"],
};
