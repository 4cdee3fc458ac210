/** How the example data reaches the API. Each request may be repeated: its ids, or its Idempotency-Key, say that it is the same. */

/** How often a busy machine is asked for the same again. */
const TRIES = 20;
const BUSY = 503;

/** Sends requests with the API key. A machine that is too busy to answer in time is asked again. */
export function sender(key) {
  return async (method, url, body, { accepted = [200, 201, 204], requestKey } = {}) => {
    const request = {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(requestKey && { 'idempotency-key': requestKey }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    };
    let response = await fetch(url, request);
    for (let tries = 1; response.status === BUSY && tries < TRIES; tries += 1) {
      await response.text();
      response = await fetch(url, request);
    }
    const text = await response.text();
    if (!accepted.includes(response.status)) {
      throw new Error(`example data: ${method} ${url} answered ${response.status}: ${text}`);
    }
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
}
