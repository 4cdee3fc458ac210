/** sinon, whose fake timers leave the clock of measurements alone: the engine measures leases with it. */
import sinon from 'sinon-itself';

const FAKED = ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'];

function useFakeTimers(config = {}) {
  const given = typeof config === 'number' || config instanceof Date ? { now: config } : config;
  const clock = sinon.useFakeTimers({ now: Date.now(), ...given, toFake: FAKED });
  // The engine has no instants before 2001: its records tell them from others by their first byte.
  return Object.assign(clock, { reset: () => undefined });
}

export const { assert, createSandbox, fake, match, mock, restore, spy, stub } = sinon;
export { useFakeTimers };
export default { ...sinon, useFakeTimers };
