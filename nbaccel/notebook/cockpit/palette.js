// Written by tools/join_cockpit.py from nbaccel/views/palette.json. Change it there.

export const PALETTE = {
  hues: [
    ["#6868fe", "#6160f6", "#5a56eb"],
    ["#c68470", "#be7d69", "#b67662"],
    ["#2f989c", "#1e8c91", "#39a0a4"],
    ["#b280c6", "#aa78be", "#a06fb4"],
    ["#8e8928", "#86801c", "#7e780e"],
    ["#867be4", "#7d71d9", "#9187f1"],
    ["#43793c", "#4a8143", "#538a4b"],
    ["#97586f", "#9f5f77", "#a7667e"],
  ],
  failure: "#ec1c24",
  attention: "#c77700",
  waiting: "#808080",
  grounds: ["#ffffff", "#212121"],
};
