/**
 * An example lock that changes hands: two programs want it all the time, and each holds it for some seconds. The page of the lock in the
 * console shows each change. Only `npm start` has it, and it ends with it.
 */
export const LOCK = 'till';
const HOLDERS = 2;
const HOLD_MS = 4_000;
/** An answer that was lost leaves a lease behind: it ends by itself soon. */
const LEASE_MS = 10_000;
const WAIT_MS = 20_000;
/** Before another try, while the API is started again. */
const PAUSE_MS = 1_000;

/** Returns what ends it. */
export function shareLock({ address, key }) {
  const ended = new AbortController();
  const { signal } = ended;
  const send = async (call, body) => {
    const response = await fetch(`${address}/v1/locks/${LOCK}/${call}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
    // A problem document has no holder: somebody else has held it for too long.
    return response.json();
  };
  for (let holder = 0; holder < HOLDERS; holder += 1) void takeAgainAndAgain(send, signal);
  return () => ended.abort();
}

async function takeAgainAndAgain(send, signal) {
  while (!signal.aborted) {
    try {
      const { holder } = await send('acquire', { leaseMs: LEASE_MS, waitMs: WAIT_MS });
      await pause(holder === undefined ? PAUSE_MS : HOLD_MS, signal);
      if (holder !== undefined) await send('release', { holder });
    } catch {
      // The API is not there.
      await pause(PAUSE_MS, signal);
    }
  }
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
    function end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    }
  });
}
