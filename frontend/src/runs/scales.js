// Axes: round numbers within bounds, and how a reading is written. The same as nbaccel/notebook/curves.py.

const LOSS_LOG_FROM = 10;
const LOG_FROM = 100; // values that are all positive and span more than this factor have a logarithmic axis

/** About `count` round numbers within these bounds. @param {number} low @param {number} high @param {number} [count] */
export function ticks(low, high, count = 4) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((each) => power * each >= rough * 0.999) ?? 10);
  const places = [];
  for (let place = Math.ceil(low / step - 1e-9); place <= Math.floor(high / step + 1e-9); place++) places.push(Number((place * step).toPrecision(12)));
  return places;
}

/** Powers of ten within these bounds, about five at most; of few also their threefold. @param {number} low @param {number} high */
export function logTicks(low, high) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((last - first) / 4));
  const powers = [];
  for (let power = first; power <= last; power += step) powers.push(10 ** power);
  if (powers.length > 2) return powers;
  const near = powers.length ? [powers[0] / 10, ...powers] : [10 ** last];
  return near.flatMap((power) => [power, 3 * power]).filter((each) => each >= low * (1 - 1e-9) && each <= high * (1 + 1e-9));
}

/** A loss falls fast and then slowly, so its axis is logarithmic sooner. @param {number} low @param {number} high @param {string} [name] */
export function isLogarithmic(low, high, name = "") {
  return low > 0 && high / low > (/loss/i.test(name) ? LOSS_LOG_FROM : LOG_FROM);
}

/** A reading with four significant digits: "0.03217", "12500", "1e-05". @param {number} value */
export function reading(value) {
  const size = Math.abs(value);
  if (size >= 1e4 && size < 1e9) return value.toFixed(0);
  const [digits, power] = value.toExponential(3).split("e");
  const exponent = Number(power);
  if (!value || (exponent >= -4 && exponent < 4)) return String(Number(value.toPrecision(4)));
  return `${Number(digits)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
