// The kernel's clock as this page sees it. A snapshot that arrives late must not make the clock run behind, so only one
// that comes from the future moves it.

/** @returns {{heard: (time: number) => void, now: () => number}} */
export function kernelClock(wall = () => Date.now() / 1000) {
  let ahead = 0; // of the kernel's clock before ours
  return {
    heard(time) {
      ahead = Math.max(ahead, time - wall());
    },
    now: () => wall() + ahead,
  };
}
