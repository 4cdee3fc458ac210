/**
 * Instants that processes of one machine can compare: µs of CLOCK_MONOTONIC. `performance.now()` is the same clock,
 * counted from the start of each process; how far that is off is measured once, where nothing came in between.
 */
const originUs = measureOrigin();

export function nowUs(): number {
  return Math.round(readUs());
}

/** An instant on the clock of this process' `performance.now()`. */
export function toUs(performanceMs: number): number {
  return Math.round(originUs + performanceMs * 1_000);
}

function readUs(): number {
  return Number(process.hrtime.bigint()) / 1_000;
}

function measureOrigin(): number {
  let best = { originUs: 0, widthUs: Infinity };
  for (let sample = 0; sample < 100; sample += 1) {
    const before = readUs();
    const relativeUs = performance.now() * 1_000;
    const widthUs = readUs() - before;
    // A process that loses its processor between two looks at the clock would be off by that.
    if (widthUs < best.widthUs) best = { originUs: before + widthUs / 2 - relativeUs, widthUs };
  }
  return best.originUs;
}

/** From now on this process believes that it is so much later, or earlier, whatever it asks for the time of day. */
export function skewDate(skewMs: number): void {
  const RealDate = Date;
  const skewedNow = (): number => RealDate.now() + skewMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [skewedNow()] : args, newTarget) as object,
    get: (target, property, receiver) =>
      property === 'now' ? skewedNow : (Reflect.get(target, property, receiver) as unknown),
  });
}
